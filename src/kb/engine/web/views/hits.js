// Hits in, documents with their passages out, in the order of the best passage of each.
import { link } from "../address.js";
import { html } from "../lib.js";
import { Explain } from "../parts/explain.js";
import { TypeIcon } from "../parts/icon.js";
import { Marked } from "../parts/marked.js";
import { TagList } from "../parts/tags.js";
import { ago, calm, moment, place, snippet, typeName } from "../words.js";

export function grouped(results) {
  const groups = new Map();
  for (const hit of results) {
    const { document_id: id, title, filename, doc_type, tags, created_at, updated_at } = hit;
    if (!groups.has(id)) groups.set(id, { document: { id, title, filename, doc_type, tags, created_at, updated_at }, hits: [] });
    groups.get(id).hits.push(hit);
  }
  return [...groups.values()];
}

export function Group({ group, most, q }) {
  const { document, hits } = group;
  const changed = document.updated_at ?? document.created_at;
  return html`<li class="group">
    <div class="group-head">
      <${TypeIcon} type=${document.doc_type} />
      <div class="group-title">
        <h2><a href=${link({ view: "document", id: document.id, q })}>${document.title}</a></h2>
        <p class="about">
          <span>${typeName(document.doc_type)}</span>
          ${document.filename && document.filename !== document.title && html`<span class="name">${document.filename}</span>`}
          <time datetime=${changed} title=${moment(changed)}>${ago(changed)}</time>
          <${TagList} tags=${document.tags} />
        </p>
      </div>
    </div>
    <ul class="hits">${hits.map((hit) => html`<${Hit} key=${hit.chunk_id} hit=${hit} most=${most} q=${q} />`)}</ul>
  </li>`;
}

function Hit({ hit, most, q }) {
  const { text, highlights } = snippet(hit.doc_type === "code" ? hit.text : calm(hit.text), hit.highlights);
  const percent = Math.round(hit.relevance * 100);
  const target = link({ view: "document", id: hit.document_id, chunk: hit.chunk_id, q });
  return html`<li>
    <a class="hit" href=${target}>
      <span class=${`hit-text ${hit.doc_type === "code" ? "code" : ""}`}><${Marked} text=${text} highlights=${highlights} /></span>
      <span class="hit-about">
        <span>${place(hit) || "whole text"}</span>
        <span class="relevance" title="How relevant this passage is">
          <meter min="0" max="100" value=${percent} aria-label="Relevance"></meter>${percent}%
        </span>
      </span>
    </a>
    ${hit.explain && most > 0 && html`<${Explain} explain=${hit.explain} most=${most} />`}
  </li>`;
}

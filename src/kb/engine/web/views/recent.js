// What was added or changed last: the start, before anything is looked for.
import { link } from "../address.js";
import { get } from "../api.js";
import { listen } from "../events.js";
import { html, useEffect, useState } from "../lib.js";
import { filterOf } from "../parts/chips.js";
import { Icon, TypeIcon } from "../parts/icon.js";
import { Empty, Loading, Trouble } from "../parts/states.js";
import { TagList } from "../parts/tags.js";
import { pick } from "../taking.js";
import { ago, bytes, moment, plural, typeName } from "../words.js";

const AT_ONCE = 40;

export function useDocuments(filter) {
  const [state, setState] = useState({ page: null, error: null });
  const [limit, setLimit] = useState(AT_ONCE);
  useEffect(() => {
    let timer = 0;
    let current = true;
    const load = () =>
      get(`/documents?${new URLSearchParams([...filter, ["limit", limit]])}`).then(
        (page) => current && setState({ page, error: null }),
        (error) => current && setState({ page: null, error }),
      );
    load();
    const stop = listen((kind) => {
      if (!/^document|reconnected/.test(kind)) return;
      clearTimeout(timer);
      timer = setTimeout(load, 250);
    });
    return () => {
      current = false;
      clearTimeout(timer);
      stop();
    };
  }, [JSON.stringify(filter), limit]);
  return { ...state, more: () => setLimit((before) => Math.min(before + AT_ONCE, 1000)) };
}

export function Recent({ where }) {
  const filter = filterOf(where);
  const { page, error, more } = useDocuments(filter);
  if (error) return html`<${Trouble} error=${error} />`;
  if (!page) return html`<${Loading} lines=${6} />`;
  if (!page.total) return html`<${Welcome} filtered=${filter.length > 0} />`;
  return html`<section aria-labelledby="recent">
    <h2 id="recent" class="section-title">${filter.length ? plural(page.total, "document") : "Recently added or changed"}</h2>
    <ul class="rows">
      ${page.documents.map((document) => html`<${Row} key=${document.id} document=${document} />`)}
    </ul>
    ${page.documents.length < page.total && page.documents.length < 1000 && html`<button class="wide-quiet" onClick=${more}>Show more of ${plural(page.total, "document")}</button>`}
  </section>`;
}

export function Row({ document }) {
  const changed = document.updated_at ?? document.created_at;
  const missing = document.how_read?.warnings.join("\n");
  return html`<li><a class="row hit" href=${link({ view: "document", id: document.id })}>
    <${TypeIcon} type=${document.doc_type} />
    <span class="row-title">${document.title}</span>
    ${missing && html`<span class="row-warned" role="img" title=${missing} aria-label=${`Not read whole: ${missing}`}><${Icon} name="warn" /></span>`}
    <${TagList} tags=${document.tags} />
    <span class="row-about"><span>${typeName(document.doc_type)}</span><span>${bytes(document.size_bytes)}</span>
      <time datetime=${changed} title=${moment(changed)}>${ago(changed)}</time></span>
    ${missing && html`<span class="row-missing trouble" aria-hidden="true">${missing}</span>`}
  </a></li>`;
}

function Welcome({ filtered }) {
  if (filtered) return html`<${Empty} icon="search" title="No document is like that"><p>Choose fewer filters.</p></${Empty}>`;
  return html`<${Empty} icon="logo" title="Nothing in here yet">
    <p>Drop files or a whole folder anywhere on this page, paste an image or some text, or write a note.
      Everything stays on this machine.</p>
    <p class="center"><button class="primary" onClick=${pick}>Add files</button> <a class="button" href=${link({ view: "notes" })}>Write a note</a></p>
  </${Empty}>`;
}

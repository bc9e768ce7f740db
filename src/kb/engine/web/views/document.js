// One document: the passage in its place, and beside it everything that is known.
import { back, go } from "../address.js";
import { download, get, patch, remove } from "../api.js";
import { listen } from "../events.js";
import { html, useEffect, useState } from "../lib.js";
import { Confirm } from "../parts/confirm.js";
import { Icon, TypeIcon } from "../parts/icon.js";
import { Loading, Trouble } from "../parts/states.js";
import { toast } from "../parts/toast.js";
import { ago, moment, plural, typeName } from "../words.js";
import { About } from "./about.js";
import { NoteText } from "./notetext.js";
import { Passages } from "./passages.js";
import { Picture } from "./picture.js";

const DRAWN = ["pdf", "png", "jpg", "jpeg", "gif", "tif", "tiff", "webp", "bmp"];
const PLAIN = ["code", "text", "data", "json", "csv", "xml"];

function useDocument(id) {
  const [state, setState] = useState({ document: null, jobs: [], error: null });
  const load = async () => {
    try {
      const document = await get(`/documents/${encodeURIComponent(id)}`);
      const history = await get(`/jobs?document_id=${document.id}&limit=20`);
      setState({ document, jobs: history.jobs, error: null });
    } catch (error) {
      setState((before) => (error.code === "unreachable" && before.document ? before : { document: null, jobs: [], error }));
    }
  };
  useEffect(() => {
    load();
    return listen((kind, data) => {
      if (kind === "reconnected" || kind === "documents.cleared") load();
      else if (kind.startsWith("document.") && String(data.document_id) === String(id)) load();
    });
  }, [id]);
  return { ...state, load };
}

export function DocumentView({ where }) {
  const { document: doc, jobs, error, load } = useDocument(where.id);
  const [asText, setAsText] = useState(false);
  useEffect(() => {
    if (doc) document.title = `${doc.title} · kb`;
  }, [doc?.title]);
  useEffect(() => {
    const onKey = (event) => {
      const busy = event.target.closest?.("input, textarea, dialog");
      if (event.key === "Escape" && !busy) back({ q: where.q });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [where.q]);
  if (error) {
    return html`<${Back} q=${where.q} /><h1 class="unseen">Document</h1><${Trouble} error=${error} again=${load} />`;
  }
  if (!doc) return html`<${Loading} lines=${8} />`;
  const drawn = DRAWN.includes(doc.format);
  const chunk = doc.chunks.find((each) => each.id === where.chunk);
  return html`<article class="document">
    <${Back} q=${where.q} />
    <${Title} document=${doc} drawn=${drawn} asText=${asText} setAsText=${setAsText} />
    <div class="columns">
      <div class="content">
        ${doc.doc_type === "note"
          ? html`<${NoteText} document=${doc} changed=${load} />`
          : drawn && !asText
            ? html`<${Picture} document=${doc} chunk=${chunk} where=${where} showText=${() => setAsText(true)} />`
            : html`<${Passages} plain=${PLAIN.includes(doc.doc_type)} chunks=${doc.chunks} chunk=${chunk} key=${where.chunk} />`}
      </div>
      <${About} document=${doc} jobs=${jobs} changed=${load} />
    </div>
  </article>`;
}

function Back({ q }) {
  return html`<button class="quiet back" onClick=${() => back({ q })}><${Icon} name="back" /> ${q ? `Back to “${q.length > 30 ? `${q.slice(0, 30)}…` : q}”` : "Back"}</button>`;
}

function Title({ document: doc, drawn, asText, setAsText }) {
  const [editing, setEditing] = useState(false);
  const [asking, setAsking] = useState(false);
  const rename = async (event) => {
    event.preventDefault();
    const title = new FormData(event.currentTarget).get("title").trim();
    setEditing(false);
    if (title && title !== doc.title) await patch(`/documents/${doc.id}`, { title }).catch((error) => toast(error.message, "error"));
  };
  const destroy = async () => {
    try {
      await remove(`/documents/${doc.id}`);
      toast(`Deleted “${doc.title}”`);
      go({});
    } catch (error) {
      setAsking(false);
      toast(error.message, "error");
    }
  };
  return html`<header class="title">
    <${TypeIcon} type=${doc.doc_type} />
    <div class="title-text">
      ${editing
        ? html`<form onSubmit=${rename} class="rename"><input name="title" aria-label="Title" maxlength="500" autofocus defaultValue=${doc.title}
            onKeyDown=${(event) => event.key === "Escape" && setEditing(false)} /><button class="primary">Save</button></form>`
        : html`<h1>${doc.title} <button class="quiet square" aria-label="Change the title" title="Change the title" onClick=${() => setEditing(true)}><${Icon} name="edit" /></button></h1>`}
      <p class="about"><span>${typeName(doc.doc_type)}</span><span>${plural(doc.chunk_count, "passage")}</span>
        <time datetime=${doc.created_at} title=${moment(doc.created_at)}>added ${ago(doc.created_at)}</time>
        ${doc.how_read?.warnings.length > 0 && html`<span class="trouble" title=${doc.how_read.warnings.join("\n")}>not read whole</span>`}</p>
    </div>
    <div class="actions">
      ${drawn && html`<div class="switch" role="group" aria-label="Show">
        <button aria-pressed=${asText ? "false" : "true"} onClick=${() => setAsText(false)}>Page</button>
        <button aria-pressed=${asText ? "true" : "false"} onClick=${() => setAsText(true)}>Text</button></div>`}
      ${doc.filename && html`<button onClick=${() => download(doc).catch((error) => toast(error.message, "error"))}><${Icon} name="down" /> Original</button>`}
      <button class="danger-quiet" onClick=${() => setAsking(true)}><${Icon} name="trash" /> Delete</button>
    </div>
    ${asking && html`<${Confirm} title="Delete this document?" action="Delete for good" onYes=${destroy} onNo=${() => setAsking(false)}>
      <p><b>${doc.title}</b> goes with its ${plural(doc.chunk_count, "passage")}, its tags and its original. This cannot be undone.</p>
    </${Confirm}>`}
  </header>`;
}

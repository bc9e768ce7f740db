// Notes: write one, and see those that there are.
import { link } from "../address.js";
import { html, useEffect, useRef, useState } from "../lib.js";
import { Empty, Loading, Trouble } from "../parts/states.js";
import { TagList } from "../parts/tags.js";
import { toast } from "../parts/toast.js";
import { useSignal } from "../signal.js";
import { pasted, takeNote } from "../taking.js";
import { ago, moment } from "../words.js";
import { useDocuments } from "./recent.js";

export function NotesView() {
  const { page, error, more } = useDocuments([["doc_type", "note"]]);
  useEffect(() => {
    document.title = "Notes · kb";
  }, []);
  return html`<div class="notes">
    <h1>Notes</h1>
    <${Composer} />
    ${error && html`<${Trouble} error=${error} />`}
    ${!page && !error && html`<${Loading} />`}
    ${page?.total === 0 && html`<${Empty} icon="note" title="No notes yet"><p>What you write here can be searched at once. Agents can leave notes here, too.</p></${Empty}>`}
    ${page?.total > 0 && html`<ul class="cards">${page.documents.map((note) => html`<${Card} key=${note.id} note=${note} />`)}</ul>`}
    ${page && page.documents.length < page.total && html`<button class="wide-quiet" onClick=${more}>Show more</button>`}
  </div>`;
}

function Card({ note }) {
  return html`<li><a class="card" href=${link({ view: "document", id: note.id })}>
    <h2>${note.title}</h2>
    <${TagList} tags=${note.tags} />
    <p class="about"><time datetime=${note.created_at} title=${moment(note.created_at)}>created ${ago(note.created_at)}</time>
      ${note.updated_at && html`<time datetime=${note.updated_at} title=${moment(note.updated_at)}>updated ${ago(note.updated_at)}</time>`}</p>
  </a></li>`;
}

function Composer() {
  const given = useSignal(pasted);
  const [text, setText] = useState(given);
  const [tags, setTags] = useState("");
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState("");
  const field = useRef(null);
  useEffect(() => {
    if (!given) return;
    setText(given);
    pasted.set("");
    field.current.focus();
  }, [given]);
  const save = async (event) => {
    event?.preventDefault();
    if (!text.trim() || busy) return;
    setBusy(true);
    try {
      await takeNote(text, "", tags.split(",").map((tag) => tag.trim()).filter(Boolean));
      setText("");
      setTags("");
      setTrouble("");
      toast("Note added");
    } catch (error) {
      setTrouble(error.message);
    }
    setBusy(false);
  };
  return html`<form class="composer" aria-label="New note" onSubmit=${save}>
    <textarea ref=${field} aria-label="Text of the new note" placeholder="Write something to remember …" rows=${text.includes("\n") || text.length > 120 ? 8 : 3} maxlength="1000000" value=${text}
      onInput=${(event) => setText(event.currentTarget.value)}
      onKeyDown=${(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && save()}></textarea>
    <div class="composer-end">
      <input aria-label="Tags of the new note, with commas between them" placeholder="Tags, with commas" value=${tags} onInput=${(event) => setTags(event.currentTarget.value)} />
      <button class="primary" disabled=${busy || !text.trim()}>Add note</button>
    </div>
    <p class="trouble" role="alert">${trouble}</p>
  </form>`;
}

// A note's text, and the place to change it.
import { patch } from "../api.js";
import { html, useState } from "../lib.js";
import { toast } from "../parts/toast.js";
import { moment } from "../words.js";

export function NoteText({ document: doc, changed }) {
  const [draft, setDraft] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const [busy, setBusy] = useState(false);
  const save = async (known = draft.seen) => {
    setBusy(true);
    try {
      await patch(`/notes/${doc.id}`, { text: draft.text, ...(known ? { if_updated_at: known } : {}) });
      setDraft(null);
      setTrouble(null);
      toast("Saved");
      changed();
    } catch (error) {
      setTrouble(error);
    }
    setBusy(false);
  };
  if (!draft) {
    return html`<div class="note-text">
      <div class="text whole">${doc.text}</div>
      <p class="note-end"><button onClick=${() => setDraft({ text: doc.text, seen: doc.updated_at ?? doc.created_at })}>Edit</button>
        <span>Created ${moment(doc.created_at)}${doc.updated_at ? ` · updated ${moment(doc.updated_at)}` : ""}</span></p>
    </div>`;
  }
  return html`<form class="note-text" onSubmit=${(event) => (event.preventDefault(), save())}>
    <textarea aria-label="Text of the note" autofocus required maxlength="1000000" rows=${Math.min(Math.max(draft.text.split("\n").length + 2, 8), 30)} value=${draft.text}
      onInput=${(event) => setDraft({ ...draft, text: event.currentTarget.value })}
      onKeyDown=${(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
        if (event.key === "Escape" && draft.text === doc.text) setDraft(null);
      }}></textarea>
    ${trouble && html`<p class="trouble" role="alert">${trouble.message}
      ${trouble.code === "conflict" && html` <button type="button" onClick=${() => save(null)}>Save mine anyway</button>`}</p>`}
    <p class="note-end"><button class="primary" disabled=${busy || !draft.text.trim()}>${busy ? "Saving …" : "Save"}</button>
      <button type="button" onClick=${() => (setDraft(null), setTrouble(null))}>Cancel</button><span>Ctrl + Enter saves</span></p>
  </form>`;
}

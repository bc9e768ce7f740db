// The text of a document, passage by passage, with the cited one marked and in sight.
import { html, useEffect, useRef, useState } from "../lib.js";
import { place } from "../words.js";

const AROUND = 30; // passages shown before and after the cited one
const MORE = 100;

/** Headings are set apart; everything else is shown as it is. */
export function Lines({ text, plain }) {
  if (plain) return text;
  return text.split(/^(#{1,6} .*\n{0,2})/m).map((part) => (/^#{1,6} /.test(part) ? html`<b class="heading">${part.replace(/^#+ /, "").trimEnd()}</b>` : part));
}

export function Passages({ chunks, chunk, plain }) {
  const at = Math.max(chunks.findIndex((each) => each.id === chunk?.id), 0);
  const [from, setFrom] = useState(Math.max(at - AROUND, 0));
  const [to, setTo] = useState(at + AROUND);
  const cited = useRef(null);
  useEffect(() => cited.current?.scrollIntoView({ block: "center" }), [chunk?.id]);
  const shown = chunks.slice(from, to + 1);
  let last = from ? place(chunks[from - 1]) : "";
  return html`<div class="text" aria-label="Text">
    ${from > 0 && html`<button class="wide-quiet" onClick=${() => setFrom(Math.max(from - MORE, 0))}>Show what comes before</button>`}
    ${shown.map((each) => {
      const here = place(each);
      const heading = here && here !== last ? html`<span class="place" aria-hidden="true">${here}</span>` : null;
      last = here;
      const marked = each.id === chunk?.id;
      return html`<section key=${each.id} id=${`passage-${each.id}`} ref=${marked ? cited : null} class=${`passage ${marked ? "cited" : ""}`}
        aria-label=${marked ? `The passage you opened, ${here}` : here || null}>${heading}${(marked || each === shown[0]) && each.table_header && html`<span class="table-head">${each.table_header}</span>`}<${Lines} text=${each.text} plain=${plain} /></section>`;
    })}
    ${to < chunks.length - 1 && html`<button class="wide-quiet" onClick=${() => setTo(to + MORE)}>Show what comes after</button>`}
  </div>`;
}

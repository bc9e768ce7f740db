// Filters as chips: what can be chosen, and how many there are of it.
import { html, useState } from "../lib.js";

export const SINCE = [
  ["1", "Today"],
  ["7", "Past week"],
  ["30", "Past month"],
  ["365", "Past year"],
];

/** The first of so many days, of which today is the last. */
export function dayBefore(days) {
  return new Date(Date.now() - (Number(days) - 1) * 86_400_000).toISOString().slice(0, 10);
}

/** What is chosen, as the engine's lists and figures take it. */
export function filterOf({ tags, type, since }) {
  const pairs = tags.map((tag) => ["tag", tag]);
  if (type) pairs.push(["doc_type", type]);
  if (since) pairs.push(["created_after", dayBefore(since)]);
  return pairs;
}

export function ChipRow({ label, chips, most = 8 }) {
  const [open, setOpen] = useState(false);
  if (!chips.length) return null;
  const shown = open ? chips : chips.filter((chip, index) => index < most || chip.on);
  return html`<div class="chips" role="group" aria-label=${label}>
    <span class="chips-label" aria-hidden="true">${label}</span>
    ${shown.map(
      (chip) => html`<button key=${chip.value} type="button" class="chip" aria-pressed=${chip.on ? "true" : "false"} onClick=${chip.toggle}>
        <span>${chip.label}</span>${chip.count !== undefined && html`<small>${chip.count}</small>`}
      </button>`,
    )}
    ${chips.length > shown.length && html`<button type="button" class="chip more" onClick=${() => setOpen(true)}>${chips.length - shown.length} more</button>`}
  </div>`;
}

// Short news that goes away by itself; a screen reader hears it, too.
import { html } from "../lib.js";
import { signal, useSignal } from "../signal.js";

const toasts = signal([]);
let last = 0;

export function toast(text, kind = "news") {
  const id = (last += 1);
  toasts.set([...toasts.get(), { id, text, kind }]);
  setTimeout(() => toasts.set(toasts.get().filter((each) => each.id !== id)), kind === "error" ? 8000 : 3500);
}

export function Toasts() {
  const shown = useSignal(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map((each) => html`<div key=${each.id} class=${`toast ${each.kind}`}>${each.text}</div>`)}
  </div>`;
}

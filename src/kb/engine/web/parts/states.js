// What is shown where there is nothing to show yet, or nothing at all.
import { html } from "../lib.js";
import { Icon } from "./icon.js";
import { Said } from "./issue.js";

export function Empty({ icon, title, children }) {
  return html`<div class="state"><${Icon} name=${icon} /><h2>${title}</h2><div>${children}</div></div>`;
}

export function Trouble({ error, again }) {
  return html`<div class="state bad" role="alert">
    <${Icon} name="warn" /><h2>That did not work</h2>
    <p><${Said} text=${error.message} /></p>
    ${again && html`<button onClick=${again}>Try again</button>`}
  </div>`;
}

export function Loading({ lines = 4, label = "Loading" }) {
  return html`<div class="loading" role="status" aria-label=${label}>
    ${Array.from({ length: lines }, (_, index) => html`<div class="bone" key=${index}></div>`)}
  </div>`;
}

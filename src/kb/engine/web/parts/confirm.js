// A question before something that cannot be undone.
import { html, useEffect, useRef } from "../lib.js";

export function Confirm({ title, children, action, onYes, onNo }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} aria-labelledby="confirm-title" onClose=${onNo}>
    <h2 id="confirm-title">${title}</h2>
    <div>${children}</div>
    <div class="dialog-end">
      <button type="button" autofocus onClick=${() => dialog.current.close()}>Keep it</button>
      <button type="button" class="danger" onClick=${onYes}>${action}</button>
    </div>
  </dialog>`;
}

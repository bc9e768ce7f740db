// The key, asked for once.
import { get } from "../api.js";
import { accepted, keep } from "../key.js";
import { html, useState } from "../lib.js";
import { Icon } from "./icon.js";

export function KeyQuestion() {
  const [value, setValue] = useState("");
  const [forLong, setForLong] = useState(false);
  const [trouble, setTrouble] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setTrouble("");
    try {
      keep(value.trim(), forLong);
      await get("/status");
      accepted();
    } catch (error) {
      setTrouble(error.code === "unauthorized" ? "This is not the key. Look for KB_API_KEY in the settings of the engine." : error.message);
    }
    setBusy(false);
  };
  return html`<main class="gate">
    <form onSubmit=${submit}>
      <div class="brand big"><${Icon} name="logo" /><span>kb</span></div>
      <h1>This engine asks for its key</h1>
      <p>It is the value of <code>KB_API_KEY</code> that the engine was started with.</p>
      <label for="key">Key</label>
      <input id="key" type="password" autocomplete="current-password" required autofocus value=${value}
        aria-describedby="key-trouble" aria-invalid=${trouble ? "true" : null}
        onInput=${(event) => setValue(event.currentTarget.value)} />
      <p id="key-trouble" class="trouble" role="alert">${trouble}</p>
      <label class="check"><input type="checkbox" checked=${forLong} onChange=${(event) => setForLong(event.currentTarget.checked)} />
        Keep it in this browser</label>
      <button class="primary wide" disabled=${busy}>${busy ? "Asking …" : "Open"}</button>
    </form>
  </main>`;
}

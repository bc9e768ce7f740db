// The shell: who we are, where we are, and the views in between.
import { address, link, onLink } from "./address.js";
import { connect, connection } from "./events.js";
import { keyNeeded } from "./key.js";
import { html, render, useEffect, useRef } from "./lib.js";
import { Caution } from "./parts/caution.js";
import { Icon } from "./parts/icon.js";
import { KeyQuestion } from "./parts/keyquestion.js";
import { Theme } from "./parts/theme.js";
import { Toasts, toast } from "./parts/toast.js";
import { useSignal } from "./signal.js";
import { DropTarget, pick } from "./taking.js";
import { Tray } from "./parts/tray.js";
import { DocumentView } from "./views/document.js";
import { NotesView } from "./views/notes.js";
import { OverviewView } from "./views/overview.js";
import { SearchView } from "./views/search.js";

// A map, since anybody may write an address: an object would know `constructor` and `__proto__`, too.
const VIEWS = new Map([["search", SearchView], ["document", DocumentView], ["notes", NotesView], ["overview", OverviewView]]);
const NAVIGATION = [
  ["search", "Search", "search"],
  ["notes", "Notes", "note"],
  ["overview", "Overview", "chart"],
];

function Header({ view }) {
  return html`<header class="bar">
    <a class="brand" href="/" aria-label="kb, start page"><${Icon} name="logo" /><span>kb</span></a>
    <nav aria-label="Views">
      ${NAVIGATION.map(
        ([name, label, icon]) => html`<a href=${link({ view: name })} aria-current=${view === name ? "page" : null}>
          <${Icon} name=${icon} /><span>${label}</span></a>`,
      )}
    </nav>
    <div class="bar-end">
      <${Theme} />
      <button class="primary" onClick=${pick}><${Icon} name="plus" /><span>Add files</span></button>
    </div>
  </header>`;
}

function Connection() {
  const state = useSignal(connection);
  const wasLost = useRef(false);
  useEffect(() => {
    if (state === "lost") wasLost.current = true;
    if (state === "open" && wasLost.current) {
      wasLost.current = false;
      toast("Connected again");
    }
  }, [state]);
  return html`<div role="status" class=${`connection ${state === "lost" ? "shown" : ""}`}>
    ${state === "lost" && html`<span class="spinner" aria-hidden="true"></span> The engine does not answer. Trying to reconnect …`}
  </div>`;
}

function App() {
  const where = useSignal(address);
  const locked = useSignal(keyNeeded);
  if (locked) return html`<${KeyQuestion} />`;
  const View = VIEWS.get(where.view) ?? SearchView;
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <${Header} view=${where.view} />
    <${Connection} />
    ${where.view !== "overview" && html`<${Caution} view=${where.view} />`}
    <main id="main" tabindex="-1"><${View} where=${where} key=${where.view === "document" ? where.id : where.view} /></main>
    <${Tray} />
    <${DropTarget} />
    <${Toasts} />`;
}

addEventListener("click", onLink);
addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    const field = document.querySelector("#query");
    if (field) field.focus();
    else document.querySelector("a.brand")?.click();
  }
});
connect();
const app = document.getElementById("app");
app.replaceChildren(); // what stood there while this was loaded
app.removeAttribute("aria-busy");
render(html`<${App} />`, app);

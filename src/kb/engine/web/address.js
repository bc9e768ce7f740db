// The address bar in, what to show out; and back. Everything that can be shared is in it.
import { signal } from "./signal.js";

const read = (search = location.search) => {
  const fields = new URLSearchParams(search);
  return {
    view: fields.get("view") ?? "search",
    q: fields.get("q") ?? "",
    tags: fields.getAll("tag"),
    type: fields.get("type") ?? "",
    since: /^[0-9]{1,5}$/.exec(fields.get("since") ?? "")?.[0] ?? "",
    id: fields.get("id") ?? "",
    chunk: Number(fields.get("chunk")) || null,
    page: Number(fields.get("page")) || null,
  };
};

export const address = signal(read());

export function link(fields) {
  const { view = "search", q, tags = [], type, since, id, chunk, page } = fields;
  const pairs = [];
  if (view !== "search") pairs.push(["view", view]);
  for (const [name, value] of Object.entries({ id, chunk, page, q, type, since })) {
    if (value) pairs.push([name, value]);
  }
  for (const tag of tags) pairs.push(["tag", tag]);
  return pairs.length ? `/?${new URLSearchParams(pairs)}` : "/";
}

// What the address bar is to say soon. Browsers let a page change it only so many times in a minute,
// and take their time: nobody who types has to wait for that.
const SOON = 120; // milliseconds
let soon = null;
let timer = 0;

function write() {
  clearTimeout(timer);
  if (soon !== null) history.replaceState({ inside: true }, "", soon);
  soon = null;
}

const here = () => soon ?? location.pathname + location.search;

function show(target) {
  const at = target.indexOf("?");
  address.set(read(at < 0 ? "" : target.slice(at)));
}

function open(target) {
  write();
  history.pushState({ inside: true }, "", target);
  show(target);
}

/** `replace` where going back should not stop here: each letter of a search is no place of its own. */
export function go(fields, { replace = false } = {}) {
  const target = link(fields);
  if (target === here()) return;
  if (!replace) {
    open(target);
    return;
  }
  soon = target;
  clearTimeout(timer);
  timer = setTimeout(write, SOON);
  show(target);
}

export function back(otherwise) {
  write();
  if (history.state?.inside) history.back();
  else go(otherwise);
}

/** A plain click on a link of ours stays on the page; any other is the browser's. */
export function onLink(event) {
  const anchor = event.target.closest?.("a[href^='/?'], a[href='/']");
  if (!anchor || event.defaultPrevented || event.button) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const target = anchor.getAttribute("href");
  if (target === here()) return;
  open(target);
  scrollTo(0, 0);
}

addEventListener("popstate", () => {
  soon = null;
  clearTimeout(timer);
  address.set(read());
});
addEventListener("pagehide", write);

// The address bar in, what to show out; and back. Everything that can be shared is in it.
import { signal } from "./signal.js";

const read = () => {
  const fields = new URLSearchParams(location.search);
  return {
    view: fields.get("view") ?? "search",
    q: fields.get("q") ?? "",
    tags: fields.getAll("tag"),
    type: fields.get("type") ?? "",
    since: fields.get("since") ?? "",
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

/** `replace` where going back should not stop here: each letter of a search is no place of its own. */
export function go(fields, { replace = false } = {}) {
  const target = link(fields);
  if (target === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"]({ inside: true }, "", target);
  address.set(read());
}

export function back(otherwise) {
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
  if (target === location.pathname + location.search) return;
  history.pushState({ inside: true }, "", target);
  address.set(read());
  scrollTo(0, 0);
}

addEventListener("popstate", () => address.set(read()));

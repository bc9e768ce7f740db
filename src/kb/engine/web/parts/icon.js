// A name in, a small drawing out.
import { html } from "../lib.js";
import { entry } from "../words.js";

const PATHS = {
  logo: "M6 4v16M6 14l9-10M9.5 10.5L16 20",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.2 16.2L21 21",
  note: "M5 4h14v11l-5 5H5zM14 20v-5h5M8.5 9h7M8.5 12.5h4",
  chart: "M4 20h16M7 16v-5M12 16V6M17 16v-8",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  down: "M12 4v12M6.5 11L12 16.5 17.5 11M5 20h14",
  trash: "M4.5 7h15M9 7V4.5h6V7M6.5 7l1 13h9l1-13M10 11v5M14 11v5",
  edit: "M4 20l1-4L16 5l3 3L8 19z",
  left: "M14.5 5.5L8 12l6.5 6.5",
  right: "M9.5 5.5L16 12l-6.5 6.5",
  back: "M20 12H5M11 6l-6 6 6 6",
  check: "M5 12.5l4.5 4.5L19 7.5",
  warn: "M12 4l9 16H3zM12 10v4M12 17v.5",
  retry: "M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
  moon: "M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z",
  auto: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 4v16M12 8h4M12 12h7M12 16h4",
  tag: "M4 4h8l8 8-8 8-8-8zM8 8v.5",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 7.5V12l3 2",
  text: "M5 6h14M5 10h14M5 14h14M5 18h8",
  image: "M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15.5 8.5v.5",
  table: "M4 5h16v14H4zM4 10h16M4 14.5h16M10 5v14",
  code: "M9 7l-5 5 5 5M15 7l5 5-5 5",
  mail: "M4 6h16v12H4zM4 7l8 6 8-6",
  book: "M5 4h9a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM17 7h2v13h-2",
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}

const KINDS = {
  note: "note", image: "image", code: "code", email: "mail", epub: "book",
  csv: "table", xlsx: "table", ods: "table", text: "text", markdown: "text", html: "code", json: "code", xml: "code",
};

export function TypeIcon({ type }) {
  return html`<span class=${`type type-${entry(KINDS, type) ?? "file"}`}><${Icon} name=${entry(KINDS, type) ?? "file"} /></span>`;
}

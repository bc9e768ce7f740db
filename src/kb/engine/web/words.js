// Values in, words for people out.
const units = ["B", "KB", "MB", "GB", "TB"];

export function bytes(count) {
  let power = 0;
  while (count >= 1024 && power < units.length - 1) {
    count /= 1024;
    power += 1;
  }
  return `${power && count < 10 ? count.toFixed(1) : Math.round(count)} ${units[power]}`;
}

export const number = (count) => count.toLocaleString("en");

export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const STEPS = [["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60]];

export function ago(time) {
  const seconds = (new Date(time) - Date.now()) / 1000;
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
  }
  return "just now";
}

export const moment = (time) =>
  new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

export function seconds(count) {
  if (count < 1) return "under a second";
  if (count < 90) return `${Math.round(count)} s`;
  return count < 5400 ? `${Math.round(count / 60)} min` : `${Math.round(count / 3600)} h`;
}

// As `kb.kinds` has them; a test holds the two together.
const TYPES = {
  note: "Note", pdf: "PDF", docx: "Word", odt: "OpenDocument text", rtf: "Rich text", xlsx: "Excel", ods: "OpenDocument sheet",
  csv: "Table", pptx: "PowerPoint", odp: "OpenDocument slides", iwork: "Apple iWork", vsdx: "Visio", html: "Web page", email: "Mail", epub: "Book", image: "Image",
  markdown: "Markdown", text: "Text", code: "Code", json: "JSON", xml: "XML", archive: "Archive",
};

/** What a table holds under a word that somebody wrote: of its own, not what every object has. */
export const entry = (table, word) => (Object.hasOwn(table, word) ? table[word] : undefined);

/** An address that somebody wrote may hold another word for a type. */
export const typeName = (type) => entry(TYPES, type) ?? type.charAt(0).toUpperCase() + type.slice(1);

/** Where in its document a passage stands. */
export function place({ page, location }) {
  if (location) return page && !/page|slide|sheet|!/.test(location) ? `page ${page}, ${location}` : location;
  return page ? `page ${page}` : "";
}

/** Highlights count Unicode code points; JavaScript counts otherwise. */
export function pieces(text, highlights) {
  const points = Array.from(text);
  const found = [];
  let at = 0;
  for (const [start, end] of highlights) {
    if (start < at) continue;
    if (start > at) found.push({ text: points.slice(at, start).join("") });
    found.push({ text: points.slice(start, end).join(""), marked: true });
    at = end;
  }
  if (at < points.length) found.push({ text: points.slice(at).join("") });
  return found;
}

/** Without marks of headings and empty lines, each as long as before: a browser shows one space for many. */
export const calm = (text) => text.replace(/^#{1,6} /gm, (mark) => " ".repeat(mark.length)).replace(/\n\s*\n/g, (gap) => `\n${" ".repeat(gap.length - 1)}`);

/** A part of a text around its first highlight, with the highlights moved along. */
export function snippet(text, highlights, longest = 320) {
  const points = Array.from(text.trimEnd());
  const first = highlights[0]?.[0] ?? 0;
  const line = points.lastIndexOf("\n", first);
  const above = line > 0 ? points.lastIndexOf("\n", line - 1) : -1;
  // Of short lines no more than one before that: only a few fit.
  let start = Math.max(above + 1, Math.min(first - 90, points.length - longest));
  if (points.length <= longest && points.slice(0, start).filter((each) => each === "\n").length < 2) {
    return { text: points.join(""), highlights };
  }
  while (start > 0 && !/\s/.test(points[start - 1])) start -= 1;
  let end = Math.min(points.length, start + longest);
  const space = points.slice(0, end + 1).findLastIndex((each) => /\s/.test(each));
  // At the end of a word, if words are of a usual length.
  if (end < points.length && space > end - 30) end = space;
  const before = start ? "… " : "";
  const cut = before + points.slice(start, end).join("") + (end < points.length ? " …" : "");
  const moved = highlights
    .filter(([from, to]) => from >= start && to <= end)
    .map(([from, to]) => [from - start + before.length, to - start + before.length]);
  return { text: cut, highlights: moved };
}

const day = (time, more) => new Date(time * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short", ...more, timeZone: "UTC" });

/** Days for an axis, with their year where there are several. */
export function dates(ticks) {
  const years = new Set(ticks.map((tick) => new Date(tick * 1000).getUTCFullYear()));
  return ticks.map((tick) => day(tick, years.size > 1 ? { year: "numeric" } : {}));
}

// Search: the first thing, and what is there while nothing is looked for yet.
import { address, go } from "../address.js";
import { get, post } from "../api.js";
import { listen } from "../events.js";
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib.js";
import { ChipRow, dayBefore, filterOf, SINCE } from "../parts/chips.js";
import { total } from "../parts/explain.js";
import { Icon } from "../parts/icon.js";
import { Empty, Loading, Trouble } from "../parts/states.js";
import { plural, typeName } from "../words.js";
import { pick } from "../taking.js";
import { grouped, Group } from "./hits.js";
import { Recent } from "./recent.js";

const DEBOUNCE = 30; // milliseconds, while an answer is being waited for; else a letter is asked for at once
const TOP = 50;
const FIRST = 5; // documents that are drawn with the answer, as many as a screen holds; the others follow
const WEAK = 0.25; // of the best document's relevance: what has less is folded away
const NEAREST = 3; // documents that are shown where nothing fits well

/** The newest question's answer; an older one that comes late is thrown away. */
function useAnswer(where, explain) {
  const [state, setState] = useState({ answer: null, error: null, busy: false });
  const [again, setAgain] = useState(0);
  const asking = useRef(0);
  const q = where.q.trim();
  const asked = JSON.stringify([q, where.tags, where.type, where.since, explain, again]);
  // Not after the next frame, as other effects: the engine can work while that is drawn.
  useLayoutEffect(() => {
    if (!q) {
      setState({ answer: null, error: null, busy: false });
      return undefined;
    }
    const control = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    const ask = async () => {
      asking.current += 1;
      const body = { query: q.slice(0, 2000), top: TOP, per_document: 5, tags: where.tags, explain };
      if (where.type) body.doc_type = where.type;
      if (where.since) body.created_after = dayBefore(where.since);
      try {
        const answer = await post("/search", body, { signal: control.signal });
        setState({ answer, error: null, busy: false });
      } catch (error) {
        if (error.name !== "AbortError") setState({ answer: null, error, busy: false });
      } finally {
        asking.current -= 1;
      }
    };
    const timer = asking.current ? setTimeout(ask, DEBOUNCE) : 0;
    if (!timer) ask();
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [asked]);
  return { ...state, repeat: useCallback(() => setAgain((count) => count + 1), []) };
}

/** What there is to choose from while nothing is looked for: counted under the filters that are chosen. */
function useKnown(where) {
  const [known, setKnown] = useState(null);
  const filter = filterOf(where);
  const idle = !where.q.trim();
  useEffect(() => {
    if (!idle) return undefined;
    let timer = 0;
    let current = true;
    const load = () => get(`/stats?${new URLSearchParams(filter)}`).then((stats) => current && setKnown(stats), () => {});
    load();
    const stop = listen((kind) => {
      if (!/^document|reconnected/.test(kind)) return;
      clearTimeout(timer);
      timer = setTimeout(load, 400);
    });
    return () => ((current = false), clearTimeout(timer), stop());
  }, [JSON.stringify(filter), idle]);
  return known;
}

function tally(groups, values) {
  const counts = new Map();
  for (const group of groups) for (const value of values(group)) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function chipsOf(where, groups, known) {
  const change = (fields) => go({ ...where, ...fields });
  const types = groups ? tally(groups, (group) => [group.document.doc_type]) : new Map(known?.types.map((each) => [each.doc_type, each.documents]));
  const tags = groups ? tally(groups, (group) => group.document.tags) : new Map(known?.tags.map((each) => [each.tag, each.count]));
  const days = groups ? groups.map((group) => ({ day: group.document.created_at.slice(0, 10), documents: 1 })) : known?.days ?? [];
  const since = (value) => days.reduce((sum, each) => sum + (each.day >= dayBefore(value) ? each.documents : 0), 0);
  const sorted = (counts, chosen) => {
    for (const value of chosen) if (!counts.has(value)) counts.set(value, 0);
    return [...counts].sort((one, other) => other[1] - one[1] || one[0].localeCompare(other[0]));
  };
  return {
    types: sorted(types, where.type ? [where.type] : []).map(([value, count]) => ({
      value, count, label: typeName(value), on: where.type === value,
      toggle: () => change({ type: where.type === value ? "" : value }),
    })),
    tags: sorted(tags, where.tags).map(([value, count]) => ({
      value, count, label: value, on: where.tags.includes(value),
      toggle: () => change({ tags: where.tags.includes(value) ? where.tags.filter((tag) => tag !== value) : [...where.tags, value] }),
    })),
    since: (days.length || where.since ? SINCE : []).map(([value, label]) => ({
      value, label, on: where.since === value, count: since(value),
      toggle: () => change({ since: where.since === value ? "" : value }),
    })).filter((chip) => chip.count || chip.on),
  };
}

/** Arrows walk from the field through the hits and back; Escape returns to the field. */
function useKeys(root, field) {
  useEffect(() => {
    const onKey = (event) => {
      const here = document.activeElement;
      if (!root.current?.contains(here)) return;
      const stops = [field.current, ...root.current.querySelectorAll("a.hit")];
      const at = stops.indexOf(here);
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (at < 0) return;
        const next = stops[at + (event.key === "ArrowDown" ? 1 : -1)];
        if (!next) return;
        event.preventDefault();
        next.focus();
        next.scrollIntoView({ block: "nearest" });
      } else if (event.key === "Escape") {
        if (here === field.current) go({}, { replace: true });
        else field.current.focus();
      } else if (event.key === "Enter" && here === field.current && stops[1]) {
        event.preventDefault();
        stops[1].click();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

export function SearchView({ where }) {
  const root = useRef(null);
  const field = useRef(null);
  const [explain, setExplain] = useState(false);
  const { answer, error, busy, repeat } = useAnswer(where, explain);
  const known = useKnown(where);
  const groups = useMemo(() => answer && grouped(answer.results), [answer]);
  const chips = chipsOf(where, where.q.trim() ? groups : null, known);
  useKeys(root, field);
  useEffect(() => field.current.focus({ preventScroll: true }), []);
  useEffect(() => {
    document.title = where.q ? `${where.q} · kb` : "kb";
  }, [where.q]);
  useEffect(() => listen((kind) => /^document|reconnected/.test(kind) && address.get().q && repeat()), []);
  const filtered = where.tags.length || where.type || where.since;
  return html`<div class="search" ref=${root}>
    <h1 class="unseen">Search</h1>
    <form class="field" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Icon} name="search" />
      <input id="query" ref=${field} type="search" autocomplete="off" spellcheck="false" maxlength="2000" value=${where.q}
        placeholder="Search documents and notes" aria-label="Search documents and notes" aria-describedby="found"
        onInput=${(event) => go({ ...where, q: event.currentTarget.value }, { replace: Boolean(where.q) })} />
      ${busy ? html`<span class="spinner" aria-hidden="true"></span>` : html`<kbd aria-hidden="true">/</kbd>`}
    </form>
    <section class="filters" aria-label="Filters">
      ${groups || known || error
        ? html`<${ChipRow} label="Type" chips=${chips.types} />
          <${ChipRow} label="Tag" chips=${chips.tags} />
          <${ChipRow} label="Added" chips=${chips.since} />`
        : ["Type", "Tag", "Added"].map((label) => html`<div key=${label} class="chips-bone"><div class="bone"></div></div>`)}
    </section>
    <div class=${`found ${where.q.trim() || filtered ? "" : "unseen"}`}>
      <p id="found" role="status">${found(answer, groups, where)}</p>
      <span>
        ${filtered && html`<button class="quiet" onClick=${() => go({ q: where.q })}>Clear filters</button>`}
        ${groups?.length > 0 && html`<button class="quiet" aria-pressed=${explain ? "true" : "false"} onClick=${() => setExplain(!explain)}>Explain the order</button>`}
      </span>
    </div>
    ${error && html`<${Trouble} error=${error} again=${repeat} />`}
    ${where.q.trim() ? html`<${Results} answer=${answer} groups=${groups} busy=${busy} explain=${explain} error=${error} where=${where} />` : html`<${Recent} where=${where} />`}
  </div>`;
}

const INCOMPLETE = {
  search_timeout: "not all was looked at, it took too long",
  model_loading: "by words only, the model is loading",
  model_failed: "by words only, the model did not load",
};

function found(answer, groups, where) {
  if (!where.q.trim() || !answer) return "";
  const mode = answer.degraded ? ` · ${INCOMPLETE[answer.degraded] ?? answer.degraded}` : "";
  return `${plural(answer.results.length, "passage")} in ${plural(groups.length, "document")} · ${answer.took_ms.toFixed(0)} ms${mode}`;
}

/** What to know before the hits are read. */
function caution({ unmet, nothing_fits_well: weak }) {
  const without = unmet.length ? `Nothing found with ${unmet.join(", ")}; without ${unmet.length === 1 ? "it" : "them"}:` : "";
  return [without, weak ? "Nothing fits well; the nearest:" : ""].filter(Boolean).join(" ");
}

function Results({ answer, groups, busy, explain, error, where }) {
  const [all, setAll] = useState(false);
  useEffect(() => setAll(false), [where.q]);
  const rest = useFollowing(groups);
  // The same drawing while nothing in it has changed: it is looked at on every letter.
  const shown = groups && (all ? groups : strong(groups, answer));
  const list = useMemo(() => groups?.length && drawn(shown, rest, explain, where.q), [groups, all, rest, explain]);
  if (error) return null;
  if (!groups) return busy ? html`<${Loading} label="Searching" />` : null;
  if (!groups.length) {
    return html`<${Empty} icon="search" title="Nothing found">
      <p>Try other words or fewer filters. What is being read is found as soon as it is done.</p>
      <button onClick=${pick}>Add files</button>
    </${Empty}>`;
  }
  const weaker = groups.length - shown.length;
  const beforehand = caution(answer);
  return html`${beforehand && html`<p class="caution" role="status">${beforehand}</p>`}
  <div class=${busy ? "stale" : ""}>${list}</div>
  ${!all && weaker > 0 && html`<button class="wide-quiet" onClick=${() => setAll(true)}>Show ${plural(weaker, "weaker document")}</button>`}`;
}

const strong = (groups, answer) =>
  answer.nothing_fits_well ? groups.slice(0, NEAREST) : groups.filter((group) => group.hits[0].relevance >= WEAK * groups[0].hits[0].relevance);

/** False with each new answer, true as soon as that is on the screen and nobody types on. */
function useFollowing(groups) {
  const [ready, setReady] = useState(null);
  useEffect(() => {
    if (!groups || groups.length <= FIRST) return undefined;
    const timer = setTimeout(() => setReady(groups), 80);
    return () => clearTimeout(timer);
  }, [groups]);
  return ready === groups;
}

function drawn(groups, rest, explain, q) {
  const most = explain ? Math.max(...groups.flatMap((group) => group.hits.map((hit) => (hit.explain ? total(hit.explain) : 0))), 0.01) : 0;
  return html`<ol class="groups">
    ${groups.slice(0, rest ? undefined : FIRST).map((group) => html`<${Group} key=${group.document.id} group=${group} most=${most} q=${q} />`)}
  </ol>`;
}

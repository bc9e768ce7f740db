// A page of a PDF or an image, drawn by the engine, with the passage marked on it.
import { go } from "../address.js";
import { ask, get, query } from "../api.js";
import { html, useEffect, useRef, useState } from "../lib.js";
import { Icon } from "../parts/icon.js";
import { Trouble } from "../parts/states.js";

function usePage(id, number, chunk) {
  const [state, setState] = useState({ view: null, source: null, error: null });
  useEffect(() => {
    const control = new AbortController();
    let source = null;
    setState((before) => ({ ...before, error: null }));
    const load = async () => {
      const view = await get(`/documents/${id}/pages/${number}${query({ chunk })}`, { signal: control.signal });
      const answer = await ask("GET", `/documents/${id}/pages/${number}.png`, { signal: control.signal });
      source = URL.createObjectURL(await answer.blob());
      setState({ view, source, error: null });
    };
    load().catch((error) => error.name !== "AbortError" && setState({ view: null, source: null, error }));
    return () => {
      control.abort();
      if (source) setTimeout(() => URL.revokeObjectURL(source), 1000);
    };
  }, [id, number, chunk]);
  return state;
}

export function Picture({ document: doc, chunk, where, showText }) {
  const cited = chunk?.page ?? 1;
  const number = where.page ?? cited;
  const onCited = chunk && number === cited;
  const { view, source, error } = usePage(doc.id, number, onCited ? chunk.id : null);
  const first = useRef(null);
  useEffect(() => {
    if (view?.boxes.length) first.current?.scrollIntoView({ block: "center", behavior: "instant" });
  }, [source]);
  if (error) {
    return html`<${Trouble} error=${error} /><p class="center"><button onClick=${showText}>Show the text instead</button></p>`;
  }
  const turn = (page) => go({ ...where, page }, { replace: true });
  const passages = doc.chunks.filter((each) => (each.page ?? 1) === number);
  return html`<div class="page-view">
    <div class="pager" role="group" aria-label="Pages">
      <button class="quiet square" aria-label="Previous page" disabled=${number <= 1} onClick=${() => turn(number - 1)}><${Icon} name="left" /></button>
      <span role="status">Page ${number}${view ? ` of ${view.pages}` : ""}</span>
      <button class="quiet square" aria-label="Next page" disabled=${!view || number >= view.pages} onClick=${() => turn(number + 1)}><${Icon} name="right" /></button>
      ${chunk && !onCited && html`<button class="quiet" onClick=${() => turn(cited)}>Back to the passage on page ${cited}</button>`}
    </div>
    <div class=${`sheet ${view ? "" : "bone"}`} style=${{ aspectRatio: view ? `${view.width} / ${view.height}` : "1 / 1.414", maxWidth: view ? `${view.width}px` : "none" }}>
      ${source && html`<img src=${source} alt=${`Page ${number} of ${doc.title}`} />`}
      ${onCited && view?.boxes.map((box, index) => html`<span key=${index} ref=${index ? null : first} class="box" data-testid="highlight" style=${{
        left: `${box.left * 100}%`, top: `${box.top * 100}%`,
        width: `${(box.right - box.left) * 100}%`, height: `${(box.bottom - box.top) * 100}%`,
      }}></span>`)}
    </div>
    ${chunk && onCited && html`<details class="cited-text" open=${view && !view.boxes.length}>
      <summary>The passage as text</summary><div class="text"><div class="passage cited">${chunk.text}</div></div></details>`}
    ${!chunk && passages.length > 0 && html`<details class="cited-text"><summary>The text of this page</summary>
      <div class="text">${passages.map((each) => html`<div class="passage" key=${each.id}>${each.text}</div>`)}</div></details>`}
  </div>`;
}

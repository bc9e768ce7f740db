// What is being taken in, live: a tray in the corner.
import { link } from "../address.js";
import { html, useState } from "../lib.js";
import { useSignal } from "../signal.js";
import { cancel, clearEnded, discard, items, retry } from "../taking.js";
import { bytes, entry, plural, seconds } from "../words.js";
import { Icon } from "./icon.js";

const SHOWN = 100;
const ADVICE = {
  unsupported_format: "Save it as PDF or text, and add that.",
  password_needed: "Take the password off, and add it again.",
  damaged_file: "Open it in its own program and save it anew.",
  file_changed: "Its stored bytes have changed: add it again.",
  no_text_found: "There is no text in it that could be searched.",
  file_too_large: "Split it, or raise KB_MAX_FILE_MB.",
  content_too_large: "Split it into smaller files.",
  text_too_long: "Split it into smaller files.",
  ocr_failed: "Install the reader of pictures, then try again.",
  unreachable: "Start the engine, then try again.",
};

export function Tray() {
  const all = useSignal(items);
  const [open, setOpen] = useState(true);
  if (!all.length) return null;
  const active = all.filter((item) => ["waiting", "sending", "reading"].includes(item.phase)).length;
  const failed = all.filter((item) => item.phase === "failed").length;
  const title = active ? `Adding ${plural(active, "item")}` : failed ? `${plural(failed, "item")} failed` : "All added";
  return html`<aside class="tray" aria-label="Adding">
    <div class="tray-head">
      <p role="status">${active ? html`<span class="spinner" aria-hidden="true"></span>` : html`<${Icon} name=${failed ? "warn" : "check"} />`} ${title}</p>
      ${!active && html`<button class="quiet" onClick=${clearEnded}>Clear</button>`}
      <button class="quiet" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? "Hide" : "Show"}</button>
    </div>
    ${open && html`<ul tabindex="0" aria-label="Items">${all.slice(0, SHOWN).map((item) => html`<${Item} key=${item.id} item=${item} />`)}</ul>`}
  </aside>`;
}

function step({ phase, share, job, size }) {
  if (phase === "waiting") return "waiting";
  if (phase === "sending") return `uploading ${Math.round(share * 100)}% of ${bytes(size)}`;
  if (phase === "cancelled") return "cancelled";
  if (phase === "done") return done(job);
  if (!job || job.status === "queued") return job?.message || "queued";
  const left = job.remaining_seconds ? ` · ${seconds(job.remaining_seconds)} left` : "";
  return `${job.message || job.step}${left}`;
}

function done(job) {
  if (job.outcome === "unchanged" || job.outcome === "duplicate") return "was here already";
  if (job.changed?.join() === "tags") return "was here already · tags added";
  return `${job.outcome} · ${plural(job.chunk_count ?? 0, "passage")}`;
}

function Item({ item }) {
  const { phase, share, job, error } = item;
  const active = ["waiting", "sending", "reading"].includes(phase);
  return html`<li class=${`item ${phase}`}>
    <div class="item-line">
      ${job?.document_id ? html`<a href=${link({ view: "document", id: job.document_id })}>${item.name}</a>` : html`<span class="item-name">${item.name}</span>`}
      ${active && html`<button class="quiet square" aria-label=${`Cancel ${item.name}`} title="Cancel" onClick=${() => cancel(item)}><${Icon} name="close" /></button>`}
      ${phase === "failed" && html`<button class="quiet square" aria-label=${`Try ${item.name} again`} title="Try again" onClick=${() => retry(item)}><${Icon} name="retry" /></button>
        <button class="quiet square" aria-label=${`Delete ${item.name}`} title="Delete what was sent" onClick=${() => discard(item)}><${Icon} name="close" /></button>`}
    </div>
    ${active && html`<progress max="1" value=${phase === "waiting" ? 0 : share} aria-label=${`Progress of ${item.name}`}></progress>`}
    ${phase === "failed" ? html`<p class="trouble">${error.message} ${entry(ADVICE, error.code) && html`<b>${entry(ADVICE, error.code)}</b>`}</p>` : html`<p class="step">${step(item)}</p>`}
  </li>`;
}

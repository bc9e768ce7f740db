// Overview: how much there is, how it grew, how the engine is, and how an agent gets in.
import { link } from "../address.js";
import { get } from "../api.js";
import { listen } from "../events.js";
import { html, useEffect, useState } from "../lib.js";
import { Bars, Growth } from "../parts/plots.js";
import { Icon } from "../parts/icon.js";
import { Loading, Trouble } from "../parts/states.js";
import { toast } from "../parts/toast.js";
import { bytes, number, seconds, typeName } from "../words.js";

const LINES = ["kb connect", "kb connect claude-code --write", "kb connect cursor --write", "kb connect --check"];

function useFigures() {
  const [state, setState] = useState({ figures: null, error: null });
  const load = () =>
    Promise.all([get("/status"), get("/stats"), get("/tags"), get("/jobs?status=failed&limit=5")]).then(
      ([status, stats, tags, failed]) => setState({ figures: { status, stats, tags: tags.tags, failed: failed.jobs }, error: null }),
      (error) => setState((before) => ({ ...before, error })),
    );
  useEffect(() => {
    document.title = "Overview · kb";
    let timer = 0;
    load();
    const stop = listen(() => {
      if (!timer) timer = setTimeout(() => ((timer = 0), load()), 1000);
    });
    return () => (clearTimeout(timer), stop());
  }, []);
  return { ...state, load };
}

export function OverviewView() {
  const { figures, error, load } = useFigures();
  if (error && !figures) return html`<${Trouble} error=${error} again=${load} />`;
  if (!figures) return html`<${Loading} lines=${8} />`;
  const { status, stats, tags, failed } = figures;
  return html`<div class="overview">
    <h1>Overview</h1>
    <${Health} health=${status.health} />
    <ul class="figures" aria-label="Counts">
      <${Figure} value=${number(status.counts.documents)} label="documents" />
      <${Figure} value=${number(status.counts.chunks)} label="passages" />
      <${Figure} value=${number(status.counts.notes)} label="notes" />
      <${Figure} value=${bytes(status.store.size_bytes + status.store.files_bytes)} label="on disk" />
      <${Figure} value=${number(status.queue.queued + status.queue.running)} label="in the queue" />
    </ul>
    <div class="panels">
      <section class="panel wide-panel"><h2>Growth</h2><${Growth} days=${stats.days} /></section>
      <section class="panel"><h2>Types</h2><${Bars} rows=${stats.types.slice(0, 10).map((each) => ({ label: typeName(each.doc_type), value: each.documents, href: link({ type: each.doc_type }) }))} empty="Nothing yet" /></section>
      <section class="panel"><h2>Tags</h2><${Bars} rows=${[...tags].sort((one, other) => other.count - one.count).slice(0, 10).map((each) => ({ label: each.tag, value: each.count, href: link({ tags: [each.tag] }) }))} empty="No tags yet" /></section>
      <section class="panel"><h2>Engine</h2><dl>
        <${Line} name="Model" value=${`${status.model.name}, ${status.model.state}`} />
        <${Line} name="Queue" value=${`${status.queue.running} running, ${status.queue.queued} waiting`} />
        <${Line} name="Index" value=${bytes(status.store.size_bytes)} />
        <${Line} name="Originals" value=${bytes(status.store.files_bytes)} />
        <${Line} name="Free on disk" value=${bytes(status.store.free_bytes)} />
        <${Line} name="Store" value=${status.store.path} />
        <${Line} name="Version" value=${`${status.version}, up ${seconds(status.uptime_seconds)}`} />
      </dl></section>
      <section class="panel"><h2>Connect an agent</h2>
        <p>In a terminal on this machine:</p>
        <ul class="lines">${LINES.map((line) => html`<${Copyable} key=${line} line=${line} />`)}</ul>
      </section>
      ${failed.length > 0 && html`<section class="panel wide-panel"><h2>Failed lately</h2><ul class="failed">
        ${failed.map((job) => html`<li key=${job.id}><b>${job.filename ?? "Note"}</b><span class="trouble">${job.error?.message}</span></li>`)}
      </ul></section>`}
    </div>
  </div>`;
}

function Health({ health }) {
  if (health.status === "healthy") return html`<p class="health good"><${Icon} name="check" /> All is well</p>`;
  return html`<div class="health bad" role="alert"><${Icon} name="warn" /><ul>
    ${health.issues.map((issue) => html`<li key=${issue.code}><code>${issue.code}</code> ${issue.message}</li>`)}
  </ul></div>`;
}

const Figure = ({ value, label }) => html`<li><b>${value}</b><span>${label}</span></li>`;
const Line = ({ name, value }) => html`<div><dt>${name}</dt><dd title=${value}>${value}</dd></div>`;

function Copyable({ line }) {
  const copy = () => navigator.clipboard.writeText(line).then(() => toast("Copied"), () => toast("The browser does not let this page copy", "error"));
  return html`<li><code>${line}</code><button class="quiet square" aria-label=${`Copy ${line}`} title="Copy" onClick=${copy}><${Icon} name="copy" /></button></li>`;
}

// Overview: how much there is, how it grew, how the engine is, and how an agent gets in.
import { link } from "../address.js";
import { get } from "../api.js";
import { listen } from "../events.js";
import { html, useEffect, useState } from "../lib.js";
import { Bars, Growth } from "../parts/plots.js";
import { Icon } from "../parts/icon.js";
import { Said } from "../parts/issue.js";
import { Loading, Trouble } from "../parts/states.js";
import { toast } from "../parts/toast.js";
import { ago, bytes, number, plural, seconds, typeName } from "../words.js";

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
        <${Line} name="Free" value=${bytes(status.store.free_bytes)} />
        <${Line} name="Reserve" value=${bytes(status.store.reserve_bytes)} />
        <${Line} name="Store" value=${status.store.path} />
        <${Line} name="Version" value=${`${status.version}, up ${seconds(status.uptime_seconds)}`} />
      </dl></section>
      <${Safety} status=${status} />
      <section class="panel wide-panel"><h2>Connect an agent</h2>
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
    ${health.issues.map((issue) => html`<li key=${issue.message} data-code=${issue.code}><${Said} text=${issue.message} /></li>`)}
  </ul></div>`;
}

/** Whether what is here would still be here tomorrow. */
function Safety({ status: { check, health, backup, store, queue, sandbox } }) {
  return html`<section class="panel"><h2>Safety</h2><dl>
    <${Line} name="Checked" value=${checked(check, health.status)} />
    <${Line} name="Backup" value=${backedUp(backup)} />
    ${store.lost_files > 0 && html`<${Line} name="Lost files" value=${`${plural(store.lost_files, "file")}, ${bytes(store.lost_bytes)}, that no document names: they are kept in store-lost for a while, and \`kb verify --repair\` takes back what is needed`} />`}
    ${queue.failed > 0 && html`<${Line} name="Failed" value=${`${plural(queue.failed, "job")}, holding ${bytes(store.failed_bytes)}: \`kb jobs --status failed\` lists them`} />`}
    <${Line} name="Sandbox" value=${lockedIn(sandbox)} />
  </dl></section>`;
}

function checked({ state, finished_at: at, findings }, health) {
  if (!at) return state === "running" ? "for the first time just now" : "not yet: the engine does it by itself, `kb verify` at once";
  const found = findings ? `${plural(findings, "finding")}, \`kb verify\` names them` : health === "failed" ? "nothing was wrong then" : "all is well";
  return `${ago(at)}: ${found}${state === "running" ? ", and again just now" : ""}`;
}

function backedUp({ folder, every_hours: hours, last_at: last, last_folder: place, running }) {
  const elsewhere = folder && place !== folder ? ` into ${place}` : "";
  const every = folder ? `, every ${hours} h into ${folder}` : "";
  const made = last ? `${ago(last)}${elsewhere}${every}` : folder ? `none yet${every}` : "none: `kb backup DIR` makes one, best on another disk";
  return running ? `${made}; one is being made` : made;
}

function lockedIn({ complete, reads_files: reads, landlock, seccomp, limits, mode }) {
  const lacking = [!landlock && "Landlock", !seccomp && "seccomp", !limits && "some limits"].filter(Boolean).join(", ");
  if (!reads) return `no file is read: this system lacks ${lacking}, and KB_SANDBOX is ${mode}`;
  return complete ? "whoever reads a file is locked in" : `whoever reads a file is not fully locked in: this system lacks ${lacking}`;
}

const Figure = ({ value, label }) => html`<li><b>${value}</b><span>${label}</span></li>`;
const Line = ({ name, value }) => html`<div><dt>${name}</dt><dd title=${value}><${Said} text=${value} /></dd></div>`;

function Copyable({ line }) {
  const copy = () => navigator.clipboard.writeText(line).then(() => toast("Copied"), () => toast("The browser does not let this page copy", "error"));
  return html`<li><code>${line}</code><button class="quiet square" aria-label=${`Copy ${line}`} title="Copy" onClick=${copy}><${Icon} name="copy" /></button></li>`;
}

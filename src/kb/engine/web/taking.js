// Things dropped, picked or pasted in, jobs at the engine out; and how far each has come.
import { go } from "./address.js";
import { Failure, get, post, remove, upload } from "./api.js";
import { listen } from "./events.js";
import { html, useEffect, useState } from "./lib.js";
import { Icon } from "./parts/icon.js";
import { signal } from "./signal.js";
import { entry } from "./words.js";

const AT_ONCE = 3; // uploads; the rest wait
const MOST = 2000; // files of one drop
const KEPT = 500;
const LOOK_EVERY = 3000; // milliseconds
const LOOKED_AT = 100; // the newest, which are on top

/** What was put in from this page, newest first: {id, name, size, phase, share, job, error}. */
export const items = signal([]);
/** Text that was pasted, on its way into a note. */
export const pasted = signal("");

const waiting = [];
const early = new Map(); // jobs whose news came before we knew that they are ours
let sending = 0;
let last = 0;

function change(id, fields) {
  items.set(items.get().map((item) => (item.id === id ? { ...item, ...fields } : item)));
}

export function take(files, tags = []) {
  const batch = `page ${Date.now()} ${Math.random()}`; // what is dropped together takes turns with others
  const fresh = [...files].slice(0, MOST).map((file) => ({ id: (last += 1), name: file.name, size: file.size, phase: "waiting", share: 0, file, tags, batch }));
  items.set([...fresh, ...items.get()].slice(0, MOST));
  waiting.push(...fresh);
  while (sending < AT_ONCE && waiting.length) send(waiting.shift());
}

async function send(item) {
  sending += 1;
  try {
    const { done, abort } = upload(item.file, { tags: item.tags, batch: item.batch }, (share) => change(item.id, { share }));
    change(item.id, { phase: "sending", abort });
    const accepted = await done;
    change(item.id, { phase: "reading", share: 0, jobId: accepted.job_id, abort: null, file: null });
    await catchUp(item.id, accepted.job_id);
  } catch (error) {
    change(item.id, { phase: error.code === "cancelled" ? "cancelled" : "failed", error });
  }
  sending -= 1;
  if (waiting.length) send(waiting.shift());
}

async function catchUp(id, jobId) {
  follow(id, early.get(jobId) ?? (await get(`/jobs/${jobId}`).catch(() => null)));
}

const ENDS = { done: "done", failed: "failed", cancelled: "cancelled" };

function follow(id, job) {
  if (!job) return;
  const error = job.error && new Failure(job.error.code, job.error.message);
  change(id, { job, phase: entry(ENDS, job.status) ?? "reading", share: job.progress, error });
}

listen((kind, job) => {
  if (kind === "reconnected") {
    for (const item of items.get()) if (item.jobId && item.phase === "reading") get(`/jobs/${item.jobId}`).then((found) => follow(item.id, found), () => {});
  }
  if (kind !== "job") return;
  early.set(job.id, job);
  if (early.size > KEPT) early.delete(early.keys().next().value);
  const item = items.get().find((each) => each.jobId === job.id);
  if (item) follow(item.id, job);
});

/** No event tells that a job has moved up in its line. */
async function lookAtQueue() {
  const queued = items.get().filter((item) => item.job?.status === "queued");
  if (!queued.length) return;
  const { jobs } = await get(`/jobs?status=queued&limit=${LOOKED_AT}`);
  for (const job of jobs) {
    const item = queued.find((each) => each.jobId === job.id);
    if (item) follow(item.id, job);
  }
}

setInterval(() => lookAtQueue().catch(() => {}), LOOK_EVERY);

/** A note: it is a job as files are, and its row says when it is done. */
export async function takeNote(text, title, tags) {
  const body = { text, tags };
  if (title) body.title = title;
  const accepted = await post("/jobs", body);
  const id = (last += 1);
  const name = title || text.trim().split("\n")[0].slice(0, 80);
  items.set([{ id, name, size: text.length, phase: "reading", share: 0, jobId: accepted.job_id, note: true }, ...items.get()]);
  await catchUp(id, accepted.job_id);
}

export async function cancel(item) {
  if (item.abort) item.abort();
  else if (item.jobId) follow(item.id, await remove(`/jobs/${item.jobId}`).catch(() => get(`/jobs/${item.jobId}`)));
  else {
    waiting.splice(waiting.findIndex((each) => each.id === item.id), 1);
    change(item.id, { phase: "cancelled" });
  }
}

export async function retry(item) {
  if (item.jobId) {
    change(item.id, { phase: "reading", share: 0, error: null });
    follow(item.id, await post(`/jobs/${item.jobId}/retry`).catch((error) => (change(item.id, { phase: "failed", error }), null)));
  } else if (item.file) {
    items.set(items.get().filter((each) => each.id !== item.id));
    take([item.file], item.tags);
  }
}

/** Off the list, and what the engine holds of it for another try off the disk. */
export async function discard(item) {
  if (item.jobId) await remove(`/jobs/${item.jobId}`).catch(() => null);
  items.set(items.get().filter((each) => each.id !== item.id));
}

export function clearEnded() {
  items.set(items.get().filter((item) => !["done", "failed", "cancelled"].includes(item.phase)));
}

export function pick() {
  const input = document.createElement("input");
  input.type = "file";
  input.multiple = true;
  input.onchange = () => take(input.files);
  input.click();
}

/** Every file of what was dropped, folders gone through. Entries have to be asked for at once. */
async function filesOf(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  const found = [];
  const open = [...entries];
  while (open.length && found.length < MOST) {
    const entry = open.shift();
    if (entry.name.startsWith(".")) continue;
    if (entry.isFile) found.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    else open.push(...(await children(entry)));
  }
  return found;
}

async function children(folder) {
  const reader = folder.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...some);
  }
}

/** Files may be dropped anywhere, and pasted where nobody is writing. */
export function DropTarget() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const carries = (event) => event.dataTransfer?.types.includes("Files");
    const handlers = {
      dragenter: (event) => carries(event) && (event.preventDefault(), (depth += 1), setOver(true)),
      dragover: (event) => carries(event) && event.preventDefault(),
      dragleave: (event) => carries(event) && (depth -= 1) <= 0 && setOver(false),
      drop: async (event) => {
        if (!carries(event)) return;
        event.preventDefault();
        depth = 0;
        setOver(false);
        take(await filesOf(event.dataTransfer));
      },
      paste: (event) => {
        if (event.target.closest?.("input, textarea")) return;
        const files = [...event.clipboardData.files];
        const text = event.clipboardData.getData("text/plain");
        if (files.length) take(files.map(named));
        else if (text.trim()) {
          pasted.set(text);
          go({ view: "notes" });
        }
      },
    };
    for (const [name, handler] of Object.entries(handlers)) addEventListener(name, handler);
    return () => Object.entries(handlers).forEach(([name, handler]) => removeEventListener(name, handler));
  }, []);
  return html`<div class=${`drop ${over ? "shown" : ""}`} aria-hidden="true"><div><${Icon} name="plus" />Drop to add</div></div>`;
}

/** A pasted image is always called image.png: one more would look like the same. */
function named(file) {
  if (file.name !== "image.png") return file;
  const now = new Date().toISOString().slice(0, 19).replace("T", " ").replaceAll(":", ".");
  return new File([file], `Pasted ${now}.png`, { type: file.type });
}

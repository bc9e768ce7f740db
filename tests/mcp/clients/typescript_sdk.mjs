// The official TypeScript client. The errand is the one of errand.py, in this language.

import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { CLIENT_URL, CLIENT_KEY, CLIENT_WORD: word, CLIENT_MODULES } = process.env;
const WAIT_MS = 30_000;

// The package lies in a folder of its own, not above this file where node would look.
const within = createRequire(join(CLIENT_MODULES, "package.json"));
const load = (name) => import(pathToFileURL(within.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = await load(
  "@modelcontextprotocol/sdk/client/streamableHttp.js",
);

const client = new Client({ name: "kb-tests", version: "1" });
await client.connect(
  new StreamableHTTPClientTransport(new URL(CLIENT_URL), {
    requestInit: { headers: { Authorization: `Bearer ${CLIENT_KEY}` } },
  }),
);

async function call(name, args) {
  const answer = await client.callTool({ name, arguments: args });
  if (answer.isError) throw new Error(JSON.stringify(answer.content));
  return answer.structuredContent;
}

async function upload() {
  const content = Buffer.from(`# Handed over\n\nA file about ${word}.\n`);
  const { upload_id } = await call("kb_upload_start", {
    filename: `${word}.md`,
    total_size: content.length,
    tags: [word],
  });
  const data = content.toString("base64");
  const piece = await call("kb_upload_chunk", { upload_id, data, chunk_index: 0 });
  if (!piece.complete) throw new Error(JSON.stringify(piece));
  const sha256 = createHash("sha256").update(content).digest("hex");
  return call("kb_upload_finish", { upload_id, sha256 });
}

async function done(job_id) {
  const until = Date.now() + WAIT_MS;
  while (Date.now() < until) {
    const [job] = (await call("kb_jobs", { job_id })).jobs;
    if (job.status === "done") return;
    if (!["queued", "running"].includes(job.status)) throw new Error(JSON.stringify(job));
  }
  throw new Error(`job ${job_id} is not done after ${WAIT_MS} ms`);
}

const { tools } = await client.listTools();
const note = await call("kb_addnote", { text: `A note about ${word}.`, tags: [word] });
const file = await upload();
await done(note.job_id);
await done(file.job_id);
const found = await call("kb_search", { query: word, tags: [word], fts_only: true });
await client.close();
const { version } = within("./node_modules/@modelcontextprotocol/sdk/package.json");
console.log(
  JSON.stringify({
    version,
    tools: tools.map((tool) => tool.name).sort(),
    note,
    file,
    found: found.results,
  }),
);

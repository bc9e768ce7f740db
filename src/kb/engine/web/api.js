// A path below /api/v1 in, JSON out; every failure is a Failure with the engine's own words.
import { key, refused } from "./key.js";

export class Failure extends Error {
  constructor(code, message, status = 0, details = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.details = details;
  }
}

export function headers(more = {}) {
  return key() ? { authorization: `Bearer ${key()}`, ...more } : more;
}

/** The answer as it came, once it is known to be a good one. */
export async function ask(method, path, { body, signal } = {}) {
  const options = { method, signal, headers: headers(), cache: "no-store" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(`/api/v1${path}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("unreachable", "The engine does not answer. Is it running?");
  }
  if (!answer.ok) throw await failure(answer);
  return answer;
}

export async function failure(answer) {
  if (answer.status === 401) refused();
  const told = await answer.json().catch(() => ({}));
  const { error = "unknown", message = `The engine answered ${answer.status}`, ...details } = told;
  return new Failure(error, message, answer.status, details);
}

async function json(method, path, options) {
  return (await ask(method, path, options)).json();
}

export const get = (path, options) => json("GET", path, options);
export const post = (path, body, options) => json("POST", path, { body, ...options });
export const put = (path, body) => json("PUT", path, { body });
export const patch = (path, body) => json("PATCH", path, { body });
export const remove = (path) => json("DELETE", path);

export function query(fields) {
  const pairs = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
}

/** Save an original: fetched here, as a link cannot carry the key. */
export async function download(document_) {
  const answer = await ask("GET", `/documents/${document_.id}/file`);
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = document_.filename || "file";
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Send a file; `told` hears which share is sent. Fetch cannot tell that, so this is older. */
export function upload(file, fields, told) {
  const form = new FormData();
  for (const tag of fields.tags ?? []) form.append("tags", tag);
  if (fields.source_path) form.append("source_path", fields.source_path);
  form.append("file", file, file.name);
  const request = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    request.upload.onprogress = (event) => event.lengthComputable && told(event.loaded / event.total);
    request.onload = async () => {
      const answer = new Response(request.responseText, { status: request.status || 500 });
      if (request.status === 202) resolve(await answer.json());
      else reject(await failure(answer));
    };
    request.onerror = () => reject(new Failure("unreachable", "The upload broke off: the engine does not answer"));
    request.onabort = () => reject(new Failure("cancelled", "Cancelled"));
    request.open("POST", "/api/v1/jobs");
    const named = fields.batch ? { "batch-id": fields.batch } : {};
    for (const [name, value] of Object.entries(headers(named))) request.setRequestHeader(name, value);
    request.send(form);
  });
  return { done, abort: () => request.abort() };
}

// The engine's stream of events in, whoever listens told; it reconnects by itself and says so.
// EventSource cannot send the key, so the stream is read by hand.
import { headers } from "./api.js";
import { keyNeeded, refused } from "./key.js";
import { signal } from "./signal.js";

/** "connecting", "open" or "lost". */
export const connection = signal("connecting");

const listeners = new Set();
let version = null;

export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(kind, data) {
  for (const listener of [...listeners]) listener(kind, data);
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export async function connect() {
  let waited = 0;
  for (;;) {
    if (keyNeeded.get()) {
      await pause(300);
      continue;
    }
    const opened = await follow().catch(() => false);
    connection.set("lost");
    waited = opened ? 500 : Math.min(Math.max(waited * 1.7, 500), 10_000);
    await pause(waited);
  }
}

/** Read one stream to its end; whether it was open at all. */
async function follow() {
  const answer = await fetch("/api/v1/events", { headers: headers(), cache: "no-store" });
  if (answer.status === 401) refused();
  if (!answer.ok) return false;
  const known = version;
  version = answer.headers.get("kb-version");
  if (known && version !== known) location.reload(); // this page belongs to another engine
  const again = connection.get() === "lost";
  connection.set("open");
  if (again) tell("reconnected", {});
  await read(answer.body.pipeThrough(new TextDecoderStream()).getReader()).catch(() => {});
  return true;
}

async function read(reader) {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const kind = /^event: (.*)$/m.exec(part)?.[1];
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (kind && data) tell(kind, JSON.parse(data));
    }
  }
}

// That others may get in, over every view: it stays true for as long as the engine runs.
import { get } from "../api.js";
import { listen } from "../events.js";
import { html, useEffect, useState } from "../lib.js";
import { Icon } from "./icon.js";

export function Caution() {
  const [issues, setIssues] = useState([]);
  useEffect(() => {
    const load = () =>
      get("/status").then(
        ({ health }) => setIssues(health.issues.filter((issue) => issue.code.startsWith("key_"))),
        () => {}, // the view below asks, too, and says what is wrong
      );
    load();
    return listen((kind) => kind === "reconnected" && load());
  }, []);
  return issues.map(
    (issue) => html`<div key=${issue.code} class="caution" role="alert"><${Icon} name="warn" /><span>${issue.message}</span></div>`,
  );
}

// What nobody should have to look for, over every view: that others may get in, and that nothing is taken in.
import { get } from "../api.js";
import { listen } from "../events.js";
import { html, useEffect, useState } from "../lib.js";
import { Icon } from "./icon.js";
import { Said } from "./issue.js";

const GRAVE = new Set(["store_damaged", "storage_failed", "files_inaccessible", "reserve_used", "disk_full", "originals_missing"]);
const isGrave = ({ code }) => code.startsWith("key_") || GRAVE.has(code);

export function Caution({ view }) {
  const [issues, setIssues] = useState([]);
  useEffect(() => {
    const load = () =>
      get("/status").then(
        ({ health }) => setIssues(health.issues.filter(isGrave)),
        () => {}, // the view below asks, too, and says what is wrong
      );
    load();
    return listen((kind) => kind === "reconnected" && load());
  }, [view]);
  return issues.map(
    (issue) => html`<div key=${issue.message} class="caution" role="alert"><${Icon} name="warn" /><span><${Said} text=${issue.message} /></span></div>`,
  );
}

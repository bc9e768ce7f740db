// What is known of a document beside its text: tags, facts, metadata, and how it came in.
import { put } from "../api.js";
import { html } from "../lib.js";
import { TagEditor } from "../parts/tags.js";
import { toast } from "../parts/toast.js";
import { bytes, moment, plural, seconds } from "../words.js";

export function About({ document: doc, jobs, changed }) {
  const setTags = (tags) => put(`/documents/${doc.id}/tags`, { tags }).then(changed, (error) => toast(error.message, "error"));
  const metadata = Object.entries(doc.metadata);
  return html`<aside class="about-panel" aria-label="About this document">
    <section><h2>Tags</h2><${TagEditor} tags=${doc.tags} change=${setTags} /></section>
    <section><h2>Details</h2>
      <dl>
        ${doc.filename && html`<${Fact} name="File" value=${doc.filename} />`}
        ${doc.source_path && html`<${Fact} name="From" value=${doc.source_path} />`}
        <${Fact} name="Size" value=${bytes(doc.size_bytes)} />
        <${Fact} name="Added" value=${moment(doc.created_at)} />
        ${doc.updated_at && html`<${Fact} name="Changed" value=${moment(doc.updated_at)} />`}
        <${Fact} name="Number" value=${String(doc.id)} />
      </dl>
    </section>
    ${doc.how_read && html`<${HowRead} how=${doc.how_read} />`}
    ${metadata.length > 0 && html`<section><h2>Metadata</h2><dl>
      ${metadata.map(([name, value]) => html`<${Fact} key=${name} name=${name} value=${typeof value === "object" ? JSON.stringify(value) : String(value)} />`)}
    </dl></section>`}
    ${jobs.length > 0 && html`<section><h2>History</h2><ol class="history">
      ${jobs.map((job) => html`<li key=${job.id} class=${job.status}>
        <time datetime=${job.created_at}>${moment(job.created_at)}</time>
        <span>${job.outcome ?? job.status}${job.elapsed_seconds ? ` in ${seconds(job.elapsed_seconds)}` : ""}</span>
        ${job.error && html`<span class="trouble">${job.error.message}</span>`}
      </li>`)}
    </ol></section>`}
  </aside>`;
}

function HowRead({ how }) {
  const share = how.share >= 1 ? "100 %" : `${Math.min(how.share * 100, 99.9).toFixed(1)} %`;
  const words = how.words.toLocaleString("en") + (how.share === null ? "" : `, ${share} of the file`);
  return html`<section><h2>How this was read</h2>
    <dl>
      <${Fact} name="Reader" value=${how.reader} />
      ${how.pages !== null && html`<${Fact} name="Pages" value=${String(how.pages)} />`}
      ${how.pages_by_ocr > 0 && html`<${Fact} name="By OCR" value=${plural(how.pages_by_ocr, "page")} />`}
      ${how.pages_missing > 0 && html`<${Fact} name="Missing" value=${plural(how.pages_missing, "page")} />`}
      ${how.pictures_read > 0 && html`<${Fact} name="Read in it" value=${plural(how.pictures_read, "picture")} />`}
      ${how.pictures_waiting > 0 && html`<${Fact} name="Still to read" value=${plural(how.pictures_waiting, "picture")} />`}
      <${Fact} name="Words" value=${words} />
    </dl>
    ${how.warnings.length > 0 && html`<ul class="warnings">${how.warnings.map((warning) => html`<li key=${warning} class="trouble">${warning}</li>`)}</ul>`}
  </section>`;
}

function Fact({ name, value }) {
  return html`<div><dt>${name}</dt><dd title=${value}>${value}</dd></div>`;
}

// The tags of a document, to be read and to be changed.
import { link } from "../address.js";
import { html, useState } from "../lib.js";
import { Icon } from "./icon.js";

export function TagList({ tags }) {
  if (!tags.length) return null;
  return html`<span class="tags">${tags.map((tag) => html`<span class="tag" key=${tag}>${tag}</span>`)}</span>`;
}

export function TagEditor({ tags, change }) {
  const [value, setValue] = useState("");
  const add = (event) => {
    event.preventDefault();
    const fresh = value.split(",").map((tag) => tag.trim()).filter((tag) => tag && !tags.includes(tag));
    setValue("");
    if (fresh.length) change([...tags, ...fresh]);
  };
  return html`<div class="tag-editor">
    <ul class="tags">
      ${tags.map((tag) => html`<li class="tag" key=${tag}>
        <a href=${link({ tags: [tag] })}>${tag}</a>
        <button type="button" aria-label=${`Remove the tag ${tag}`} onClick=${() => change(tags.filter((each) => each !== tag))}><${Icon} name="close" /></button>
      </li>`)}
    </ul>
    <form onSubmit=${add}>
      <input aria-label="Add a tag" placeholder="Add a tag" maxlength="200" value=${value} onInput=${(event) => setValue(event.currentTarget.value)} />
      <button class="quiet" disabled=${!value.trim()}>Add</button>
    </form>
  </div>`;
}

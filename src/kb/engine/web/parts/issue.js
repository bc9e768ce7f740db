// What the engine finds wrong in, the same for people to read out: commands stand out from the words.
import { html } from "../lib.js";

export const Said = ({ text }) =>
  text.split("`").map((part, at) => (at % 2 ? html`<code key=${at}>${part}</code>` : part));

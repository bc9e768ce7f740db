// A text with some of its words marked. It stays text: nothing in it can become markup.
import { html } from "../lib.js";
import { pieces } from "../words.js";

export function Marked({ text, highlights = [] }) {
  return pieces(text, highlights).map((piece) => (piece.marked ? html`<mark>${piece.text}</mark>` : piece.text));
}

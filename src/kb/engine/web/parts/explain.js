// Where a score came from, as a small picture: one bar, in parts.
import { html } from "../lib.js";

const PARTS = [
  ["words", "words", "the query's words in the passage"],
  ["literal", "letters", "the query in it letter by letter"],
  ["vector", "meaning", "how near the passage's meaning is"],
  ["neighbour", "context", "what stands around the passage"],
];

export function Explain({ explain, most }) {
  const parts = PARTS.map(([name, label, meaning]) => ({ name, label, meaning, value: Math.max(explain[name] ?? 0, 0) }))
    .filter((part) => part.value || part.name !== "literal"); // most queries have no signs
  const told = parts.map((part) => `${part.label} ${part.value.toFixed(2)}`).join(", ");
  const terms = Object.entries({ ...explain.terms, ...explain.pairs }).sort((one, other) => other[1] - one[1]).slice(0, 6);
  return html`<div class="explain">
    <div class="explain-bar" role="img" aria-label=${`Score: ${told}`}>
      ${parts.map((part) => html`<span key=${part.name} class=${`part-${part.name}`} title=${part.meaning}
        style=${{ width: `${(100 * part.value) / most}%` }}></span>`)}
    </div>
    <ul class="legend">
      ${parts.map((part) => html`<li key=${part.name}><i class=${`part-${part.name}`}></i>${part.label} <b>${part.value.toFixed(2)}</b></li>`)}
      ${terms.map(([term, value]) => html`<li key=${term} class="term">${term} <b>${value.toFixed(2)}</b></li>`)}
    </ul>
  </div>`;
}

export const total = (explain) => PARTS.reduce((sum, [name]) => sum + Math.max(explain[name] ?? 0, 0), 0);

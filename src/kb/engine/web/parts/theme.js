// Light, dark, or as the system has it.
import { html, useState } from "../lib.js";
import { Icon } from "./icon.js";

const NAME = "kb.theme";
const ORDER = ["auto", "light", "dark"];
const ICONS = { auto: "auto", light: "sun", dark: "moon" };

function apply(theme) {
  document.documentElement.dataset.theme = theme;
}

const chosen = () => (ORDER.includes(localStorage.getItem(NAME)) ? localStorage.getItem(NAME) : "auto");
apply(chosen());

export function Theme() {
  const [theme, setTheme] = useState(chosen());
  const change = () => {
    const next = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    localStorage.setItem(NAME, next);
    apply(next);
    setTheme(next);
  };
  return html`<button class="quiet square" onClick=${change} title=${`Colours: ${theme}`} aria-label=${`Colours: ${theme}. Change`}>
    <${Icon} name=${ICONS[theme]} />
  </button>`;
}

// Preact, its hooks and htm, bound to each other: what every other module draws with.
import { h, render, Fragment } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export { Fragment, render };
export * from "./vendor/hooks.js";
export const html = htm.bind(h);

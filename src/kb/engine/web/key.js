// The engine's key: asked for once, kept for this tab or for this browser, as people choose.
import { signal } from "./signal.js";

const NAME = "kb.key";
const read = (store) => {
  try {
    return store.getItem(NAME);
  } catch {
    return null; // a browser that keeps nothing
  }
};

let held = read(sessionStorage) ?? read(localStorage) ?? "";

/** Whether the engine wants a key that we do not have. */
export const keyNeeded = signal(false);

export const key = () => held;

export function refused() {
  keyNeeded.set(true);
}

export function keep(value, forLong) {
  held = value;
  forget();
  const store = forLong ? localStorage : sessionStorage;
  store.setItem(NAME, value);
}

export function accepted() {
  keyNeeded.set(false);
}

export function forget() {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
}

"""How soon the page answers: letters typed in a browser in, milliseconds until they show out.

    python -m benchmarks.page [--chunks N] [--texts PATH] [--keep FOLDER]

It needs the dev extra and a Chromium. Each letter's time is told in its parts: until the page has
asked, until the engine's answer is there, and until that is on the screen.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.apart import apart
from benchmarks.filling.questions import FILE
from benchmarks.options import options_of
from benchmarks.report import Report, percentile
from benchmarks.running import API_KEY, Server, engine

CHUNKS = 10_000
QUESTIONS = 12
LETTERS = 14  # of each question
LOADS = 15
BETWEEN = 90  # milliseconds from letter to letter of somebody who types fast
KEY_BAR = 100.0
PAINT_BAR = 300.0

# From a key that is pressed to the frame that shows its answer. The field's spinner is there from
# the letter to its answer; a task after the next frame has begun runs when that has been drawn.
WATCH = """
(() => {
  let key = 0;
  let timing = null;
  window.shown = [];
  addEventListener("keydown", (event) => { key = event.timeStamp; timing = null; }, true);
  const drawn = () => {
    const asked = performance.getEntriesByType("resource").filter(
      (each) => each.name.endsWith("/search") && each.startTime >= key && each.responseEnd,
    ).at(-1);
    if (!key || !asked || document.querySelector(".field .spinner")) return;
    if (timing === asked) return;
    timing = asked;
    const pressed = key;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => shown.push({
        asked: asked.startTime - pressed,
        answered: asked.responseEnd - asked.startTime,
        drawn: performance.now() - asked.responseEnd,
        whole: performance.now() - pressed,
      });
      channel.port2.postMessage(null);
    });
  };
  const all = { subtree: true, childList: true, attributes: true };
  new MutationObserver(drawn).observe(document, all);
  addEventListener("focusin", (event) => {
    if (event.target.id === "query") window.typable ??= performance.now();
  });
})();
"""
NEXT = """async () => {
  while (!shown.length) await new Promise((resolve) => setTimeout(resolve, 5));
  return shown.splice(0).at(-1);
}"""
LOADED = """async () => {
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  while (!painted() || !window.typable) await new Promise((resolve) => setTimeout(resolve, 5));
  return [painted(), window.typable];
}"""


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--texts", type=Path, help="folder or JSONL file with texts to use")
    parser.add_argument("--keep", type=Path, help="folder to keep the filled store in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)) / f"page-{options.chunks}"
        if not (folder / FILE).exists():
            apart("benchmarks.filling.stores:fill", folder, options.chunks, 200, options.texts)
        questions = json.loads((folder / FILE).read_text("utf-8"))[:QUESTIONS]
        with engine(folder) as server, browsing(server) as page:
            report(page, questions, options.chunks)


@contextmanager
def browsing(server: Server) -> Iterator[Page]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = browser.new_context(
            base_url=f"http://127.0.0.1:{server.port}", viewport={"width": 1280, "height": 860}
        )
        context.add_init_script(f"sessionStorage.setItem('kb.key', '{API_KEY}')")
        context.add_init_script(WATCH)
        page = context.new_page()
        page.goto("/")
        page.get_by_role("searchbox").wait_for()
        yield page
        browser.close()


def report(page: Page, questions: list[str], chunks: int) -> None:
    told = Report()
    told.section(f"the page, {chunks:,} chunks")
    with processor(page) as spent:
        one_by_one = [each for question in questions for each in letters(page, question)]
    _tell(told, "a letter, the one before answered", one_by_one)
    for name, seconds in spent.items():
        told.add(f"  of the browser, {name}", 1000 * seconds / len(one_by_one), "ms")
    _tell(told, "the last letter of fast typing", [typed(page, each) for each in questions])
    loads = [loaded(page) for _ in range(LOADS)]
    paints, fields = [paint for paint, _ in loads], [field for _, field in loads]
    told.add("first paint, files cached, p50", percentile(paints, 50), "ms", bar=PAINT_BAR)
    told.add("first paint, files cached, p95", percentile(paints, 95), "ms")
    told.add("  until one can type, p50", percentile(fields, 50), "ms", bar=PAINT_BAR)
    told.end(None)


@contextmanager
def processor(page: Page) -> Iterator[dict[str, float]]:
    """Processor seconds of the page's own thread: the figure that holds on a busy machine, too."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read() -> dict[str, float]:
        told = session.send("Performance.getMetrics")["metrics"]
        return {each["name"]: each["value"] for each in told}

    before, spent = read(), {}
    yield spent
    after = read()
    for name, metric in (
        ("all", "TaskDuration"),
        ("scripts", "ScriptDuration"),
        ("styles", "RecalcStyleDuration"),
        ("layout", "LayoutDuration"),
    ):
        spent[name] = after[metric] - before[metric]


def _tell(told: Report, name: str, times: list[dict[str, float]]) -> None:
    whole = sorted(each["whole"] for each in times)
    told.add(f"{name}, p50", percentile(whole, 50), "ms", bar=KEY_BAR)
    told.add(f"{name}, p95", percentile(whole, 95), "ms")
    for part, meaning in (
        ("asked", "until it is asked for"),
        ("answered", "until the answer is there"),
        ("drawn", "until that is on the screen"),
    ):
        told.add(f"  {meaning}, p50", percentile([each[part] for each in times], 50), "ms")


def letters(page: Page, question: str) -> list[dict[str, float]]:
    """Each letter after the answer to the one before it."""
    _empty(page)
    found = []
    for letter in question[:LETTERS]:
        page.keyboard.type(letter)
        if letter != " ":  # asks nothing else than before
            found.append(_next(page))
    return found


def typed(page: Page, question: str) -> dict[str, float]:
    """All of them as fast as people type; the time of the last."""
    _empty(page)
    page.keyboard.type(question[:LETTERS].strip(), delay=BETWEEN)
    page.locator(".field .spinner").wait_for(state="detached")
    return _next(page)


def _empty(page: Page) -> None:
    page.get_by_role("searchbox").fill("")
    page.locator(".field kbd").wait_for()
    page.evaluate("() => { shown.length = 0; performance.clearResourceTimings(); }")


def _next(page: Page) -> dict[str, float]:
    found: dict[str, float] = page.evaluate(NEXT)
    return found


def loaded(page: Page) -> tuple[float, float]:
    """In a new tab, where nothing ran yet: the first paint, and when one can type."""
    tab = page.context.new_page()
    tab.goto("/")
    painted, typable = tab.evaluate(LOADED)
    tab.close()
    return painted, typable


if __name__ == "__main__":
    main()

"""A browser, an engine for it, and pages that report whatever goes wrong in them."""

import os
import shutil
import subprocess
from contextlib import suppress

import pytest

playwright_api = pytest.importorskip("playwright.sync_api", reason="playwright is in the dev extra")

from running import Running  # noqa: E402

playwright_api.expect.set_options(timeout=20_000)  # a busy machine takes its time


def chromium():
    """Debian's Chromium; installed if that can be done, else the tests say why they cannot run."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        command = "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium"
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(["sh", "-c", command], capture_output=True, timeout=600, check=False)
        found = shutil.which("chromium")
    return found


@pytest.fixture(scope="session")
def browser():
    path = chromium()
    if path is None:
        pytest.skip("no Chromium here, and none could be installed: apt-get install chromium")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("browser") / "data", embedder="hash") as running:
        yield running


@pytest.fixture
def open_page(browser):
    """To open a page of an engine; at the end nothing may have broken in any of them."""
    contexts, troubles = [], []

    def open_(running, address="/", **options):
        context = browser.new_context(base_url=running.url, **options)
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda line: troubles.append(line.text) if bad(line) else None)
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert troubles == []


def bad(line):
    """Answers that refuse are logged by the browser; those the tests look at themselves."""
    return line.type == "error" and "Failed to load resource" not in line.text


@pytest.fixture
def page(running, open_page):
    page = open_page(running)
    playwright_api.expect(page.get_by_role("searchbox")).to_be_focused()
    return page

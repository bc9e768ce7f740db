"""Addresses that somebody else wrote: whatever is in them, there is a page."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

WORDS = ("__proto__", "constructor", "toString", "hasOwnProperty", "valueOf")


def test_words_that_every_object_knows_are_only_words(running, open_page):
    running.note("Herons wade", ["__proto__", "constructor"], title="toString")
    running.settle()
    page = open_page(running)
    for word in WORDS:
        for name in ("view", "type", "since", "id", "chunk", "page", "q", "tag", word):
            page.goto(f"/?{name}={word}")
            expect(page.locator("main h1, main h2").first).to_be_attached()
            expect(page.get_by_role("searchbox")).to_be_visible()
    page.goto("/?view=document&id=__proto__")
    expect(page.locator("main h1")).to_be_attached()
    page.goto("/?tag=__proto__")
    expect(page.locator(".row")).to_have_count(1)


@pytest.mark.parametrize("since", ["x", "-1", "1e400", "999999999", "NaN"])
def test_a_time_that_is_none_is_no_filter(running, open_page, since):
    running.note("Otters swim")
    running.settle()
    page = open_page(running, f"/?since={since}")
    expect(page.locator(".row").first).to_be_visible()

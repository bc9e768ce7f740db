"""Text that would like to be a program, and other sites that would like to write."""

import threading
from collections import Counter
from functools import partial
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from payloads import PAYLOADS
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.blockedURI));
"""
SHOW = """(address) => {
  history.pushState({inside: true}, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}"""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"><title>{0}</title>'
    "<script>window.pwned=1</script><a href='javascript:window.pwned=1'><text>{0}</text></a></svg>"
)


def test_no_payload_runs_wherever_it_stands(running, open_page):
    assert len(set(PAYLOADS)) == 200
    for number, payload in enumerate(PAYLOADS):
        line = payload.replace("\n", " ")
        running.note(
            f"note{number} {payload}", [line[:200]], title=line, metadata={line[:200]: line}
        )
        name = f"{number}{line.replace('/', '-')[:200]}"
        html = f"<title>{payload}</title><p>page{number}</p>{payload}".encode()
        running.file(f"{name}.html", html, [line[:200]])
        drawing = SVG.format(f"words{number} {escape(payload)}").encode()
        running.file(f"{name}.svg", drawing, [line[:200]])
    running.settle()
    page = open_page(running)
    page.add_init_script(WATCH)
    page.reload()
    documents = running.client.get("/documents", params={"limit": 1000}).json()["documents"]
    assert Counter(document["format"] for document in documents) == {
        "note": 200,
        "html": 200,
        "svg": 200,
    }
    for document in documents:
        page.evaluate(SHOW, f"/?view=document&id={document['id']}")
        expect(page.locator(f"dd[title='{document['id']}']")).to_be_visible()
    for address in ("/", "/?view=notes", "/?view=overview", "/?q=alert+script", "/?tag=%3Cscript"):
        page.evaluate(SHOW, address)
        expect(page.locator("main h1, main h2").first).to_be_attached()
    for payload in PAYLOADS[::10]:
        page.evaluate(SHOW, "/")
        page.get_by_role("searchbox").fill(payload)
        expect(page.locator(".spinner")).to_have_count(0)
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("violations") == []


def test_every_original_is_saved_and_never_shown(running, open_page):
    """Those of the test before this one are still there."""
    evil = b"<script>window.pwned=1</script><p>An evil page of text"
    running.document_of(running.file("evil.html", evil))
    running.document_of(running.file("evil.svg", SVG.format("evil words").encode()))
    documents = running.client.get("/documents", params={"limit": 1000}).json()["documents"]
    files = [document["id"] for document in documents if document["format"] in ("html", "svg")]
    for number in files:
        answer = running.client.get(f"/documents/{number}/file")
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"] == "application/octet-stream"
    page = open_page(running)
    for number in files[:10]:
        with page.expect_download():
            page.evaluate("to => { location.href = to }", f"/api/v1/documents/{number}/file")
    assert page.evaluate("window.pwned") is None


ATTACK = """
<form id=a method=post enctype="multipart/form-data" action="{url}/api/v1/jobs" target=f>
  <input name=text value=planted></form>
<form id=b method=post enctype="text/plain" action="{url}/api/v1/jobs" target=f>
  <input name='{{"text": "planted", "x": "' value='"}}'></form>
<form id=c method=post action="{url}/api/v1/jobs" target=f><input name=text value=planted></form>
<iframe name=f></iframe>
<script>
async function attack() {{
  for (const id of ["a", "b", "c"]) document.getElementById(id).submit();
  const tries = [];
  for (const mode of ["no-cors", "cors"]) {{
    for (const type of ["text/plain", "application/json", "multipart/form-data; boundary=x"]) {{
      const body = JSON.stringify({{text: "planted"}});
      for (const method of ["POST", "PUT", "DELETE"]) {{
        for (const path of ["/jobs", "/documents", "/documents/1", "/documents/1/tags"]) {{
          tries.push(new Promise((done) => done(fetch("{url}/api/v1" + path, {{
            method, mode, body, headers: {{"content-type": type}}}}))));
        }}
      }}
    }}
    tries.push(fetch("{url}/api/v1/documents", {{mode}}).then((answer) => answer.json()));
  }}
  const ends = await Promise.allSettled(tries);
  return ends.filter((end) => end.status === "fulfilled" && end.value.type !== "opaque").length;
}}
</script>
"""


class Elsewhere(BaseHTTPRequestHandler):
    def __init__(self, body, *rest):
        self._body = body
        super().__init__(*rest)

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(self._body)

    def log_message(self, *_):
        pass


def test_another_site_changes_nothing_and_reads_nothing(running, browser):
    running.note("A document that stays as it is", ["kept"])
    running.settle()
    before = running.client.get("/documents").json()
    jobs = running.client.get("/jobs").json()["total"]
    body = ATTACK.format(url=running.url).encode()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Elsewhere, body))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page()
    try:
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        assert page.evaluate("attack()") == 0
    finally:
        page.close()
        server.shutdown()
        server.server_close()
    assert running.client.get("/documents").json() == before
    assert running.client.get("/jobs").json()["total"] == jobs

"""The page and what it asks for: addresses in, files and figures out."""

import gzip
import re
from pathlib import Path

import pytest

from kb.engine.api.routes import web_page

ROOT = "http://127.0.0.1"


@pytest.fixture
def keyed(tmp_path, open_api):
    with open_api(tmp_path / "keyed", api_key="s3cret") as api:
        yield api


def test_the_page_and_its_files_need_no_key_but_everything_under_api_does(keyed):
    for address in web_page.paths():
        assert keyed.get(f"{ROOT}{address}").status_code == 200, address
    for address in ("/stats", "/documents/1/pages/1.png", "/documents/1/pages/1", "/nothing"):
        assert keyed.get(address).status_code == 401
    assert keyed.get(f"{ROOT}/page/other/main.js").status_code == 401


def test_the_page_allows_no_inline_script_and_nothing_from_elsewhere(api):
    answer = api.get(f"{ROOT}/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", answer.text)


def test_files_are_kept_for_good_and_the_page_is_asked_for_anew(api):
    answer = api.get(f"{ROOT}/")
    assert answer.headers["cache-control"] == "no-cache"
    script = re.search(r'src="(/page/[^"]+)"', answer.text)[1]
    assert "immutable" in api.get(f"{ROOT}{script}").headers["cache-control"]
    again = api.get(f"{ROOT}/", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_page_is_closed_to_other_sites_also_where_nothing_new_is_sent(api):
    answer = api.get(f"{ROOT}/")
    again = api.get(f"{ROOT}/", headers={"If-None-Match": answer.headers["etag"]})
    for each in (
        answer,
        again,
        api.request("HEAD", f"{ROOT}/"),
        api.get(f"{ROOT}/page/nothing.js"),
    ):
        for header in ("cross-origin-resource-policy", "cross-origin-opener-policy"):
            assert each.headers.get_list(header) == ["same-origin"]


def test_the_whole_page_is_small_when_compressed():
    assert sum(len(web_page.zipped(path)) for path in web_page.assets()) < 150_000
    for path, asset in web_page.assets().items():
        assert gzip.decompress(web_page.zipped(path)) == asset.content


def test_no_module_makes_markup_of_text():
    ours = {path: asset for path, asset in web_page.assets().items() if "/vendor/" not in path}
    forbidden = re.compile(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(")
    assert [path for path, asset in ours.items() if forbidden.search(asset.content)] == []


def test_every_library_has_its_licence():
    folder = Path(web_page.__file__).parents[2] / "web" / "vendor"
    names = {path.stem for path in folder.glob("*.js")} - {"hooks"}  # a part of preact
    assert names
    assert {path.stem for path in folder.glob("*.LICENSE")} == names


def test_figures_count_documents_by_day_type_and_tag(api):
    api.add_note("One heron.", tags=["birds", "river"])
    api.add_note("Two herons.", tags=["birds"])
    api.add_file(b"# Herons\n\nThree.", "herons.md", tags=["river"])
    with api.engine.store.database.transaction() as query:  # midnight may have come in between
        query("UPDATE documents SET created_at = (SELECT max(created_at) FROM documents)")

    def figures(**filters):
        found = api.get("/stats", params=filters).json()
        return (
            [day["documents"] for day in found["days"]],
            [(each["doc_type"], each["documents"]) for each in found["types"]],
            [(each["tag"], each["count"]) for each in found["tags"]],
        )

    both = [("note", 2), ("markdown", 1)]
    assert figures() == ([3], both, [("birds", 2), ("river", 2)])
    # Of any type, so that another can be chosen; tags only such as narrow what is there.
    assert figures(doc_type="markdown") == ([1], both, [("river", 1)])
    river = ([2], [("markdown", 1), ("note", 1)], [("river", 2), ("birds", 1)])
    assert figures(tag="river") == river
    assert figures(doc_type="md")[0] == [1]
    assert figures(path_prefix="/nowhere") == ([], [], [])
    assert figures(tag="river", created_after="2020-01-01") == river
    assert figures(created_after="2999-01-01") == ([3], [], [])
    assert figures(created_before="2020-01-01", tag=["birds", "river"]) == ([1], [], [])


def test_documents_can_be_listed_by_when_they_were_added(api):
    api.add_note("One heron.")
    today = api.document(1)["created_at"][:10]
    for filters, total in (
        ({"created_after": today}, 1),
        ({"created_before": today}, 1),
        ({"created_after": "2999-01-01"}, 0),
        ({"created_before": "2020-01-01T00:00:00Z"}, 0),
    ):
        assert api.get("/documents", params=filters).json()["total"] == total, filters
    assert api.get("/documents", params={"created_after": "soon"}).status_code == 422


def test_every_module_but_the_late_ones_is_named_in_the_page(api):
    start = api.get(f"{ROOT}/").text
    named = set(re.findall(r'modulepreload" href="([^"]+)"', start))
    modules = {path for path in web_page.assets() if path.endswith(".js")}
    assert {path.rpartition("/")[2] for path in modules - named} == {"uplot.js"}
    assert "{{" not in start


def test_the_jobs_of_one_document_can_be_listed(api):
    first, second = api.add_note("One heron."), api.add_note("Two herons.")
    found = api.get("/jobs", params={"document_id": second["document_id"]}).json()
    assert [job["id"] for job in found["jobs"]] == [second["id"]]
    assert first["id"] != second["id"]

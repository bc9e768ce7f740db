import io
import zipfile

import pytest

from kb.imports.programs.notion import Notion

HOME, TASKS, ROW, TABLE = ("1" * 32, "2" * 32, "3" * 32, "4" * 32)
WRAPPER = "Export-d2b14fbf-86de-4508-a1b2-6515ff8d7aab"
ROW_PAGE = """# Espresso machine, the one in the kitchen

Created: December 4, 2024 8:45 AM
Last edited time: 2025/01/31 10:00
Tags: home office, coffee
Price: $1,234.56
Manual: https://example.com/manual
Empty:

A row with text: it is part of the page.
"""
HTML = """<html><head><title>Espresso machine</title><style>th {}</style></head><body>
<article id="x" class="page sans"><header><h1 class="page-title">Espresso machine</h1>
<table class="properties"><tbody>
<tr class="property-row property-row-text"><th><span class="icon"></span>Notes</th><td>Double
boiler</td></tr>
<tr><th>Tags</th><td><span class="selected-value c">home office</span><span
class="selected-value">coffee</span></td></tr>
<tr><th>Serviced</th><td><div class="checkbox checkbox-on"></div></td></tr>
<tr><th>Sold</th><td><div class="checkbox checkbox-off"></div></td></tr>
<tr><th>Created</th><td><time>@March 1, 2024</time></td></tr>
<tr><th>Nothing</th><td></td></tr>
</tbody></table></header><div class="page-body">
<table><tr><th>Not</th><td>a property</td></tr></table></div></article></body></html>"""
FILES = {
    f"{WRAPPER}/Home {HOME}.md": f"# Home\n\n[My tasks](Home%20{HOME}/My%20tasks%20{TASKS}.md)\n",
    f"{WRAPPER}/Home {HOME}/My tasks {TASKS}.md": "# My tasks\n\nNote: this is\na paragraph.\n",
    f"{WRAPPER}/Home {HOME}/%D0%BA%D0%BE%D1%82.png": "picture",
    f"{WRAPPER}/Machines {TABLE}.csv": "Name\nEspresso",
    f"{WRAPPER}/Machines {TABLE}_all.csv": "Name,Price\nEspresso,1",
    f"{WRAPPER}/Machines {TABLE}/Espresso machine, the o {ROW}.md": ROW_PAGE,
    f"{WRAPPER}/index.html": "<html>",
}


def folder_of(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def zipped(files) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def by_key(items):
    return {item.key: item for item in items}


def test_pages_are_known_by_their_ids_and_their_titles_are_the_path(tmp_path, read):
    items, told = read(Notion(), folder_of(tmp_path, FILES))
    found = by_key(items)
    assert set(found) == {HOME, TASKS, ROW, f"{TABLE}/table", f"{HOME}/%D0%BA%D0%BE%D1%82.png"}
    tasks = found[TASKS]
    assert (tasks.title, tasks.filename) == ("My tasks", "My tasks.md")
    assert tasks.source_path == "notion/Home/My tasks.md"
    assert tasks.metadata == {
        "notion_path": "Home",
        "notion_url": f"https://www.notion.so/{TASKS}",
    }
    assert tasks.file.read_text() == FILES[f"{WRAPPER}/Home {HOME}/My tasks {TASKS}.md"]
    assert told == {
        f"{WRAPPER}/Machines {TABLE}.csv": "a view of a table that is in the export as a whole",
        f"{WRAPPER}/index.html": "the contents of the export",
    }


def test_a_row_of_a_table_has_its_properties(tmp_path, read):
    row = by_key(read(Notion(), folder_of(tmp_path, FILES))[0])[ROW]
    assert row.title == "Espresso machine, the one in the kitchen"
    assert row.source_path == "notion/Machines/Espresso machine, the o.md"
    assert row.tags == ("home office", "coffee")
    assert row.metadata["Price"] == "$1,234.56"
    assert row.metadata["Manual"] == "https://example.com/manual"
    assert "Empty" not in row.metadata
    assert row.created_at == "2024-12-04T08:45:00.000000Z"
    assert row.updated_at == "2025-01-31T10:00:00.000000Z"


def test_tables_and_attachments_are_files(tmp_path, read):
    found = by_key(read(Notion(), folder_of(tmp_path, FILES))[0])
    table, picture = found[f"{TABLE}/table"], found[f"{HOME}/%D0%BA%D0%BE%D1%82.png"]
    assert (table.title, table.filename) == ("Machines", "Machines.csv")
    assert table.file.read_text() == "Name,Price\nEspresso,1"
    assert (picture.title, picture.filename) == ("кот", "кот.png")
    assert picture.source_path == "notion/Home/кот.png"


def test_html_pages_have_the_same(tmp_path, read):
    files = {f"{WRAPPER}/Home {HOME}/Espresso {ROW}.html": HTML}
    [page], _ = read(Notion(), folder_of(tmp_path, files))
    assert (page.key, page.title, page.filename) == (ROW, "Espresso machine", "Espresso.html")
    assert page.tags == ("home office", "coffee")
    assert page.created_at == "2024-03-01T00:00:00.000000Z"
    known = {"Notes": "Double boiler", "Serviced": "Yes", "Sold": "No"}
    assert known.items() <= page.metadata.items()
    assert not {"Nothing", "Not"} & page.metadata.keys()


def test_archives_within_the_archive_are_opened_and_stay_so(tmp_path, read):
    names = list(FILES)
    for number, part in enumerate([names[:3], names[3:]], start=1):
        data = zipped({name: FILES[name] for name in part})
        (tmp_path / f"ExportBlock-{WRAPPER[7:]}-Part-{number}.zip").write_bytes(data)
    assert Notion().recognises(tmp_path)
    items, told = read(Notion(), tmp_path)
    assert by_key(items)[TASKS].file.read_text().startswith("# My tasks")
    assert len(items) == 5
    assert len(told) == 2


def test_a_damaged_archive_within_is_said_to_be_one(tmp_path, read):
    data = zipped({f"Home {HOME}.md": "# Home" * 999})
    (tmp_path / f"{WRAPPER}-Part-1.zip").write_bytes(
        data.replace(b"# Home# Home", b"# Home# Hole", 1)
    )
    cut, hostile = zipped({f"Tasks {TASKS}.md": "# Tasks"})[:40], zipped({"../out.md": "x"})
    (tmp_path / f"{WRAPPER}-Part-2.zip").write_bytes(cut)
    (tmp_path / f"{WRAPPER}-Part-3.zip").write_bytes(hostile)
    (tmp_path / f"{WRAPPER}-Part-4.zip").write_bytes(b"no archive at all")
    (tmp_path / f"Note {TASKS}.md").write_text("# A note beside them")
    items, told = read(Notion(), tmp_path)
    assert [item.title for item in items] == ["A note beside them"]
    assert "archive is damaged" in told[f"{WRAPPER}-Part-1.zip"]
    assert "archive is damaged" in told[f"{WRAPPER}-Part-2.zip"]
    assert "outside its folder" in told[f"{WRAPPER}-Part-3.zip"]
    assert "no archive any more" in told[f"{WRAPPER}-Part-4.zip"]


def test_pages_of_one_title_are_two_and_one_without_an_id_goes_by_its_path(tmp_path, read):
    files = {f"Note {HOME}.md": "one", f"Note {TASKS}.md": "two", "Plain/Note.md": "# Three"}
    items, _ = read(Notion(), folder_of(tmp_path, files))
    assert [(item.key, item.title) for item in items] == [
        (HOME, "Note"),
        (TASKS, "Note"),
        ("path/Plain/Note.md", "Three"),
    ]


@pytest.mark.parametrize(
    "text", ["", "# ", "# T", "# T\n\n: x", "<title>", "<table class=properties><th>", "\x00\ufffe"]
)
def test_odd_pages_are_no_crash(tmp_path, read, text):
    files = {f"A {HOME}.md": "x" + text, f"B {TASKS}.html": "x" + text}
    items, _ = read(Notion(), folder_of(tmp_path, files))
    assert len(items) == 2


def test_it_is_known_by_its_names(tmp_path):
    assert Notion().recognises(folder_of(tmp_path / "a", {f"Home {HOME}.md": "x"}))
    assert not Notion().recognises(folder_of(tmp_path / "b", {"Home.md": "x"}))
    assert not Notion().recognises(tmp_path / "nothing")

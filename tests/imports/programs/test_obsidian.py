import os
import zipfile

import pytest

from kb.imports.archive import unpacked
from kb.imports.item import Unreadable
from kb.imports.programs.obsidian import Obsidian, inline_tags

NOTE = """---
title: Spring sowing
tags:
  - garden/spring
  - "#Seeds"
aliases:
  - Sowing plan
created: 2024-02-01T08:00:00Z
modified: 2024-03-02T09:30:00+01:00
rating: 4
---
Sow #tomatoes indoors, see [[Seed list|the list]] and ![[sunny bed.png]].

```sh
echo "#not-a-tag"
```
"""


def vault(folder, **files):
    (folder / ".obsidian").mkdir(parents=True)
    (folder / ".obsidian" / "app.json").write_text("{}")
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


@pytest.fixture
def garden(tmp_path):
    top = vault(tmp_path / "My vault", Beds="x", **{"Plans__Spring.md": NOTE})
    (top / "Beds").unlink()
    (top / "Plans" / "sunny bed.png").write_bytes(b"\x89PNG")
    return top


def test_a_note_has_what_obsidian_shows_of_it(garden, read):
    [note, picture], _ = read(Obsidian(), garden)
    path = garden / "Plans" / "Spring.md"
    assert (note.key, note.source_path, note.file) == (str(path), str(path), path)
    assert (note.title, note.filename) == ("Spring sowing", "Spring.md")
    assert note.tags == ("garden/spring", "garden", "Seeds", "tomatoes")
    assert note.metadata == {"aliases": ["Sowing plan"], "rating": 4, "vault": "My vault"} | {
        "created": "2024-02-01T08:00:00Z",
        "modified": "2024-03-02T09:30:00+01:00",
    }
    assert note.created_at == "2024-02-01T08:00:00.000000Z"
    assert note.updated_at == "2024-03-02T08:30:00.000000Z"
    assert (picture.title, picture.file) == ("sunny bed", garden / "Plans" / "sunny bed.png")


def test_settings_trash_and_what_cannot_be_read_are_left_out_and_told(garden, read):
    (garden / ".trash").mkdir()
    (garden / ".trash" / "old.md").write_text("gone")
    (garden / "empty.md").touch()
    (garden / "talk.mp3").write_bytes(b"ID3")
    (garden / "icon.ICO").write_bytes(b"\0\0\1\0")
    (garden / "elsewhere.md").symlink_to("/etc/hostname")
    (garden / "loop").symlink_to(garden)
    items, told = read(Obsidian(), garden)
    assert len(items) == 2
    assert told == {
        ".obsidian/": "hidden, with 1 file in it",
        ".trash/": "hidden, with 1 file in it",
        "empty.md": "empty",
        "talk.mp3": "sound and film are not read",
        "icon.ICO": "files of this kind (ico) are not read",
        "elsewhere.md": "a link: it is not followed",
        "loop": "a link: it is not followed",
    }


def test_folders_that_never_end_are_left_out(tmp_path, read):
    top = vault(tmp_path / "v", **{"a.md": "text"})
    deep = top.joinpath(*["d"] * 400)
    deep.mkdir(parents=True)
    (deep / "b.md").write_text("text")
    items, told = read(Obsidian(), top)
    assert len(items) == 1
    assert told["/".join(["d"] * 101) + "/"] == "more than 100 folders deep"


def test_without_properties_the_name_is_the_title_and_the_file_tells_the_time(tmp_path, read):
    [note], _ = read(Obsidian(), vault(tmp_path / "v", **{"Daily note.md": "# Heading\n\nText"}))
    assert (note.title, note.tags, note.metadata) == ("Daily note", (), {"vault": "v"})
    assert (note.created_at, note.updated_at) == (None, "2023-11-14T22:13:20.000000Z")


@pytest.mark.parametrize(
    ("front", "tags"),
    [
        ("tags: one, two", ("one", "two")),
        ("tags: one two", ("one", "two")),
        ("tag: One\ntags: [one, three]", ("one", "three")),
        ("Tags: [2024, 'a/b']", ("2024", "a/b", "a")),
        ("tags:", ()),
        ("tags: {a: b}", ()),
        ("tags: [[a], null]", ()),
    ],
)
def test_tags_in_properties_have_many_forms(tmp_path, read, front, tags):
    [note], _ = read(Obsidian(), vault(tmp_path / "v", **{"n.md": f"---\n{front}\n---\nText"}))
    assert note.tags == tags


def test_an_alias_with_a_colon_is_an_alias(tmp_path, read):
    head = "---\naliases:\n- 'Opener'\n- Opener: New Tab by Default\n---\n"
    [note], told = read(Obsidian(), vault(tmp_path / "v", **{"n.md": head}))
    assert note.metadata["aliases"] == ["Opener", "Opener: New Tab by Default"]
    assert told == {".obsidian/": told[".obsidian/"]}


def test_a_note_with_broken_properties_is_taken_and_they_are_told(tmp_path, read):
    top = vault(tmp_path / "v", **{"n.md": "---\ntitle: A: b\n---\nText #kept"})
    [note], told = read(Obsidian(), top)
    assert (note.title, note.tags) == ("A: b", ("kept",))
    assert told["n.md"].startswith("of its properties: line 2: a second colon in a line")


def test_bytes_that_are_no_text_are_no_crash(tmp_path, read):
    [note], _ = read(
        Obsidian(), vault(tmp_path / "v", **{"n.md": b"---\ntags: [\xff\xfe]\n---\n\x00 #x"})
    )
    assert "x" in note.tags


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one, #two/three (#four)", ["one", "two/three", "four"]),
        ("#1984 but #y1984", ["y1984"]),
        ("#日本 #émigré #a_b-c", ["日本", "émigré", "a_b-c"]),
        ("a#b https://example.org/#c [x](#d) [[Note#e]] `#f` ``a `#g` ``", []),
        ("# Heading\n#tag", ["tag"]),
        ("```\n#a\n```\n#b\n~~~~\n#c\n```\n~~~~\n#d\n```\n#never closed", ["b", "d"]),
        ("%% #a %% <!-- #b --> $$ #c $$ <p class='#d'> #e", ["e"]),
        ("#tag/", ["tag"]),
        ("#", []),
    ],
)
def test_inline_tags_are_those_that_obsidian_sees(text, tags):
    assert list(inline_tags(text)) == tags


@pytest.mark.parametrize("text", ["<!-- ", "`` ` ", "[[", "](", "%%", "$$", "~~~\n", "<a ", "#"])
def test_much_of_what_is_never_closed_takes_no_time(text):
    assert "a" in list(inline_tags("#a " + text * (300_000 // len(text))))


def test_a_vault_is_known_by_its_settings(tmp_path):
    assert Obsidian().recognises(vault(tmp_path / "v"))
    assert not Obsidian().recognises(tmp_path)
    assert not Obsidian().recognises(tmp_path / "nothing")


def test_a_vault_in_an_archive_is_to_be_unpacked_first(tmp_path, read):
    with zipfile.ZipFile(tmp_path / "vault.zip", "w") as archive:
        archive.writestr(".obsidian/app.json", "{}")
        archive.writestr("a.md", "text")
    with unpacked(tmp_path / "vault.zip") as folder:
        assert Obsidian().recognises(folder)
        with pytest.raises(Unreadable, match="unpack the archive first"):
            read(Obsidian(), folder)


def test_a_file_is_no_vault(tmp_path, read):
    (tmp_path / "a.md").write_text("x")
    with pytest.raises(Unreadable, match="name the folder with the notes"):
        read(Obsidian(), tmp_path / "a.md")


def test_a_title_is_one_and_a_tag_is_a_word(tmp_path, read):
    twice = "---\ntitle: First, and best\ntitle: Second\ntags: [true, 2024]\n---\nText."
    [note], told = read(Obsidian(), vault(tmp_path / "vault", **{"note.md": twice}))
    assert (note.title, note.tags) == ("First, and best", ("true", "2024"))
    assert told["note.md"].endswith("title is there twice; not taken: the second title")


def test_what_is_not_utf_8_has_its_tags_and_says_so(tmp_path, read):
    latin = "---\ntags: [Übel]\n---\nGrüße".encode("latin-1")
    wide = "---\ntags: [Übel]\n---\nGrüße".encode("utf-16")
    [one, two], told = read(Obsidian(), vault(tmp_path / "vault", **{"a.md": latin, "b.md": wide}))
    assert one.tags == two.tags == ("Übel",)
    assert told["a.md"].startswith("it is not UTF-8")
    assert "b.md" not in told

import json

import pytest

from kb.imports.item import Unreadable
from kb.imports.programs.memory_server import Memory

ANNA = {
    "type": "entity",
    "name": "Anna Müller",
    "entityType": "person",
    "observations": ["Lives in Bern", "Two lines\nof it"],
}
ACME = {"type": "entity", "name": "Acme", "entityType": "organisation", "observations": []}
WORKS = {"type": "relation", "from": "Anna Müller", "to": "Acme", "relationType": "works_at"}


def file(folder, *records, name="memory.jsonl"):
    path = folder / name
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_an_entity_is_a_note_with_its_relations_in_both_directions(tmp_path, read):
    path = file(tmp_path, ANNA, ACME, WORKS, WORKS)
    [anna, acme], told = read(Memory(), path)
    assert told == {}
    assert anna.text == (
        "# Anna Müller\n\nType: person\n\n- Lives in Bern\n- Two lines\n  of it\n\n"
        "## Relations\n\n- Anna Müller works_at Acme\n"
    )
    assert acme.text.endswith("## Relations\n\n- Anna Müller works_at Acme\n")
    assert anna.key == anna.source_path == f"{path}#Anna Müller"
    assert (anna.title, anna.tags, anna.created_at) == ("Anna Müller", ("person",), None)


def test_a_file_that_grew_keeps_its_keys(tmp_path, read):
    before, _ = read(Memory(), file(tmp_path, ANNA))
    more = ANNA | {"observations": ["Plays the cello"]}
    after, _ = read(Memory(), file(tmp_path, ACME, more, WORKS))
    assert before[0].key == after[1].key
    assert "cello" in after[1].text


def test_a_long_name_makes_no_path_that_is_too_long(tmp_path, read):
    [note], _ = read(Memory(), file(tmp_path, ANNA | {"name": "x" * 9_000}))
    assert len(note.source_path) < 4_096


def test_an_entity_without_a_name_is_taken_as_one(tmp_path, read):
    nameless = {"type": "entity", "name": " ", "entityType": "x", "observations": ["Two cats"]}
    without = {"type": "entity", "observations": "One dog"}
    notes, told = read(Memory(), file(tmp_path, nameless, without))
    assert [note.title for note in notes] == ["Entity without a name"] * 2
    assert told == {}
    assert "- Two cats" in notes[0].text
    assert "- One dog" in notes[1].text


def test_what_is_malformed_is_told_and_the_rest_is_taken(tmp_path, read):
    path = file(
        tmp_path,
        "",
        "{not json",
        ANNA,
        [1, 2],
        {"type": "entity", "name": ""},
        {"type": "entity", "name": "A", "entityType": "x", "observations": 5},
        {"type": "else"},
        {"type": "relation", "from": "X", "to": "Y", "relationType": "knows"},
        {"type": "relation", "from": "X", "to": "Anna Müller", "relationType": "knows"},
    )
    [anna], told = read(Memory(), path)
    assert "- X knows Anna Müller" in anna.text
    assert told == {
        "line 2": "not a JSON object",
        "line 4": "not a JSON object",
        "line 5": "neither an entity nor a relation",
        "line 6": "neither an entity nor a relation",
        "line 7": "neither an entity nor a relation",
        "X knows Y": "a relation between two entities that the file does not have",
    }


def test_servers_made_from_it_write_more_and_that_is_kept(tmp_path, read):
    record = ANNA | {"createdAt": "2025-05-01T10:00:00Z", "status": "active"}
    record["observations"] = [{"content": "Sings", "timestamp": "2025-05-02"}, "\ud83d\x00"]
    [anna], _ = read(Memory(), file(tmp_path, record, ANNA))
    assert "- Sings" in anna.text
    assert "- �" in anna.text
    assert "- Lives in Bern" in anna.text
    assert anna.created_at == "2025-05-01T10:00:00.000000Z"
    assert anna.metadata["status"] == "active"


def test_relations_within_an_entity_and_words_above_it_are_no_trouble(tmp_path, read):
    record = {"name": "A", "entityType": "x", "observations": ["o"]}
    record["relations"] = [{"relationType": "uses", "to": "B"}, {"to": 5}, "text"]
    path = file(tmp_path, "This file was moved.", record)
    assert Memory().recognises(path)
    [note], told = read(Memory(), path)
    assert note.text.endswith("- o\n\n## Relations\n\n- A uses B\n")
    assert told == {"line 1": "not a JSON object"}


def test_the_whole_graph_in_one_object_is_read_as_well(tmp_path, read):
    graph = {"entities": [{**ANNA}, 7], "relations": [{**WORKS}]}
    for record in (*graph["entities"][:1], *graph["relations"]):
        del record["type"]
    path = file(tmp_path, json.dumps(graph, indent=2), name="graph.json")
    [anna], told = read(Memory(), path)
    assert "works_at" in anna.text
    assert told == {"entities 2": "not an object"}
    assert Memory().recognises(path)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (json.dumps(ANNA), True),
        (json.dumps(WORKS) + "\n" + json.dumps(ANNA), True),
        ('{"name": "package", "version": "1.0"}', False),
        ("[1]", False),
        ("text", False),
        ("", False),
    ],
)
def test_it_is_known_by_its_first_line(tmp_path, text, known):
    assert Memory().recognises(file(tmp_path, text)) is known


def test_a_folder_or_nothing_is_not_such_a_file(tmp_path, read):
    assert not Memory().recognises(tmp_path)
    assert not Memory().recognises(tmp_path / "nothing")
    with pytest.raises(Unreadable, match="cannot be read"):
        read(Memory(), tmp_path / "nothing")


def test_an_entity_of_two_types_has_both(tmp_path, read):
    other = ANNA | {"entityType": "musician", "observations": []}
    [anna], told = read(Memory(), file(tmp_path, ANNA, other))
    assert told == {}
    assert (anna.tags, anna.metadata["entity_type"]) == (("person", "musician"), "person, musician")
    assert "Type: person, musician" in anna.text


@pytest.mark.parametrize("damaged", [b"Gr\xfc\xdfe", b"half \\ud83d"])
def test_characters_that_are_damaged_are_told(tmp_path, read, damaged):
    path = file(tmp_path, ANNA)
    path.write_bytes(path.read_bytes().replace(b"Lives in Bern", damaged))
    [anna], told = read(Memory(), path)
    assert "\ufffd" in anna.text
    assert told == {"line 1": "characters in it that were damaged or halved became \ufffd"}


def test_a_file_in_utf_16_is_read(tmp_path, read):
    path = file(tmp_path, ANNA)
    path.write_text(path.read_text(), encoding="utf-16")
    assert Memory().recognises(path)
    [anna], told = read(Memory(), path)
    assert (anna.title, told) == ("Anna Müller", {})

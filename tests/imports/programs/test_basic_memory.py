import pytest

from kb.imports.programs.basic_memory import BasicMemory
from kb.imports.programs.obsidian import Obsidian

NOTE = """---
title: Coffee Brewing
type: note
permalink: coffee/brewing
tags:
- coffee
- '#brewing'
created: '2025-01-10T09:00:00+00:00'
modified: '2025-01-12T09:00:00+00:00'
---

# Coffee Brewing

## Observations
- [method] Pour over gives more clarity #filter#v60 (measured at home)
- [method] French press gives body
- [tip] Grind just before #fresh
- [ ] buy beans
- [x] clean the kettle
- [00:12] what was said then #no

## Relations
- relates_to [[Coffee Beans]]
- "depends on" [[Good Water]] (since 2024)
- contrasts with [[Tea]] in many ways, see [[Tea Brewing]]

```
- [not] an observation
- links [[Nothing]]
```
"""
PLAIN = "---\ntitle: {0}\ntype: note\npermalink: {0}\n---\nText\n"


@pytest.fixture
def project(tmp_path):
    top = tmp_path / "main"
    (top / "coffee").mkdir(parents=True)
    (top / "coffee" / "Coffee Brewing.md").write_text(NOTE)
    (top / "coffee" / "chart.csv").write_text("a,b\n1,2\n")
    (top / ".basic-memory").mkdir()
    return top


def test_a_note_keeps_its_observations_and_relations(project, read):
    [note, chart], _ = read(BasicMemory(), project)
    path = project / "coffee" / "Coffee Brewing.md"
    assert (note.title, note.file, note.source_path) == ("Coffee Brewing", path, str(path))
    assert note.tags == ("coffee", "brewing", "filter", "v60", "fresh")
    assert note.metadata["permalink"] == "coffee/brewing"
    assert note.metadata["type"] == "note"
    assert note.metadata["project"] == "main"
    assert note.metadata["observations"] == {"method": 2, "tip": 1}
    assert note.metadata["relations"] == [
        {"type": "relates_to", "target": "Coffee Beans"},
        {"type": "depends on", "target": "Good Water"},
        {"type": "links_to", "target": "Tea"},
        {"type": "links_to", "target": "Tea Brewing"},
    ]
    assert note.created_at == "2025-01-10T09:00:00.000000Z"
    assert note.updated_at == "2025-01-12T09:00:00.000000Z"
    assert (chart.title, chart.filename) == ("chart", "chart.csv")


def test_broken_properties_cost_only_themselves(project, read):
    (project / "bad.md").write_text("---\ntitle: [\n---\n- [fact] kept #yes\n")
    items, told = read(BasicMemory(), project)
    bad = next(item for item in items if item.filename == "bad.md")
    assert (bad.title, bad.tags) == ("bad", ("yes",))
    assert told["bad.md"].startswith("of its properties: line ")


def test_a_project_is_known_by_the_properties_of_its_notes(tmp_path, project):
    assert BasicMemory().recognises(project)
    assert not BasicMemory().recognises(tmp_path / "nothing")
    (tmp_path / "other").mkdir()
    assert not BasicMemory().recognises(tmp_path / "other")
    for number in range(3):
        (tmp_path / "other" / f"{number}.md").write_text("---\npermalink: a\n---\nText")
    (tmp_path / "other" / "own.md").write_text(PLAIN.format("own"))
    assert not BasicMemory().recognises(tmp_path / "other")


def test_a_project_that_is_also_opened_in_obsidian_is_still_one(project):
    (project / ".obsidian").mkdir()
    assert BasicMemory().recognises(project)
    assert Obsidian().recognises(project)


def test_times_have_the_names_that_agents_give_them(tmp_path, read):
    head = "---\ntitle: Flow\ntype: note\npermalink: flow\ncreated_at: 2026-04-12\n---\nText"
    (tmp_path / "flow.md").write_text(head)
    [note], _ = read(BasicMemory(), tmp_path)
    assert note.created_at == "2026-04-12T00:00:00.000000Z"

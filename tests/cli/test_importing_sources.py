"""What other programs export, through `kb import` into a real engine."""

import io
import json
import os
import sqlite3
import uuid
import zipfile

import pytest

NOTION_TIME = "February 1, 2024 12:00 AM"
PAGE, TABLE, ROW = "1" * 32, "2" * 32, "3" * 32


def obsidian(folder, text):
    vault = folder / "vault"
    (vault / ".obsidian").mkdir(parents=True, exist_ok=True)
    (vault / ".obsidian" / "app.json").write_text("{}")
    head = "---\ntitle: Sowing\ntags: [garden/spring]\naliases: [Seeds]\ncreated: 2024-02-01\n---\n"
    (vault / "Spring.md").write_text(f"{head}{text} #tomatoes, see [[Beds|the beds]]\n")
    if not (vault / "beds.csv").exists():
        (vault / "beds.csv").write_text("bed,plant\n1,fig\n")
    return vault


def basic_memory(folder, text):
    project = folder / "project"
    project.mkdir(exist_ok=True)
    head = "---\ntitle: Sowing\ntype: note\npermalink: sowing\ntags:\n- garden\n---\n"
    note = project / "sowing.md"
    first = not note.exists()
    note.write_text(f"{head}\n- [tip] {text} #tomatoes (home)\n- needs [[Good Soil]]\n")
    if first:
        os.utime(note, (1_706_745_600, 1_706_745_600))
    return project


def memory(folder, text):
    records = [
        {"type": "entity", "name": "Sowing", "entityType": "task", "observations": [text]},
        {"type": "entity", "name": "Anna", "entityType": "person", "observations": []},
        {"type": "relation", "from": "Anna", "to": "Sowing", "relationType": "plans"},
    ]
    path = folder / "memory.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def memory_service(folder, text):
    path = folder / "sqlite_vec.db"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE memories (content_hash TEXT, content TEXT, tags TEXT, memory_type TEXT,"
        " metadata TEXT, created_at REAL, updated_at REAL, deleted_at REAL)"
    )
    for key, deleted in (("a" * 64, None), ("b" * 64, 1.0)):
        row = (key, f"Sowing\n{text}", "garden", "note", "{}", 1_706_745_600.0, None, deleted)
        connection.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    return path


def claude(folder, text):
    said = {
        "uuid": "m",
        "text": text,
        "content": [{"type": "text", "text": text}],
        "sender": "human",
        "created_at": "2024-02-01T00:00:00Z",
        "attachments": [{"file_name": "beds.md", "extracted_content": "# Beds"}],
    }
    conversation = {
        "uuid": "6f1d2c3b-4a5e-4f60-8a7b-9c0d1e2f3a4b",
        "name": "Sowing",
        "created_at": "2024-02-01T00:00:00Z",
        "updated_at": "2024-02-02T00:00:00Z",
        "chat_messages": [said],
    }
    project = {
        "uuid": "p",
        "name": "Garden",
        "docs": [{"uuid": "d", "filename": "a", "content": "b"}],
    }
    files = {
        "conversations.json": json.dumps([conversation]),
        "projects.json": json.dumps([project]),
    }
    return _zip(folder / "claude.zip", {**files, "users.json": "[]"})


def chatgpt(folder, text):
    said = {
        "id": "q",
        "author": {"role": "user"},
        "create_time": 1_706_745_600,
        "content": {"content_type": "text", "parts": [text]},
        "metadata": {"attachments": [{"id": "file-Ab1", "name": "beds.txt"}]},
    }
    conversation = {
        "title": "Sowing",
        "create_time": 1_706_745_600,
        "update_time": 1_706_832_000,
        "current_node": "q",
        "conversation_id": "c1",
        "mapping": {"q": {"id": "q", "parent": None, "children": [], "message": said}},
    }
    files = {"conversations-000.json": json.dumps([conversation]), "file-Ab1-x.txt": "fig, quince"}
    return _zip(folder / "chatgpt.zip", {**files, "chat.html": "<html>"})


def notion(folder, text):
    inner = io.BytesIO()
    _zip(
        inner,
        {
            f"Garden {PAGE}.md": f"# Sowing\n\nCreated: {NOTION_TIME}\nTags: garden\n\n{text}\n",
            f"Garden {PAGE}/beds.txt": "fig, quince",
            f"Plants {TABLE}.csv": "Name\nFig\n",
            f"Plants {TABLE}_all.csv": "Name,Bed\nFig,1\n",
            f"Plants {TABLE}/Fig {ROW}.html": "<html><title>Fig</title><p>A fig tree</p></html>",
        },
    )
    name = "Export-d2b14fbf-86de-4508-a1b2-6515ff8d7aab-Part-1.zip"
    return _zip(folder / "notion.zip", {name: inner.getvalue()})


def _zip(target, files):
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target


# What each becomes: documents, how many were left out, and the tags of the one called Sowing.
EXPORTS = {
    "obsidian": (obsidian, 2, 1, ["garden", "garden/spring", "tomatoes"]),
    "basic-memory": (basic_memory, 1, 0, ["garden", "tomatoes"]),
    "memory": (memory, 2, 0, ["task"]),
    "memory-service": (memory_service, 1, 1, ["garden"]),
    "claude": (claude, 2, 1, []),
    "chatgpt": (chatgpt, 2, 1, []),
    "notion": (notion, 4, 1, ["garden"]),
}


def text_of(document):
    return "".join(chunk["text"] for chunk in document["chunks"])


@pytest.mark.usefixtures("engine")
def test_conversations_that_are_cut_are_a_failure_and_what_stands_before_is_taken(tmp_path, kb):
    with zipfile.ZipFile(claude(tmp_path, f"Sow in {uuid.uuid4()}.")) as archive:
        text = archive.read("conversations.json").decode()
    path = tmp_path / "conversations.json"
    own = text.replace("6f1d2c3b-4a5e-4f60-8a7b-9c0d1e2f3a4b", str(uuid.uuid4()))
    path.write_text(own.removesuffix("]") + ', {"uuid": "cut')
    for options, outcome in ((["--dry-run"], "new"), ([], "added")):
        code, out, _ = kb("import", str(path), "--json", *options)
        told = json.loads(out)
        assert (code, told[outcome], told["failed"]) == (1, 1, 1)
        [failed] = [each for each in told["documents"] if each["outcome"] == "failed"]
        assert "fetch the export again" in failed["error"]["message"]


@pytest.mark.usefixtures("engine")
def test_what_is_odd_in_a_vault_is_told_and_a_dry_run_knows_what_fails(tmp_path, kb, api):
    vault = obsidian(tmp_path, f"Sow in {uuid.uuid4()}.")
    [emptied] = [
        each for each in api("import", str(vault))["documents"] if each["title"] == "Sowing"
    ]
    (vault / "Spring.md").write_text("")
    (vault / "a\nb.md").write_text("A note.")
    (vault / "long.md").write_text("---\n" + "".join(f"k{n}: v\n" for n in range(15_000)) + "---\n")
    code, out, _ = kb("import", str(vault), "--dry-run", "--json")
    told = json.loads(out)
    assert (code, told["failed"], told["new"]) == (1, 1, 1)
    [failed] = [each for each in told["documents"] if each["outcome"] == "failed"]
    assert "rename the file" in failed["error"]["message"]
    stays = f"empty; document {emptied['document_id']} stays as it was"
    assert {"key": "Spring.md", "why": stays} in told["skipped"]
    [remark] = told["remarks"]
    assert "longer than 100,000 characters: taken as text" in remark["why"]


@pytest.mark.usefixtures("engine")
def test_what_is_of_another_kind_or_has_broken_lines_is_an_error(tmp_path, kb, refusal):
    path = memory(tmp_path, f"Sow in {uuid.uuid4()}.")
    code, _, err = kb("import", str(path), "--tags", " , ")
    assert (code, err.startswith("kb: --tags is empty: name a tag")) == (2, True)
    assert f"{path} is no export of chatgpt" in refusal("import", str(path), "--from", "chatgpt")
    path.write_text(path.read_text() + "\n{cut\n")
    code, out, _ = kb("import", str(path), "--dry-run", "--json")
    assert (code, json.loads(out)["failed"], json.loads(out)["new"]) == (1, 1, 2)


@pytest.mark.usefixtures("engine")
def test_a_vault_in_an_archive_is_to_be_unpacked_and_called_as_it_was_named(tmp_path, kb):
    path = _zip(tmp_path / "vault.zip", {"vault/.obsidian/app.json": "{}", "vault/a.md": "A note."})
    for options in ([], ["--from", "obsidian"]):
        code, _, err = kb("import", str(path), *options)
        assert (code, "kb-import-" in err) == (1, False)
        assert f"{path}" in err
        assert "unpack" in err


def test_a_tag_that_its_source_has_no_longer_goes_and_one_that_was_given_stays(tmp_path, api):
    mark = f"given-{uuid.uuid4()}"
    note = basic_memory(tmp_path, "Sow.") / "sowing.md"
    [before] = api("import", str(note.parent), "--tags", mark)["documents"]
    note.write_text(note.read_text().replace("- garden\n", "- beds\n"))
    assert api("import", str(note.parent))["updated"] == 1
    assert api("get", str(before["document_id"]))["tags"] == sorted(["beds", "tomatoes", mark])


@pytest.mark.parametrize("source", EXPORTS)
def test_an_export_comes_in_once_and_a_newer_one_updates_it(source, tmp_path, api):
    build, documents, left_out, tags = EXPORTS[source]
    mark = f"import-{uuid.uuid4()}"
    path = build(tmp_path, f"Sow in {mark}.")

    def run(*options):
        answer = api("import", str(path), "--tags", mark, *options)
        assert answer["source"] == source
        assert len(answer["skipped"]) == left_out
        assert (answer["failed"], answer["conflict"]) == (0, 0)
        return answer

    assert run("--dry-run")["new"] == documents
    assert api("list", "--tags", mark)["total"] == 0
    assert run()["added"] == documents
    assert run()["unchanged"] == documents

    [found] = [
        each for each in api("list", "--tags", mark)["documents"] if each["title"] == "Sowing"
    ]
    assert sorted(found["tags"]) == sorted([*tags, mark])
    assert mark in text_of(api("get", str(found["id"])))
    if source != "memory":  # it has no times
        assert found["created_at"].startswith(("2024-01-31", "2024-02-01"))

    api("import", str(path), "--tags", f"{mark}-more")
    found = api("get", str(found["id"]))
    assert sorted(found["tags"]) == sorted([*tags, mark, f"{mark}-more"])
    assert api("import", str(path))["unchanged"] == documents

    build(tmp_path, f"Sow later in {mark}.")
    newer = api("import", str(path))
    assert (newer["updated"], newer["unchanged"]) == (1, documents - 1)
    again = api("get", str(found["id"]))
    assert "Sow later" in text_of(again)
    assert again["created_at"] == found["created_at"]
    assert again["tags"] == found["tags"]
    assert api("list", "--tags", mark)["total"] == documents

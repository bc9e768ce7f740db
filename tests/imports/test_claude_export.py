import json
import zipfile

import pytest

from kb.imports.item import Unreadable
from kb.imports.programs.chatgpt import ChatGpt
from kb.imports.programs.claude import Claude

UUID = "6f1d2c3b-4a5e-4f60-8a7b-9c0d1e2f3a4b"


def message(text="", sender="human", **more):
    return {
        "uuid": "m",
        "text": text,
        "content": [{"type": "text", "text": text}] if text else [],
        "sender": sender,
        "created_at": "2025-12-14T18:33:14.284238Z",
        "updated_at": "2025-12-14T18:33:14.284238Z",
        "attachments": [],
        "files": [],
    } | more


def conversation(*messages, **more):
    return {
        "uuid": UUID,
        "name": "Frost in May",
        "summary": "",
        "created_at": "2025-12-14T18:33:11.903723Z",
        "updated_at": "2025-12-14T23:05:37.287929Z",
        "account": {"uuid": "a"},
        "chat_messages": list(messages),
    } | more


def export(folder, conversations, **files):
    folder.mkdir(exist_ok=True)
    (folder / "conversations.json").write_text(json.dumps(conversations))
    (folder / "users.json").write_text('[{"uuid": "a", "full_name": "Anna"}]')
    for name, value in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value))
    return folder


def text_of(tmp_path, read, *messages) -> str:
    [item], _ = read(Claude(), export(tmp_path / "one", [conversation(*messages)]))
    return item.text


def test_a_conversation_is_one_document_with_who_said_what_and_when(tmp_path, read):
    said = [message("When does it end?"), message("In the middle of May.", "assistant")]
    [item], told = read(Claude(), export(tmp_path / "export", [conversation(*said)]))
    assert item.text == (
        "## Human · 2025-12-14 18:33\n\nWhen does it end?\n\n"
        "## Claude · 2025-12-14 18:33\n\nIn the middle of May."
    )
    assert (item.key, item.title) == (UUID, "Frost in May")
    assert item.source_path == f"https://claude.ai/chat/{UUID}"
    assert item.metadata == {"conversation": "Claude", "messages": 2}
    assert item.created_at == "2025-12-14T18:33:11.903723Z"
    assert item.updated_at == "2025-12-14T23:05:37.287929Z"
    assert told == {"users.json": "neither conversations nor projects nor memories"}


def test_texts_of_attachments_and_names_of_files_are_part_of_it(tmp_path, read):
    attachment = {"file_name": "plan.md", "extracted_content": "```\nsow\n```", "file_type": "md"}
    files = [{"file_name": "bed.png", "file_uuid": "x"}]
    text = text_of(tmp_path, read, message("See", attachments=[attachment], files=files))
    assert text.endswith("See\n\nAttachment: plan.md\n\n````\n```\nsow\n```\n````\n\nFile: bed.png")


def test_artifacts_tools_and_thoughts_stand_where_they_were(tmp_path, read):
    create = {"command": "create", "id": "a", "title": "Bed plan", "type": "text/markdown"}
    blocks = [
        {"type": "thinking", "thinking": "Let me\nsee"},
        {"type": "tool_use", "name": "artifacts", "input": create | {"content": "# Beds"}},
        {
            "type": "tool_use",
            "name": "artifacts",
            "input": {"id": "a", "old_str": "A", "new_str": "B"},
        },
        {"type": "tool_use", "name": "web_search", "input": {"query": "frost dates"}},
        {
            "type": "tool_result",
            "name": "web_search",
            "content": [
                {"type": "knowledge", "title": "Dates", "url": "https://e.org", "text": "May"}
            ],
        },
        {"type": "tool_result", "name": "repl", "content": "x" * 30_000},
        {"type": "token_budget", "remaining": 5},
        {"type": "text", "text": "<antArtifact>as it stands</antArtifact>"},
        {"type": "hologram", "light": 7},
    ]
    text = text_of(tmp_path, read, message("", "assistant", content=blocks))
    for part in (
        "Thinking:\n\n> Let me\n> see",
        "Artifact: Bed plan\n\n```markdown\n# Beds\n```",
        "Changed: a\n\n```\nA\n```\n\nbecomes\n\n```\nB\n```",
        'Used web_search:\n\n```\n{\n "query": "frost dates"\n}\n```',
        "Result of web_search:\n\n```\nDates https://e.org\nMay\n```",
        "(10,000 more characters were left out.)",
        "<antArtifact>as it stands</antArtifact>",
        "(hologram)",
    ):
        assert part in text
    assert "token_budget" not in text


def test_older_exports_have_the_text_alone(tmp_path, read):
    old = {
        "uuid": "m",
        "text": "Only this",
        "sender": "human",
        "created_at": "2023-09-01T10:00:00Z",
    }
    assert text_of(tmp_path, read, old) == "## Human · 2023-09-01 10:00\n\nOnly this"


def test_another_version_of_an_answer_says_so(tmp_path, read):
    text = text_of(
        tmp_path,
        read,
        message("Q", parent_message_uuid="root"),
        message("A1", "assistant", parent_message_uuid="q"),
        message("A2", "assistant", parent_message_uuid="q"),
    )
    assert text.count("another version") == 1
    assert text.index("A1") < text.index("another version") < text.index("A2")


def test_projects_their_documents_and_memories_are_taken(tmp_path, read):
    project = {
        "uuid": "p",
        "name": "Garden",
        "description": "All of it",
        "prompt_template": "Answer briefly",
        "created_at": "2025-01-01T00:00:00Z",
        "docs": [
            {
                "uuid": "d",
                "filename": "beds.md",
                "content": "# Beds",
                "created_at": "2025-02-01T00:00:00Z",
            },
            {"uuid": "e", "filename": "empty.md", "content": ""},
            "text",
        ],
    }
    memories = [
        {
            "conversations_memory": "Likes figs",
            "project_memories": {"p": "Sandy soil"},
            "account_uuid": "a",
        }
    ]
    folder = export(tmp_path / "export", [], projects=[project], memories=memories)
    items, told = read(Claude(), folder)
    assert {item.key: (item.title, item.text) for item in items} == {
        "memory/a": ("Claude's memory", "Likes figs"),
        "memory/a/p": ("Claude's memory of project p", "Sandy soil"),
        "p": (
            "Project: Garden",
            "## Description\n\nAll of it\n\n## Instructions\n\nAnswer briefly",
        ),
        "d": ("beds.md", "# Beds"),
    }
    assert told["projects.json, entry 1, empty.md"] == "a document without text"


def test_projects_under_a_name_are_projects_and_an_empty_one_is_told(tmp_path, read):
    projects = [{"uuid": "p", "name": "G", "description": "x"}, {"uuid": "q", "name": "Empty"}]
    items, told = read(Claude(), export(tmp_path / "export", [], projects={"projects": projects}))
    assert [item.title for item in items] == ["Project: G"]
    assert told["projects.json, entry 2: Empty"] == "a project with nothing in it"


def test_newer_exports_are_several_archives_and_a_file_for_each_project(tmp_path, read):
    folder = export(
        tmp_path / "export", [], projects__p={"uuid": "p", "name": "G", "description": "x"}
    )
    (folder / "conversations.json").unlink()
    with zipfile.ZipFile(folder / "conversations-000.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([conversation(message("Hello"))]))
    assert Claude().recognises(folder)
    items, _ = read(Claude(), folder)
    assert [item.key for item in items] == [UUID, "p"]


def test_what_is_malformed_is_told_and_the_rest_is_taken(tmp_path, read):
    whole = conversation(message("Hello"), "text", message(), uuid="good")
    entries = [7, {"uuid": "x"}, conversation(uuid="quiet"), whole, whole]
    folder = export(tmp_path / "export", entries)
    text = (folder / "conversations.json").read_text()
    (folder / "conversations.json").write_text(text.removesuffix("]") + ', {"uuid": "cut')
    [item], told = read(Claude(), folder)
    assert item.key == "good"
    del told["users.json"]
    assert told == {
        "conversations.json, entry 1": "not an object",
        "conversations.json, entry 2": "not a conversation: it has no uuid or no messages",
        "conversations.json, entry 3: Frost in May": "nothing was said in it",
        "conversations.json, entry 4, message 2": "not an object",
        "conversations.json, entry 5, message 2": "not an object",
        "Frost in May": "it is in this export twice",
        "conversations.json, from entry 6 on": told["conversations.json, from entry 6 on"],
    }
    why = told["conversations.json, from entry 6 on"]
    assert why.startswith("the file is cut or damaged (Unterminated string starting at character ")
    assert why.endswith("fetch the export again")


def test_a_conversation_longer_than_a_note_comes_in_parts(tmp_path, read):
    said = [message(f"{number} " + "x" * 400_000) for number in range(4)]
    items, _ = read(Claude(), export(tmp_path / "export", [conversation(*said)]))
    assert [item.key for item in items] == [UUID, f"{UUID}#2"]
    assert [item.title for item in items] == ["Frost in May (1 of 2)", "Frost in May (2 of 2)"]
    assert all(item.text.count("## Human") == 2 and len(item.text) <= 1_000_000 for item in items)


def test_halves_of_characters_and_nul_are_no_crash(tmp_path, read):
    assert text_of(tmp_path, read, message("a\ud83db\x00c")).endswith("a�bc")


def test_it_is_known_by_its_messages(tmp_path):
    folder = export(tmp_path / "export", [conversation(message("Hello"), summary="s" * 10_000)])
    assert Claude().recognises(folder)
    assert Claude().recognises(folder / "conversations.json")
    assert not ChatGpt().recognises(folder)
    assert not Claude().recognises(tmp_path / "nothing")


def test_a_folder_without_conversations_is_refused(tmp_path, read):
    with pytest.raises(Unreadable, match=r"holds no conversations\.json of Claude"):
        read(Claude(), tmp_path)


@pytest.mark.parametrize("damaged", [b"Gr\xfc\xdfe", b"half \\ud83d"])
def test_characters_that_are_damaged_are_told(tmp_path, read, damaged):
    file = export(tmp_path, [conversation(message("Frost again?"))]) / "conversations.json"
    file.write_bytes(file.read_bytes().replace(b"Frost again?", damaged))
    [item], told = read(Claude(), file)
    assert "\ufffd" in item.text
    assert list(told) == ["conversations.json, entry 1"]
    file.write_bytes(file.read_bytes().replace(damaged, rb"\ud83c\udf31"))
    [item], told = read(Claude(), file)
    assert (item.text[-1], told) == ("🌱", {})


def test_a_file_in_utf_16_is_read(tmp_path, read):
    file = export(tmp_path, [conversation(message("Frost again?"))]) / "conversations.json"
    file.write_text(file.read_text(), encoding="utf-16")
    assert Claude().recognises(file)
    [item], told = read(Claude(), file)
    assert ("Frost again?" in item.text, told) == (True, {})

import json

import pytest

from kb.imports.item import Unreadable
from kb.imports.programs.chatgpt import ChatGpt
from kb.imports.programs.claude import Claude

START = 1_704_067_200


def node(name, parent, content=None, role="user", at=0, children=(), **more):
    said = {
        "id": name,
        "author": {"role": role, "name": more.pop("tool", None), "metadata": {}},
        "create_time": START + at,
        "content": content if isinstance(content, dict) else text(content),
        "status": "finished_successfully",
        "metadata": more.pop("metadata", {}),
        "recipient": more.pop("recipient", "all"),
    }
    return {"id": name, "parent": parent, "children": list(children), "message": said}


def text(*parts):
    return {"content_type": "text", "parts": list(parts)}


def conversation(*nodes, current=None, **more):
    mapping = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    mapping |= {entry["id"]: entry for entry in nodes}
    return {
        "title": "Sourdough",
        "create_time": START + 0.5,
        "update_time": START + 900,
        "mapping": mapping,
        "current_node": current or nodes[-1]["id"],
        "conversation_id": "c1",
        "is_archived": False,
    } | more


def export(folder, conversations, name="conversations.json"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(conversations))
    return folder


def text_of(tmp_path, read, *nodes, **more) -> str:
    [item], _ = read(ChatGpt(), export(tmp_path / "one", [conversation(*nodes, **more)]))
    return item.text


def test_a_conversation_is_one_document_with_who_said_what_and_when(tmp_path, read):
    said = [node("q", "root", "How long?"), node("a", "q", "A day.", "assistant", at=60)]
    [item], told = read(ChatGpt(), export(tmp_path / "export", [conversation(*said)]))
    assert item.text == (
        "## User · 2024-01-01 00:00\n\nHow long?\n\n## ChatGPT · 2024-01-01 00:01\n\nA day."
    )
    assert (item.key, item.title, item.source_path) == (
        "c1",
        "Sourdough",
        "https://chatgpt.com/c/c1",
    )
    assert item.metadata == {"conversation": "ChatGPT", "messages": 2, "is_archived": False}
    assert item.created_at == "2024-01-01T00:00:00.500000Z"
    assert item.updated_at == "2024-01-01T00:15:00.000000Z"
    assert told == {}


def test_the_branch_that_is_shown_comes_first_and_the_others_follow(tmp_path, read):
    nodes = [
        node("q", "root", "How long?"),
        node("old", "q", "An hour.", "assistant", at=60),
        node("thanks", "old", "Thanks", at=120),
        node("new", "q", "A day.", "assistant", at=180),
        node("edit", "root", "How warm?", at=240),
    ]
    [item], _ = read(ChatGpt(), export(tmp_path / "e", [conversation(*nodes, current="new")]))
    said = ("How long", "A day", "How warm", "An hour", "Thanks")
    assert sorted(said, key=item.text.index) == list(said)
    assert item.text.count("· branch 1\n") == 1
    assert item.text.count("· branch 2\n") == 2
    assert item.metadata["other_branches"] == 2
    assert item.metadata["messages"] == 5


@pytest.mark.parametrize("current", ["gone", 7, None])
def test_without_a_branch_that_is_shown_the_latest_is(tmp_path, read, current):
    nodes = [
        node("q", "root", "Q"),
        node("late", "q", "Late", "assistant", at=99),
        node("early", "q", "Early", "assistant", at=9),
    ]
    record = conversation(*nodes) | {"current_node": current}
    [item], _ = read(ChatGpt(), export(tmp_path / "export", [record]))
    assert item.text.index("Late") < item.text.index("Early")


def test_a_tree_with_loops_and_lost_parents_loses_no_message(tmp_path, read):
    nodes = [
        node("a", "b", "One"),
        node("b", "a", "Two"),
        node("c", "gone", "Three"),
        node("d", 5, "Four"),
    ]
    found = text_of(tmp_path, read, *nodes, current="a")
    assert all(word in found for word in ("One", "Two", "Three", "Four"))


def test_every_kind_of_content_is_read(tmp_path, read):
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}
    drawn = picture | {"metadata": {"dalle": {"prompt": "a loaf"}}}
    canvas = json.dumps({"name": "Recipe", "type": "document", "content": "Mix."})
    contents = [
        {"content_type": "multimodal_text", "parts": ["Look", picture, drawn, None, 5]},
        {
            "content_type": "multimodal_text",
            "parts": [
                {"content_type": "audio_transcription", "text": "spoken words"},
                {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_2"},
            ],
        },
        {"content_type": "code", "language": "python", "text": "print(1)"},
        {"content_type": "execution_output", "text": "1\n"},
        {
            "content_type": "tether_quote",
            "url": "https://e.org",
            "title": "Bread",
            "text": "flour\nwater",
        },
        {"content_type": "tether_browsing_display", "result": "L0: found", "summary": "sum"},
        {
            "content_type": "sonic_webpage",
            "url": "https://f.org",
            "title": "Page",
            "text": "y" * 25_000,
        },
        {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "Weigh it"}]},
        {"content_type": "reasoning_recap", "content": "Thought for 4 seconds"},
        {"content_type": "system_error", "name": "tool_error", "text": "denied"},
        {
            "content_type": "user_editable_context",
            "user_profile": "baker",
            "user_instructions": "short",
        },
        {"content_type": "brand_new", "text": "from the future"},
        {"content_type": "brand_new", "other": {"deep": 1}},
    ]
    nodes = [
        node(str(at), str(at - 1) if at else "root", content) for at, content in enumerate(contents)
    ]
    last = node(
        "canvas", "12", {"content_type": "code", "text": canvas}, recipient="canmore.create_textdoc"
    )
    found = text_of(tmp_path, read, *nodes, last)
    for part in (
        "Look\n\n(Picture)\n\n(Picture: a loaf)",
        "spoken words\n\n(Recording)",
        "```python\nprint(1)\n```",
        "```\n1\n```",
        "Bread · https://e.org\n\n> flour\n> water",
        "```\nsum\nL0: found\n```",
        "Page · https://f.org\n\n```\nyyy",
        "(5,000 more characters were left out.)",
        "Thinking:\n\n> Plan\n> Weigh it",
        "(Thought for 4 seconds)",
        "Error: tool_error denied",
        "baker\n\nshort",
        "from the future",
        '"deep": 1',
        "Canvas: Recipe\n\n```\nMix.\n```",
    ):
        assert part in found


def test_tools_have_their_names_and_hidden_messages_are_counted(tmp_path, read):
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = [
        node("s", "root", "You are ChatGPT", "system", metadata=hidden),
        node("q", "s", "Go"),
        node("t", "q", {"content_type": "execution_output", "text": "ok"}, "tool", tool="python"),
        node("e", "t", "", "system"),
    ]
    [item], _ = read(ChatGpt(), export(tmp_path / "export", [conversation(*nodes)]))
    assert "## Tool python · " in item.text
    assert "You are ChatGPT" not in item.text
    assert (item.metadata["messages"], item.metadata["hidden_messages"]) == (2, 1)


def test_pictures_that_are_in_the_export_are_documents_of_their_own(tmp_path, read):
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-Ab1"}
    attachments = {
        "attachments": [{"id": "file-Ab1", "name": "crumb.png"}, {"id": "file-No", "name": "x.pdf"}]
    }
    content = {"content_type": "multimodal_text", "parts": [picture, "Why?"]}
    folder = export(
        tmp_path / "export", [conversation(node("q", "root", content, metadata=attachments, at=5))]
    )
    (folder / "file-Ab1-0123.png").write_bytes(b"\x89PNG")
    (folder / "dalle-generations").mkdir()
    (folder / "dalle-generations" / "file-Zz9-4567.webp").write_bytes(b"RIFF")
    (folder / "chat.html").write_text("<html>")
    (folder / "user.json").write_text("{}")
    (folder / "voice.wav").write_bytes(b"RIFF")
    [said, drawn, crumb], told = read(ChatGpt(), folder)
    assert said.text.endswith("(Picture)\n\nWhy?\n\nAttachment: crumb.png\n\nAttachment: x.pdf")
    assert (crumb.key, crumb.title, crumb.filename) == ("file/file-Ab1", "crumb.png", "crumb.png")
    assert crumb.metadata == {"conversation": "ChatGPT", "of": "Sourdough"}
    assert crumb.created_at == "2024-01-01T00:00:05.000000Z"
    assert (drawn.key, drawn.filename) == ("file/file-Zz9", "4567.webp")
    assert told == {
        "chat.html": "neither a conversation nor a file of one",
        "user.json": "neither a conversation nor a file of one",
        "voice.wav": "sound and film are not read",
    }


def test_newer_exports_have_several_files_of_conversations(tmp_path, read):
    folder = export(
        tmp_path / "export", [conversation(node("q", "root", "One"))], "conversations-000.json"
    )
    other = conversation(node("q", "root", "Two"), conversation_id="c2", title=None)
    export(folder, {"conversations": [other]}, "conversations-001.json")
    assert ChatGpt().recognises(folder)
    items, _ = read(ChatGpt(), folder)
    assert [(item.key, item.title) for item in items] == [("c1", "Sourdough"), ("c2", "Two")]


def test_what_is_malformed_is_told_and_the_rest_is_taken(tmp_path, read):
    entries = [
        None,
        {"title": "none"},
        conversation(node("q", "root", "Hello"), create_time="soon", update_time=None),
        {
            "title": "odd",
            "mapping": {"a": 7, "b": {"message": "x"}, "c": {"message": {"content": 3}}},
        },
        conversation(node("q", "root", "again")),
    ]
    [item], told = read(ChatGpt(), export(tmp_path / "export", entries))
    assert (item.created_at, item.updated_at) == ("2024-01-01T00:00:00.000000Z", None)
    assert told == {
        "conversations.json, entry 1": "not an object",
        "conversations.json, entry 2": "not a conversation: it has no messages",
        "conversations.json, entry 4: odd": "nothing was said in it",
        "Sourdough": "it is in this export twice",
    }


def test_a_conversation_of_thousands_of_messages_is_no_trouble(tmp_path, read):
    nodes = [node(str(at), str(at - 1) if at else "root", "word", at=at) for at in range(5_000)]
    [item], _ = read(ChatGpt(), export(tmp_path / "export", [conversation(*nodes, current="10")]))
    assert item.metadata["messages"] == 5_000


def test_it_is_known_by_its_trees(tmp_path):
    folder = export(tmp_path / "export", [conversation(node("q", "root", "One"))])
    assert ChatGpt().recognises(folder)
    assert ChatGpt().recognises(folder / "conversations.json")
    assert not Claude().recognises(folder)
    assert not ChatGpt().recognises(tmp_path / "nothing")


def test_a_folder_without_conversations_is_refused(tmp_path, read):
    with pytest.raises(Unreadable, match=r"holds no conversations\.json of ChatGPT"):
        read(ChatGpt(), tmp_path)

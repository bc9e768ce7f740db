"""The format of kb's own export: which files there are, and how a note is written and read.

Every value is JSON, and this JSON is also YAML, so any program that knows front matter can read the
head of a note.
"""

import json
import re
from typing import Any

from kb.imports.item import Json

NAME = "kb export"
VERSION = 1

ABOUT = "export.json"
README = "README.txt"
DOCUMENTS = "documents.jsonl"
PASSAGES = "passages.jsonl"
WORDS = "words.jsonl"
NOTES = "notes"
FILES = "files"

# What neither YAML nor every reader of lines takes as it is; JSON has left only these unescaped.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_FENCE = b"---\n"
# An editor may have put a byte order mark before a note, and given every line its own system's end.
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n")
_END = re.compile(rb"^---[ \t]*\r?\n", re.MULTILINE)
HEAD_FIELDS = (
    "id",
    "uid",
    "title",
    "tags",
    "source_path",
    "created_at",
    "updated_at",
    "metadata",
)

README_TEXT = """\
This folder is an export of a kb knowledge base: everything that was in it, as plain files.

notes/           every note as Markdown. Between the first two lines "---" stands what is known of
                 it (YAML); all that follows the second one is the note, exactly as it was.
files/           every file that was added, as it was, under its name and in its folders. Where a
                 name cannot be used on every system it was changed a little.
documents.jsonl  one line of JSON for each note and file: ids, title, tags, path, metadata, times,
                 hashes, how its text was had, and the jobs that made it. "path" is where it is.
passages.jsonl   one line of JSON for each passage that the text was cut into. Joined in order of
                 "seq", those of a note are its text, and those of a file what was read in it.
words.jsonl      one line of JSON for each page that was recognised in a picture, with its words.
export.json      how many there are of each.

To take all of it into another kb: kb import FOLDER
To take it into something else: read notes/ and files/; nothing else is needed.

The form is described in full in docs/export.md of kb.
"""


def as_json(value: Any) -> str:
    """A value on one line, the same for the same value."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def written_note(about: Json, text: str) -> bytes:
    """A note as a file: its fields, and then its text to the byte."""
    lines = [f"{name}: {as_json(about[name])}\n" for name in HEAD_FIELDS]
    return b"".join([_FENCE, "".join(lines).encode(), _FENCE, text.encode()])


def read_note(content: bytes) -> tuple[str | None, str]:
    """The head of a note's file, None if it has none, and its text. Raises UnicodeDecodeError."""
    begin = _BEGIN.match(content)
    end = begin and _END.search(content, begin.end())
    if not begin or not end:
        return None, content.decode()
    return content[begin.end() : end.start()].decode(), content[end.end() :].decode()


def text_meant(head: str | None, text: str, exported: str) -> str:
    """The text of a note, without line ends that only an editor added to its whole file. They are
    recognised by the head, which is written without carriage returns. If the exported text had
    some, they are there for a reason: an edited note keeps the file's line ends."""
    if head is None or "\r\n" not in head:
        return text
    plain = text.replace("\r\n", "\n")
    if plain == exported.replace("\r\n", "\n"):
        return exported
    return text if "\r" in exported or not exported else plain


def head_fields(head: str) -> Json | None:
    """What a head says, if every line is as it was written here, and none is there twice."""
    fields: Json = {}
    for line in head.split("\n")[:-1]:
        name, colon, value = line.partition(": ")
        if name in fields:
            return None
        try:
            fields[name] = json.loads(value)
        except ValueError:
            return None
        if not colon:
            return None
    return fields

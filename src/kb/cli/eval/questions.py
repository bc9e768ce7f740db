"""Reads and checks a file of questions; what is wrong is reported with its line."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from kb.cli.eval.passages import words_of
from kb.client import Json

KEYS = ("question", "document", "page", "passage", "tags", "type")
MOST_QUESTIONS = 10_000
_OTHER_NAMES = {"query": "question", "doc_type": "type"}
_LARGEST_MB = 20
_LONGEST = {"question": 2_000, "document": 4_096, "passage": 2_000, "tags": 2_000, "type": 50}
_PAGES = re.compile(r"(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?")
_EXAMPLE = '{"question": "…", "document": "…"}'


class BadQuestions(click.ClickException):
    """The file cannot be used as it is; the message names the line."""


@dataclass(frozen=True, slots=True)
class Target:
    """The expected answer. A single passage has to fit everything given."""

    document: str | None = None
    pages: tuple[int, int] | None = None
    passage: str | None = None

    def as_json(self) -> Json:
        pages = self.pages and page_words(self.pages)
        return {"document": self.document, "page": pages, "passage": self.passage}


def page_words(pages: tuple[int, int]) -> str:
    """`12` or `12-14`, as it is written in a file."""
    first, last = pages
    return str(first) if first == last else f"{first}-{last}"


@dataclass(frozen=True, slots=True)
class Question:
    """One question, where it stands, and everything that would be a right answer."""

    line: int
    text: str
    targets: tuple[Target, ...]
    tags: tuple[str, ...] = ()
    doc_type: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The questions of a file, and the names of its unknown columns, which are ignored."""

    name: str
    questions: list[Question]
    ignored: list[str]


def read_questions(path: str) -> QuestionFile:
    """The questions of a CSV or JSONL file, or of standard input for `-`."""
    name = "standard input" if path == "-" else path
    text = _read(path, name)
    ignored: dict[str, None] = {}
    rows = _json_rows(text, name) if text.lstrip()[:1] in ("{", "[") else _csv_rows(text, name)
    questions = _merged(_questions(rows, name, ignored), name)
    if not questions:
        raise BadQuestions(f"{name}: no questions in it")
    return QuestionFile(name, questions, list(ignored))


def read_file(path: str, name: str, most_mb: int, advice: str = "") -> bytes:
    """A file, or standard input where its path is a dash. One that is too large is refused."""
    limit = most_mb * 2**20
    try:
        if path == "-":
            content = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(path).open("rb") as file:
                content = file.read(limit + 1)
    except OSError as error:
        raise BadQuestions(f"{name}: cannot be read: {error.strerror}") from None
    if len(content) > limit:
        raise BadQuestions(f"{name}: larger than {most_mb} MB{advice}")
    return content


def _read(path: str, name: str) -> str:
    content = read_file(path, name, _LARGEST_MB, "; split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadQuestions(f"{name} line {line}: not UTF-8 text; save it as UTF-8") from None


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, Json]]:
    """The rows by their columns. Some spreadsheets write ; or a tab where others write a comma."""
    header = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: list[str] = []
    line = 1
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                pass
            elif not columns:
                columns = [_key(cell) for cell in cells]
                _check_columns(columns, name, line)
            elif len(cells) > len(columns) and any(cells[len(columns) :]):
                raise BadQuestions(
                    f"{name} line {line}: {len(cells)} values for {len(columns)} columns; put a "
                    f"value with a {'tab' if separator == chr(9) else separator} in it into quotes"
                )
            else:
                yield line, dict(zip(columns, cells, strict=False))
            line = reader.line_num + 1
    except csv.Error as error:
        raise BadQuestions(f"{name} line {line}: not CSV: {error}") from None


def _check_columns(columns: list[str], name: str, line: int) -> None:
    where = f"{name} line {line}"
    if "question" not in columns:
        known = ", ".join(KEYS)
        raise BadQuestions(
            f'{where}: no column "question"; the first line names the columns: {known}'
        )
    for column in columns:
        if column and columns.count(column) > 1:
            raise BadQuestions(f'{where}: two columns "{column}"')


def _json_rows(text: str, name: str) -> Iterator[tuple[int, Json]]:
    for line, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            row = json.loads(written)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise BadQuestions(f"{name} line {line}: not a JSON object on one line: {_EXAMPLE}")
        yield line, {_key(key): value for key, value in row.items()}


def _key(name: str) -> str:
    key = name.strip().lower()
    return _OTHER_NAMES.get(key, key)


def _questions(
    rows: Iterable[tuple[int, Json]], name: str, ignored: dict[str, None]
) -> Iterator[Question]:
    for line, row in rows:
        ignored |= dict.fromkeys(key for key in row if key and key not in KEYS)
        yield _question(row, line, f"{name} line {line}")


def _question(row: Json, line: int, where: str) -> Question:
    text = _text(row, "question", where)
    target = Target(
        document=_text(row, "document", where) or None,
        pages=_pages(row, where),
        passage=_text(row, "passage", where) or None,
    )
    if not text:
        raise BadQuestions(f"{where}: no question")
    if target.document is None and target.passage is None:
        raise BadQuestions(f"{where}: nothing expected; give a document, a passage or both")
    if target.pages is not None and target.document is None:
        raise BadQuestions(f"{where}: a page needs the document that it is in")
    if target.passage is not None and not words_of(target.passage).strip():
        raise BadQuestions(f"{where}: the passage has no words to look for")
    return Question(
        line, text, (target,), _tags(row, where), _text(row, "type", where).lower() or None
    )


def _text(row: Json, key: str, where: str) -> str:
    value = row.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**18 else None
    elif value is None:
        value = ""
    if not isinstance(value, str):
        raise BadQuestions(f'{where}: "{key}" is not a text')
    if len(value) > _LONGEST[key]:
        raise BadQuestions(f'{where}: "{key}" is longer than {_LONGEST[key]:,} characters')
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadQuestions(f'{where}: "{key}" has half a character in it') from None
    return value.strip()


def _pages(row: Json, where: str) -> tuple[int, int] | None:
    value: Any = row.get("page")
    if value is None or value == "":
        return None
    match = None if isinstance(value, bool) else _PAGES.fullmatch(str(value).strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 0 < first <= last:
        raise BadQuestions(f"{where}: {str(value)[:40]!r} is no page; use 12 or 12-14")
    return first, last


def _tags(row: Json, where: str) -> tuple[str, ...]:
    value = row.get("tags")
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        row = {"tags": ",".join(value)}
    tags = (tag.strip() for tag in _text(row, "tags", where).split(","))
    return tuple(dict.fromkeys(filter(None, tags)))


def _merged(questions: Iterable[Question], name: str) -> list[Question]:
    """A question on several lines is one question with several right answers."""
    merged: dict[tuple[Any, ...], Question] = {}
    for question in questions:
        key = (question.text, frozenset(question.tags), question.doc_type)
        before = merged.get(key)
        if before is None:
            if len(merged) == MOST_QUESTIONS:
                raise BadQuestions(
                    f"{name} line {question.line}: more than {MOST_QUESTIONS:,} questions; split it"
                )
            merged[key] = question
        elif question.targets[0] not in before.targets:
            merged[key] = replace(before, targets=before.targets + question.targets)
    return list(merged.values())

"""Reads the body of POST /jobs: a note or a file to ingest."""

import unicodedata
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, BinaryIO, TypeVar

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from starlette.datastructures import FormData, UploadFile

from kb.engine.api.bodies.fields import (
    Body,
    Count,
    Digest,
    Metadata,
    NoteText,
    Origin,
    SourcePath,
    Tags,
    Title,
)
from kb.engine.api.bodies.json_body import read_json
from kb.engine.api.bodies.multipart import content_kind, read_form
from kb.engine.data_folder.originals import FileStore
from kb.engine.errors import InvalidEncoding, InvalidRequest, UnsupportedMediaType
from kb.engine.ingest.pipeline import text_hash
from kb.engine.values import NewJob
from kb.source_path import file_name

_MOST_FIELDS = 200
_NAME_BYTES = 255

BodyT = TypeVar("BodyT", bound=Body)


class NoteSubmission(Body):
    """A note: text that was written rather than uploaded."""

    text: NoteText
    tags: Tags | None = None
    title: Title | None = None
    source_path: SourcePath | None = None
    metadata: Metadata = Field(default_factory=dict)

    def new_job(self, files: FileStore, idempotency_key: str | None) -> NewJob:  # noqa: ARG002
        return NewJob(
            kind="note",
            text=self.text,
            content_hash=text_hash(self.text),
            size_bytes=len(self.text.encode()),
            title=self.title,
            source_path=self.source_path,
            tags=None if self.tags is None else tuple(self.tags),
            metadata=self.metadata,
            idempotency_key=idempotency_key,
        )


class FileFields(Body):
    """The optional fields beside a file."""

    tags: Tags | None = None
    title: Title | None = None
    source_path: SourcePath | None = None
    exact_path: bool = False
    origin: Origin | None = None
    metadata: Metadata = Field(default_factory=dict)
    force_ocr: bool = False

    def job_of(self, filename: str, content_hash: str, size_bytes: int) -> NewJob:
        return NewJob(
            kind="file",
            content_hash=content_hash,
            size_bytes=size_bytes,
            filename=filename,
            title=self.title,
            source_path=self.source_path,
            exact_path=self.exact_path,
            origin=self.origin,
            tags=None if self.tags is None else tuple(self.tags),
            metadata=self.metadata,
            force_ocr=self.force_ocr,
        )


class FileCheck(FileFields):
    """A file that may be sent: its name, and its bytes by their SHA-256 and how many they are."""

    filename: Annotated[str, Field(max_length=4096)]
    content_hash: Digest
    size_bytes: Count

    def new_job(self) -> NewJob:
        return self.job_of(display_name(self.filename), self.content_hash, self.size_bytes)


@dataclass(frozen=True, slots=True)
class FileSubmission:
    """A file: bytes with a name."""

    content: BinaryIO
    filename: str
    fields: FileFields

    def new_job(self, files: FileStore, idempotency_key: str | None) -> NewJob:
        """The bytes are on disk when this returns."""
        stored = files.save(self.content, self.filename)
        new = self.fields.job_of(self.filename, stored.sha256, stored.size)
        return replace(new, stored_name=stored.name, idempotency_key=idempotency_key)


async def _submission(request: Request) -> AsyncIterator[NoteSubmission | FileSubmission]:
    """Which of the two it is, the content type says."""
    kind = content_kind(request)
    if kind == "application/json":
        yield _note(await request.body())
    elif kind == "multipart/form-data":
        async with read_form(request, max_files=1, max_fields=_MOST_FIELDS) as form:
            yield _file(form)
    else:
        raise UnsupportedMediaType(
            "Send a note as application/json or a file as multipart/form-data"
        )


Submission = Annotated[NoteSubmission | FileSubmission, Depends(_submission)]

OPENAPI_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": NoteSubmission.model_json_schema()},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "additionalProperties": False,
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "title": {"type": "string"},
                        "source_path": {"type": "string"},
                        "exact_path": {
                            "type": "boolean",
                            "description": "Another file has this path in another spelling",
                        },
                        "origin": {
                            "type": "string",
                            "description": "A lasting name for the machine of the path",
                        },
                        "metadata": {"type": "string", "description": "A JSON object"},
                        "force_ocr": {"type": "boolean"},
                    },
                }
            },
        },
    }
}


def _note(body: bytes) -> NoteSubmission:
    return checked(NoteSubmission, read_json(body, "body"))


def _file(form: FormData) -> FileSubmission:
    upload = form.get("file")
    if not isinstance(upload, UploadFile):
        raise InvalidRequest(
            "file is missing: send the bytes as a multipart field called file, with a filename",
            fields=[{"field": "file", "message": "is missing"}],
        )
    values: dict[str, Any] = {}
    for name in form:
        texts = form.getlist(name)
        if name == "file":
            continue
        if name != "tags" and len(texts) > 1:
            raise InvalidRequest(f"{name} was sent more than once")
        values[name] = texts if name == "tags" else texts[0]
    if "metadata" in values:
        values["metadata"] = _json_object(values["metadata"])
    sent_as = (upload.filename or "").replace("%22", '"')  # as browsers and httpx write a quote
    return FileSubmission(upload.file, display_name(sent_as), checked(FileFields, values))


def _json_object(text: object) -> object:
    try:
        return read_json(text, "metadata") if isinstance(text, str) else text
    except InvalidEncoding:
        raise InvalidRequest("metadata must be a JSON object, as text") from None


def checked(cls: type[BodyT], values: object) -> BodyT:
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        problems = [{**found, "loc": ("body", *found["loc"])} for found in error.errors()]
        raise RequestValidationError(problems) from None


def display_name(filename: str) -> str:
    """What a person called the file, fit to be shown; never part of a path of ours."""
    name = file_name(unicodedata.normalize("NFC", filename))
    shown = "".join(c for c in name if unicodedata.category(c) not in ("Cc", "Cf", "Cs")).strip()
    while len(shown.encode()) > _NAME_BYTES:
        stem, dot, ending = shown.rpartition(".")
        shown = f"{stem[:-1]}{dot}{ending}" if stem and len(ending) < 20 else shown[:-1]
    return shown or "file"

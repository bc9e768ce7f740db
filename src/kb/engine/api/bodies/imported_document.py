"""Reads the body of POST /import: a document from elsewhere."""

import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, BinaryIO, Literal, Self

from fastapi import Depends, Request
from pydantic import AfterValidator, Field, model_validator
from starlette.datastructures import FormData, UploadFile

from kb.engine.api.bodies import fields
from kb.engine.api.bodies.json_body import read_json
from kb.engine.api.bodies.multipart import content_kind, read_form
from kb.engine.api.bodies.submission import checked, display_name
from kb.engine.api.context import LARGEST_ID
from kb.engine.api.guard import RECORD_BYTES
from kb.engine.data_folder.originals import FileStore
from kb.engine.errors import InvalidRequest, UnsupportedMediaType
from kb.engine.ingest.imports import Imports, Taken
from kb.engine.ingest.pipeline import text_hash
from kb.engine.records import Passage, PastJob
from kb.engine.store.rows.page_words import from_steps
from kb.engine.values import Arrival, Change, Draft, HowRead, Imported, NewJob, Numbered
from kb.imports.digest import digest_of
from kb.kinds import DOC_TYPES, NOTE
from kb.serving.shape import is_overgrown

MOST_CHECKED = 500
_MOST_PASSAGES = 200_000
_MOST_JOBS = 10_000
_MOST_WORDS = 100_000
_MOST_PAGES = 100_000
_STEPS = 65_535
# A long document has a hundred thousand passages, and a long scan a million words on its pages.
_MOST_VALUES = 8_000_000


def _as_uid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise ValueError("must be a UUID") from None


def _one_line(text: str) -> str:
    if "\n" in text:
        raise ValueError("must not hold a line break")
    return text


# As it was in another store: that one had its own reasons, and nothing of it is changed.
Exact = Annotated[str, Field(max_length=100_000)]
Uid = Annotated[str, Field(min_length=36, max_length=36), AfterValidator(_as_uid)]
Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]
Hash = Annotated[str, Field(max_length=200)]
Key = Annotated[str, Field(min_length=1, max_length=4096)]
Step = Annotated[int, Field(ge=0, le=_STEPS)]
Word = tuple[
    Annotated[str, Field(max_length=10_000), AfterValidator(_one_line)], Step, Step, Step, Step
]


class LastIdsBody(fields.Body):
    documents: fields.Count
    chunks: fields.Count
    jobs: fields.Count


class NumberedBody(fields.Body):
    """The id that the document had, and whose ids those are."""

    numbering: Annotated[str, Field(min_length=1, max_length=100)]
    id: Id
    last_ids: LastIdsBody

    def value(self) -> Numbered:
        return Numbered(self.numbering, self.id, self.last_ids.model_dump())


class ImportedBody(fields.Body):
    """What the document was called where it was imported from before."""

    source: fields.Label
    key: Key
    digest: fields.Digest
    left: fields.Moment
    tags: Annotated[list[Exact], Field(max_length=10_000)] = Field(default_factory=list)

    def value(self) -> Imported:
        return Imported(self.source, self.key, self.digest, self.left, tuple(self.tags))


class CheckedItem(fields.Body):
    """Which document it would be, and the digest of everything known about it."""

    source: fields.Label
    key: Key
    digest: fields.Digest
    uid: Uid | None = None
    seen_at: fields.Moment | None = None
    given_tags: fields.Tags = Field(default_factory=list)

    def arrival(self) -> Arrival:
        imported = None if self.uid else Imported(self.source, self.key, self.digest)
        given = tuple(self.given_tags)
        return Arrival(self.digest, imported, self.uid, self.seen_at, given_tags=given)


class Check(fields.Body):
    items: Annotated[list[CheckedItem], Field(min_length=1, max_length=MOST_CHECKED)]


class Arriving(fields.Body):
    """The fields of every imported document."""

    uid: Uid | None = None
    created_at: fields.Moment | None = None
    updated_at: fields.Moment | None = None
    imported: ImportedBody | None = None
    numbered: NumberedBody | None = None
    force: bool = False
    given_tags: fields.Tags = Field(default_factory=list)

    def given_to(self, its_own: list[str]) -> tuple[str, ...]:
        """The tags that are given to it now. A document of another kb is known by all of its own,
        so what it has itself is not among them."""
        return tuple(tag for tag in self.given_tags if self.uid is None or tag not in its_own)

    def came(self, digest: str, its_own: list[str]) -> Arrival:
        return Arrival(
            digest=digest,
            imported=self.imported.value() if self.imported else None,
            uid=self.uid,
            seen_at=self.updated_at or self.created_at,
            created_at=self.created_at,
            updated_at=self.updated_at,
            numbered=self.numbered.value() if self.numbered else None,
            force=self.force,
            given_tags=self.given_to(its_own),
        )


class JobBody(fields.Body):
    id: Id
    uid: Uid
    status: Literal["done", "failed", "cancelled"]
    kind: Literal["note", "file", "pictures"]
    filename: Exact | None
    content_hash: Hash | None
    size_bytes: fields.Count
    force_ocr: bool
    attempts: Annotated[int, Field(ge=0, le=1000)]
    outcome: Literal["added", "updated", "unchanged"] | None
    changed: Annotated[list[Change], Field(max_length=10)] | None
    chunk_count: fields.Count | None
    duplicate_of: Id | None
    duplicate_of_uid: Uid | None
    processing_method: Exact | None
    error_code: Exact | None
    message: Exact | None
    created_at: fields.Moment
    started_at: fields.Moment | None
    finished_at: fields.Moment | None


class NewDocument(Arriving):
    """A note or a file that has to be read first. `digest` is what its source says, in short.

    One that was changed since another kb exported it has its past from there.
    """

    source: fields.Label
    key: Key
    digest: fields.Digest
    title: fields.Title
    text: fields.NoteText | None = None
    filename: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    source_path: fields.SourcePath | None = None
    exact_path: bool = False
    tags: fields.Tags = Field(default_factory=list)
    metadata: fields.Metadata = Field(default_factory=dict)
    origin: Exact | None = None
    title_given: bool = True
    jobs: Annotated[list[JobBody], Field(max_length=_MOST_JOBS)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _refuse_twins(self.jobs)
        return self

    def arrival(self) -> Arrival:
        arrival = replace(
            self.came(self.digest, self.tags),
            title_given=self.title_given,
            history=tuple(job.model_dump() for job in self.jobs),
        )
        if self.uid is None:
            return replace(arrival, imported=Imported(self.source, self.key, self.digest))
        return arrival

    def new_job(self, content: BinaryIO | None, files: FileStore) -> NewJob:
        if (self.text is None) == (content is None):
            raise InvalidRequest("Send a text or a file, and not both")
        if self.text is not None:
            size = len(self.text.encode())
            new = NewJob("note", text_hash(self.text), size, text=self.text)
        else:
            assert content is not None
            name = display_name(self.filename or self.title)
            stored = files.save(content, name)
            new = NewJob("file", stored.sha256, stored.size, stored_name=stored.name, filename=name)
        return replace(
            new,
            title=self.title,
            source_path=self.source_path,
            exact_path=self.exact_path or self.uid is not None,  # another kb has decided upon it
            tags=self._tags(),
            metadata=self.metadata,
            origin=self.origin,
            arrival=self.arrival(),
        )

    def _tags(self) -> tuple[str, ...]:
        tags = tuple(dict.fromkeys((*self.tags, *self.given_tags)))
        if len(tags) > fields.MOST_TAGS:
            raise InvalidRequest(f"tags and given_tags: at most {fields.MOST_TAGS} together")
        return tags


class PassageBody(fields.Body):
    id: Id
    uid: Uid
    seq: fields.Count
    page: fields.Count | None
    location: Exact | None
    start: fields.Count
    headings: Annotated[list[Exact], Field(max_length=100)]
    table_header: Exact
    text: Annotated[str, Field(max_length=20 * 2**20)]


class WordsBody(fields.Body):
    page: fields.Count
    words: Annotated[list[Word], Field(max_length=_MOST_WORDS)]


class HowReadBody(fields.Body):
    reader: Exact = ""
    pages: fields.Count | None = None
    pages_by_ocr: fields.Count = 0
    pages_missing: fields.Count = 0
    pictures_read: fields.Count = 0
    pictures_waiting: fields.Count = 0
    words: fields.Count = 0
    share: Annotated[float, Field(ge=0, le=1)] | None = 1.0
    warnings: Annotated[list[Exact], Field(max_length=100)] = Field(default_factory=list)

    def value(self) -> HowRead:
        return HowRead(**self.model_dump() | {"warnings": tuple(self.warnings)})


class KnownDocument(Arriving):
    """A document of another kb with all that was known of it: it need not be read again."""

    uid: Uid
    created_at: fields.Moment
    title: Exact
    title_given: bool
    filename: Exact | None
    doc_type: Annotated[str, Field(max_length=50, json_schema_extra={"enum": list(DOC_TYPES)})]
    format: Annotated[str, Field(max_length=50)]
    source_path: Exact | None
    origin: Exact | None
    tags: Annotated[list[Exact], Field(max_length=10_000)]
    metadata: fields.Metadata
    content_hash: Hash
    size_bytes: fields.Count
    has_file: bool
    processing_method: Exact
    how_read: HowReadBody | None = None  # older exports do not say
    jobs: Annotated[list[JobBody], Field(max_length=_MOST_JOBS)]
    passages: Annotated[list[PassageBody], Field(max_length=_MOST_PASSAGES)]
    words: Annotated[list[WordsBody], Field(max_length=_MOST_PAGES)]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.doc_type not in DOC_TYPES:
            raise ValueError(f"doc_type must be one of {', '.join(DOC_TYPES)}")
        if self.has_file and self.doc_type == NOTE:
            raise ValueError("a note has no file")
        if [passage.seq for passage in self.passages] != list(range(len(self.passages))):
            raise ValueError("passages must be in order of seq, from 0")
        _refuse_twins(self.passages)
        _refuse_twins(self.jobs)
        if len({on.page for on in self.words}) < len(self.words):
            raise ValueError("words of a page occur twice")
        return self

    def is_hash_of_bytes(self) -> bool:
        """Whether a job made a hash from the file: of v2's documents nobody knows."""
        return any(job.content_hash for job in self.jobs if job.status == "done")

    def draft(self, stored_name: str | None) -> Draft:
        return Draft(
            title=self.title,
            filename=self.filename,
            doc_type=self.doc_type,
            format=self.format,
            source_path=self.source_path,
            tags=tuple(dict.fromkeys((*self.tags, *self.given_tags))),
            metadata=self.metadata,
            content_hash=self.content_hash,
            size_bytes=self.size_bytes,
            processing_method=self.processing_method,
            how_read=self.how_read.value() if self.how_read else None,
            stored_name=stored_name,
            title_given=self.title_given,
            words={on.page: from_steps(on.words) for on in self.words},
            origin=self.origin,
            arrival=self.came(digest_of(self), self.tags),
        )


def _refuse_twins(entries: Sequence[PassageBody] | Sequence[JobBody]) -> None:
    if len({entry.uid for entry in entries}) < len(entries):
        raise ValueError("a uid is there twice")


@dataclass(frozen=True, slots=True)
class Delivery:
    """A document as it was sent, not looked at yet, and the bytes of its file."""

    document: bytes
    file: BinaryIO | None

    def take(self, imports: Imports, files: FileStore, batch: str | None) -> Taken:
        """Import it, in the way that fits its contents."""
        values = self._values()
        if "passages" not in values:
            new = checked(NewDocument, values).new_job(self.file, files)
            return imports.read(new, batch)
        known = checked(KnownDocument, values)
        if known.has_file != (self.file is not None):
            raise InvalidRequest("has_file must say whether a file is sent with the document")
        stored = files.save(self.file, known.filename or known.title) if self.file else None
        if stored and stored.sha256 != known.content_hash and known.is_hash_of_bytes():
            files.delete([stored.name])
            raise InvalidRequest(
                "The file is not the one that the passages were read from: its SHA-256 is "
                f"{stored.sha256}, and content_hash says {known.content_hash}"
            )
        if stored and stored.size != known.size_bytes:
            files.delete([stored.name])
            raise InvalidRequest(
                f"The file has {stored.size:,} bytes, and size_bytes says {known.size_bytes:,}"
            )
        return imports.put(
            known.draft(stored.name if stored else None),
            [Passage(**passage.model_dump()) for passage in known.passages],
            [PastJob(**job.model_dump()) for job in known.jobs],
        )

    def _values(self) -> dict[str, Any]:
        if is_overgrown(self.document, _MOST_VALUES):
            raise InvalidRequest(
                f"The document holds more than {_MOST_VALUES:,} values: it is too large to import"
            )
        values = read_json(self.document, "document")
        if not isinstance(values, dict):
            raise InvalidRequest("The document must be a JSON object")
        return values


async def _delivery(request: Request) -> AsyncIterator[Delivery]:
    kind = content_kind(request)
    if kind == "application/json":
        yield Delivery(await request.body(), None)
    elif kind == "multipart/form-data":
        async with read_form(request, max_files=2, max_fields=0) as form:
            yield await _parts(form)
    else:
        raise UnsupportedMediaType(
            "Send the document as application/json, or with its file as multipart/form-data"
        )


async def _parts(form: FormData) -> Delivery:
    document, file = form.get("document"), form.get("file")
    unknown = set(form) - {"document", "file"}
    if unknown or not isinstance(document, UploadFile):
        raise InvalidRequest(
            "Send the document as a part called document, with a filename, and the bytes of its "
            "file, if it has one, as a part called file"
        )
    content = await document.read(RECORD_BYTES + 1)
    if len(content) > RECORD_BYTES:
        raise InvalidRequest(f"The document takes more than {RECORD_BYTES:,} bytes as JSON")
    return Delivery(content, file.file if isinstance(file, UploadFile) else None)


DeliveryDep = Annotated[Delivery, Depends(_delivery)]


def _inlined(model: type[fields.Body]) -> dict[str, Any]:
    """A model's schema in one piece: it stands where its parts could not be referred to."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return whole(parts[value["$ref"].rpartition("/")[2]])
            return {name: whole(inner) for name, inner in value.items()}
        return [whole(inner) for inner in value] if isinstance(value, list) else value

    inlined: dict[str, Any] = whole(schema)
    return inlined


OPENAPI_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"anyOf": [_inlined(NewDocument), _inlined(KnownDocument)]}
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["document"],
                    "additionalProperties": False,
                    "properties": {
                        "document": {
                            "type": "string",
                            "format": "binary",
                            "description": "The same as JSON, as a part with a filename",
                        },
                        "file": {"type": "string", "format": "binary"},
                    },
                }
            },
        },
    }
}

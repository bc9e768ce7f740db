"""/documents, /notes, /tags and /kinds: what is in the knowledge base."""

import os
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from pydantic import Field, model_validator
from starlette.types import Receive, Scope, Send

from kb.engine import errors
from kb.engine.api.bodies import fields
from kb.engine.api.context import DocumentKey, EngineDep, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.values import (
    Cleared,
    Deleted,
    Document,
    DocumentPage,
    Filter,
    KindList,
    TagChange,
    TagList,
    WholeDocument,
)
from kb.kinds import KINDS

router = APIRouter(tags=["documents"], route_class=StrictRoute)

PHRASE = "DELETE ALL"
Sort = Literal["created", "updated", "title", "filename", "size"]
Order = Literal["asc", "desc"]


class Update(fields.Body):
    """What every document can be changed by. `if_updated_at` is when you saw it changed last (or
    created)."""

    title: fields.Title | None = None
    add_tags: fields.Tags = Field(default_factory=list)
    remove_tags: fields.Tags = Field(default_factory=list)
    if_updated_at: fields.Moment | None = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if set(self.add_tags) & set(self.remove_tags):
            raise ValueError("add_tags and remove_tags must not have a tag in common")
        return self

    def tag_change(self) -> TagChange:
        return TagChange(frozenset(self.add_tags), frozenset(self.remove_tags))


class DocumentUpdate(Update):
    """What to change; at least one field."""

    metadata: fields.Metadata | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.title is None and self.metadata is None and not self.tag_change():
            raise ValueError("send a title, metadata, add_tags or remove_tags")
        return self


class NoteUpdate(Update):
    """The note's new text, and what else is to change with it."""

    text: fields.NoteText


class TagsBody(fields.Body):
    tags: fields.Tags


class Confirmation(fields.Body):
    confirm: Annotated[str, Field(max_length=100)] = ""


class Original(FileResponse):
    """A stored file, always whole.

    A part of it that does not exist would be refused in the framework's words, not in ours.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers["accept-ranges"] = "none"
        headers = [pair for pair in scope["headers"] if pair[0] != b"range"]
        try:
            await super().__call__({**scope, "headers": headers}, receive, send)
        except RuntimeError as error:  # the framework's word for a file that is gone
            if os.path.exists(self.path):
                raise
            raise errors.FileMissing(str(self.filename)) from error


@router.get("/documents")
def list_documents(
    engine: EngineDep,
    source_path: fields.SourcePath | None = None,
    path_prefix: fields.SourcePath | None = None,
    tag: Annotated[list[fields.Tag], Query(max_length=100)] = [],  # noqa: B006 - FastAPI copies it
    doc_type: fields.Kind | None = None,
    format: fields.Format | None = None,
    created_after: fields.After | None = None,
    created_before: fields.Before | None = None,
    warnings: bool | None = None,
    sort: Sort = "updated",
    order: Order = "desc",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> DocumentPage:
    """Newest first, unless asked otherwise. `warnings`: only those that were not read without
    some, or only those that were."""
    filter_ = Filter(
        tags=tuple(tag),
        doc_types=fields.doc_types(doc_type),
        formats=(format,) if format else (),
        source_path=source_path,
        path_prefix=path_prefix,
        created_after=created_after,
        created_before=created_before,
        warnings=warnings,
    )
    return engine.store.documents.listing(filter_, sort, order, limit, offset)


@router.delete(
    "/documents", responses=responses(errors.ConfirmationRequired, errors.FilesInaccessible)
)
def clear(engine: EngineDep, confirmation: Confirmation | None = None) -> Cleared:
    """Delete everything: documents, files and jobs."""
    if confirmation is None or confirmation.confirm != PHRASE:
        raise errors.ConfirmationRequired(
            f'This deletes everything. Send {{"confirm": "{PHRASE}"}} to go on',
            document_count=engine.store.totals.current().documents,
        )
    return engine.library.clear()


@router.get("/documents/{document_id}", responses=responses(errors.DocumentNotFound))
def get_document(key: DocumentKey, engine: EngineDep, chunks: bool = True) -> WholeDocument:
    """With its passages, unless `chunks` is false: a long document has thousands."""
    return engine.store.documents.get(key, chunks)


@router.patch(
    "/documents/{document_id}", responses=responses(errors.DocumentNotFound, errors.Conflict)
)
def update_document(key: DocumentKey, update: DocumentUpdate, engine: EngineDep) -> Document:
    """Change the title, replace the metadata, add and remove tags: all of it or nothing."""
    return engine.library.update(
        key, update.title, update.metadata, update.if_updated_at, update.tag_change()
    )


@router.get(
    "/documents/{document_id}/file",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {}}, "description": "The original bytes"},
        **responses(
            errors.DocumentNotFound,
            errors.FileNotStored,
            errors.FileMissing,
            errors.FileChanged,
            errors.FilesInaccessible,
        ),
    },
)
def get_file(key: DocumentKey, engine: EngineDep) -> Original:
    """The original, as an attachment: a browser must save it, not show it."""
    document, name = engine.store.documents.stored_file(key)
    path = engine.files.to_hand_out(
        name,
        document.filename or document.title,
        document.size_bytes,
        document.content_hash,
        is_doubted=engine.check.found_changed(document.id),
    )
    return Original(
        path,
        media_type="application/octet-stream",
        filename=document.filename or "file",
        content_disposition_type="attachment",
    )


@router.delete(
    "/documents/{document_id}",
    responses=responses(errors.DocumentNotFound, errors.FilesInaccessible),
)
def delete_document(key: DocumentKey, engine: EngineDep) -> Deleted:
    """Delete for good: passages, vectors, tags and the stored file."""
    return engine.library.delete(key)


@router.put("/documents/{document_id}/tags", responses=responses(errors.DocumentNotFound))
def set_tags(key: DocumentKey, body: TagsBody, engine: EngineDep) -> Document:
    return engine.library.set_tags(key, body.tags)


@router.post("/documents/{document_id}/tags", responses=responses(errors.DocumentNotFound))
def add_tags(key: DocumentKey, body: TagsBody, engine: EngineDep) -> Document:
    return engine.library.add_tags(key, body.tags)


@router.delete("/documents/{document_id}/tags", responses=responses(errors.DocumentNotFound))
def remove_tags(key: DocumentKey, body: TagsBody, engine: EngineDep) -> Document:
    return engine.library.remove_tags(key, body.tags)


@router.patch(
    "/notes/{document_id}",
    responses=responses(
        errors.DocumentNotFound,
        errors.NotANote,
        errors.Conflict,
        errors.TextTooLong,
        errors.ModelLoading,
        errors.EmbeddingFailed,
    ),
)
def update_note(key: DocumentKey, update: NoteUpdate, engine: EngineDep) -> WholeDocument:
    """Replace the text of a note; its id and creation time stay."""
    return engine.library.revise_note(
        key, update.text, update.title, update.if_updated_at, update.tag_change()
    )


@router.get("/tags")
def list_tags(engine: EngineDep) -> TagList:
    """Every tag with the number of documents that carry it."""
    return engine.store.documents.tags()


@router.get("/kinds")
async def list_kinds() -> KindList:
    """Every kind of document (`doc_type`), with the words that stand for it in a filter."""
    return KindList(list(KINDS))

"""Decides which existing document a request is about, and what it would change there."""

from collections.abc import Sequence

from kb.engine.store.file.database import Query
from kb.engine.store.rows.document_rows import found
from kb.engine.values import Change, Document, NewJob
from kb.source_path import names_one_thing, normal_form


def known_document(query: Query, request: NewJob) -> Document | None:
    """The document that this request is about, if it is here already.

    A file with an absolute path or a URL is known by that, whatever its tags. Any other is known
    only among documents with the same tags: by its bare name, or without one by filename and
    bytes. A note is only ever the same if its text, path and tags are.
    """
    candidates = _same_place(query, request)
    if request.kind == "file" and request.source_path and names_one_thing(request.source_path):
        return _nearest(_same_origin(candidates, request.origin), set(request.tags or ()))
    tags = set(request.tags or ())
    return next((document for document in candidates if set(document.tags) == tags), None)


def kept_path(query: Query, request: NewJob) -> str | None:
    """The spelling of a request's path by which its document is known: the normal one, unless
    another file has that, or a document has the path as it was sent already."""
    path = request.source_path
    if path is None or request.exact_path or normal_form(path) == path:
        return path
    rows = query("SELECT 1 FROM documents WHERE source_path = :path LIMIT 1", path=path)
    return path if rows else normal_form(path)


def changes(request: NewJob, document: Document) -> tuple[Change, ...]:
    """What is new in a request about a document; a note is never changed by adding.

    An import may change one, and takes away what its source does not have any more.
    """
    if request.arrival is not None:
        return _changes_by_import(request, document)
    if request.kind == "note":
        return ()
    to_be_recognised = request.force_ocr and document.doc_type == "pdf"
    new: dict[Change, bool] = {
        "content": request.content_hash != document.content_hash
        or (to_be_recognised and document.processing_method == "text_extraction"),
        "title": request.title not in (None, document.title),
        "metadata": any(
            document.metadata.get(name) != value for name, value in request.metadata.items()
        ),
        "tags": not set(request.tags or ()) <= set(document.tags),
    }
    return tuple(name for name, is_new in new.items() if is_new)


def _changes_by_import(request: NewJob, document: Document) -> tuple[Change, ...]:
    new: dict[Change, bool] = {
        "content": request.content_hash != document.content_hash,
        "title": request.title != document.title,
        "metadata": request.metadata != document.metadata,
        "tags": set(request.tags or ()) != set(document.tags),
    }
    return tuple(name for name, is_new in new.items() if is_new)


def twin(query: Query, document: Document) -> int | None:
    """Another document with the same content, so that the job can name it."""
    rows = query(
        "SELECT id FROM documents WHERE content_hash = :hash AND id <> :id ORDER BY id LIMIT 1",
        hash=document.content_hash,
        id=document.id,
    )
    return rows[0][0] if rows else None


def _same_place(query: Query, request: NewJob) -> list[Document]:
    if request.kind == "file" and request.source_path is not None:
        condition = "doc_type <> 'note' AND source_path = :path"
    elif request.kind == "file":
        condition = (
            "doc_type <> 'note' AND source_path IS NULL AND content_hash = :hash "
            "AND filename IS :filename"
        )
    else:
        condition = "doc_type = 'note' AND content_hash = :hash AND source_path IS :path"
    rows = query(
        f"SELECT id FROM documents WHERE {condition} ORDER BY id",
        **{
            name: value
            for name, value in (
                ("path", request.source_path),
                ("hash", request.content_hash),
                ("filename", request.filename),
            )
            if f":{name}" in condition
        },
    )
    return [found(query, document_id) for (document_id,) in rows]


def _same_origin(documents: Sequence[Document], origin: str | None) -> list[Document]:
    """Those that are of this machine.

    A machine that is not known may be any, as long as it is clear which: where the same path is
    known of two machines, one of neither is a thing of its own.
    """
    same = [document for document in documents if document.origin == origin]
    maybe = [document for document in documents if origin is None or document.origin is None]
    if same or len({document.origin for document in maybe}) > 1:
        return same
    return maybe


def _nearest(documents: Sequence[Document], tags: set[str]) -> Document | None:
    """One, unless an older kb made several of one path: that with these tags, or the oldest."""
    return min(
        documents,
        key=lambda document: (
            set(document.tags) != tags,
            not tags <= set(document.tags),
            document.id,
        ),
        default=None,
    )

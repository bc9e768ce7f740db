"""Makes a job that reads a document's original once more."""

import json
import uuid
from collections.abc import Mapping

from kb.engine.store.file.database import Query
from kb.engine.values import now

# The number of a passage in its document in, its id and uid out. No uid: any will do.
Names = Mapping[int, tuple[int, bytes | None]]


def queue_reading(
    query: Query,
    document_id: int,
    stored_name: str,
    text_hash: str | None = None,
    names: Names | None = None,
) -> None:
    """`names` are the ids of the passages: they get them back if they have `text_hash` again. Until
    the job has ended, its metadata keeps them; such a job has no other."""
    called = sorted((names or {}).items())
    if text_hash is None or [seq for seq, _ in called] != list(range(len(called))):
        called = []
    had = {
        "text_hash": text_hash,
        "ids": [chunk_id for _, (chunk_id, _) in called],
        "uids": [uid.hex() if uid else None for _, (_, uid) in called],
    }
    query(
        "INSERT INTO jobs (uid, status, kind, stored_name, filename, title, metadata, "
        "content_hash, size_bytes, turn, expected, document_id, document_uid, created_at) "
        "SELECT :uid, 'queued', 'file', :stored_name, filename, title, :metadata, content_hash, "
        "size_bytes, 1 + (SELECT max(taken) FROM turns), 1 + size_bytes / 800, id, uid, :now "
        "FROM documents WHERE id = :id",
        id=document_id,
        uid=str(uuid.uuid4()),
        stored_name=stored_name,
        metadata=json.dumps(had if called else {}),
        now=now(),
    )

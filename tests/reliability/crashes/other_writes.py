"""A client in, rarer writes out: imports, jobs that are cancelled, files that cannot be read."""

import hashlib
import json
from typing import Any

from ..clients import Client
from ..engine_process import Answer
from ..oracle import ABSENT, Submission
from .vaults import import_vault

_UNREADABLE = b"\0\1\2\3" * 50
_JOB_ENDED = _KEY_USED = 409


def write_otherwise(client: Client, settled: list[Submission]) -> None:
    """One of them, as the client's own chance has it."""
    chance = client.oracle.random.random()
    if chance < 0.2:
        client.doing = "import a document"
        _import_new(client)
    elif chance < 0.4 and settled:
        client.doing = "export, delete and import"
        _move_there_and_back(client, client.oracle.random.choice(settled))
    elif chance < 0.5:
        client.doing = "import a vault"
        import_vault(client)
    elif chance < 0.7:
        client.doing = "add and cancel"
        _add_and_cancel(client)
    elif chance < 0.8 and client.oracle.outcomes:
        client.doing = "send under a used key"
        _send_under_a_used_key(client)
    elif chance < 0.93 or not client.oracle.held:
        client.doing = "add what cannot be read"
        _add_unreadable(client)
    else:
        client.doing = "delete what failed"
        _delete_what_failed(client)


def _import_new(client: Client) -> None:
    """A note of another program; under the same key it is the same document."""
    submission, state = client.oracle.new_submission(is_note=True), client.oracle.new_state()
    digest = hashlib.sha256(repr(state).encode()).hexdigest()
    document = {
        "source": "elsewhere",
        "key": submission.path,
        "digest": digest,
        "title": "From elsewhere",
        "text": state.text,
        "source_path": submission.path,
        "tags": sorted(state.tags),
    }

    def post() -> Answer:
        return client.engine.send("POST", "/api/v1/import", document)

    submission.retry, submission.wanted = post, 200
    answer = client.oracle.ask(submission, state, post, 200)
    if answer.status == 200 and answer.body["job_id"] and client.oracle.random.random() < 0.5:
        submission.document_id = client.document_of(answer.body["job_id"])


def _move_there_and_back(client: Client, submission: Submission) -> None:
    """Export a document with all that is known of it, delete it, and import it again."""
    state, path = submission.acknowledged, f"/api/v1/documents/{submission.document_id}"
    record = client.engine.get(f"/api/v1/export/documents/{submission.document_id}")
    content = client.engine.get(f"{path}/file") if record.body.get("has_file") else None
    if record.status != 200 or (content is not None and content.status != 200):
        client.oracle.refused.append(f"{submission.path}: export {record.status} {record.body}")
        return
    deleted = client.oracle.ask(
        submission, ABSENT, lambda: client.engine.request("DELETE", path), 200
    )
    if deleted.status != 200:
        return
    document = {name: value for name, value in record.body.items() if name != "id"}

    def post() -> Answer:
        return _post_record(client, document, content.body if content else None)

    submission.retry, submission.wanted = post, 200
    answer = client.oracle.ask(submission, state, post, 200)
    submission.document_id = answer.body.get("document_id") if answer.status == 200 else None


def _post_record(client: Client, document: dict[str, Any], content: bytes | None) -> Answer:
    if content is None:
        return client.engine.send("POST", "/api/v1/import", document)
    parts = {"document": json.dumps(document).encode(), "file": content}
    return client.engine.post_files("/api/v1/import", parts)


def _add_and_cancel(client: Client) -> None:
    """A job is cancelled as soon as it is taken: no document comes of it, if that was in time."""
    submission, state = client.oracle.new_submission(is_note=False), client.oracle.new_state()
    key = client.key_of(submission, state)

    def post() -> Answer:
        return client.post(submission, state.text, sorted(state.tags), key)

    answer = client.oracle.ask(submission, state, post, 202)
    if answer.status != 202:
        return
    client.oracle.may_be_cancelled.add(key)
    path = f"/api/v1/jobs/{answer.body['job_id']}"
    client.oracle.ask(
        submission, ABSENT, lambda: client.engine.request("DELETE", path), 200, unless=_JOB_ENDED
    )


def _send_under_a_used_key(client: Client) -> None:
    """Another text under the key of a job is refused, and nothing comes of it."""
    key = client.oracle.random.choice(sorted(client.oracle.outcomes))
    note = {"text": f"Not under the key of {key}", "source_path": f"{client.oracle.name}/other"}
    answer = client.engine.send("POST", "/api/v1/jobs", note, key)
    if answer.status != _KEY_USED or answer.body["error"] != "idempotency_conflict":
        client.oracle.note_refusal(f"another text under {key}", answer)


def _add_unreadable(client: Client) -> None:
    """Its job fails and holds the file, so that it can be tried again."""
    key = f"{client.oracle.name}-unreadable-{client.oracle.random.randrange(10**9)}"
    client.oracle.may_fail.add(key)
    answer = client.engine.upload("unreadable.bin", _UNREADABLE, {}, key)
    if answer.status == 202:
        client.oracle.held[key] = answer.body["job_id"]
    else:
        client.oracle.note_refusal(key, answer)


def _delete_what_failed(client: Client) -> None:
    """Cancelled while it waits, or what it holds deleted: either way nothing of it is left."""
    key, job_id = client.oracle.random.choice(sorted(client.oracle.held.items()))
    del client.oracle.held[key]
    answer = client.engine.request("DELETE", f"/api/v1/jobs/{job_id}")
    if answer.status == 200:
        client.oracle.let_go.add(key)
    else:
        client.oracle.held[key] = job_id
        client.oracle.note_refusal(key, answer)

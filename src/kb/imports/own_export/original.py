"""Decides how much of what a record says about its original can be believed."""

from kb.imports.item import Json


def hash_of_original(record: Json, sha256: str | None) -> str | None:
    """The hash of the bytes that were added, as the jobs that read them have it; None where nobody
    knows, as of v2's documents. `sha256` is that of the file beside the record, if there is one.

    Whoever says it twice is believed: the record, one of its jobs, the file.
    """
    jobs = [job for job in record["jobs"] if job.get("status") == "done" and _hash(job)]
    if not jobs:
        return None
    said = str(record["content_hash"])
    made = {_hash(job) for job in jobs}
    if said == sha256 or said in made:
        return said
    return (
        sha256 if sha256 in made else _hash(max(jobs, key=lambda job: str(job.get("finished_at"))))
    )


def _hash(job: Json) -> str:
    return str(job.get("content_hash") or "")

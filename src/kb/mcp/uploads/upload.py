"""One upload: puts the pieces of a file together on disk."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio.to_thread import run_sync

from kb.mcp.contract import Json, ToolFailed
from kb.mcp.uploads.staging import put_in_order, sha256_of, write_at

MOST_CHUNKS = 10_000
MOST_CHUNK_BYTES = 4 * 2**20
MOST_CHUNK_CHARACTERS = 6_000_000  # of base64, with whatever it is wrapped by
_STANDARD_ONLY = re.compile(r"[+/]")
_FROM_URL_SAFE = str.maketrans("-_", "+/")
_NAMED = 20
_BATCH = 2**20


class Piece(NamedTuple):
    """The position of a chunk in the spool, and its bytes' hash."""

    offset: int
    size: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What the caller said about the file before sending it."""

    filename: str
    total_size: int
    tags: tuple[str, ...] | None = None
    title: str | None = None
    source_path: str | None = None
    sha256: str | None = None


@dataclass(slots=True)
class Upload:
    """One file on its way: by chunks, or whole by PUT. `job` is there once the engine has it.

    The spool holds the chunks as they came; most senders keep the order, and then it is the file.
    `lock` is held while the spool changes, except by a PUT, which sets `receiving` for its time.
    """

    id: str
    caller: str
    plan: Plan
    path: Path
    token_hash: bytes
    last_call: float
    share: str = ""
    received: int = 0
    receiving: bool = False
    whole: bool = False
    job: Json | None = None
    pieces: dict[int, Piece] = field(default_factory=dict)
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def in_use(self) -> bool:
        return self.receiving or self.lock.statistics().locked

    def progress(self) -> Json:
        return {
            "upload_id": self.id,
            "received_bytes": self.received,
            "total_size": self.plan.total_size,
        }

    def check_open(self) -> None:
        """Raise if nothing more may be done with it."""
        if self.job is not None:
            raise ToolFailed(
                "upload_finished",
                f"Upload {self.id} is finished already, as job {self.job.get('job_id')}:"
                " call kb_jobs to see how far it is",
                upload_id=self.id,
            )
        if self.receiving:
            raise ToolFailed(
                "upload_busy",
                f"Upload {self.id} is being sent by PUT at this moment: wait until that has ended",
                upload_id=self.id,
            )

    async def add(self, index: int, data: str) -> None:
        """Keep one base64 chunk; any order, and the same one twice is fine."""
        if self.whole:
            raise ToolFailed(
                "upload_complete",
                f"Upload {self.id} came whole by PUT: call kb_upload_finish",
                upload_id=self.id,
            )
        chunk, digest = await run_sync(_decoded, index, data)
        known = self.pieces.get(index)
        if known is not None and known.digest != digest:
            raise ToolFailed(
                "chunk_conflict",
                f"Chunk {index} of upload {self.id} came before with other bytes:"
                " send each index once, or begin again with kb_upload_start",
                upload_id=self.id,
                chunk_index=index,
            )
        if known is not None:
            return
        if self.received + len(chunk) > self.plan.total_size:
            raise ToolFailed(
                "size_mismatch",
                f"Chunk {index} makes it {self.received + len(chunk):,} bytes, but total_size is"
                f" {self.plan.total_size:,}: check the chunks, or begin again with kb_upload_start",
                **self.progress(),
            )
        await run_sync(write_at, self.path, self.received, chunk)
        self.pieces[index] = Piece(self.received, len(chunk), digest)
        self.received += len(chunk)

    async def take(self, stream: AsyncIterator[bytes]) -> None:
        """Keep the whole file as it streams in; when that fails, nothing is kept."""
        self.pieces.clear()
        self.received = 0
        try:
            batch = bytearray()
            async for data in stream:
                batch += data
                if self.received + len(batch) > self.plan.total_size:
                    raise self.wrong_length(None)
                if len(batch) >= _BATCH:
                    await self._append(batch)
            await self._append(batch)
            if self.received != self.plan.total_size:
                raise self.wrong_length(self.received)
            self.whole = True
        finally:
            if not self.whole:
                self.received = 0

    async def _append(self, batch: bytearray) -> None:
        await run_sync(write_at, self.path, self.received, bytes(batch))
        self.received += len(batch)
        batch.clear()

    def gaps(self) -> list[int]:
        """The chunks before the last one that have not come."""
        if len(self.pieces) == max(self.pieces, default=-1) + 1:
            return []
        return [index for index in range(max(self.pieces)) if index not in self.pieces]

    def about_gaps(self, missing: Sequence[int]) -> str:
        """Which chunks have not come, and what to do about it."""
        named = ", ".join(map(str, missing[:_NAMED])) + (", …" if missing[_NAMED:] else "")
        what = f"{'chunk' if len(missing) == 1 else 'chunks'} {named}"
        if self.received < self.plan.total_size:
            return f"missing {what} (they are counted from 0): send what is missing"
        return (
            f"missing {what} (they are counted from 0), and no bytes are left for that:"
            " begin again with kb_upload_start"
        )

    def check_complete(self) -> None:
        """Raise, naming what is missing, unless every byte has arrived."""
        missing = self.gaps()
        left = self.plan.total_size - self.received
        if not missing and not left:
            return
        rest = f"missing {left:,} bytes from chunk {len(self.pieces)} on: send what is missing"
        advice = self.about_gaps(missing) if missing else rest
        raise ToolFailed(
            "upload_incomplete",
            f"Upload {self.id} has {self.received:,} of {self.plan.total_size:,} bytes, {advice}"
            + (", then finish again" if left else ""),
            **self.progress(),
            missing_chunks=missing[:_NAMED],
        )

    async def assemble(self) -> None:
        """Make the spool the file."""
        offset, ordered = 0, {}
        for index in sorted(self.pieces):
            ordered[index] = self.pieces[index]._replace(offset=offset)
            offset += ordered[index].size
        if ordered != self.pieces:
            spans = [self.pieces[index][:2] for index in ordered]
            await run_sync(put_in_order, self.path, spans)
            self.pieces = ordered

    async def differs_from(self, sha256: str | None) -> str | None:
        """The file's own SHA-256, if it is not the one that was given now or at the start."""
        wanted = {given.lower() for given in (sha256, self.plan.sha256) if given}
        if not wanted:
            return None
        found = await run_sync(sha256_of, self.path)
        return None if wanted == {found} else found

    def wrong_length(self, length: int | None) -> ToolFailed:
        """What a PUT is told that has not the bytes which were announced; None is too many."""
        total = self.plan.total_size
        too_many = length is None or length > total
        what = f"more than the {total:,} bytes" if too_many else f"{length:,} bytes, not {total:,}"
        return ToolFailed(
            "file_too_large" if too_many else "size_mismatch",
            f"This is {what} that kb_upload_start was told: begin again with the right total_size",
            total_size=total,
        )


def _decoded(index: int, data: str) -> tuple[bytes, bytes]:
    """The bytes of a chunk and their digest.

    Lines, spaces and the alphabet for addresses are what many programs write, and can mean one
    thing only. Padding is asked for all the same: without it a chunk may be one that was cut off.
    """
    plain = "".join(data.split())
    if not _STANDARD_ONLY.search(plain):
        plain = plain.translate(_FROM_URL_SAFE)
    try:
        chunk = base64.b64decode(plain, validate=True)
    except ValueError:
        raise ToolFailed(
            "invalid_base64",
            f"The data of chunk {index} is not base64: use the standard alphabet with padding"
            " (`base64`), or send the file to put_url",
            chunk_index=index,
        ) from None
    if not 1 <= len(chunk) <= MOST_CHUNK_BYTES:
        raise ToolFailed(
            "chunk_size",
            f"Chunk {index} has {len(chunk):,} bytes: send 1 to {MOST_CHUNK_BYTES:,} at a time,"
            " about 1,000,000 is best",
            chunk_index=index,
        )
    return chunk, hashlib.sha256(chunk).digest()

"""The uploads in progress: collects the pieces of files and hands whole files to the engine.

Nothing here outlives the process: data about an upload is in memory, and its bytes are in a folder
that is deleted with the server. An upload belongs to the caller who started it and is invisible to
everyone else. It expires some time after the last call about it.
"""

import hashlib
import logging
import secrets
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from kb.mcp.contract import Json, ToolFailed
from kb.mcp.uploads.staging import Staging
from kb.mcp.uploads.upload import Plan, Upload

logger = logging.getLogger(__name__)

# What one caller may have unfinished, and all together.
MOST_OPEN, ALL_OPEN = 16, 64
MOST_BYTES, ALL_BYTES = 2**30, 2**32
# Without a call for so long, an upload may have to make room for another.
IDLE_SECONDS = 120
_MOST_REMEMBERED = 1000

# Where the server takes the PUT of `receive`. The token in it is all the proof it needs.
PUT_ROUTE = "/uploads/{token}"
# The status with which a PUT answers each failure that can happen to it.
HTTP_STATUS = {
    "upload_not_found": 404,
    "upload_finished": 409,
    "upload_busy": 409,
    "upload_stalled": 408,
    "size_mismatch": 400,
    "file_too_large": 413,
    "storage_full": 507,
}


class Uploads:
    """Every upload of this server, as an async context manager: it cleans up after itself."""

    def __init__(
        self,
        ttl: float = 600,
        staging: Staging | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ttl = ttl
        self._staging = staging or Staging()
        self._clock = clock
        self._uploads: dict[str, Upload] = {}
        self._by_token: dict[bytes, Upload] = {}
        self._cleaner: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._staging.open()
        self._cleaner = await anyio.create_task_group().__aenter__()
        self._cleaner.start_soon(self._keep_clean)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._cleaner is not None
        self._cleaner.cancel_scope.cancel()
        try:
            await self._cleaner.__aexit__(kind, error, traceback)
        finally:
            self._staging.close()

    def start(self, caller: str, plan: Plan, largest: int, share: str = "") -> tuple[Upload, str]:
        """Open an upload for a file of at most `largest` bytes, with the token of its PUT address.

        Room is set aside now, so that what was begun cannot fail later for want of it. It is taken
        from the `share` of whoever asks, which may be one of many with the caller's token.
        """
        self.sweep()
        self._check_room(plan, largest, share)
        upload_id, token = str(uuid.uuid4()), secrets.token_urlsafe(32)
        upload = Upload(
            upload_id,
            caller,
            plan,
            path=self._staging.path(upload_id),
            token_hash=_hash(token),
            last_call=self._clock(),
            share=share,
        )
        self._uploads[upload_id] = upload
        self._by_token[upload.token_hash] = upload
        logger.info("upload %s started: %d bytes", upload_id, plan.total_size)
        return upload, token

    async def add_chunk(self, caller: str, upload_id: str, index: int, data: str) -> Json:
        """Take one base64 chunk."""
        upload = self._find(caller, upload_id)
        async with upload.lock:
            upload.check_open()
            await upload.add(index, data)
            upload.last_call = self._clock()
            missing = upload.gaps()
        answer = {
            **upload.progress(),
            "chunk_index": index,
            "complete": not missing and upload.received == upload.plan.total_size,
        }
        return answer | ({"hint": f"Still {upload.about_gaps(missing)}"} if missing else {})

    async def receive(self, token: str, length: int | None, stream: AsyncIterator[bytes]) -> Json:
        """Take the whole file from one PUT. Its address works until that has succeeded once.

        What came by chunks is replaced. A transfer that breaks leaves nothing and may be repeated.
        Raises ToolFailed; HTTP_STATUS has the status for its code.
        """
        self.sweep()
        upload = self._by_token.get(_hash(token))
        if upload is None:
            raise ToolFailed(
                "upload_not_found",
                "This upload address is unknown, used already or too old:"
                " call kb_upload_start for a new one",
            )
        if length is not None and length != upload.plan.total_size:
            raise upload.wrong_length(length)
        async with upload.lock:
            upload.check_open()
            upload.receiving = True
        try:
            await upload.take(self._watched(upload, stream))
            self._by_token.pop(upload.token_hash, None)
        finally:
            upload.receiving = False
            upload.last_call = self._clock()
        return {**upload.progress(), "complete": True, "hint": "Now call kb_upload_finish"}

    async def finish(
        self,
        caller: str,
        upload_id: str,
        sha256: str | None,
        hand_over: Callable[[Upload], Awaitable[Json]],
    ) -> Json:
        """Put the pieces together and hand the file over; asked again, the answer is the same."""
        upload = self._find(caller, upload_id)
        async with upload.lock:
            if upload.job is not None:
                return upload.job
            upload.check_open()
            upload.check_complete()
            await upload.assemble()
            if found := await upload.differs_from(sha256):
                self._drop(upload)
                raise ToolFailed(
                    "hash_mismatch",
                    f"{upload.plan.filename} came with the SHA-256 {found}, not the one you gave,"
                    " and was dropped: begin again with kb_upload_start",
                    sha256=found,
                )
            upload.job = await hand_over(upload)
            upload.last_call = self._clock()
            self._let_go(upload)
        logger.info("upload %s handed over", upload_id)
        return upload.job

    def sweep(self) -> None:
        """Forget every upload whose time is over, bytes and all."""
        now = self._clock()
        for upload in list(self._uploads.values()):
            if not upload.in_use and now - upload.last_call >= self.ttl:
                self._drop(upload)
                logger.info("upload %s removed: no call for %g s", upload.id, self.ttl)

    async def _keep_clean(self) -> None:
        """For the files of uploads that nobody asks about any more."""
        while True:
            await anyio.sleep(min(max(self.ttl / 10, 0.05), 30))
            try:
                self.sweep()
            except OSError:
                logger.exception("an upload could not be removed")

    async def _watched(self, upload: Upload, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The stream, for as long as something comes: each piece counts as a call."""
        while True:
            try:
                with anyio.fail_after(self.ttl):
                    data = await anext(stream, None)
            except TimeoutError:
                raise ToolFailed(
                    "upload_stalled", f"No bytes came for {self.ttl:g} seconds: send it again"
                ) from None
            if data is None:
                return
            upload.last_call = self._clock()
            yield data

    def _check_room(self, plan: Plan, largest: int, share: str) -> None:
        largest = min(largest, MOST_BYTES)
        if plan.total_size > largest:
            raise ToolFailed(
                "file_too_large",
                f"{plan.filename} has {plan.total_size:,} bytes, the most is {largest:,}"
                f" ({largest // 2**20} MB): send it in parts of their own, or have KB_MAX_FILE_MB"
                " of the engine raised",
                max_bytes=largest,
            )
        while (crowd := self._in_the_way(plan.total_size, share)) is not None:
            self._make_room(crowd)
        waiting = self._waiting()
        promised = _reserved(waiting) - sum(upload.received for upload in waiting)
        self._staging.check_room(plan.total_size, promised)

    def _waiting(self) -> list[Upload]:
        return [upload for upload in self._uploads.values() if upload.job is None]

    def _in_the_way(self, size: int, share: str) -> list[Upload] | None:
        """The uploads of which one has to go before there is room; None if there is room.

        They are the caller's own, or where all together are too many, those of who has most.
        """
        waiting = self._waiting()
        own = [upload for upload in waiting if upload.share == share]
        if len(own) >= MOST_OPEN or _reserved(own) + size > MOST_BYTES:
            return own
        if len(waiting) < ALL_OPEN and _reserved(waiting) + size <= ALL_BYTES:
            return None
        [(greediest, _)] = Counter(upload.share for upload in waiting).most_common(1)
        return [upload for upload in waiting if upload.share == greediest]

    def _make_room(self, crowd: list[Upload]) -> None:
        """Drop the one of these that was idle for longest; refuse, if all are in use."""
        since = self._clock() - IDLE_SECONDS
        idle = [upload for upload in crowd if not upload.in_use and upload.last_call <= since]
        if not idle:
            raise ToolFailed(
                "too_many_uploads",
                f"{len(crowd)} uploads of {_reserved(crowd) // 2**20} MB are open: finish one, or"
                f" try again in a while, each ends {self.ttl:g} seconds after its last call",
            )
        oldest = min(idle, key=lambda upload: upload.last_call)
        self._drop(oldest)
        logger.info("upload %s removed to make room for another", oldest.id)

    def _find(self, caller: str, upload_id: str) -> Upload:
        self.sweep()
        upload = self._uploads.get(upload_id)
        if upload is None or upload.caller != caller:
            raise ToolFailed(
                "upload_not_found",
                f"Upload {upload_id} not found: it is unknown, or ended {self.ttl:g} seconds after"
                " its last call, or the server was restarted: begin again with kb_upload_start",
                upload_id=upload_id,
            )
        upload.last_call = self._clock()
        return upload

    def _drop(self, upload: Upload) -> None:
        self._uploads.pop(upload.id, None)
        self._let_go(upload)

    def _let_go(self, upload: Upload) -> None:
        """Of its bytes. Its answer is kept for a while, for a caller whose connection broke."""
        self._by_token.pop(upload.token_hash, None)
        upload.path.unlink(missing_ok=True)
        answered = [each.id for each in self._uploads.values() if each.job is not None]
        for upload_id in answered[:-_MOST_REMEMBERED]:
            del self._uploads[upload_id]


def _reserved(uploads: Iterable[Upload]) -> int:
    return sum(upload.plan.total_size for upload in uploads)


def _hash(token: str) -> bytes:
    """The tokens themselves are not kept: a dump of the memory holds no address that works."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()

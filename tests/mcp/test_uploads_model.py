"""Uploads against a model: any calls, in any order, at any time, by anyone."""

import base64
import hashlib
import tempfile
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
)

from kb.mcp.contract import ToolFailed
from kb.mcp.staging import Staging
from kb.mcp.upload import Plan
from kb.mcp.uploads import MOST_OPEN, Uploads

TTL = 600
PIECES = st.binary(min_size=1, max_size=3)
CALLERS = st.sampled_from(["me", "you"])


class Expected:
    """What an upload should be, in the plainest way to say it."""

    def __init__(self, caller, size, now):
        self.caller, self.size, self.last_call = caller, size, now
        self.chunks: dict[int, bytes] = {}
        self.whole: bytes | None = None
        self.token_works = True
        self.job: int | None = None
        self.gone = False

    @property
    def content(self):
        if self.whole is not None:
            return self.whole
        return b"".join(self.chunks[index] for index in sorted(self.chunks))

    @property
    def is_complete(self):
        contiguous = sorted(self.chunks) == list(range(len(self.chunks)))
        return len(self.content) == self.size and (contiguous or self.whole is not None)


class UploadsMachine(RuleBasedStateMachine):
    started = Bundle("started")

    def __init__(self):
        super().__init__()
        self.now = 0.0
        self.files: list[bytes] = []
        self.expected: list[Expected] = []
        self.folder = tempfile.TemporaryDirectory()
        self._portal_context = start_blocking_portal()
        self.portal = self._portal_context.__enter__()
        uploads = Uploads(TTL, Staging(Path(self.folder.name)), lambda: self.now)
        self._uploads_context = self.portal.wrap_async_context_manager(uploads)
        self.uploads = self._uploads_context.__enter__()

    def teardown(self):
        self._uploads_context.__exit__(None, None, None)
        assert list(Path(self.folder.name).iterdir()) == []
        self._portal_context.__exit__(None, None, None)
        self.folder.cleanup()

    def outcome(self, method, *arguments):
        """What came of a call: its answer, or the code of its refusal."""
        try:
            return self.portal.call(method, *arguments)
        except ToolFailed as failure:
            return failure.code

    def reaches(self, upload, caller):
        """Whether a call about this upload finds it; then it counts as a call."""
        if upload.gone or upload.caller != caller:
            return False
        upload.last_call = self.now
        return True

    async def hand_over(self, upload):
        self.files.append(upload.path.read_bytes())
        return {"job_id": len(self.files)}

    @rule(target=started, caller=CALLERS, size=st.integers(1, 8))
    def start(self, caller, size):
        waiting = [each for each in self.expected if not each.gone and each.job is None]
        answer = self.outcome(self.uploads.start, caller, Plan("f", size), 8)
        if len(waiting) == MOST_OPEN:
            assert answer == "too_many_uploads"
            return multiple()
        upload, token = answer
        expected = Expected(caller, size, self.now)
        self.expected.append(expected)
        return upload.id, token, expected

    @rule(upload=started, caller=CALLERS, index=st.integers(0, 4), data=PIECES)
    def add_chunk(self, upload, caller, index, data):
        upload_id, _, expected = upload
        text = base64.b64encode(data).decode()
        answer = self.outcome(self.uploads.add_chunk, caller, upload_id, index, text)
        if not self.reaches(expected, caller):
            assert answer == "upload_not_found"
        elif expected.job is not None:
            assert answer == "upload_finished"
        elif expected.whole is not None:
            assert answer == "upload_complete"
        elif expected.chunks.get(index, data) != data:
            assert answer == "chunk_conflict"
        elif index not in expected.chunks and len(expected.content) + len(data) > expected.size:
            assert answer == "size_mismatch"
        else:
            expected.chunks[index] = data
            assert answer["received_bytes"] == len(expected.content)
            assert answer["complete"] == (len(expected.content) == expected.size)

    @rule(upload=started, data=st.binary(max_size=9), tell=st.booleans(), cut=st.integers(0, 9))
    def put(self, upload, data, tell, cut):
        _, token, expected = upload

        async def pieces():
            yield data[:cut]
            yield data[cut:]

        length = len(data) if tell else None
        answer = self.outcome(self.uploads.receive, token, length, pieces())
        if expected.gone or not expected.token_works or expected.job is not None:
            assert answer == "upload_not_found"
        elif len(data) == expected.size:
            assert answer["received_bytes"] == expected.size
            expected.whole, expected.token_works = data, False
            expected.last_call = self.now
        else:
            too_many = len(data) > expected.size
            assert answer == ("file_too_large" if too_many else "size_mismatch")
            if not tell:  # it had begun, so what came before is gone
                expected.chunks.clear()
                expected.last_call = self.now

    @rule(upload=started, caller=CALLERS, told=st.sampled_from(["nothing", "right", "wrong"]))
    def finish(self, upload, caller, told):
        upload_id, _, expected = upload
        right = hashlib.sha256(expected.content).hexdigest()
        sha256 = {"nothing": None, "right": right, "wrong": "0" * 64}[told]
        answer = self.outcome(self.uploads.finish, caller, upload_id, sha256, self.hand_over)
        if not self.reaches(expected, caller):
            assert answer == "upload_not_found"
        elif expected.job is not None:
            assert answer == {"job_id": expected.job}
        elif not expected.is_complete:
            assert answer == "upload_incomplete"
        elif told == "wrong":
            assert answer == "hash_mismatch"
            expected.gone = True
        else:
            assert self.files[-1] == expected.content
            expected.job = len(self.files)
            assert answer == {"job_id": expected.job}

    @rule(upload=consumes(started))
    def forget(self, upload):
        """So that there are uploads which nobody ever finishes."""

    @rule(seconds=st.sampled_from([1, 200, TTL - 1, TTL]))
    def wait(self, seconds):
        self.now += seconds
        self.portal.call(self.uploads.sweep)
        for upload in self.expected:
            if self.now - upload.last_call >= TTL:
                upload.gone = True

    @invariant()
    def the_folder_holds_what_is_under_way_and_nothing_else(self):
        held = [path.stat().st_size for path in Path(self.folder.name).glob("*/*-*-*-*-*")]
        waiting = [each for each in self.expected if not each.gone and each.job is None]
        assert len(held) <= len(waiting)
        assert sum(held) <= sum(each.size for each in waiting)
        assert len(self.files) == sum(each.job is not None for each in self.expected)


UploadsMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True
)
TestUploadsAgainstAModel = UploadsMachine.TestCase

"""Uploads against a model: any calls, in any order, at any time, by anyone."""

import base64
import hashlib
import tempfile
from itertools import pairwise
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from kb.mcp.contract import ToolFailed
from kb.mcp.uploads.open_uploads import Uploads
from kb.mcp.uploads.staging import Staging
from kb.mcp.uploads.upload import Plan

TTL = 600
MOST_AT_ONCE = 3  # so that the calls of a run meet each other
CONTENT = st.binary(min_size=2, max_size=8)
SPLITS = st.lists(st.integers(1, 7), max_size=3)


class Expected:
    """What an upload should be, in the plainest way to say it."""

    def __init__(self, content, splits, now):
        self.planned = [content[begin:end] for begin, end in pairwise(sorted({0, *splits, 8}))]
        self.planned = [piece for piece in self.planned if piece]
        self.size, self.right, self.last_call = len(content), content, now
        self.chunks: dict[int, bytes] = {}
        self.whole = self.gone = False
        self.job: int | None = None

    @property
    def received(self):
        return self.size if self.whole else sum(map(len, self.chunks.values()))

    @property
    def content(self):
        """The file, if it is all there."""
        if self.whole:
            return self.right
        contiguous = sorted(self.chunks) == list(range(len(self.chunks)))
        if not contiguous or self.received != self.size:
            return None
        return b"".join(self.chunks[index] for index in sorted(self.chunks))


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

    def waiting(self):
        return [each for each in self.expected if not each.gone and each.job is None]

    async def hand_over(self, upload):
        self.files.append(upload.path.read_bytes())
        return {"job_id": len(self.files)}

    @precondition(lambda self: len(self.waiting()) < MOST_AT_ONCE)
    @rule(target=started, content=CONTENT, splits=SPLITS)
    def start(self, content, splits):
        upload, token = self.uploads.start("me", Plan("f", len(content)), 8)
        expected = Expected(content, splits, self.now)
        self.expected.append(expected)
        return upload.id, token, expected

    @rule(upload=started, number=st.integers(0, 3))
    def send_a_chunk(self, upload, number):
        index = number % len(upload[2].planned)
        self.add_chunk(upload, index, upload[2].planned[index])

    @rule(upload=started, index=st.integers(0, 3), data=st.binary(min_size=1, max_size=2))
    def send_some_other_chunk(self, upload, index, data):
        self.add_chunk(upload, index, data)

    def add_chunk(self, upload, index, data):
        upload_id, _, expected = upload
        text = base64.b64encode(data).decode()
        answer = self.outcome(self.uploads.add_chunk, "me", upload_id, index, text)
        if expected.gone:
            assert answer == "upload_not_found"
            return
        expected.last_call = self.now
        if expected.job is not None:
            assert answer == "upload_finished"
        elif expected.whole:
            assert answer == "upload_complete"
        elif expected.chunks.get(index, data) != data:
            assert answer == "chunk_conflict"
        elif index not in expected.chunks and expected.received + len(data) > expected.size:
            assert answer == "size_mismatch"
        else:
            expected.chunks[index] = data
            assert answer["received_bytes"] == expected.received
            assert answer["complete"] == (expected.content is not None)
            in_a_row = sorted(expected.chunks) == list(range(len(expected.chunks)))
            assert ("hint" in answer) != in_a_row

    @rule(upload=started, cut=st.integers(0, 8), tell=st.booleans())
    def put(self, upload, cut, tell):
        self.put_bytes(upload, upload[2].right, cut, tell)

    @rule(upload=started, data=st.binary(max_size=9), cut=st.integers(0, 8), tell=st.booleans())
    def put_something_else(self, upload, data, cut, tell):
        if len(data) != upload[2].size:
            self.put_bytes(upload, data, cut, tell)

    def put_bytes(self, upload, data, cut, tell):
        _, token, expected = upload

        async def pieces():
            yield data[:cut]
            yield data[cut:]

        answer = self.outcome(self.uploads.receive, token, len(data) if tell else None, pieces())
        if expected.gone or expected.whole or expected.job is not None:
            assert answer == "upload_not_found"
            return
        if len(data) == expected.size:
            assert answer["received_bytes"] == expected.size
            expected.whole = True
        else:
            too_many = len(data) > expected.size
            assert answer == ("file_too_large" if too_many else "size_mismatch")
        if expected.whole or not tell:  # it had begun, so what came before is gone
            expected.chunks.clear()
            expected.last_call = self.now

    @rule(upload=started, told=st.sampled_from(["nothing", "right", "nothing", "wrong"]))
    def finish(self, upload, told):
        upload_id, _, expected = upload
        right = hashlib.sha256(expected.content or b"").hexdigest()
        sha256 = {"nothing": None, "right": right, "wrong": "0" * 64}[told]
        answer = self.outcome(self.uploads.finish, "me", upload_id, sha256, self.hand_over)
        if expected.gone:
            assert answer == "upload_not_found"
            return
        expected.last_call = self.now
        if expected.job is not None:
            assert answer == {"job_id": expected.job}
        elif expected.content is None:
            assert answer == "upload_incomplete"
        elif told == "wrong":
            assert answer == "hash_mismatch"
            expected.gone = True
        else:
            assert self.files[-1] == expected.content
            expected.job = len(self.files)
            assert answer == {"job_id": expected.job}

    @rule(upload=started, data=st.sampled_from(["", "YQ=="]))
    def somebody_else_tries(self, upload, data):
        """Who gets nowhere does not keep it alive either."""
        chunk = self.outcome(self.uploads.add_chunk, "you", upload[0], 0, data)
        finish = self.outcome(self.uploads.finish, "you", upload[0], None, self.hand_over)
        assert (chunk, finish) == ("upload_not_found", "upload_not_found")

    @rule(seconds=st.sampled_from([1, 100, 300, TTL - 1]))
    def wait(self, seconds):
        self.now += seconds
        self.portal.call(self.uploads.sweep)
        for upload in self.expected:
            if self.now - upload.last_call >= TTL:
                upload.gone = True

    @invariant()
    def the_folder_holds_what_is_under_way_and_nothing_else(self):
        held = [path.stat().st_size for path in Path(self.folder.name).glob("*/*-*-*-*-*")]
        waiting = self.waiting()
        assert len(held) <= len(waiting)
        assert sum(held) <= sum(each.size for each in waiting)
        assert len(self.files) == sum(each.job is not None for each in self.expected)


UploadsMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, derandomize=True
)
TestUploadsAgainstAModel = UploadsMachine.TestCase

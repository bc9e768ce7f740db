"""Pieces of a file in any order, or one PUT, in; the file handed over, or a clear refusal, out."""

import base64
import hashlib
import os
import subprocess
import sys
import uuid
from contextlib import asynccontextmanager

import anyio
import pytest

from kb.mcp.contract import ToolFailed
from kb.mcp.uploads.open_uploads import (
    ALL_OPEN,
    HTTP_STATUS,
    IDLE_SECONDS,
    MOST_BYTES,
    MOST_OPEN,
    Uploads,
)
from kb.mcp.uploads.staging import PREFIX, Staging
from kb.mcp.uploads.upload import MOST_CHUNK_BYTES, MOST_CHUNK_CHARACTERS, Plan

MB = 2**20


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


class Engine:
    """Takes files as the engine does: the same upload is the same job."""

    def __init__(self):
        self.files = []

    async def __call__(self, upload):
        self.files.append(upload.path.read_bytes())
        return {"job_id": len(self.files)}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def engine():
    return Engine()


@pytest.fixture
async def uploads(tmp_path, clock):
    async with Uploads(600, Staging(tmp_path), clock) as uploads:
        yield uploads


def base64_of(data):
    return base64.b64encode(data).decode()


def start(uploads, size, caller="me", largest=100 * MB, share="", **more):
    return uploads.start(caller, Plan("file.txt", size, **more), largest, share)


async def add(uploads, upload, index, data, caller="me"):
    return await uploads.add_chunk(caller, upload.id, index, base64_of(data))


async def begun(uploads, size, data):
    """An upload that has its first chunk."""
    upload, _ = start(uploads, size)
    await add(uploads, upload, 0, data)
    return upload


async def finished(uploads, upload, engine):
    """What the engine has got once it is handed over."""
    await uploads.finish("me", upload.id, None, engine)
    return engine.files


async def stream(*pieces):
    for piece in pieces:
        yield piece


def staged(tmp_path):
    return sorted(path.name for path in tmp_path.glob("*/*") if path.name != "lock")


@asynccontextmanager
async def refused(code, *words):
    with pytest.raises(ToolFailed) as caught:
        yield caught
    assert caught.value.code == code
    for word in words:
        assert word in caught.value.message


async def test_chunks_in_order_become_the_file(uploads, engine, tmp_path):
    upload, _ = start(uploads, 6)
    first = await add(uploads, upload, 0, b"abc")
    assert first == {
        "upload_id": upload.id,
        "received_bytes": 3,
        "total_size": 6,
        "chunk_index": 0,
        "complete": False,
    }
    assert (await add(uploads, upload, 1, b"def"))["complete"]
    assert await uploads.finish("me", upload.id, None, engine) == {"job_id": 1}
    assert engine.files == [b"abcdef"]
    assert staged(tmp_path) == []


def urlsafe(text):
    return text.replace("+", "-").replace("/", "_")


def in_lines(text):
    """As `base64` writes it."""
    return "\n".join(text[at : at + 76] for at in range(0, len(text), 76)) + "\n"


def in_lines_of_mail(text):
    """As mail programs write it, and PEM files: with the line ends of another age."""
    return "\r\n".join(text[at : at + 64] for at in range(0, len(text), 64)) + "\r\n"


def spaced(text):
    return " \t".join(text[at : at + 10] for at in range(0, len(text), 10))


async def test_a_chunk_may_come_again_but_not_with_other_bytes(uploads, engine):
    upload = await begun(uploads, 4, b"ab")
    assert (await add(uploads, upload, 0, b"ab"))["received_bytes"] == 2
    async with refused("chunk_conflict", "Chunk 0", upload.id):
        await add(uploads, upload, 0, b"xy")
    await add(uploads, upload, 1, b"cd")
    assert await finished(uploads, upload, engine) == [b"abcd"]


@pytest.mark.parametrize("wrap", [lambda text: text, urlsafe, in_lines, in_lines_of_mail, spaced])
async def test_base64_may_be_wrapped_and_of_either_alphabet(uploads, engine, wrap):
    content = bytes(range(256)) * 3
    upload, _ = start(uploads, len(content))
    await uploads.add_chunk("me", upload.id, 0, wrap(base64_of(content)))
    assert await finished(uploads, upload, engine) == [content]


async def test_the_largest_chunk_may_be_wrapped(uploads, engine):
    content = os.urandom(MOST_CHUNK_BYTES)
    wrapped = in_lines_of_mail(base64_of(content))
    assert len(wrapped) <= MOST_CHUNK_CHARACTERS
    upload, _ = start(uploads, len(content))
    await uploads.add_chunk("me", upload.id, 0, wrapped)
    assert upload.received == len(content)


@pytest.mark.parametrize("data", ["YWI", "YW+_", "YWI=YWI=", "YWI*", "ä", "=", "Y"])
async def test_base64_is_read_strictly(uploads, data):
    upload, _ = start(uploads, 4)
    async with refused("invalid_base64", "chunk 3", "`base64`"):
        await uploads.add_chunk("me", upload.id, 3, data)
    assert upload.received == 0


@pytest.mark.parametrize("size", [0, MOST_CHUNK_BYTES + 1])
async def test_a_chunk_has_a_least_and_a_most(uploads, size):
    upload, _ = start(uploads, 10 * MB)
    async with refused("chunk_size", f"{size:,} bytes"):
        await add(uploads, upload, 0, bytes(size))


async def test_more_bytes_than_announced_are_refused(uploads):
    upload = await begun(uploads, 4, b"abc")
    async with refused("size_mismatch", "5 bytes", "total_size is 4"):
        await add(uploads, upload, 1, b"de")
    assert upload.received == 3


async def test_missing_chunks_are_named_and_can_still_be_sent(uploads, engine):
    upload, _ = start(uploads, 5)
    for index in (0, 2, 4):
        await add(uploads, upload, index, b"x")
    async with refused("upload_incomplete", "chunks 1, 3", "3 of 5 bytes") as caught:
        await uploads.finish("me", upload.id, None, engine)
    assert caught.value.details["missing_chunks"] == [1, 3]
    for index in (3, 1):
        await add(uploads, upload, index, b"y")
    assert await finished(uploads, upload, engine) == [b"xyxyx"]


async def test_who_counts_chunks_from_1_is_told_before_and_at_the_end(uploads, engine):
    upload, _ = start(uploads, 4)
    first = await add(uploads, upload, 1, b"ab")
    assert "missing chunk 0 (they are counted from 0): send" in first["hint"]
    last = await add(uploads, upload, 2, b"cd")
    assert (last["received_bytes"], last["complete"]) == (4, False)
    assert "counted from 0" in last["hint"]
    assert "begin again with kb_upload_start" in last["hint"]
    async with refused("upload_incomplete", "chunk 0", "from 0", "again with kb_upload_start"):
        await uploads.finish("me", upload.id, None, engine)


async def test_missing_bytes_at_the_end_are_counted(uploads, engine):
    upload, _ = start(uploads, 5)
    async with refused("upload_incomplete", "5 bytes from chunk 0 on"):
        await uploads.finish("me", upload.id, None, engine)
    await add(uploads, upload, 0, b"ab")
    async with refused("upload_incomplete", "3 bytes from chunk 1 on"):
        await uploads.finish("me", upload.id, None, engine)


@pytest.mark.parametrize("when", ["start", "finish"])
async def test_a_sha256_that_fits_is_accepted_in_any_case(uploads, engine, when):
    digest = hashlib.sha256(b"abcd").hexdigest().upper()
    upload, _ = start(uploads, 4, sha256=digest if when == "start" else None)
    await add(uploads, upload, 1, b"d")
    await add(uploads, upload, 0, b"abc")
    await uploads.finish("me", upload.id, digest if when == "finish" else None, engine)
    assert engine.files == [b"abcd"]


@pytest.mark.parametrize("when", ["start", "finish"])
async def test_a_file_that_is_not_what_the_sha256_says_is_dropped(uploads, engine, tmp_path, when):
    digest = "0" * 64
    upload, _ = start(uploads, 2, sha256=digest if when == "start" else None)
    await add(uploads, upload, 0, b"ab")
    async with refused("hash_mismatch", hashlib.sha256(b"ab").hexdigest()):
        await uploads.finish("me", upload.id, digest if when == "finish" else None, engine)
    async with refused("upload_not_found"):
        assert await finished(uploads, upload, engine) == []
    assert staged(tmp_path) == []


async def test_an_upload_does_not_exist_for_anyone_but_its_caller(uploads, engine):
    upload, _ = start(uploads, 2, caller="me")
    async with refused("upload_not_found") as stranger:
        await add(uploads, upload, 0, b"ab", caller="you")
    async with refused("upload_not_found"):
        await uploads.finish("you", upload.id, None, engine)
    unknown = str(uuid.uuid4())
    async with refused("upload_not_found") as nobody:
        await uploads.finish("you", unknown, None, engine)
    assert stranger.value.message.replace(upload.id, unknown) == nobody.value.message
    await add(uploads, upload, 0, b"ab", caller="me")


async def test_finishing_again_gives_the_same_job_without_sending_again(uploads, engine):
    upload = await begun(uploads, 2, b"ab")
    answers = [await uploads.finish("me", upload.id, None, engine) for _ in range(3)]
    assert answers == [{"job_id": 1}] * 3
    assert len(engine.files) == 1
    async with refused("upload_finished", "job 1"):
        await add(uploads, upload, 0, b"ab")


async def test_two_finishes_at_once_hand_over_once(uploads, engine):
    upload = await begun(uploads, 2, b"ab")

    async def slow(upload):
        await anyio.lowlevel.checkpoint()
        return await engine(upload)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(uploads.finish, "me", upload.id, None, slow)
    assert len(engine.files) == 1


async def test_when_the_engine_does_not_take_it_the_upload_stays(uploads, engine):
    upload = await begun(uploads, 2, b"ab")

    async def away(_upload):
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await uploads.finish("me", upload.id, None, away)
    assert await uploads.finish("me", upload.id, None, engine) == {"job_id": 1}
    assert engine.files == [b"ab"]


class TestTime:
    async def test_an_upload_ends_if_no_call_came_in_time(self, uploads, engine, clock, tmp_path):
        upload, token = start(uploads, 4)
        await add(uploads, upload, 0, b"ab")
        clock.now += 599
        await add(uploads, upload, 0, b"ab")
        clock.now += 599
        assert staged(tmp_path) == [upload.id]
        clock.now += 1
        uploads.sweep()
        assert staged(tmp_path) == []
        async with refused("upload_not_found", "600 seconds", "kb_upload_start"):
            await add(uploads, upload, 1, b"cd")
        async with refused("upload_not_found"):
            await uploads.finish("me", upload.id, None, engine)
        async with refused("upload_not_found"):
            await uploads.receive(token, 4, stream(b"abcd"))

    async def test_files_go_even_when_nobody_calls_any_more(self, tmp_path, clock):
        async with Uploads(0.5, Staging(tmp_path), clock) as uploads:
            upload = await begun(uploads, 4, b"ab")
            assert staged(tmp_path) == [upload.id]
            clock.now += 1
            with anyio.fail_after(30):
                while staged(tmp_path):
                    await anyio.lowlevel.checkpoint()

    async def test_a_call_that_takes_long_is_not_cut_off(self, uploads, engine, clock):
        upload = await begun(uploads, 2, b"ab")

        async def slow(upload):
            clock.now += 3600
            uploads.sweep()
            return await engine(upload)

        assert await uploads.finish("me", upload.id, None, slow) == {"job_id": 1}
        assert engine.files == [b"ab"]

    async def test_the_answer_is_remembered_for_the_same_time(self, uploads, engine, clock):
        upload = await begun(uploads, 2, b"ab")
        await uploads.finish("me", upload.id, None, engine)
        clock.now += 600
        async with refused("upload_not_found"):
            await uploads.finish("me", upload.id, None, engine)


class TestRoom:
    async def test_a_file_larger_than_the_engine_takes_is_refused_at_the_start(self, uploads):
        async with refused("file_too_large", "8 MB", "KB_MAX_FILE_MB") as caught:
            start(uploads, 8 * MB + 1, largest=8 * MB)
        assert caught.value.details["max_bytes"] == 8 * MB
        start(uploads, 8 * MB, largest=8 * MB)

    async def test_so_many_uploads_are_open_at_once_and_no_more(self, uploads, engine, clock):
        opened = [start(uploads, 1)[0] for _ in range(MOST_OPEN)]
        async with refused("too_many_uploads", f"{MOST_OPEN} uploads"):
            start(uploads, 1)
        await add(uploads, opened[0], 0, b"x")
        await uploads.finish("me", opened[0].id, None, engine)
        start(uploads, 1)
        clock.now += 600
        assert [start(uploads, 1) for _ in range(MOST_OPEN)]

    async def test_one_caller_leaves_room_for_the_others(self, uploads):
        for _ in range(MOST_OPEN):
            start(uploads, 1, share="greedy")
        async with refused("too_many_uploads", f"{MOST_OPEN} uploads"):
            start(uploads, 1, share="greedy")
        for number in range(ALL_OPEN // MOST_OPEN - 1):
            for _ in range(MOST_OPEN):
                start(uploads, 1, share=f"other {number}")

    async def test_what_was_idle_for_long_makes_room_for_the_same_caller(self, uploads, clock):
        opened = [start(uploads, 1, share="mine")[0]]
        clock.now += 1
        opened += [start(uploads, 1, share="mine")[0] for _ in range(MOST_OPEN - 1)]
        clock.now += IDLE_SECONDS - 1
        newest = start(uploads, 1, share="mine")[0]
        async with refused("upload_not_found"):
            await add(uploads, opened[0], 0, b"x")
        for upload in [*opened[1:], newest]:
            await add(uploads, upload, 0, b"x")
        async with refused("too_many_uploads"):
            start(uploads, 1, share="mine")

    async def test_where_all_are_too_many_who_has_most_makes_room(self, uploads, clock):
        def fill(share, count):
            return [start(uploads, 1, share=share)[0] for _ in range(count)]

        modest = fill("modest", 1)
        greedy = fill("greedy", MOST_OPEN)
        for number in range(4):
            fill(f"other {number}", (ALL_OPEN - MOST_OPEN - 1) // 4)
        fill("last", ALL_OPEN - len(uploads._uploads))
        async with refused("too_many_uploads"):
            start(uploads, 1, share="newcomer")
        clock.now += IDLE_SECONDS
        start(uploads, 1, share="newcomer")
        assert modest[0].id in uploads._uploads
        assert sum(upload.id in uploads._uploads for upload in greedy) == MOST_OPEN - 1

    async def test_all_uploads_together_have_a_most(self, tmp_path):
        async with Uploads(600, Staging(tmp_path, free=lambda _: 2**40)) as uploads:
            start(uploads, MOST_BYTES - 5, largest=2**40)
            async with refused("too_many_uploads", "1023 MB"):
                start(uploads, 6, largest=2**40)
            start(uploads, 5, largest=2**40)
            async with refused("file_too_large"):
                start(uploads, MOST_BYTES + 1, largest=2**40)

    async def test_a_disk_with_too_little_room_is_told_before_the_bytes_travel(self, tmp_path):
        async with Uploads(600, Staging(tmp_path, free=lambda _: 64 * MB + 3 * MB)) as uploads:
            first, _ = start(uploads, 2 * MB)
            async with refused("storage_full", "room for 1 MB", "needs 2 MB"):
                start(uploads, 2 * MB)
            await add(uploads, first, 0, bytes(MB))
            start(uploads, 2 * MB)  # what has arrived is no longer promised

    async def test_a_disk_that_fills_up_is_told_and_the_chunk_can_be_sent_again(
        self, uploads, engine, monkeypatch
    ):
        upload = await begun(uploads, 4, b"ab")
        with monkeypatch.context() as patch:
            patch.setattr("os.write", full_disk)
            async with refused("storage_full", "disk of the MCP server is full"):
                await add(uploads, upload, 1, b"cd")
        assert upload.received == 2
        await add(uploads, upload, 1, b"cd")
        assert await finished(uploads, upload, engine) == [b"abcd"]


def full_disk(*_arguments):
    raise OSError(28, "No space left on device")


class TestPut:
    async def test_one_put_brings_the_whole_file(self, uploads, engine):
        upload, token = start(uploads, 6)
        answer = await uploads.receive(token, 6, stream(b"ab", b"", b"cdef"))
        assert answer["received_bytes"] == 6
        assert "kb_upload_finish" in answer["hint"]
        await uploads.finish("me", upload.id, hashlib.sha256(b"abcdef").hexdigest(), engine)
        assert engine.files == [b"abcdef"]

    async def test_the_length_need_not_be_said(self, uploads, engine):
        upload, token = start(uploads, 3 * MB + 1)
        await uploads.receive(token, None, stream(*[b"x" * 65536] * 48, b"y"))
        assert await finished(uploads, upload, engine) == [b"x" * 3 * MB + b"y"]

    async def test_its_address_works_once(self, uploads):
        _, token = start(uploads, 2)
        await uploads.receive(token, 2, stream(b"ab"))
        async with refused("upload_not_found", "used already"):
            await uploads.receive(token, 2, stream(b"ab"))

    @pytest.mark.parametrize("token", ["", "x" * 43, "\ud800"])
    async def test_an_address_nobody_was_given_is_unknown(self, uploads, token):
        start(uploads, 2)
        async with refused("upload_not_found"):
            await uploads.receive(token, 2, stream(b"ab"))

    async def test_tokens_are_long_random_and_nowhere_in_memory(self, uploads):
        tokens = {start(uploads, 2)[1] for _ in range(10)}
        assert len(tokens) == 10
        assert all(len(token) >= 43 for token in tokens)
        assert not any(token in repr(vars(uploads)) for token in tokens)

    @pytest.mark.parametrize(
        ("length", "pieces", "code"),
        [
            (3, [b"abc"], "size_mismatch"),
            (5, [b"abcde"], "file_too_large"),
            (4, [b"abc"], "size_mismatch"),
            (None, [b"abc"], "size_mismatch"),
            (None, [b"abcd", b"e"], "file_too_large"),
            (4, [b"ab", b"cde"], "file_too_large"),
        ],
    )
    async def test_other_than_the_announced_bytes_are_refused_and_it_may_be_tried_again(
        self, uploads, engine, length, pieces, code
    ):
        upload, token = start(uploads, 4)
        async with refused(code) as caught:
            await uploads.receive(token, length, stream(*pieces))
        assert caught.value.code in HTTP_STATUS
        assert upload.received == 0
        async with refused("upload_incomplete"):
            await uploads.finish("me", upload.id, None, engine)
        await uploads.receive(token, 4, stream(b"abcd"))
        assert await finished(uploads, upload, engine) == [b"abcd"]

    async def test_a_transfer_that_breaks_leaves_nothing_and_may_come_again(self, uploads, engine):
        async def broken():
            yield b"ab"
            raise ConnectionError

        upload, token = start(uploads, 4)
        with pytest.raises(ConnectionError):
            await uploads.receive(token, 4, broken())
        assert upload.received == 0
        await uploads.receive(token, 4, stream(b"abcd"))
        assert await finished(uploads, upload, engine) == [b"abcd"]

    async def test_it_replaces_what_came_by_chunks(self, uploads, engine):
        upload, token = start(uploads, 4)
        await add(uploads, upload, 1, b"xy")
        await uploads.receive(token, 4, stream(b"abcd"))
        async with refused("upload_complete", "kb_upload_finish"):
            await add(uploads, upload, 0, b"ab")
        assert await finished(uploads, upload, engine) == [b"abcd"]

    async def test_while_it_runs_nothing_else_may_touch_the_upload(self, uploads, engine):
        upload, token = start(uploads, 4)

        async def slow():
            yield b"ab"
            for attempt in (
                lambda: add(uploads, upload, 0, b"ab"),
                lambda: uploads.finish("me", upload.id, None, engine),
                lambda: uploads.receive(token, 4, stream(b"abcd")),
            ):
                async with refused("upload_busy"):
                    await attempt()
            yield b"cd"

        await uploads.receive(token, 4, slow())
        assert await finished(uploads, upload, engine) == [b"abcd"]

    async def test_a_sender_that_goes_silent_is_let_go(self, tmp_path):
        async def silent():
            yield b"ab"
            await anyio.sleep_forever()

        async with Uploads(0.1, Staging(tmp_path)) as uploads:
            _, token = start(uploads, 4)
            async with refused("upload_stalled"):
                await uploads.receive(token, 4, silent())


class TestStaging:
    async def test_nothing_is_left_when_the_server_ends(self, tmp_path):
        async with Uploads(600, Staging(tmp_path)) as uploads:
            upload = await begun(uploads, 4, b"ab")
            folder = upload.path.parent
            assert folder.stat().st_mode & 0o777 == 0o700
            assert upload.path.stat().st_mode & 0o777 == 0o600
        assert list(tmp_path.iterdir()) == []

    async def test_what_a_killed_server_left_is_removed_at_the_next_start(self, tmp_path):
        program = (
            "import os, sys; from pathlib import Path; from kb.mcp.uploads.staging import Staging\n"
            "staging = Staging(Path(sys.argv[1])); staging.open()\n"
            "staging.path('upload').write_bytes(b'secret'); os.kill(os.getpid(), 9)"
        )
        killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
        assert killed.returncode == -9
        (left,) = tmp_path.glob(f"{PREFIX}*/upload")
        async with Uploads(600, Staging(tmp_path)):
            assert not left.parent.exists()

    async def test_the_folder_of_a_server_that_lives_is_left_alone(self, tmp_path):
        async with Uploads(600, Staging(tmp_path)) as first:
            upload, _ = start(first, 4)
            await add(first, upload, 0, b"ab")
            async with Uploads(600, Staging(tmp_path)):
                assert upload.path.read_bytes() == b"ab"
            assert upload.path.read_bytes() == b"ab"

    async def test_without_a_folder_all_but_uploads_works(self, tmp_path):
        async with (
            Uploads(600, Staging(tmp_path / "missing")) as uploads,
            refused("storage_failed", "No such file or directory", "TMPDIR"),
        ):
            start(uploads, 4)

    async def test_other_folders_are_none_of_its_business(self, tmp_path):
        (tmp_path / f"{PREFIX}mine").mkdir()
        (tmp_path / f"{PREFIX}file").write_text("x")
        (tmp_path / f"{PREFIX}link").symlink_to(tmp_path)
        async with Uploads(600, Staging(tmp_path)):
            assert len(os.listdir(tmp_path)) == 4
        assert len(os.listdir(tmp_path)) == 3


async def test_a_file_that_cannot_be_removed_stops_no_server(tmp_path, monkeypatch, caplog, clock):
    def stuck(_path, missing_ok=False):
        raise PermissionError(13, "Permission denied")

    async with Uploads(0.5, Staging(tmp_path), clock) as uploads:
        start(uploads, 4)
        clock.now += 1
        with monkeypatch.context() as patch, anyio.fail_after(30):
            patch.setattr("pathlib.Path.unlink", stuck)
            while "could not be removed" not in caplog.text:
                await anyio.lowlevel.checkpoint()
        upload = await begun(uploads, 4, b"ab")
        assert staged(tmp_path) == [upload.id]
        clock.now += 1
        with anyio.fail_after(30):  # the next one is removed again
            while staged(tmp_path):
                await anyio.lowlevel.checkpoint()

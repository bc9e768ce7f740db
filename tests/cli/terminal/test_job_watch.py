"""What happens, as it happens, on a screen: `kb jobs --watch` and `kb events`."""

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios

import pytest
from rich.console import Console

from kb.cli.terminal.job_watch import _AROUND, frame

# An hour between two looks: what is drawn sooner is drawn for another reason.
RARELY = "import kb.cli.terminal.job_watch as w; w._REFRESH_SECONDS = 3600; "
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-GI-Za-z]")


def job(number, status, **more):
    return {
        "id": number,
        "status": status,
        "progress": {"done": 1.0, "running": 0.5}.get(status, 0.0),
        "filename": f"a file with a rather long name, number {number}.html",
        "message": "Embedding passage 65 of 283" if status == "running" else "",
        "step": status,
        "created_at": "2026-11-16T00:10:43.360784Z",
        "remaining_seconds": 0.0 if status in ("done", "failed") else 25.0 + number,
        "outcome": "added" if status == "done" else None,
        "document_id": number,
        "chunk_count": 34,
        "error": {"code": "x", "message": "it is too odd"} if status == "failed" else None,
        **more,
    }


def queue(running=3, queued=40, ended=40, waiting=1534):
    ends = ["failed" if number % 5 == 0 else "done" for number in range(ended)]
    return {
        "running": [job(1000 + number, "running") for number in range(running)],
        "queued": [job(2000 + number, "queued") for number in range(queued)],
        "ended": [job(900 - number, status) for number, status in enumerate(ends)],
        "counts": {
            "running": running,
            "queued": max(queued, waiting) if queued else 0,
            "done": 117_583,
            "failed": 1_004,
            "cancelled": 2,
        },
        "remaining_seconds": 4_800.0,
    }


def rendered(queue, width, height):
    shown = io.StringIO()
    screen = Console(file=shown, width=width, height=height, force_terminal=True)
    screen.print(frame(queue, max(1, height - _AROUND), width))
    return ESCAPES.sub("", shown.getvalue()).rstrip("\n").split("\n")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("height", [6, 12, 24, 50])
@pytest.mark.parametrize("jobs", [{}, {"queued": 0}, {"running": 0, "queued": 0}, {"ended": 0}])
def test_the_queue_fits_its_screen(width, height, jobs):
    lines = rendered(queue(**jobs), width, height)
    assert len(lines) <= height
    assert max(len(line.rstrip()) for line in lines) <= width


def test_what_runs_comes_first_then_what_waits_in_its_order_then_what_ended_last():
    lines = rendered(queue(), 80, 24)
    [more] = [line for line in lines if "… and " in line]
    rows = [line.split()[:2] for line in lines[3:-1] if line != more]
    assert [number for number, status in rows if status == "running"] == ["1000", "1001", "1002"]
    waiting = [number for number, status in rows if status == "queued"]
    assert waiting == [str(2000 + place) for place in range(len(waiting))]
    ended = [int(number) for number, status in rows if status in ("done", "failed")]
    assert ended == [900 - place for place in range(len(ended))]
    assert len(waiting) > len(ended) > 3
    assert more.split() == ["queued", "…", "and", f"{1534 - len(waiting):,}", "more"]


def test_the_totals_and_the_time_left_stand_above():
    line = rendered(queue(), 80, 24)[0].rstrip()
    assert line == ("3 running · 1,534 queued, about 1 h 20 min left · 117,583 done · 1,004 failed")
    assert rendered(queue(running=0, queued=0), 80, 24)[0].startswith("0 running · 0 queued · 117,")


@pytest.mark.parametrize("width", [80, 120])
def test_how_long_a_job_takes_is_never_cut(width):
    lines = rendered(queue(), width, 24)
    assert re.search(r"1000  running   50%  17 min  a file with ", lines[3])


class Terminal:
    """A command on a terminal that can change its size."""

    def __init__(self, environ, code, *arguments):
        self.ours, theirs = pty.openpty()
        self.resize(80, 24)
        environ = {**environ, "TERM": "xterm-256color"}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
            environ.pop(name, None)
        program = f"{code}from kb.cli.main import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            env=environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self.shown = ""

    def resize(self, columns, rows):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, found):
        while not found(self.shown):
            assert select.select([self.ours], [], [], 60)[0], self.shown
            self.shown += os.read(self.ours, 65536).decode(errors="replace")
        return self.shown

    def end(self):
        self.process.send_signal(signal.SIGINT)
        while select.select([self.ours], [], [], 60)[0]:
            try:
                if not os.read(self.ours, 65536):
                    break
            except OSError:
                break
        os.close(self.ours)
        assert self.process.wait(60) == 130


def last_screen(shown):
    """The lines drawn since the cursor was last sent home, if they are all there."""
    lines = ESCAPES.sub("", shown.replace("\r", "")).rpartition("\x1b[H")[2].split("\n")
    return lines if lines[-1].strip() == "" or "Ctrl-C" in "".join(lines) else []


def test_the_screen_is_drawn_anew_as_soon_as_its_size_changes(engine, note):
    for number in range(30):
        note(f"job {number} of a full screen")
    terminal = Terminal(engine, RARELY, "jobs", "--watch")
    try:
        terminal.read_until(lambda shown: "Ctrl-C ends this" in shown)
        lines = last_screen(terminal.shown)
        assert (len(lines), max(map(len, lines))) == (24, 80)
        terminal.shown = ""
        terminal.resize(60, 10)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.read_until(lambda shown: "Ctrl-C ends this" in shown)
        lines = last_screen(terminal.shown)
        assert (len(lines), max(map(len, lines))) == (10, 60)
    finally:
        terminal.end()


def test_watching_ended_jobs_of_one_status_shows_no_others(engine, kb, note, tmp_path):
    (tmp_path / "odd.bin").write_bytes(bytes(range(256)) * 9)
    kb("add", str(tmp_path))
    note("this one is done")
    terminal = Terminal(engine, RARELY, "jobs", "--watch", "--status", "failed")
    try:
        shown = terminal.read_until(lambda shown: "Ctrl-C ends this" in shown)
    finally:
        terminal.end()
    rows = [line.split()[1] for line in last_screen(shown)[3:] if line.strip()[:1].isdigit()]
    assert set(rows) == {"failed"}


def test_events_are_told_in_words_on_a_terminal(engine, api, note):
    terminal = Terminal(engine, "", "events")
    try:
        while "added" not in terminal.shown:  # notes until the follower is there to see one
            note_id = note(f"told {os.urandom(4).hex()}", "--tags", "told")
            if select.select([terminal.ours], [], [], 0.2)[0]:
                terminal.shown += os.read(terminal.ours, 65536).decode()
        api("tag", note_id, "--add", "retold")
        api("delete", note_id, "--yes")
        shown = terminal.read_until(
            lambda shown: re.search(rf"document {note_id} .*deleted", shown)
        )
    finally:
        terminal.end()
    told = ESCAPES.sub("", shown.replace("\r", ""))
    assert re.search(
        r"^\d\d:\d\d:\d\d  job \d+ +done +note  added document \d+, 1 passage", told, re.M
    )
    assert re.search(rf"^\d\d:\d\d:\d\d  document {note_id} +changed +told [0-9a-f]+", told, re.M)
    assert re.search(rf"^\d\d:\d\d:\d\d  document {note_id} +deleted +told [0-9a-f]+", told, re.M)
    assert "{" not in told
    assert "=" not in told

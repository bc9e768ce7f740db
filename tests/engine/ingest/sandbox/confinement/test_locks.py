"""What a reader is refused; each is really tried, in a reader."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kb.engine.errors import DamagedFile
from kb.engine.ingest.sandbox.confinement import landlock, seccomp

needs_landlock = pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(
    not seccomp.available(), reason="the system calls of this machine are not listed"
)
REFUSED = "PermissionError"


def tried(reader, expression):
    (text,) = reader.texts(f"try: {expression}")
    return text


@needs_landlock
@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/proc/self/environ", "/proc/1/status", "/dev/zero", "/bin/sh", "/etc", "/"],
)
def test_no_other_file_can_be_opened(reader, path):
    assert tried(reader, f"os.open({path!r}, os.O_RDONLY)") == REFUSED


@needs_landlock
def test_nothing_beside_the_document_can_be_opened(reader, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("another's")
    assert tried(reader, f"open({str(other)!r}).read()") == REFUSED
    assert tried(reader, "os.listdir(path.parent)") == REFUSED
    link = tmp_path / "link.txt"
    link.symlink_to("/etc/passwd")
    assert tried(reader, f"open({str(link)!r}).read()") == REFUSED


def test_the_document_and_python_s_own_code_can_be_read(reader):
    assert tried(reader, "path.read_bytes()[:3]") == "done: b'try'"
    assert tried(reader, "len('x'.encode('cp037'))") == "done: 1"  # imports its character set
    assert tried(reader, "__import__('this').d['a']").startswith("done: ")


WRITING = [
    "open(path, 'a')",
    "open('/tmp/new', 'w')",
    "os.open('/tmp', os.O_TMPFILE | os.O_RDWR)",
    "os.unlink(path)",
    "os.rename(path, str(path) + '2')",
    "os.mkdir('/tmp/folder')",
    "os.truncate(path, 0)",
    "os.symlink('/etc', str(path) + '2')",
    "os.link(path, str(path) + '2')",
]


@pytest.mark.skipif(not (landlock.version() or seccomp.available()), reason="nothing locks here")
@pytest.mark.parametrize("expression", WRITING)
def test_nothing_can_be_written(reader, expression):
    assert tried(reader, expression) == REFUSED


@needs_seccomp
def test_nothing_can_be_written_where_the_kernel_has_no_landlock(make_reader):
    reader = make_reader({"BAD_READERS_LANDLOCK": "0"})
    texts = reader.texts("try: open('/etc/passwd').close()", *(f"try: {each}" for each in WRITING))
    assert texts == ["done: None", *[REFUSED] * len(WRITING)]


@pytest.mark.parametrize("version", range(1, 8))
def test_every_version_of_landlock_keeps_files_closed(make_reader, version):
    if landlock.version() < version:
        pytest.skip("this kernel has an older one, or none")
    reader = make_reader({"BAD_READERS_LANDLOCK": str(version)})
    lines = ["try: open('/etc/passwd')", "try: open(path, 'a')", "try: len(path.read_bytes()) > 9"]
    assert reader.texts(*lines) == [REFUSED, REFUSED, "done: True"]


@needs_seccomp
@pytest.mark.parametrize(
    "expression",
    [
        "socket.socket(socket.AF_INET)",
        "socket.socket(socket.AF_INET6)",
        "socket.socket(socket.AF_UNIX)",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.socketpair()",
        "os.chmod(path, 0o777)",
        "os.chown(path, 1, 1)",
        "os.utime(path)",
        "os.setxattr(path, 'user.x', b'y')",
        "os.execv('/bin/true', ['true'])",
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.setsid()",
        "os.setpgid(0, os.getppid())",
        "os.chroot('/')",
    ],
)
def test_nobody_else_can_be_reached(reader, expression):
    assert tried(reader, expression) == REFUSED


# What would slow others down, stop them, look into them or wait for them; 1 is another's process.
TOUCHING = [
    "os.setpriority(os.PRIO_PROCESS, 0, 0)",  # as root may
    "os.setpriority(os.PRIO_PROCESS, 0, 19)",
    "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "os.setpriority(os.PRIO_USER, os.getuid(), 19)",
    "os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))",
    "os.sched_setparam(os.getppid(), os.sched_param(0))",
    "os.sched_setaffinity(os.getppid(), {0})",
    "_call('sched_setattr', os.getppid(), 0, 0)",
    "_call('ioprio_set', 1, os.getppid(), 3 << 13)",
    "os.kill(os.getppid(), 0)",
    "os.kill(1, 0)",
    "os.kill(-1, 0)",
    "os.killpg(os.getpgid(os.getppid()), 0)",
    "_call('tkill', os.getppid(), 0)",
    "_call('tgkill', os.getppid(), os.getppid(), 0)",
    "os.pidfd_open(os.getppid())",
    "_call('ptrace', 16, os.getppid(), 0, 0)",
    "_call('process_vm_readv', os.getppid(), 0, 0, 0, 0, 0)",
    "_call('shmat', 0, 0, 0)",
    "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)",
    "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (99, 99))",
    "fcntl.fcntl(_channel(), fcntl.F_SETOWN, os.getppid())",
    "fcntl.fcntl(_channel(), fcntl.F_SETSIG, 9)",
    "fcntl.ioctl(_channel(), 0x8901, struct.pack('i', os.getppid()))",  # FIOSETOWN
    "fcntl.ioctl(0, 0x5412, b'x')",  # TIOCSTI: a key typed into the engine's terminal
    "fcntl.lockf(os.open(path, os.O_RDONLY), fcntl.LOCK_SH | fcntl.LOCK_NB)",
    "fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)",
]


@needs_seccomp
@pytest.mark.parametrize("way", [[], ["at once: ocr"]], ids=["alone", "with tesseract"])
def test_no_other_process_can_be_touched(make_reader, way):
    """Also where a program may be run, and where no Landlock helps."""
    reader = make_reader({"BAD_READERS_LANDLOCK": "0"})
    texts = reader.texts(*way, *(f"try: {expression}" for expression in TOUCHING))
    done = {what: text for what, text in zip(TOUCHING, texts, strict=True) if text != REFUSED}
    assert done == {}


@needs_seccomp
@pytest.mark.parametrize("flag", ["NEWUSER", "NEWNS", "NEWPID", "NEWNET", "NEWIPC", "PARENT"])
def test_a_process_that_may_be_started_has_no_world_of_its_own(make_reader, flag):
    """In which it would have root's privileges, or be nobody's child."""
    reader = make_reader({"BAD_READERS_LANDLOCK": "0"})
    texts = reader.texts("at once: ocr", f"try: _cloned('{flag}')", "try: _cloned('')")
    assert texts == [REFUSED, "done: 0"]


@needs_seccomp
@pytest.mark.parametrize("way", [[], ["at once: ocr"]], ids=["alone", "with tesseract"])
def test_a_process_may_still_abort_itself(reader, way):
    with pytest.raises(DamagedFile, match="its reader crashed"):
        reader.texts(*way, "abort")


@needs_landlock
@pytest.mark.skipif(landlock.version() < 4, reason="this Landlock knows no network")
def test_landlock_alone_keeps_it_from_the_network_and_from_programs():
    """In a process of its own, without the other lock."""
    signals = REFUSED if landlock.version() >= 6 else "done"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert attempted(
            f"socket.create_connection(('127.0.0.1', {port}))",
            "socket.create_server(('127.0.0.1', 0))",
            "os.kill(os.getppid(), 0)",
            "os.execv('/bin/true', ['true'])",
        ) == [REFUSED, REFUSED, signals, REFUSED]


def attempted(*expressions):
    """What comes of them in a process that Landlock alone holds."""
    program = f"""
import os, socket
from pathlib import Path
from kb.engine.ingest.sandbox.confinement import kernel
from kb.engine.ingest.sandbox.confinement import landlock
kernel.prctl(kernel.SET_NO_NEW_PRIVILEGES, 1)
landlock.restrict(landlock.version(), [landlock.readable(Path(os.__file__))])
for expression in {expressions!r}:
    try:
        eval(expression)
        print("done")
    except OSError as error:
        print(type(error).__name__)
"""
    return subprocess.check_output([sys.executable, "-c", program], text=True).split()


def test_a_reader_has_its_limits_and_cannot_widen_them(reader):
    assert tried(reader, "resource.getrlimit(resource.RLIMIT_CORE)") == "done: (0, 0)"
    assert tried(reader, "resource.getrlimit(resource.RLIMIT_NOFILE)") == "done: (32, 32)"
    widened = "resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))"
    assert tried(reader, widened) == "ValueError"


def test_a_file_in_memory_can_be_written_and_read_by_its_path(reader):
    """As the attachments of a mail are; it is bounded like everything else."""
    assert reader.texts(
        "try: _file_in_memory(9)",
        "try: _file_in_memory(2**26 + 1)",
        "try: _file_in_memory(3)",  # nothing is left of what was in it
        "try: _nested(4)",
        "try: _nested(5)",
        "try: _nested(4)",
        name="deeds.eml",
    ) == ["done: 9", "OSError", "done: 3", "done: 4", "NoRoomInMemory", "done: 4"]


@needs_seccomp
def test_no_program_can_be_put_together_in_memory_and_run(make_reader):
    """Not even by who may run programs: no rule about folders holds for files in memory."""
    reader = make_reader({"BAD_READERS_LANDLOCK": "0"})
    assert reader.texts(
        "at once: ocr",
        "try: os.memfd_create('program')",
        "try: _call('memfd_create', 0, 0)",
        "try: _run_from_memory()",
        "try: os.fchmod(_descriptors()[0], 0o700)",
        "try: subprocess.run(['/bin/true']).returncode",
    ) == [REFUSED, REFUSED, REFUSED, REFUSED, "done: 0"]


def test_where_nothing_keeps_folders_closed_no_file_can_be_written(make_reader):
    reader = make_reader({"BAD_READERS_LOOSE": "1"})
    assert tried(reader, "resource.getrlimit(resource.RLIMIT_FSIZE)") == "done: (0, 0)"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
def test_a_reader_of_root_reads_what_root_keeps_for_others(reader):
    source = reader.source("try: 1 + 1")
    os.chown(source.path, 65534, 65534)
    source.path.chmod(0o600)
    (page,) = reader.sandbox.extract(source, lambda: False).pages
    assert page.text == "done: 2"


@needs_seccomp
def test_a_server_is_locked_in_itself(reader):
    """What it does not need, it does not have: it is what readers are copies of."""
    assert reader.texts("one") == ["one"]
    status = Path(f"/proc/{reader.server}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    held = re.search(r"CapEff:\t([0-9a-f]+)", status)
    assert int(held[1], 16) & ~0b100 == 0


def test_a_reader_has_none_of_the_engine_s_environment_and_descriptors(make_reader, monkeypatch):
    monkeypatch.setenv("KB_API_KEY", "secret")
    reader = make_reader()
    environment = tried(reader, "dict(os.environ)")
    assert "PYTHONPATH" in environment
    assert "secret" not in environment
    assert tried(reader, "_descriptors() == [_channel()]") == "done: True"


@needs_landlock
def test_a_reader_of_pictures_may_run_its_program_and_nothing_else(make_reader, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    reader = make_reader()
    attempts = {
        "try: subprocess.check_output(['/bin/echo', 'read'])": "done: b'read\\n'",
        f"try: subprocess.check_output([{str(program)!r}])": REFUSED,
        "try: subprocess.run(['/bin/cat', '/etc/passwd']).returncode": "done: 1",
        "try: socket.socket()": REFUSED,
    }
    assert reader.texts(*attempts, "ocr")[:-1] == [REFUSED] * 4
    assert reader.texts("at once: ocr", *attempts) == list(attempts.values())


def test_searches_go_before_readers(reader):
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert tried(reader, "os.getpriority(os.PRIO_PROCESS, 0)") == f"done: {min(before + 10, 19)}"

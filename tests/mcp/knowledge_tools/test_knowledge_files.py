"""Paths in, open files out: only below the roots, whatever lies or changes there meanwhile."""

import itertools
import os
import stat
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from kb.mcp.contract import ToolFailed
from kb.mcp.knowledge_tools.files import FileRoots, Place

SECRET = b"secret"
NO_ENGINE = ("/nowhere/store.db", "/nowhere/store-files")


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.pdf").write_bytes(SECRET)
    return folder


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.pdf").write_bytes(b"a")
    (folder / "inner" / "b.pdf").write_bytes(b"b")
    return folder


def read(roots, file_path, engine=NO_ENGINE):
    """The bytes of a file, or the failure; whoever opened a pipe would wait for ever."""
    try:
        found = FileRoots(roots)
        file = found.open(found.places(str(file_path)), *engine)
    except ToolFailed as failed:
        return failed
    with open(file.descriptor, "rb") as opened:
        content = opened.read()
    assert file.size == len(content)
    return content


def refused(answer, *words):
    assert isinstance(answer, ToolFailed), answer
    assert answer.code == "path_not_allowed"
    assert all(word in answer.message for word in words), answer.message
    return True


def test_a_file_below_a_root_is_opened_however_its_path_is_written(root):
    for path in ("a.pdf", root / "a.pdf", f"{root}//a.pdf", f"{root}/./a.pdf"):
        assert read([root], path) == b"a"
    for path in ("inner/b.pdf", root / "inner" / "b.pdf"):
        assert read([root], path) == b"b"


def test_what_is_opened_is_remembered_by_its_whole_path(root):
    roots = FileRoots([root])
    file = roots.open(roots.places("inner/b.pdf"), *NO_ENGINE)
    os.close(file.descriptor)
    assert file.path == root / "inner" / "b.pdf"


def test_a_relative_path_is_looked_for_in_each_root(root, outside):
    assert read([outside, root], "a.pdf") == b"a"
    failed = read([outside, root], "c.pdf")
    assert (failed.code, failed.details) == (
        "file_not_found",
        {"file_path": str(outside / "c.pdf")},
    )


def test_a_root_may_be_a_link_itself_and_be_named_by_either_name(root, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(root)
    for path in (link / "a.pdf", root / "a.pdf"):
        assert read([link], path) == b"a"


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.pdf",
        "inner/../../outside/secret.pdf",
        "{root}/../outside/secret.pdf",
        "{root}/inner/../../outside/secret.pdf",
        "{root}/../root/a.pdf",
        "inner/../../root/a.pdf",
        "{root}/../../../../../../../../etc/passwd",
        "{root}/inner/../../../etc/passwd",
        "..",
        "{root}/..",
    ],
)
def test_no_path_leaves_by_its_dots(root, outside, path):
    assert refused(read([root], path.format(root=root)), "`..`", "KB_MCP_FILE_ROOTS")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("inner/../a.pdf", "a.pdf"),
        ("inner/../inner/b.pdf", "inner/b.pdf"),
        ("inner/deep/../b.pdf", "inner/b.pdf"),
        ("inner/deep/../../a.pdf", "a.pdf"),
        ("{root}/inner/../a.pdf", "a.pdf"),
        ("{root}//inner/./../inner/deep/../b.pdf", "inner/b.pdf"),
    ],
)
def test_a_path_whose_dots_stay_below_the_root_is_taken(root, path, meant):
    (root / "inner" / "deep").mkdir()
    roots = FileRoots([root])
    file = roots.open(roots.places(path.format(root=root)), *NO_ENGINE)
    with open(file.descriptor, "rb") as opened:
        assert opened.read() == (root / meant).read_bytes()
    assert file.path == root / meant


def test_dots_may_leave_a_root_within_another_one(root):
    assert read([root / "inner", root], root / "inner" / ".." / "a.pdf") == b"a"


def test_dots_do_not_lead_round_what_is_refused(root, outside, tmp_path):
    """Each part before them has to be a folder of its own, as if they were not there."""
    (root / "link").symlink_to(outside)
    assert refused(read([root], "link/../a.pdf"), "link")
    assert refused(read([root], "link/../secret.pdf"), "link")
    assert refused(read([root], "a.pdf/../a.pdf"), "no folder")
    assert read([root], "none/../a.pdf").code == "file_not_found"
    for path in ("inner/..", "inner/b.pdf/.."):
        assert refused(read([root], path), "folder")
    data = root / "kb"
    data.mkdir()
    (data / "store.db").write_bytes(b"")
    assert refused(read([root], "kb/../a.pdf", (str(data / "store.db"), str(data))), "own folder")
    assert refused(read([root], "inner/../" * 40 + "a.pdf"), "64 parts")


def test_a_folder_that_is_moved_during_the_open_takes_no_dots_along(root, outside, monkeypatch):
    """`..` of a folder that was moved would be another one; so the one before it is kept open."""
    (root / "inner" / "deep").mkdir()
    (root / "inner" / "secret.pdf").write_bytes(b"fine")
    really = os.open

    def open_and_move(path, *more, **options):
        opened = really(path, *more, **options)
        if path == "deep":
            os.rename(root / "inner" / "deep", outside / "deep")
        return opened

    monkeypatch.setattr("os.open", open_and_move)
    monkeypatch.setattr("os.supports_dir_fd", {open_and_move})
    assert read([root], "inner/deep/../secret.pdf") == b"fine"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/etc/hosts.pdf", "{outside}/secret.pdf", "{root}x/a.pdf"]
)
def test_no_absolute_path_elsewhere_is_touched(root, outside, path):
    """Also not to see whether it is there."""
    path = path.format(root=root, outside=outside)
    assert refused(read([root], path), "KB_MCP_FILE_ROOTS", str(root))


def test_the_root_itself_is_no_file_in_it(root):
    assert refused(read([root], root))


def test_a_nul_in_a_path_is_refused(root):
    assert refused(read([root], "a.pdf\0.pdf"))


def test_no_link_is_followed(root, outside):
    (root / "file.pdf").symlink_to(outside / "secret.pdf")
    (root / "relative.pdf").symlink_to("../outside/secret.pdf")
    (root / "folder").symlink_to(outside)
    (root / "here.pdf").symlink_to("a.pdf")
    (root / "loop.pdf").symlink_to("loop.pdf")
    for path in ("file.pdf", "relative.pdf", "folder/secret.pdf", "here.pdf", "loop.pdf"):
        assert refused(read([root], path), "link")


def test_a_file_is_no_folder(root):
    assert refused(read([root], "a.pdf/b.pdf"))
    assert refused(read([root], "inner"), "folder")


def test_a_pipe_is_refused_at_once(root):
    os.mkfifo(root / "pipe.pdf")
    assert refused(read([root], "pipe.pdf"), "not a regular file")


def test_a_device_is_refused(root):
    places = [Place(Path("/dev"), ("zero",))]
    with pytest.raises(ToolFailed, match="not a regular file"):
        FileRoots([Path("/dev")]).open(places, *NO_ENGINE)


def test_a_socket_is_refused(root, monkeypatch):
    import socket

    monkeypatch.chdir(root)  # such an address may not be long
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("door.pdf")
        assert refused(read([root], "door.pdf"), "not a regular file")


def test_a_file_that_may_not_be_read_is_told(root, monkeypatch):
    """The system's answer is made up: whoever runs the tests may be allowed everything."""
    really = os.open

    def denied(path, *more, **options):
        if path == "a.pdf":
            raise PermissionError(13, "Permission denied", path)
        return really(path, *more, **options)

    monkeypatch.setattr("os.open", denied)
    monkeypatch.setattr("os.supports_dir_fd", {denied})
    assert refused(read([root], "a.pdf"), "may not read it")
    assert read([root], "inner/b.pdf") == b"b"


def test_a_system_that_cannot_open_step_by_step_opens_nothing(root, monkeypatch):
    monkeypatch.setattr("os.supports_dir_fd", set())
    assert refused(read([root], "a.pdf"), "safely")


def test_a_file_whose_type_changes_before_it_is_opened_is_refused(root, monkeypatch):
    """A pipe takes the place of the file that was looked at."""
    look = os.stat

    def look_and_swap(name, **options):
        found = look(name, **options)
        if name == "a.pdf":
            (root / "a.pdf").unlink()
            os.mkfifo(root / "a.pdf")
        return found

    monkeypatch.setattr("os.stat", look_and_swap)
    assert refused(read([root], "a.pdf"), "not a regular file")


def test_the_engines_own_folder_is_refused_wherever_it_lies(root, tmp_path):
    data = root / "kb"
    files = data / "store-files"
    files.mkdir(parents=True)
    (data / "store.db").write_bytes(b"")
    for place in (data / "a.pdf", files / "a.pdf"):
        place.write_bytes(SECRET)
    engine = (str(data / "store.db"), str(files))
    for roots, path in (
        ([root], data / "a.pdf"),
        ([root], files / "a.pdf"),
        ([data], "a.pdf"),
        ([files], "a.pdf"),
    ):
        assert refused(read(roots, path, engine), "own folder")
    below = data / "below"
    below.mkdir()
    (below / "a.pdf").write_bytes(SECRET)
    assert refused(read([below], "a.pdf", engine), "own folder")
    assert read([root], "a.pdf", engine) == b"a"


def test_an_engine_elsewhere_keeps_nothing_back(root):
    """Its folder may have the name of one of ours."""
    assert read([root], "a.pdf", (str(root / "store.db"), str(root))) == b"a"


@contextmanager
def always(swap):
    """Another thread does it again and again meanwhile."""
    stop = threading.Event()

    def run():
        while not stop.is_set():
            swap()

    swapper = threading.Thread(target=run)
    swapper.start()
    try:
        yield
    finally:
        stop.set()
        swapper.join()


def tries(least, is_enough):
    """So many, and more where the threads of a machine take turns so that they rarely meet."""
    until = time.monotonic() + 120
    for number in itertools.count():
        if number >= least and (is_enough() or time.monotonic() > until):
            return
        yield number


def test_a_link_that_is_swapped_in_during_the_open_never_leads_out(root, outside):
    """Ten thousand times, while another thread swaps as fast as it can; half of them with dots."""
    folder, link, spare = root / "inner", root / "link", root / "spare"
    link.symlink_to(outside)
    (folder / "secret.pdf").write_bytes(b"fine")

    def swap():
        os.rename(folder, spare)
        os.rename(link, folder)
        os.rename(folder, link)
        os.rename(spare, folder)

    outcomes = {"fine": 0, "refused": 0, "missing": 0}
    with always(swap):
        roots = FileRoots([root])
        for number in tries(10_000, lambda: all(outcomes.values())):
            path = "inner/../inner/secret.pdf" if number % 2 else "inner/secret.pdf"
            try:
                file = roots.open(roots.places(path), *NO_ENGINE)
            except ToolFailed as failed:
                outcomes["missing" if failed.code == "file_not_found" else "refused"] += 1
                continue
            content = os.read(file.descriptor, 100)
            os.close(file.descriptor)
            assert content == b"fine"
            outcomes["fine"] += 1
    assert all(outcomes.values()), outcomes


def test_a_file_that_is_swapped_for_a_link_during_the_open_never_leads_out(root, outside):
    file, spare = root / "a.pdf", root / "spare"

    def swap():
        spare.symlink_to(outside / "secret.pdf")
        os.rename(spare, file)
        spare.write_bytes(b"a")
        os.rename(spare, file)

    outcomes = set()
    with always(swap):
        for _ in tries(5_000, lambda: len(outcomes) == 2):
            answer = read([root], "a.pdf")
            assert answer in (b"a", b"") or refused(answer)
            outcomes.add(isinstance(answer, bytes))
    assert outcomes == {True, False}


def test_nothing_stays_open(root):
    (root / "link.pdf").symlink_to("a.pdf")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("a.pdf", "inner/b.pdf", "link.pdf", "missing.pdf", "inner", "inner/none/a.pdf"):
        read([root], path)
        read([root], f"inner/../{path}")
        read([root], f"inner/../inner/../{path}/../a.pdf")
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_opened_is_a_plain_descriptor_to_read(root):
    roots = FileRoots([root])
    file = roots.open(roots.places("a.pdf"), *NO_ENGINE)
    assert stat.S_ISREG(os.fstat(file.descriptor).st_mode)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(file.descriptor, b"x")
    assert not os.get_inheritable(file.descriptor)
    os.close(file.descriptor)

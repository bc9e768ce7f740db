"""kill -9 while doubles are joined: each path has its documents as they were, or the one."""

import random
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from kb.engine.store.file.page_checksums import connect

from ..clients import documents_with
from ..engine_process import PATIENCE, EngineProcess, Gone, Zygote
from ..store_check import Found, check_store

_WINDOW = 0.25  # seconds of joining before a kill, at most


def word(path: int, version: int) -> str:
    """No stemmer shortens it, and it stands in one version of one file."""
    return f"zq{chr(98 + version)}{''.join('bcdfghjklm'[int(digit)] for digit in f'{path:03}')}k"


def text(path: int, version: int) -> str:
    return f"{word(path, version)} and a few words more.\n" * (1 if path % 3 else 60)


def fill(engine: EngineProcess, paths: int) -> None:
    """Three documents of each path, as an older kb made them: with other tags, of no machine."""
    for version in range(3):
        for path in range(paths):
            fields = {
                "source_path": f"/{path}",
                "tags": [f"tag{version}"],
                "origin": f"machine {version}",
            }
            answer = engine.upload("a.txt", text(path, version).encode(), fields)
            assert answer.status == 202
    assert engine.is_idle_within(PATIENCE)
    with closing(connect(engine.folder / "store.db", apsw.SQLITE_OPEN_READWRITE)) as store:
        store.set_busy_timeout(30_000)
        store.execute("UPDATE documents SET origin = NULL")


def join_until_gone(engine: EngineProcess, joined: set[str]) -> None:
    """Join one group after another; what was answered must stay so."""
    try:
        for group in engine.get("/api/v1/doubles?limit=200").body["doubles"]:
            ids = [document["id"] for document in group["documents"]]
            body = {"ids": ids, "if_updated_at": group["updated_at"]}
            answer = engine.send("POST", "/api/v1/doubles/join", body)
            assert answer.status == 200, answer
            joined.add(group["source_path"])
    except Gone:
        return


def check(found: Found, joined: set[str], paths: int) -> None:
    assert found.violations == []
    for path in range(paths):
        documents = sorted(found.documents[f"/{path}"], key=lambda document: document.id)
        if len(documents) == 1:
            [document] = documents
            assert document.text == text(path, 2)
            assert document.tags == {"tag0", "tag1", "tag2"}
        else:
            assert f"/{path}" not in joined
            assert [document.text for document in documents] == [text(path, v) for v in range(3)]
            assert [document.tags for document in documents] == [{f"tag{v}"} for v in range(3)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("paths", "kills"), [(20, 4), pytest.param(150, 25, marks=pytest.mark.long)]
)
def test_each_path_is_joined_as_a_whole(
    zygote: Zygote, folder: Path, paths: int, kills: int
) -> None:
    plants = ["reliability.plants:every_document_of_two_passages_is_long"]
    engine, chance, joined = EngineProcess(zygote, folder, plants), random.Random(7), set[str]()
    with engine:
        fill(engine, paths)
        for _ in range(kills):
            thread = threading.Thread(target=join_until_gone, args=[engine, joined])
            thread.start()
            threading.Event().wait(chance.uniform(0, _WINDOW))
            engine.kill()
            thread.join()
            engine.start()
            check(check_store(folder, joined=True), joined, paths)
        join_until_gone(engine, joined)
        engine.kill()
        engine.start()  # what was put off is done first
        found = check_store(folder, joined=True)
        check(found, joined, paths)
        assert all(len(documents) == 1 for documents in found.documents.values())
        for path in range(0, paths, 5):
            [document] = found.documents[f"/{path}"]
            assert documents_with(engine, word(path, 2)) == {document.id}
            assert documents_with(engine, word(path, 1)) == set()

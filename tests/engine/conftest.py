"""The engine in a temporary folder, and its API in process."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress

import anyio
import httpx
import pytest

from kb.engine.app import build_app, build_engine, guarded
from kb.engine.data_folder.folder import DataFolder
from kb.engine.errors import StoreDamaged
from kb.engine.ingest.sandbox import Sandbox
from kb.engine.settings import Settings

ROOT = "http://127.0.0.1"
SANDBOX = Sandbox(idle_seconds=300)  # one for all engines: it takes longer to start than most tests


@pytest.fixture(scope="session", autouse=True)
def leave_no_sandbox():
    yield
    SANDBOX.close()


class SharedApp:
    """The app of an engine. Its routes are built once for all tests: that takes longer than most.

    One engine is asked at a time, so it can be put in place with each request.
    """

    app = None

    def __init__(self, engine):
        self._engine = engine
        SharedApp.app = SharedApp.app or build_app(engine)

    async def __call__(self, scope, receive, send):
        self.app.state.engine = self._engine
        await self.app(scope, receive, send)


def behind_its_guard(engine):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kb.engine.app.build_app", SharedApp)
        return guarded(engine)


class Api:
    """The REST API of one engine, asked in process; the worker is run by hand."""

    def __init__(self, engine, key=""):
        self.engine = engine
        self.app = behind_its_guard(engine)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def request(self, method, path, **options):
        """`path` is below /api/v1, or a whole address."""

        async def ask():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(
                transport=transport, base_url=f"{ROOT}/api/v1", headers=self._headers
            ) as client:
                return await client.request(method, path, **options)

        return anyio.run(ask)

    def send(self, method, path, body):
        """The same with a body that is called JSON, whatever it is."""
        headers = {"content-type": "application/json"}
        return self.request(method, path, content=body, headers=headers)

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, json=None, **options):
        return self.request("POST", path, json=json, **options)

    def put(self, path, json):
        return self.request("PUT", path, json=json)

    def patch(self, path, json):
        return self.request("PATCH", path, json=json)

    def delete(self, path, json=None):
        return self.request("DELETE", path, json=json)

    def submit_note(self, text, **fields):
        return self._accepted(self.post("/jobs", {"text": text, **fields}))

    def submit_file(self, content, filename="file.txt", headers=None, **fields):
        upload = {"file": (filename, content)}
        return self._accepted(self.post("/jobs", files=upload, data=fields, headers=headers))

    def add_note(self, text, **fields):
        """Add a note and do the work; the job as it ended."""
        return self._finished(self.submit_note(text, **fields))

    def add_file(self, content, filename="file.txt", **fields):
        """Add a file and do the work; the job as it ended."""
        return self._finished(self.submit_file(content, filename, **fields))

    def settle(self):
        """Do what the worker does when there is nothing else to do."""
        while self.engine.store.upkeep.forget_words():
            pass
        self.engine.store.upkeep.tidy()

    def at_each_end(self, tell):
        """Have this told of each job that is over, by its id."""

        def publish(kind, data):
            if kind == "job" and data["status"] in ("done", "failed"):
                tell(data["id"])

        self.engine.events.publish = publish

    def bytes_on_disk(self):
        """All that is in the data folder, in small letters."""
        files = (path for path in self.engine.settings.data_dir.rglob("*") if path.is_file())
        return b"".join(path.read_bytes() for path in files).lower()

    def job(self, key):
        return self.get(f"/jobs/{key}").json()

    def document(self, key):
        return self.get(f"/documents/{key}").json()

    def search(self, query, **fields):
        """The hits."""
        answer = self.post("/search", {"query": query, **fields})
        assert answer.status_code == 200, answer.text
        return answer.json()["results"]

    def _accepted(self, answer):
        assert answer.status_code == 202, answer.text
        return answer.json()

    def _finished(self, accepted):
        self.engine.worker.finish_jobs()
        return self.job(accepted["job_id"])


@contextmanager
def opened(data_dir, **settings):
    """An engine with everything loaded but no thread of its own."""
    umask = os.umask(0o077)
    folder = DataFolder(data_dir)
    engine = build_engine(
        Settings(**{"data_dir": data_dir, "embedder": "hash", "reserve_mb": 1, **settings}),
        folder,
        SANDBOX,
    )
    for model in (engine.store.models.searched, engine.store.models.wanted):
        engine.embedders.of(model).start()
        if not engine.embedders.of(model).failure:
            engine.embedders.of(model).wait(30)
    with suppress(StoreDamaged):  # an engine that is asked to start does without them, too
        engine.store.models.load_vectors()
    try:
        yield engine
    finally:
        engine.events.close()
        engine.store.close()
        folder.release()
        os.umask(umask)


@pytest.fixture(scope="session")
def open_engine():
    """To open an engine on a folder, with settings of its own."""
    return opened


@pytest.fixture(scope="session")
def empty_folder(tmp_path_factory):
    """The data folder of a new engine, to be copied: to make one takes longer than most tests."""
    folder = tmp_path_factory.mktemp("empty") / "data"
    with opened(folder):
        return folder


@pytest.fixture
def engine(tmp_path, empty_folder):
    with opened(shutil.copytree(empty_folder, tmp_path / "data")) as engine:
        yield engine


@pytest.fixture
def api(engine):
    return Api(engine)


@pytest.fixture(scope="session")
def open_api():
    """To open an engine on a folder, with settings of its own, and ask it over its API."""

    @contextmanager
    def open_(data_dir, **settings):
        with opened(data_dir, **settings) as engine:
            yield Api(engine)

    return open_


@pytest.fixture(scope="session")
def make_api():
    """To put the API over an engine that the test opened itself."""
    return Api


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    is_root = os.geteuid() == 0 and sys.platform == "linux"
    command = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", str(folder)]
    if not is_root or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)

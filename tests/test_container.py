"""The Dockerfile and compose.yaml in, what they promise found true.

The images are not built here. But their packages are installed as their stages do it, and their
programs run with their commands, variables and health checks, locked in as they would be.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

from container import (
    COMPOSE,
    ROOT,
    STAGES,
    USER,
    Container,
    can_lock_down,
    command,
    health_check,
    image_environ,
    last,
    service,
    service_environ,
)
from kb import __version__
from kb.cli.connect.checking import check
from kb.cli.main import COMMANDS
from kb.engine.settings import Settings
from kb.mcp.settings import McpSettings
from kb.settings import SETTINGS, read_settings
from ports import free_port

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROGRAMS = ["engine", "mcp"]
BOTH = pytest.mark.parametrize("program", PROGRAMS)
KEYS = {"KB_API_KEY": "secret", "KB_MCP_API_KEY": "agents-send-this-instead"}
# By program: how its settings begin, and the variable for the address its port is open on.
PREFIX = {"engine": "KB_", "mcp": "KB_MCP_"}
BIND = {"engine": "KB_BIND", "mcp": "KB_MCP_BIND"}


# What stands there


def test_compose_runs_the_two_targets_under_the_version_of_the_project():
    services = COMPOSE["services"]
    assert sorted(services) == PROGRAMS
    for name, made in services.items():
        assert made["build"] == {"context": ".", "target": name}
        assert made["image"] == f"kb-{name}:{__version__}"
        assert name in STAGES


@BOTH
def test_an_image_runs_a_command_of_kb_as_a_user_without_rights(program):
    entry, name = command(program)
    assert entry in PROJECT["project"]["scripts"]
    assert name in [row[1] for row in COMMANDS]
    user, group = last(program, "USER").split(":")
    assert int(user) > 0 < int(group)
    useradd = next(rest for word, rest in STAGES["program"].instructions if word == "RUN")
    assert f"--uid {user}" in useradd


@BOTH
def test_an_image_gets_just_the_packages_of_its_program(program):
    [install] = [rest for word, rest in STAGES[f"{program}-packages"].instructions if word == "RUN"]
    assert re.findall(r"\.whl\)\[(\w+)\]", install) == [program]
    assert program in PROJECT["project"]["optional-dependencies"]
    assert "--constraint /constraints.txt" in install
    assert f"--from={program}-packages /opt/kb /opt/kb" in last(program, "COPY")


@BOTH
def test_health_is_checked_with_what_is_in_the_image(program):
    check = health_check(program)
    assert check[:2] == ["python", "-c"]
    compile(check[2], "health check", "exec")


def test_every_image_is_made_of_one_base():
    bases = {stage.parent for stage in STAGES.values() if stage.parent not in STAGES}
    assert bases == {"python:3.11-slim"}


def test_everything_that_is_copied_is_there_and_not_ignored():
    rules = (ROOT / ".dockerignore").read_text().split()
    for stage in STAGES.values():
        for word, rest in stage.instructions:
            if word == "COPY" and "--from" not in rest:
                for name in rest.split()[:-1]:
                    assert (ROOT / name).exists()
                    assert f"!{name}" in rules


@BOTH
def test_a_service_can_do_no_more_than_it_must(program):
    made = service(program, KEYS)
    assert made["read_only"] is True
    assert made["init"] is True
    assert made["cap_drop"] == ["ALL"]
    assert made["security_opt"] == ["no-new-privileges:true"]
    assert made["networks"] == ["kb"]
    assert [each.split(":")[0] for each in made["tmpfs"]] == ["/tmp"]
    assert not {"privileged", "cap_add", "network_mode", "user", "devices"} & set(made)


@BOTH
def test_a_service_takes_no_more_of_the_machine_than_it_is_given(program):
    assert 0 < service(program, KEYS)["pids_limit"] <= 512
    assert re.fullmatch(r"\d+[mg]", service(program, KEYS)["mem_limit"])
    wanted = {f"{PREFIX[program]}MEMORY": "9g"}
    assert service(program, KEYS | wanted)["mem_limit"] == "9g"


@BOTH
def test_a_port_is_open_to_this_machine_alone_until_another_address_is_named(program):
    [port] = service(program, KEYS)["ports"]
    inside = last(program, "EXPOSE")
    assert port == {"target": int(inside), "host_ip": "127.0.0.1", "published": inside}
    chosen = {BIND[program]: "192.168.1.5", f"{PREFIX[program]}PORT": "9000"}
    [port] = service(program, KEYS | chosen)["ports"]
    assert port == {"target": int(inside), "host_ip": "192.168.1.5", "published": "9000"}


@BOTH
@pytest.mark.parametrize(
    ("bind", "key", "risk"),
    [
        ("", "secret", None),
        ("127.0.0.1", "secret", None),
        ("0.0.0.0", "secret", "key_short"),
        ("::", "secret", "key_short"),
        ("192.168.1.5", "secret", "key_short"),
        ("0.0.0.0", "a-key-of-some-length", None),
    ],
)
def test_a_program_knows_who_can_reach_its_port(program, bind, key, risk):
    given = {"KB_API_KEY": key, "KB_MCP_API_KEY": key, BIND[program]: bind}
    environ = image_environ(program) | service_environ(program, given) | {"KB_CONFIG": os.devnull}
    settings = {"engine": Settings, "mcp": McpSettings}[program]
    found = settings.from_values(read_settings(environ, program)).key_risk
    prefix = "mcp_" if program == "mcp" else ""
    assert (found and found.code) == (risk and prefix + risk)


def test_the_knowledge_tools_read_a_folder_that_is_named_under_its_own_path():
    mounted = service("mcp", KEYS | {"KB_MCP_FILE_ROOTS": "/home/anna/documents"})
    assert mounted["volumes"] == ["/home/anna/documents:/home/anna/documents:ro"]
    assert mounted["environment"]["KB_MCP_FILE_ROOTS"] == "/home/anna/documents"
    bare = service("mcp", KEYS)
    [(source, _, mode)] = [each.split(":") for each in bare["volumes"]]
    assert (source in COMPOSE["volumes"], mode) == (True, "ro")
    assert bare["environment"]["KB_MCP_FILE_ROOTS"] == ""


@BOTH
def test_a_service_has_only_settings_that_its_program_reads(program):
    known = {setting.name for setting in SETTINGS if program in setting.readers}
    ours = {name for name in image_environ(program) if name.startswith("KB_")}
    assert (ours | set(COMPOSE["services"][program]["environment"])) <= known


@pytest.mark.parametrize(
    ("program", "missing"),
    [("engine", "KB_API_KEY"), ("mcp", "KB_API_KEY"), ("mcp", "KB_MCP_API_KEY")],
)
def test_without_its_keys_a_service_does_not_start(program, missing):
    assert service_environ(program, KEYS)[missing] == KEYS[missing]
    with pytest.raises(ValueError, match=f"set {missing}"):
        service_environ(program, {name: key for name, key in KEYS.items() if name != missing})


def test_the_server_finds_the_engine_by_its_service_name():
    url = service_environ("mcp", KEYS)["KB_ENGINE_URL"]
    assert url == f"http://engine:{last('engine', 'EXPOSE')}"
    assert "engine" in service_environ("engine", KEYS)["KB_ALLOWED_HOSTS"].split(",")
    assert "mcp" in service_environ("mcp", KEYS)["KB_MCP_ALLOWED_HOSTS"].split(",")


def test_what_is_stored_is_in_a_volume():
    folder = image_environ("engine")["KB_DATA_DIR"]
    assert last("engine", "VOLUME") == folder
    assert COMPOSE["services"]["engine"]["volumes"] == [f"data:{folder}"]
    assert "data" in COMPOSE["volumes"]


# What happens


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel as the first stage builds it; the backend is installed, so no network is needed."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(ROOT)], check=True, timeout=250)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def scratch():
    """A folder that another user may enter, as those of pytest are not; /tmp will be covered."""
    folder = Path(tempfile.mkdtemp(prefix="kb-container-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def installed(wheel, scratch):
    """Both environments without pip, as the Dockerfile makes them, with the wheel in them.

    The packages it needs are those of the environment that runs this; its kb is not among them.
    """
    folders = {}
    for program in PROGRAMS:
        folder = folders[program] = scratch / program
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(folder / "bin/python")]
        offline = ["install", "--no-deps", "--no-index", str(wheel)]
        subprocess.run([*pip, *offline], check=True, timeout=250)
        [site] = folder.glob("lib/python*/site-packages")
        others = [path for path in sys.path if path.endswith("site-packages")]
        (site / "packages.pth").write_text("\n".join(others) + "\n")
        if program == "mcp":
            shutil.rmtree(site / "kb" / "engine")
    return folders


@pytest.fixture(scope="module")
def containers(installed, scratch):
    """Both programs, made ready and not started."""
    made = {}
    for program in PROGRAMS:
        data = scratch / f"{program}-data"
        data.mkdir()
        if os.geteuid() == 0:
            os.chown(data, USER, USER)
        port = free_port()
        environ = {
            **image_environ(program),
            **service_environ(program, KEYS),
            "PATH": f"{installed[program] / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": "/nonexistent",
        }
        environ["KB_PORT" if program == "engine" else "KB_MCP_PORT"] = str(port)
        if program == "engine":
            environ["KB_DATA_DIR"] = str(data)
        else:  # no name server knows `engine` here
            environ["KB_ENGINE_URL"] = made["engine"].url
        made[program] = Container(program, installed[program], data, port, environ)
    return made


@pytest.mark.long
def test_the_wheel_holds_what_is_no_code_and_nothing_that_is_not_ours(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "kb/skills/kb/SKILL.md",
        "kb/engine/model/vocab.txt",
        "kb/engine/store/sql/sqlite/0001_store.sql",
    ):
        assert needed in names
    assert {name.split("/")[0] for name in names} == {"kb", f"kb-{__version__}.dist-info"}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="the images are Linux")
def test_both_programs_run_as_in_their_images(containers, installed):
    before = snapshot(installed)
    engine, mcp = containers["engine"], containers["mcp"]
    mcp.start()
    try:
        assert mcp.healthy()
        assert not engine.healthy()
        entry = {
            "url": f"{mcp.url}/mcp",
            "headers": {"Authorization": f"Bearer {KEYS['KB_MCP_API_KEY']}"},
        }
        assert [finding.works for finding in check(entry)] == [True, True, True, False]
        engine.start()
        try:
            wait_until(engine.healthy)
            assert [finding.works for finding in check(entry)] == [True] * 4
            assert [finding.works for finding in check({"url": entry["url"]})][:2] == [True, False]
            assert engine.status_of("/api/v1/status", "engine:8000") == 200
            assert engine.status_of("/api/v1/status", "elsewhere:8000") == 421
            assert mcp.status_of("/healthz", "mcp:3000") == 200
            assert mcp.status_of("/healthz", "elsewhere:3000") == 421
            add_a_page(engine)
            if can_lock_down():
                assert confinement(engine) == confinement(mcp) == LOCKED_DOWN
        finally:
            assert engine.stop() == 0
    finally:
        assert mcp.stop() == 0
    assert b"Traceback" not in engine.log + mcp.log
    assert snapshot(installed) == before
    assert (engine.data / "store.db").exists()


LOCKED_DOWN = {
    "Uid": str(USER),
    "CapEff": "0" * 16,
    "CapBnd": "0" * 16,
    "NoNewPrivs": "1",
    "/": "ro",
}


def confinement(container: Container) -> dict[str, str]:
    """What the kernel says about the running program."""
    process = Path(f"/proc/{container.process.pid}")
    status = dict(re.findall(r"^(\w+):\s+(\S+)", (process / "status").read_text(), re.MULTILINE))
    mounts = [line.split() for line in (process / "mounts").read_text().splitlines()]
    root = [options for _, place, _, options, *_ in mounts if place == "/"][-1]
    return {name: status[name] for name in LOCKED_DOWN if name != "/"} | {"/": root.split(",")[0]}


def add_a_page(engine: Container) -> None:
    """A file is read in a process of its own, locked in by the kernel: that must work here too."""
    environ = {**engine.environ, "KB_ENGINE_URL": engine.url}
    page = "<html><body><h1>Tides</h1><p>The moon pulls at the sea.</p></body></html>"
    added = subprocess.run(
        [engine.folder / "bin/kb", "add", "-", "--filename", "tides.html", "--json"],
        input=page.encode(),
        env=environ,
        capture_output=True,
        timeout=250,
    )
    assert added.returncode == 0, added.stderr.decode() + added.stdout.decode()
    assert json.loads(added.stdout)["added"] == 1


def snapshot(folders: dict[str, Path]) -> dict[str, tuple[int, int]]:
    return {
        str(file): (file.lstat().st_size, file.lstat().st_mtime_ns)
        for folder in folders.values()
        for file in folder.rglob("*")
    }


def wait_until(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline

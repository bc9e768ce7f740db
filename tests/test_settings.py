"""The environment in, settings out."""

import os
from pathlib import Path

import pytest

from kb.engine.settings import Settings
from kb.mcp.settings import McpSettings
from kb.settings import SETTINGS, BadSetting, read_settings

NO_FILE = {"KB_CONFIG": os.devnull}


def read(reader: str | None = None, **environ: str):
    return read_settings(NO_FILE | environ, reader)


def config(folder: Path, text: str, mode: int = 0o600) -> dict[str, str]:
    path = folder / "config.toml"
    path.write_text(text)
    path.chmod(mode)
    return {"KB_CONFIG": str(path)}


def test_without_an_environment_every_setting_has_its_default():
    values = read()
    assert list(values) == [setting.name for setting in SETTINGS]
    assert values["KB_HOST"].value == "127.0.0.1"
    assert values["KB_PORT"].value == 8000
    assert values["KB_ALLOWED_HOSTS"].value == ()
    assert values["KB_DATA_DIR"].value.name == "kb"
    assert {value.origin for value in values.values()} == {"default", "environment"}
    assert [n for n, value in values.items() if value.origin == "environment"] == ["KB_CONFIG"]


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(tmp_path):
    environ = config(tmp_path, 'port = 9000\nlog_level = "debug"\n')
    values = read_settings(environ | {"KB_PORT": "9001"})
    assert (values["KB_PORT"].value, values["KB_PORT"].origin) == (9001, "environment")
    assert values["KB_LOG_LEVEL"].value == "debug"
    assert values["KB_LOG_LEVEL"].origin == f"file {tmp_path / 'config.toml'}"
    assert values["KB_HOST"].origin == "default"


def test_an_empty_variable_counts_as_not_set(tmp_path):
    values = read_settings(config(tmp_path, "port = 9000") | {"KB_PORT": "", "KB_HOST": " "})
    assert values["KB_PORT"].value == 9000
    assert values["KB_HOST"].origin == "default"


def test_a_reader_gets_only_its_settings_and_is_not_stopped_by_others():
    values = read("client", KB_MAX_FILE_MB="abc")
    assert set(values) == {"KB_CONFIG", "KB_API_KEY", "KB_ENGINE_URL", "KB_ORIGIN"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("KB_PORT", "abc"),
        ("KB_PORT", "0"),
        ("KB_PORT", "65536"),
        ("KB_PORT", "-1"),
        ("KB_PORT", "8000.0"),
        ("KB_PORT", "99999999999999999999"),
        ("KB_PORT", "0000000080001"),
        ("KB_DATA_DIR", "~nobody-of-this-name/kb"),
        ("KB_MAX_FILE_MB", "0"),
        ("KB_MAX_FILE_MB", "2049"),
        ("KB_HOST", "http://127.0.0.1"),
        ("KB_HOST", "[::1]"),
        ("KB_HOST", "two words"),
        ("KB_ALLOWED_HOSTS", "kb.example:8000"),
        ("KB_ALLOWED_HOSTS", "ok.example,*.example"),
        ("KB_DATABASE_URL", "postgresql://localhost/kb"),
        ("KB_DATABASE_URL", "sqlite:///kb.db"),
        ("KB_EMBEDDER", "word2vec"),
        ("KB_OCR_ENGINE", "abbyy"),
        ("KB_OCR_LANGUAGES", "eng+-c"),
        ("KB_OCR_LANGUAGES", "../eng"),
        ("KB_OCR_LANGUAGES", "english language"),
        ("KB_LOG_LEVEL", "loud"),
        ("KB_ORIGIN", "x" * 201),
        ("KB_ORIGIN", "bell\a"),
        ("KB_ENGINE_URL", "127.0.0.1:8000"),
        ("KB_ENGINE_URL", "ftp://127.0.0.1"),
        ("KB_ENGINE_URL", "http://"),
        ("KB_ENGINE_URL", "http://127.0.0.1:99999"),
        ("KB_ENGINE_URL", "http://127.0.0.1/?a=b"),
        ("KB_PUBLISHED_HOST", "0.0.0.0:8000"),
        ("KB_STRICT", "maybe"),
        ("KB_MCP_PORT", "0"),
        ("KB_MCP_HOST", "localhost:3000"),
        ("KB_MCP_ALLOWED_HOSTS", "mcp:3000"),
        ("KB_MCP_PUBLIC_URL", "kb.example"),
        ("KB_MCP_TOOLS", "everything"),
        ("KB_MCP_FILE_ROOTS", "documents"),
        ("KB_MCP_FILE_ROOTS", "/srv,../documents"),
        ("KB_MCP_FILE_ROOTS", "~nobody-of-this-name/documents"),
        ("KB_MCP_UPLOAD_TTL", "0"),
        ("KB_COLLECTIONS", "documents,My Notes"),
        ("KB_COLLECTIONS", "memory,workspace"),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_setting_and_what_to_use(name, text):
    with pytest.raises(BadSetting) as caught:
        read(**{name: text})
    line = str(caught.value)
    assert line.startswith(f"{name}={text}: ")
    assert ", use " in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("KB_PORT", " 65535 ", 65535),
        ("KB_HOST", "::1", "::1"),
        ("KB_HOST", "kb.example", "kb.example"),
        ("KB_ALLOWED_HOSTS", "KB.example, nas.,kb.example,", ("kb.example", "nas")),
        ("KB_MAX_FILE_MB", "2048", 2048),
        ("KB_OCR_ENGINE", "Tesseract", "tesseract"),
        ("KB_OCR_LANGUAGES", "eng, deu+eng+chi_sim", "eng+deu+chi_sim"),
        ("KB_OCR_LANGUAGES", "script/Cyrillic", "script/Cyrillic"),
        ("KB_LOG_LEVEL", "WARNING", "warning"),
        ("KB_ENGINE_URL", "https://kb.example/prefix/", "https://kb.example/prefix"),
        ("KB_ENGINE_URL", "http://[::1]:8000", "http://[::1]:8000"),
        ("KB_STRICT", "1", True),
        ("KB_STRICT", "Yes", True),
        ("KB_STRICT", "0", False),
        ("KB_PUBLISHED_HOST", "::", "::"),
        ("KB_MCP_ALLOWED_HOSTS", "mcp, kb.example", ("mcp", "kb.example")),
        ("KB_MCP_PUBLIC_URL", "https://kb.example/", "https://kb.example"),
        ("KB_MCP_TOOLS", "Collections", "collections"),
        ("KB_MCP_TOOLS", "knowledge", "knowledge"),
        ("KB_MCP_FILE_ROOTS", "", ()),
        ("KB_MCP_FILE_ROOTS", "/srv/a b, /srv/c,,/srv/c", (Path("/srv/a b"), Path("/srv/c"))),
        ("KB_MCP_FILE_ROOTS", "/srv/a:/srv/b", (Path("/srv/a"), Path("/srv/b"))),
        ("KB_COLLECTIONS", " memory,documents , memory", ("memory", "documents")),
    ],
)
def test_a_good_value_is_parsed(name, text, value):
    assert read(**{name: text})[name].value == value


def test_a_folder_may_start_at_home_and_becomes_absolute(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    value = read(KB_DATA_DIR="~/knowledge")["KB_DATA_DIR"]
    assert value.value == tmp_path / "knowledge"
    assert value.text == str(tmp_path / "knowledge")


def test_the_refusal_of_a_database_url_says_that_postgresql_is_not_supported_yet():
    with pytest.raises(BadSetting, match="PostgreSQL is not supported yet"):
        read(KB_DATABASE_URL="postgresql://localhost/kb")


# Where clients find the engine


@pytest.mark.parametrize("reader", ["client", "mcp", None])
@pytest.mark.parametrize(
    ("environ", "url", "origin"),
    [
        ({}, "http://127.0.0.1:8000", "default"),
        ({"KB_PORT": "9000"}, "http://127.0.0.1:9000", "KB_PORT (environment)"),
        ({"KB_HOST": "0.0.0.0"}, "http://127.0.0.1:8000", "KB_HOST (environment)"),
        (
            {"KB_HOST": "::", "KB_PORT": "9000"},
            "http://[::1]:9000",
            "KB_HOST and KB_PORT (environment)",
        ),
        ({"KB_HOST": "192.168.1.5"}, "http://192.168.1.5:8000", "KB_HOST (environment)"),
        ({"KB_HOST": "fd00::5"}, "http://[fd00::5]:8000", "KB_HOST (environment)"),
        ({"KB_HOST": "nas"}, "http://nas:8000", "KB_HOST (environment)"),
        ({"KB_PORT": "9000", "KB_ENGINE_URL": "http://nas"}, "http://nas", "environment"),
    ],
)
def test_clients_find_the_engine_where_it_listens_unless_told_not(reader, environ, url, origin):
    value = read(reader, **environ)["KB_ENGINE_URL"]
    assert (value.value, value.text, value.origin) == (url, url, origin)


def test_a_port_in_the_file_reaches_clients(tmp_path):
    environ = config(tmp_path, 'port = 9000\nhost = "0.0.0.0"')
    file = f"file {tmp_path / 'config.toml'}"
    value = read_settings(environ, "client")["KB_ENGINE_URL"]
    assert (value.value, value.origin) == ("http://127.0.0.1:9000", f"KB_HOST and KB_PORT ({file})")
    value = read_settings(environ | {"KB_PORT": "9001"}, "client")["KB_ENGINE_URL"]
    assert value.value == "http://127.0.0.1:9001"
    assert value.origin == f"KB_HOST ({file}), KB_PORT (environment)"


def test_a_port_that_cannot_be_used_stops_a_client_that_would_need_it():
    with pytest.raises(BadSetting, match=r"^KB_PORT=abc: "):
        read("client", KB_PORT="abc")
    assert read("client", KB_PORT="abc", KB_ENGINE_URL="http://nas")


# Keys


def risk_of(prefix, **environ):
    settings = {"KB_": Settings, "KB_MCP_": McpSettings}[prefix]
    reader = {"KB_": "engine", "KB_MCP_": "mcp"}[prefix]
    return settings.from_values(read(reader, **environ)).key_risk


@pytest.mark.parametrize("prefix", ["KB_", "KB_MCP_"])
@pytest.mark.parametrize("key", ["", "x", "secret", "k" * 15, "k" * 16])
@pytest.mark.parametrize(
    ("host", "published", "reached"),
    [
        ("127.0.0.1", "", False),
        ("127.0.0.2", "", False),
        ("::1", "", False),
        ("localhost", "", False),
        ("0.0.0.0", "", True),
        ("::", "", True),
        ("192.168.1.5", "", True),
        ("nas", "", True),
        ("0.0.0.0", "127.0.0.1", False),
        ("0.0.0.0", "0.0.0.0", True),
        ("127.0.0.1", "0.0.0.0", True),
    ],
)
def test_any_key_is_taken_and_a_short_one_is_a_risk_to_others(
    prefix, key, host, published, reached
):
    given = {"HOST": host, "PUBLISHED_HOST": published, "API_KEY": key}
    risk = risk_of(prefix, **{prefix + name: text for name, text in given.items()})
    if not reached or len(key) >= 16:
        assert risk is None
        return
    kind = "mcp_" if prefix == "KB_MCP_" else ""
    assert risk.code == kind + ("key_short" if key else "key_missing")
    assert f"{prefix}API_KEY" in risk.message
    assert (f"{prefix}PUBLISHED_HOST" if published else f"{prefix}HOST={host}") in risk.message
    assert "kb keygen" in risk.message
    assert "secret" not in risk.message


@pytest.mark.parametrize("name", ["KB_API_KEY", "KB_MCP_API_KEY"])
@pytest.mark.parametrize("key", ["two words", "tab\tkey", "schlüssel", "\x07bell", "k\0"])
def test_a_key_that_no_header_can_carry_is_refused(name, key):
    with pytest.raises(BadSetting, match=f"^{name}=•••: cannot be sent in a header, use "):
        read(**{name: key})


def test_the_file_may_say_true_where_something_is_on_or_off(tmp_path):
    assert read_settings(config(tmp_path, "strict = true"))["KB_STRICT"].value is True
    assert read_settings(config(tmp_path, "strict = false"))["KB_STRICT"].value is False


@pytest.mark.parametrize("name", ["KB_API_KEY", "KB_MCP_API_KEY"])
def test_a_secret_is_never_shown(name):
    value = read(**{name: "hunter2hunter2"})[name]
    assert value.value == "hunter2hunter2"
    assert value.text == "•••"
    assert "hunter2" not in repr(value)
    with pytest.raises(BadSetting) as caught:
        read(**{name: "hunter two"})
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize("name", ["KB_ENGINE_URL", "KB_DATABASE_URL"])
def test_a_password_in_a_url_is_refused_and_not_shown(name):
    with pytest.raises(BadSetting) as caught:
        read(**{name: "http://me:hun@ter2@127.0.0.1/x"})
    assert str(caught.value).startswith(f"{name}=http://•••@127.0.0.1/x: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 8000", "unknown setting 'prot'"),
        ('config = "other.toml"', "unknown setting 'config'"),
        ('port = "abc"', r"^KB_PORT=abc: .*config\.toml\)$"),
        *(
            (text, "must be a text, a whole number or a list of texts")
            for text in ("port = true", "port = 80.5", "[port]\na = 1", "host = [1]")
        ),
        ("port =", "not valid TOML"),
    ],
)
def test_what_is_wrong_in_the_file_is_told_in_one_line(tmp_path, text, said):
    with pytest.raises(BadSetting, match=said) as caught:
        read_settings(config(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_list_in_the_file_is_a_list_of_names(tmp_path):
    values = read_settings(config(tmp_path, 'allowed_hosts = ["a.example", "b.example"]'))
    assert values["KB_ALLOWED_HOSTS"].value == ("a.example", "b.example")


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(BadSetting, match=r"missing\.toml: cannot be read: No such file"):
        read_settings({"KB_CONFIG": str(tmp_path / "missing.toml")})


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_key_that_others_can_read_is_refused(tmp_path, mode):
    environ = config(tmp_path, 'api_key = "abc"', mode)
    with pytest.raises(BadSetting, match="chmod 600"):
        read_settings(environ)


def test_a_key_that_only_its_owner_can_read_is_taken(tmp_path):
    values = read_settings(config(tmp_path, 'api_key = "abc"'))
    assert values["KB_API_KEY"].value == "abc"


def test_a_file_without_a_key_may_be_read_by_others(tmp_path):
    assert read_settings(config(tmp_path, "port = 1", 0o644))["KB_PORT"].value == 1


class TestOrigin:
    """What this machine is called: lasting, its own, and telling nothing about it."""

    @pytest.fixture
    def machine(self, tmp_path, monkeypatch):
        places = (tmp_path / "machine-id", tmp_path / "older-place")
        monkeypatch.setattr("kb.settings.origin._PLACES", places)
        return places

    def origin(self, **environ):
        return read("client", **environ)["KB_ORIGIN"].value

    def test_it_is_made_from_the_machine_id_one_way_and_stays(self, machine):
        machine[0].write_text("3d1219c7c4c5404aaa1f6d2a48adfda4\n")
        first = self.origin()
        assert first == self.origin()
        assert len(first) == 16
        assert first not in "3d1219c7c4c5404aaa1f6d2a48adfda4"
        machine[0].write_text("3d1219c7c4c5404aaa1f6d2a48adfda5\n")
        assert self.origin() != first

    def test_what_a_person_calls_it_wins(self, machine):
        machine[0].write_text("3d1219c7c4c5404aaa1f6d2a48adfda4\n")
        assert self.origin(KB_ORIGIN="anna's laptop") == "anna's laptop"

    @pytest.mark.parametrize("text", ["", "\n", "uninitialized\n", "0" * 32, "\xff"])
    def test_a_machine_without_an_id_has_no_name_unless_another_place_has_one(self, machine, text):
        machine[0].write_bytes(text.encode("latin-1"))
        assert self.origin() is None
        machine[1].write_text("3d1219c7c4c5404aaa1f6d2a48adfda4\n")
        assert self.origin() is not None

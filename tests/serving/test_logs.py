"""One event is one line, and no key is in it."""

import contextvars
import io
import json
import logging

import pytest

from kb.serving import logs


@pytest.fixture
def root():
    """The root logger, put back as it was."""
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


@pytest.fixture
def configured(root):
    """To have the log written; where it is."""

    def configure(stream=io.StringIO, **settings):
        out = stream()
        logs.configure(**{"level": "INFO"} | settings, stream=out)
        return out

    return configure


class Terminal(io.StringIO):
    def isatty(self):
        return True


NASTY = "a\nb\r\x1b[31mred\x7f\x00\x85 \u2028 \u202e\ud800 end"


def test_a_line_of_json_carries_time_level_logger_and_message(configured):
    out = configured(level="info")
    logging.getLogger("kb.test").info("job %s done", 7)
    event = json.loads(out.getvalue())
    assert (event["level"], event["logger"], event["message"]) == ("INFO", "kb.test", "job 7 done")
    assert event["time"].endswith("Z")
    assert len(event["time"]) == len("2026-01-02T03:04:05.678901Z")


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_whatever_a_message_holds_it_stays_on_its_line(configured, stream):
    out = configured(stream)
    logging.getLogger("kb.test").warning("file %s", NASTY)
    text = out.getvalue()
    assert text.count("\n") == 1
    assert not [char for char in text[:-1] if ord(char) < 32 or 127 <= ord(char) < 160]
    assert "\u202e" not in text
    text.encode()


def test_json_gives_a_nasty_message_back_unchanged(configured):
    out = configured()
    logging.getLogger("kb.test").warning("file %s", NASTY)
    assert json.loads(out.getvalue())["message"] == f"file {NASTY}"


def fail(password):
    try:
        raise ValueError("inner\nsecond line")
    except ValueError as error:
        raise KeyError("x" * 5000) from error


def test_an_exception_is_told_with_its_cause_but_without_values(configured):
    out = configured()
    try:
        fail("hunter2" * 2)
    except KeyError:
        logging.getLogger("kb.test").exception("it failed")
    assert out.getvalue().count("\n") == 1
    told = json.loads(out.getvalue())["exception"]
    assert "ValueError: inner" in told
    assert "in fail" in told
    assert "hunter2hunter2" not in told
    assert "x" * logs.MESSAGE_SHOWN not in told.replace("'", "")


def test_a_person_sees_the_frames_below_the_line(configured):
    out = configured(Terminal)
    try:
        fail("")
    except KeyError:
        logging.getLogger("kb.test").exception("it failed")
    first, *rest = out.getvalue().splitlines()
    assert first.endswith("ERROR   it failed")
    assert all(line.startswith("    ") for line in rest)


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_keys_never_appear(configured, stream):
    out = configured(stream, secrets=["the-key", ""])
    logger = logging.getLogger("kb.test")
    logger.info("asked with %s", "Bearer the-key")
    try:
        raise ValueError("bad key the-key")
    except ValueError:
        logger.exception("failed")
    assert "the-key" not in out.getvalue()
    assert "***" in out.getvalue()


def test_a_key_that_is_part_of_a_word_leaves_the_word_alone(configured):
    out = configured(secrets=["en", "a-long-key-of-32-letters"])
    logging.getLogger("kb.test").info("the engine listens: en, Xa-long-key-of-32-lettersX")
    assert "the engine listens: ***, X***X" in out.getvalue()


def test_configuring_twice_writes_each_event_once(root):
    first, second = io.StringIO(), io.StringIO()
    logs.configure("INFO", stream=first)
    logs.configure("ERROR", stream=second)
    logging.getLogger("kb.test").warning("too quiet")
    logging.getLogger("kb.test").error("loud")
    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1
    assert root.level == logging.ERROR


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_line_about_a_request_carries_its_id(stream):
    out = stream()
    logs.configure(stream=out)

    def work():
        logs.name_request("a1-7")
        logging.getLogger("x").info("inside")
        return logs.current_request()

    assert contextvars.copy_context().run(work) == "a1-7"
    logging.getLogger("x").info("outside")
    inside, outside = out.getvalue().splitlines()
    assert "a1-7" in inside
    assert "a1-7" not in outside

"""tesseract's answers in, boxes out; and which tesseract is taken."""

import signal
import stat
import subprocess
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from raising import raising

from kb.engine.ingest.ocr import tesseract
from kb.engine.ingest.ocr.rows import text_of
from kb.engine.ingest.ocr.tesseract import Tesseract, TesseractEngine, TesseractMissing, find

HEADER = (
    "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
)


def word(line: int, left: int, width: int, text: str, score: float = 95.0) -> str:
    top = 100 + 50 * line
    return f"5\t1\t1\t1\t{line}\t1\t{left}\t{top}\t{width}\t30\t{score}\t{text}"


@pytest.fixture
def answers(monkeypatch):
    """What the program says to each kind of call."""

    def install(table: str = "", languages: str = "", code: int = 0) -> list[list[str]]:
        calls = []

        def run(command, **options):
            calls.append([str(part) for part in command])
            said = languages if "--list-langs" in command else table
            if code and options.get("check"):
                raise subprocess.CalledProcessError(code, command)
            return subprocess.CompletedProcess(command, code, said.encode())

        monkeypatch.setattr(tesseract.subprocess, "run", run)
        return calls

    return install


def engine() -> TesseractEngine:
    return TesseractEngine(Tesseract(Path("/opt/tesseract"), Path("/opt/tessdata"), "eng+deu"))


def test_words_become_lines_and_cells(answers):
    rows = [
        word(0, 40, 80, "The"),
        word(0, 130, 100, "ferry", 85.0),
        word(0, 600, 60, "late"),
        word(1, 40, 100, "Because"),
        "4\t1\t1\t1\t2\t0\t40\t200\t100\t30\t-1\t",
        word(3, 40, 10, " "),
    ]
    answers("\n".join([HEADER, *rows]))
    found = engine().boxes(Image.new("L", (800, 300), 255))
    assert text_of(found) == "The ferry | late\nBecause"
    assert found[0].score == pytest.approx((3 * 0.95 + 5 * 0.85) / 8)


def test_the_program_is_told_language_and_data_as_arguments(answers):
    calls = answers(HEADER)
    assert engine().boxes(Image.new("L", (10, 10))) == []
    [command] = calls
    assert command[:3] == ["/opt/tesseract", "stdin", "stdout"]
    assert command[command.index("-l") + 1] == "eng+deu"
    assert command[command.index("--tessdata-dir") + 1] == "/opt/tessdata"


def test_a_program_that_fails_is_told(answers):
    answers(code=1)
    with pytest.raises(ValueError, match="tesseract ended with 1"):
        engine().boxes(Image.new("L", (10, 10)))


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="Windows has no alarms")
def test_a_program_that_does_not_end_is_ended_by_an_alarm_of_its_own(monkeypatch):
    """Who reads may signal nobody, so that nobody is there to kill it."""
    monkeypatch.setattr(tesseract, "_SECONDS", 1)
    monkeypatch.setattr(tesseract.subprocess.Popen, "kill", raising(PermissionError()))
    hanging = engine()
    hanging._command = ["/bin/sh", "-c", "exec sleep 60"]
    with pytest.raises(ValueError, match=f"tesseract ended with -{int(signal.SIGALRM)}"):
        hanging.boxes(Image.new("L", (10, 10)))


@pytest.fixture
def on_path(monkeypatch, tmp_path):
    """A program on the PATH, and no package beside it."""

    def install(content: bytes) -> Path:
        program = tmp_path / "tesseract"
        program.write_bytes(content)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(tesseract.importlib.util, "find_spec", lambda _: None)
        return program

    return install


LANGUAGES = 'List of available languages in "/usr/share/tessdata/" (3):\ndeu\neng\nosd\n'


def test_the_program_on_the_path_is_taken_with_its_own_data(on_path, answers):
    program = on_path(b"\x7fELF")
    answers(languages=LANGUAGES)
    assert find("eng+deu") == Tesseract(program, Path("/usr/share/tessdata"), "eng+deu")


def test_a_language_that_is_missing_is_named(on_path, answers):
    program = on_path(b"\x7fELF")
    answers(languages=LANGUAGES)
    with pytest.raises(TesseractMissing, match=f"{program} has no data for rus, fra"):
        find("eng+rus+fra")


def test_a_script_that_would_start_python_is_passed_over(on_path, answers):
    on_path(b"#!/usr/bin/python")
    answers(languages=LANGUAGES)
    with pytest.raises(TesseractMissing, match="no tesseract on the PATH"):
        find("eng")


def test_a_program_that_does_not_answer_is_none(on_path, answers):
    on_path(b"\x7fELF")
    answers(code=127)
    with pytest.raises(TesseractMissing):
        find("eng")


def test_the_package_has_its_program_beside_its_data(monkeypatch, tmp_path, answers):
    program = tmp_path / "data" / "bin" / "tesseract"
    program.parent.mkdir(parents=True)
    program.touch()
    package = type("Spec", (), {"origin": str(tmp_path / "__init__.py")})
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(tesseract.importlib.util, "find_spec", lambda _: package)
    answers(languages=LANGUAGES)
    found = find("deu")
    assert (found.program, found.data) == (program, tmp_path / "data" / "share" / "tessdata")
    assert {found.program, found.data} <= set(found.needs())


@pytest.mark.parametrize(
    ("languages", "other"),
    [
        ("eng+deu", False),
        ("eng+rus", True),
        ("script/Greek", True),
        ("chi_sim", False),
        ("vie", True),
    ],
)
def test_languages_in_other_scripts_are_known(languages, other):
    assert Tesseract(Path("t"), Path("d"), languages).other_scripts is other


def test_where_there_is_a_tesseract_it_is_really_asked():
    try:
        found = find("eng")
    except TesseractMissing as error:
        pytest.skip(str(error))
    picture = Image.new("L", (900, 120), 255)
    font = ImageFont.load_default(44)
    ImageDraw.Draw(picture).text((30, 30), "The ferry arrived late", fill=0, font=font)
    assert text_of(TesseractEngine(found).boxes(picture)) == "The ferry arrived late"

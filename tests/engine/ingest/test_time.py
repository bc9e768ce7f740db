"""Honest time: what is said to be left, and what is."""

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from kb.engine.ingest.progress import Course

DOCUMENTS = Path(__file__).parents[2] / "fixtures/documents"
TEXT = "The ferry from the islands arrived forty minutes late because of the fog"


def scan(pages, size=(400, 240)):
    """Pictures of text in a PDF, without a letter of its own."""
    font = ImageFont.load_default(20)
    pictures = []
    for number in range(pages):
        picture = Image.new("L", size, 255)
        words = TEXT.split()[number % 5 :]
        lines = [f"Page {number + 1}"] + [" ".join(words[n : n + 3]) for n in range(0, 9, 3)]
        ImageDraw.Draw(picture).multiline_text((20, 20), "\n".join(lines), 0, font, spacing=12)
        pictures.append(picture)
    file = io.BytesIO()
    pictures[0].save(file, "PDF", save_all=True, append_images=pictures[1:], resolution=72)
    return file.getvalue()


class TestTheFirstEstimate:
    def test_of_a_scan_goes_by_its_pages_and_the_pace_of_pictures(self, api):
        api.engine.board.pace.learn("picture", 4.0)  # with the 2 that are assumed: 3
        answer = api.submit_file(scan(24), "scan.pdf")
        assert answer["estimated_seconds"] == pytest.approx(24 * 3, rel=0.05)
        assert api.job(answer["job_id"])["remaining_seconds"] == answer["estimated_seconds"]
        again = api.submit_file(scan(6), "scan.pdf")
        assert again["estimated_seconds"] == pytest.approx(30 * 3, rel=0.05)

    def test_of_a_pdf_with_text_goes_by_its_pages_and_the_pace_of_text(self, api):
        report = (DOCUMENTS / "report.pdf").read_bytes()
        assert 0 < api.submit_file(report, "report.pdf")["estimated_seconds"] < 1
        forced = api.submit_file(report + b"\n", "forced.pdf", force_ocr="true")
        assert forced["estimated_seconds"] == pytest.approx(5 * 2, rel=0.1)

    def test_of_a_picture_is_that_of_one(self, api):
        sign = (DOCUMENTS / "sign.png").read_bytes()
        assert api.submit_file(sign, "sign.png")["estimated_seconds"] == pytest.approx(2, rel=0.1)

    def test_knows_no_pictures_where_none_are_read(self, open_api, tmp_path):
        with open_api(tmp_path / "data", ocr_engine="off") as api:
            assert api.submit_file(scan(24), "scan.pdf")["estimated_seconds"] < 5

    def test_begins_after_a_restart_where_it_was(self, open_api, tmp_path):
        with open_api(tmp_path / "data") as api:
            api.engine.board.pace.learn("picture", 6.0)
            api.add_note("Otters swim.")
            api.engine.worker._rest()
        with open_api(tmp_path / "data") as api:
            answer = api.submit_file(scan(10), "scan.pdf")
            assert answer["estimated_seconds"] == pytest.approx(40, rel=0.05)


def test_what_a_kind_of_file_holds_is_learned(api):
    """Many kilobytes of these are a passage of one word."""
    sparse = b"{\\rtf1 Vole %d\\par " + b"{\\*\\unknown abcdefgh}" * 4_000 + b"}"
    first = api.submit_file(sparse % 1, "1.rtf")["estimated_seconds"]
    api.engine.worker.finish_jobs()
    for number in range(2, 6):
        assert api.add_file(sparse % number, f"{number}.rtf")["chunk_count"] == 1
    assert api.submit_file(sparse % 6, "6.rtf")["estimated_seconds"] < first / 2


@pytest.mark.long
@pytest.mark.parametrize("known", [True, False], ids=["seen as a scan", "found out"])
def test_a_scan_tells_within_a_factor_of_two_what_is_left_after_a_page(api, known, monkeypatch):
    """Read for real, on a clock by which each page takes five times what is assumed."""
    pages, seconds = 12, 10.0
    board, now, seen = api.engine.board, [0.0], []
    board.clock = lambda: now[0]
    read, show = Course.read, board.show

    def read_later(self, page):
        now[0] += seconds
        read(self, page)

    def look(taken, step):
        show(taken, step)
        seen.append((now[0], api.engine.jobs.get(taken.id)))

    monkeypatch.setattr(Course, "read", read_later)
    monkeypatch.setattr(board, "show", look)
    content = scan(pages) + (b"" if known else b"\n% /Font\n")
    job = api.add_file(content, "scan.pdf")
    assert (job["status"], job["processing_method"]) == ("done", "ocr")
    end = now[0]
    reading = [(at, shown) for at, shown in seen if shown.message.startswith("Reading page")]
    assert reading[-1][1].message == f"Reading page {pages} of {pages}"
    for at, shown in reading:
        page = int(shown.message.split()[2])
        if page >= 2:
            assert 0.5 < shown.remaining_seconds / (end - at) < 2, shown.message
            assert shown.progress == pytest.approx((page - 1) / pages, abs=0.1)
        assert shown.steps_done == page - 1
    progress = [shown.progress for _, shown in seen]
    assert progress == sorted(progress)
    assert progress[-1] < 1

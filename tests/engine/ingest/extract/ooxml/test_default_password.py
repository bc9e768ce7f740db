"""Workbooks that Excel opens without asking, though they are encrypted."""

import io
import sys
from pathlib import Path

from msoffcrypto.format.ooxml import OOXMLFile
from small_ole import compound

from programs import ended

WORKBOOK = Path(__file__).parents[4] / "fixtures" / "documents" / "budget.xlsx"


def encrypted(password: str) -> bytes:
    locked = io.BytesIO()
    with WORKBOOK.open("rb") as file:
        OOXMLFile(file).encrypt(password, locked)
    return locked.getvalue()


def test_a_workbook_under_excels_own_password_is_read(api):
    job = api.add_file(encrypted("VelvetSweatshop"), "budget.xlsx")
    assert (job["status"], job["message"]) == ("done", "")
    document = api.document(job["document_id"])
    assert (document["doc_type"], document["title"]) == ("xlsx", "Nut budget")
    assert "pistachio" in " ".join(chunk["text"] for chunk in document["chunks"])


def test_a_workbook_under_another_password_is_refused(api):
    job = api.add_file(encrypted("something else"), "budget.xlsx")
    assert job["status"] == "failed"
    assert "budget.xlsx is protected by a password" in job["error"]["message"]


def test_a_document_with_an_old_one_beside_it_is_refused_like_that_too(api):
    """It is taken for the old one at first, whose reader cannot unlock anything."""
    streams = {"EncryptedPackage": bytes(64), "EncryptionInfo": bytes(64), "WordDocument": b"x"}
    job = api.add_file(compound(streams), "letter.docx")
    assert "letter.docx is protected by a password" in job["error"]["message"]


def test_unlocking_imports_nothing_since_a_confined_reader_cannot():
    code = """
import sys
from kb.engine.ingest.extract.ooxml import default_password
from msoffcrypto.method.ecma376_standard import ECMA376Standard
before = set(sys.modules)
ECMA376Standard.verifykey(bytes(16), bytes(16), bytes(32))
print(sorted(set(sys.modules) - before))
"""
    assert ended(sys.executable, "-c", code, check=True).stdout.strip() == "[]"

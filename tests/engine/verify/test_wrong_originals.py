"""What is in an original's place is named as what it is."""

import hashlib

from kb.engine.store.file.stamp import Mark, missing_in_words
from kb.engine.verify.checks.originals import wrong

BYTES = b"Herons stand."


def said(folder):
    found = wrong(folder, (1, "heron", "original", len(BYTES), hashlib.sha256(BYTES).hexdigest()))
    return found and found.what


def test_a_symbolic_link_is_named_unless_it_leads_to_the_original(tmp_path):
    (tmp_path / "elsewhere").write_bytes(BYTES)
    (tmp_path / "original").symlink_to(tmp_path / "elsewhere")
    assert said(tmp_path) is None
    (tmp_path / "elsewhere").write_bytes(b"Egrets wade..")
    assert "A symbolic link is in its original's place" in said(tmp_path)
    (tmp_path / "elsewhere").unlink()
    assert "A symbolic link is in its original's place" in said(tmp_path)


def test_a_folder_is_named(tmp_path):
    (tmp_path / "original").mkdir()
    assert said(tmp_path) == "A folder is in its original's place"


def test_one_change_is_one():
    assert missing_in_words(Mark("a", 4), Mark("a", 5)) == "1 change is"
    assert missing_in_words(Mark("a", 4), Mark("a", 7)) == "3 changes are"

"""A folder in, the same with damage out, checked or put right."""

import apsw

from kb.engine.backup.making import Source, make_backup
from kb.engine.backup.steps import tell_nobody
from kb.engine.data_folder.folder import DataFolder
from kb.engine.store.file.page_checksums import connect
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.verify.at_rest import AtRest

PAGE = 4096


def verify(folder, repair=False, backups=None):
    held = DataFolder(folder)
    try:
        return AtRest(held, terms, TERMS_VERSION, lambda _: None, backups).verify(repair)
    finally:
        held.release()


def overwrite(folder, table, with_=b"\x07" * PAGE, only=0):
    """Change a page of a table."""
    number = sorted(pages_of(folder, table))[only]
    with open(folder / "store.db", "r+b") as file:
        file.seek((number - 1) * PAGE)
        file.write(with_)


def replace(folder, old, new):
    """Have other bytes in the database, at one place."""
    data = (folder / "store.db").read_bytes()
    assert data.count(old) == 1
    (folder / "store.db").write_bytes(data.replace(old, new))


def backed_up(folder, target):
    target.mkdir(exist_ok=True)
    source = Source(folder, folder / "store.db", folder / "store-files")
    return make_backup(source, target, None, tell_nobody)


def pages_of(folder, table):
    """The bytes of each page of a table, by the page's number."""
    connection = connect(folder / "store.db", apsw.SQLITE_OPEN_READWRITE)
    pages = "SELECT pageno FROM dbstat WHERE name = ?"
    numbers = [number for (number,) in connection.execute(pages, (table,))]
    connection.close()
    data = (folder / "store.db").read_bytes()
    return {number: data[(number - 1) * PAGE : number * PAGE] for number in numbers}


def lose_writes(folder, pages):
    """Have pages as they were: as if what was written to them since had never reached the disk."""
    with open(folder / "store.db", "r+b") as file:
        for number, content in pages.items():
            file.seek((number - 1) * PAGE)
            file.write(content)

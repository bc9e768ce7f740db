"""An archive as the folder it is: each file in it read as what it is, and cited by its name."""

from collections.abc import Iterator
from dataclasses import replace

from kb.engine.errors import UnsupportedFormat
from kb.engine.ingest.extract.archives.attached import DEEPEST, OF_NO_KIND
from kb.engine.ingest.extract.archives.members import Archive
from kb.engine.ingest.extract.archives.parts import Item, Parts, Read
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.paging import cut
from kb.engine.models import Page, Remark

_ENDINGS = {
    "zip": ("zip",),
    "tar": ("tar",),
    "gzip": ("gz", "tgz"),
    "bzip2": ("bz2", "tbz", "tbz2"),
    "xz": ("xz", "txz"),
}
_TOLD = 10  # files that a warning names


def zipped(source: Source, read: Read) -> Extraction:
    return _extract(source, read, "zip")


def tar(source: Source, read: Read) -> Extraction:
    return _extract(source, read, "tar")


def gzipped(source: Source, read: Read) -> Extraction:
    return _extract(source, read, "gzip")


def bzipped(source: Source, read: Read) -> Extraction:
    return _extract(source, read, "bzip2")


def xz(source: Source, read: Read) -> Extraction:
    return _extract(source, read, "xz")


def _extract(source: Source, read: Read, kind: str) -> Extraction:
    archive = Archive(source, kind)
    parts = Parts(source, read)
    names = archive.names()
    named = ending(source.filename)
    return Extraction(
        "archive",
        named if named in _ENDINGS[kind] else _ENDINGS[kind][0],
        parts.after_start(_pages(source, parts, archive)),
        metadata={"files": len(names)} if names else {},
    )


def _pages(source: Source, parts: Parts, archive: Archive) -> Iterator[Item]:
    names: list[str] = []
    not_read: list[str] = []  # which is told at once: there may be hundreds
    found_text = False
    if source.depth >= DEEPEST:  # nothing in it would be read: it need not be unpacked
        yield Remark("its files were not read: it is a file in too many others")
        return
    for name, data in archive.files():
        names.append(name)
        yield parts.begin(name)
        if parts.is_deadly:
            yield Remark(f"{name} was not read: it kills its reader")
        elif isinstance(data, str):
            yield Remark(f"{name} was not read: {data}")
        elif data:
            for page in parts.pages(data, name.rpartition("/")[2], name):
                if isinstance(page, Page):
                    found_text = True
                    # A folder's name may say what its files are about.
                    page = replace(page, headings=(name, *page.headings))
                elif isinstance(page, Remark) and page.text.endswith(OF_NO_KIND):
                    not_read.append(page.text.removesuffix(OF_NO_KIND))
                    continue
                yield page
    if not found_text:
        raise UnsupportedFormat(
            f"{source.filename} holds no file that can be read"
            if names
            else f"{source.filename} is an archive without any file in it",
            filename=source.filename,
        )
    for text in cut(_contents(names)):
        yield parts.counted(Page(text, location="contents", markup="markdown", lines_count=False))
    if not_read:
        yield Remark(_not_read(not_read))


def _contents(names: list[str]) -> str:
    """What was not read can be found by its name at least."""
    return "\n".join(["# Contents", "", *(f"- {name}" for name in names)])


def _not_read(places: list[str]) -> str:
    more = f" and {len(places) - _TOLD:,} more" if len(places) > _TOLD else ""
    files = "1 file is" if len(places) == 1 else f"{len(places):,} files are"
    return f"{files} of a kind that cannot be read: {', '.join(places[:_TOLD])}{more}"

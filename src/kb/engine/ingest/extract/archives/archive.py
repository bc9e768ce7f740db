"""An archive as a folder: each file in it is read by its own reader and cited by its name.

A file that was packed by itself, `notes.txt.gz`, is no archive: it is read as what it is.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from kb.engine.errors import ExtractionFailed, KbError, PasswordNeeded, UnsupportedFormat
from kb.engine.ingest.extract.archives.attached import DEEPEST, Refused
from kb.engine.ingest.extract.archives.members import LOCKED, Archive
from kb.engine.ingest.extract.archives.parts import Item, Parts, Read
from kb.engine.ingest.extract.extraction import Extraction, Source, usual_ending
from kb.engine.ingest.extract.memory_files import NoRoomInMemory, read_in_memory
from kb.engine.ingest.extract.paging import cut
from kb.engine.pages import Page, Remark

_ENDINGS = {
    "zip": ("zip",),
    "tar": ("tar",),
    "gzip": ("gz", "tgz"),
    "bzip2": ("bz2", "tbz", "tbz2"),
    "xz": ("xz", "txz"),
}
_TOLD = 10  # files that a warning names
_REASONS = 3  # that an error names


def _extract(source: Source, read: Read, kind: str) -> Extraction:
    archive = Archive(source, kind)
    format_ = usual_ending(source.filename, _ENDINGS[kind])
    only_file = archive.only_file() if source.depth < DEEPEST else None
    if only_file is not None:
        return replace(_of_only_file(source, read, *only_file), format=format_)
    parts = Parts(source, read)
    names = archive.names()
    return Extraction(
        "archive",
        format_,
        parts.after_start(_pages(source, parts, archive)),
        metadata={"files": len(names)} if names else {},
    )


zipped, tar, gzipped, bzipped, xz = (partial(_extract, kind=kind) for kind in _ENDINGS)


def _of_only_file(source: Source, read: Read, name: str, data: bytes | str) -> Extraction:
    if isinstance(data, str):
        raise _nothing_in(source.filename, [name], {data: [name]}, [])
    try:
        return read_in_memory(replace(source, filename=name, depth=source.depth + 1), data, read)
    except UnsupportedFormat as error:
        why = str(error.details.get("reason") or error.message)
        raise _nothing_in(source.filename, [name], {why: [name]}, []) from error
    except NoRoomInMemory as error:
        raise ExtractionFailed(
            f"{source.filename} cannot be read: {name} could not be opened",
            filename=source.filename,
        ) from error


def _pages(source: Source, parts: Parts, archive: Archive) -> Iterator[Item]:
    names: list[str] = []
    not_read: dict[str, list[str]] = {}  # which, by why: told at once, as there may be hundreds
    failed: list[str] = []
    found_text = False
    if source.depth >= DEEPEST:  # nothing in it would be read: it need not be unpacked
        yield Remark("its files were not read: it is inside too many other files")
        return
    for name, data in archive.files():
        names.append(name)
        yield parts.begin(name)
        if parts.is_deadly:
            yield Remark(f"{name} was not read: it kills its reader")
            continue
        for item in _of_file(parts, name, data, not_read):
            found_text = found_text or isinstance(item, Page)
            if isinstance(item, Remark) and item.text and len(failed) < _REASONS:
                failed.append(item.text)
            yield item
    if found_text:
        yield from _at_the_end(parts, archive, names, not_read)
    elif source.wanted != "pictures":  # none is no failure: what there is else was told before
        raise _nothing_in(source.filename, names, not_read, failed)


def _at_the_end(
    parts: Parts, archive: Archive, names: list[str], not_read: dict[str, list[str]]
) -> Iterator[Item]:
    """The list of all files, and which of them were not read."""
    for text in cut(_contents(names, archive.links)):
        yield parts.counted(Page(text, location="contents", markup="markdown", lines_count=False))
    for why, places in not_read.items():
        yield Remark(_told(why, places))
    astray = _leading_outside(archive.links, names)
    if astray:
        yield Remark(_told("it is a link to something outside the archive", astray))


def _of_file(
    parts: Parts, name: str, data: bytes | str, not_read: dict[str, list[str]]
) -> Iterator[Item]:
    if isinstance(data, str):
        not_read.setdefault(data, []).append(name)
    elif data:
        for page in parts.pages(data, name.rpartition("/")[2], name):
            if isinstance(page, Refused):
                not_read.setdefault(page.why, []).append(page.place)
            elif isinstance(page, Page):
                # A folder's name may say what its files are about.
                yield replace(page, headings=(name, *page.headings))
            else:
                yield page


def _contents(names: list[str], links: dict[str, str]) -> str:
    """Unread files can at least be found by their names."""
    linked = (f"{name} (a link to {target})" for name, target in links.items())
    return "\n".join(["# Contents", "", *(f"- {name}" for name in (*names, *linked))])


def _leading_outside(links: dict[str, str], names: list[str]) -> list[str]:
    """Those that lead to no file or folder here, so that what they stand for was not read."""
    here = {*names, *links}
    here |= {folder for name in here for folder in _folders(name)}
    return [name for name, target in links.items() if target not in here]


def _folders(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _nothing_in(
    filename: str, names: list[str], not_read: dict[str, list[str]], failed: list[str]
) -> KbError:
    """What to say of an archive that has no text in it; the reasons tell what to do."""
    if not failed and list(not_read) == [LOCKED]:
        return PasswordNeeded(f"{filename} cannot be read: {LOCKED}", filename=filename)
    told = [*failed, *(_told(why, places) for why, places in not_read.items())][:_REASONS]
    if not names:
        reason = "it is an archive without files"
    elif len(names) == 1 and len(not_read) == 1:
        reason = f"it holds only {names[0]}, and {next(iter(not_read))}"
    else:
        reason = ": ".join(filter(None, ("it holds no file that can be read", "; ".join(told))))
    error = ExtractionFailed if failed else UnsupportedFormat
    return error(f"{filename} cannot be read: {reason}", filename=filename, reason=reason)


def _told(why: str, places: list[str]) -> str:
    if len(places) == 1:
        return f"{places[0]} was not read: {why}"
    named = ", ".join(places[:_TOLD])
    more = f" and {len(places) - _TOLD:,} more" if len(places) > _TOLD else ""
    return f"{named}{more} were not read: each {why.removeprefix('it ')}"

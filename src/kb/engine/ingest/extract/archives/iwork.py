"""Documents of Apple's Pages, Numbers and Keynote, by the preview inside them: their own format is
undocumented. Newer previews have only the first page; then a warning says so."""

from collections.abc import Iterator

from kb.engine.errors import UnsupportedFormat
from kb.engine.ingest.extract.archives.parts import Item, Parts, Read
from kb.engine.ingest.extract.containers import bundle
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.zip_package import Package
from kb.engine.pages import Remark

_WHOLE = "QuickLook/Preview.pdf"
_FIRST_PAGE = ("preview.jpg", "QuickLook/Preview.jpg", "preview-web.jpg")
_PROGRAMS = {"pages": "Pages document", "numbers": "Numbers sheet", "key": "Keynote presentation"}
_LOCKED = (".iwpv2", ".iwph")


def extract(source: Source, read: Read) -> Extraction:
    package = Package(source.path, source.filename)
    folder = bundle(package.names)
    named = ending(folder or source.filename)
    inside = f"{folder}/" if folder else ""
    what = f"Apple {_PROGRAMS.get(named, 'iWork document')}"
    if any(f"{inside}{name}" in package for name in _LOCKED):
        raise package.locked()
    preview = next((name for name in (_WHOLE, *_FIRST_PAGE) if f"{inside}{name}" in package), None)
    if preview is None:
        reason = f"it is an {what} without a preview: export it as pdf and add that"
        raise UnsupportedFormat(
            f"{source.filename} cannot be read: {reason}",
            filename=source.filename,
            format="iwork",
            reason=reason,
        )
    parts = Parts(source, read)
    return Extraction(
        "iwork",
        named if named in _PROGRAMS else "pages",
        parts.after_start(_pages(parts, package.read(f"{inside}{preview}"), preview, what)),
        title=folder.rpartition(".")[0] or None,
    )


def _pages(parts: Parts, data: bytes, preview: str, what: str) -> Iterator[Item]:
    yield from parts.pages(data, preview.rpartition("/")[2], "preview")
    if preview != _WHOLE:
        yield Remark(
            f"of an {what} only the preview of its first page can be read: export it as pdf and"
            " add that"
        )

"""A file of files in, what each of them holds out: archives, mails, mailboxes and books.

`of` is who makes the reference of a file within; what it makes none of is left out.
"""

import base64
import email
import mailbox
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from email import policy
from email.message import EmailMessage
from pathlib import Path, PurePath
from typing import cast
from xml.etree import ElementTree as ET

import lxml.html
from lxml import etree

from benchmarks.reading import pdf_reference
from benchmarks.reading.reference import Read, Reference

_SECONDS = 60
_MOST_BYTES = 64 * 2**20  # of a file within
_HEADERS = ("subject", "from", "to", "cc", "date")
_TEXT_AGAIN, _RTF = "rtf-body.rtf", "application/rtf"  # a mail's own text, as `readpst` puts it
_INLINE = frozenset({"a", "b", "i", "em", "strong", "span", "code", "font"})
_VISIO_TEXT = "{http://schemas.microsoft.com/office/visio/2012/main}Text"


def zipped(path: Path, of: Read) -> Reference | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            return _together(((name, _unzipped(archive, name)) for name in names), of)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, ValueError):
        return None


def tar(path: Path, of: Read) -> Reference | None:
    try:
        with tarfile.open(path) as archive:
            members = [member for member in archive.getmembers() if member.isreg()]
            files = ((m.name, cast(tarfile.ExFileObject, archive.extractfile(m))) for m in members)
            return _together(((name, file.read(_MOST_BYTES)) for name, file in files), of)
    except (tarfile.TarError, OSError, EOFError):
        return None


def mail(path: Path, of: Read) -> Reference | None:
    return _mails([path.read_bytes()], of)


def mails(path: Path, of: Read) -> Reference | None:
    box = mailbox.mbox(path)
    try:
        return _mails([box.get_bytes(key) for key in box.keys()], of)  # noqa: SIM118 - no dict
    finally:
        box.close()


def outlook(path: Path, of: Read) -> Reference | None:
    """By `msgconvert`, which makes a mail of it."""
    made = _run(["msgconvert", "--outfile", "-", path], "libemail-outlook-message-perl")
    return _mails([made], of, sent=False) if made else None


def personal_folders(path: Path, of: Read) -> Reference | None:
    """By `readpst`, which makes mails of it."""
    with tempfile.TemporaryDirectory() as folder:
        _run(["readpst", "-q", "-D", "-e", "-o", folder, path], "pst-utils")
        found = sorted(file for file in Path(folder).rglob("*.eml"))
        return _mails([file.read_bytes() for file in found], of, sent=False)


def kindle(path: Path) -> Reference | None:
    """By `mobitool`, which makes web pages of it, of some that are locked against copying, too."""
    if _is_locked(path.read_bytes()):
        return None
    with tempfile.TemporaryDirectory() as folder:
        _run(["mobitool", "-s", "-o", folder, path], "libmobi-tools")
        pages = sorted(Path(folder).rglob("part*.html"))
        return _pages([page.read_bytes() for page in pages]) if pages else None


def _is_locked(data: bytes) -> bool:
    first = int.from_bytes(data[78:82], "big")  # where its first record begins
    return data[first + 12 : first + 14] != b"\0\0"


def book(path: Path) -> Reference | None:
    try:
        with zipfile.ZipFile(path) as archive:
            return _pages([archive.read(name) for name in _spine(archive)])
    except (zipfile.BadZipFile, KeyError, RuntimeError, ET.ParseError, OSError):
        return None


def drawing(path: Path) -> Reference | None:
    try:
        with zipfile.ZipFile(path) as archive:
            pages = [n for n in archive.namelist() if n.startswith("visio/pages/page")]
            trees = [ET.fromstring(archive.read(n)) for n in pages if n.endswith(".xml")]
    except (zipfile.BadZipFile, ET.ParseError, RuntimeError, OSError):
        return None
    return Reference("\n".join("".join(t.itertext()) for r in trees for t in r.iter(_VISIO_TEXT)))


def preview(path: Path) -> Reference | None:
    """All pages of an iWork document, which older programs put into it as a PDF."""
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
            pdf = Path(archive.extract("QuickLook/Preview.pdf", folder))
            return pdf_reference.read(pdf)
    except (zipfile.BadZipFile, KeyError, RuntimeError, OSError):
        return None


def _unzipped(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as file:
        return file.read(_MOST_BYTES)


def _together(files: Iterable[tuple[str, bytes]], of: Read) -> Reference:
    texts, names, allowed, headings, items = [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files:
            names.append(name)
            path = Path(folder, f"{len(names)}{PurePath(name).suffix}")  # beside no other
            path.write_bytes(data)
            found = of(path)
            if found is not None:
                texts.append(found.text)
                allowed.append(found.allowed)
                headings += found.headings
                items += found.items
    said = "\n".join([*names, *names, *allowed])
    return Reference("\n".join(texts), "", tuple(headings), tuple(items), said)


def _mails(messages: Iterable[bytes], of: Read, *, sent: bool = True) -> Reference | None:
    """Where it was not `sent` so, a program made up its people and dates, by other addresses."""
    found = [_mail(data, of, sent) for data in messages]
    if not found:
        return None
    texts, allowed = zip(*found, strict=True)
    return Reference("\n".join(texts), allowed="\n".join(allowed))


def _mail(data: bytes, of: Read, sent: bool) -> tuple[str, str]:
    if b"\0" in data[:2] or data.startswith((b"\xff\xfe", b"\xfe\xff")):  # a mail saved as UTF-16
        charset = "utf-16-be" if data[:1] == b"\0" else "utf-16"
        data = data.decode(charset, "replace").encode()
    return _message(
        cast(EmailMessage, email.message_from_bytes(data, policy=policy.default)), of, sent
    )


def _message(message: EmailMessage, of: Read, sent: bool) -> tuple[str, str]:
    heads = [str(message.get(name, "")) for name in _HEADERS]
    written = [str(value) for name, value in message.raw_items() if name.lower() == "date"]
    heads[-1] = written[0] if written else ""  # the library writes it in a form of its own
    body = message.get_body(("plain", "html"))
    text = _content(body) if body is not None else ""
    attached = [
        (part.get_filename() or "", part)
        for part in message.iter_attachments()
        if (part.get_filename(_TEXT_AGAIN), part.get_content_type()) != (_TEXT_AGAIN, _RTF)
    ]
    inner = [
        (name, payload)
        for name, part in attached
        if part.get_content_type() != "text/rfc822-headers"  # of which most say nothing to anybody
        and (sent or part.get_content_type() != "text/calendar")
        and isinstance(payload := part.get_payload(decode=True), bytes)
    ]
    parts = _together(inner, of)
    mails = [_message(mail, of, sent) for _, part in attached for mail in _mails_within(part)]
    said = [parts.allowed, *(name for name, _ in attached), *heads, *(may for _, may in mails)]
    told = [*(heads if sent else heads[:1]), text, parts.text, *(must for must, _ in mails)]
    return "\n".join(told), "\n".join(said)


def _mails_within(part: EmailMessage) -> list[EmailMessage]:
    if part.get_content_type() != "message/rfc822" or not part.is_multipart():
        return []
    # `readpst` begins them with the line of a mailbox, which is no header.
    data = part.as_bytes().partition(b"\n\n")[2].lstrip()
    data = data.partition(b"\n")[2] if data.startswith(b">From ") else data
    if part.get("content-transfer-encoding", "").lower() == "base64":  # against the rules, and seen
        data = base64.b64decode(data)
    return [cast(EmailMessage, email.message_from_bytes(data, policy=policy.default))]


def _content(body: EmailMessage) -> str:
    try:
        text = str(body.get_content())
    except (LookupError, KeyError, ValueError):
        payload = body.get_payload(decode=True)
        text = payload.decode("cp1252", "replace") if isinstance(payload, bytes) else ""
    return _page(text.encode()) if body.get_content_type() == "text/html" else text


def _pages(pages: Iterable[bytes]) -> Reference:
    trees = [tree for data in pages if (tree := _tree(data)) is not None]
    headings = [_text(e) for tree in trees for e in tree.iter("h1", "h2", "h3", "h4")]
    return Reference("\n".join(map(_text, trees)), headings=tuple(headings))


def _page(data: bytes) -> str:
    tree = _tree(data)
    return "" if tree is None else _text(tree)


def _tree(data: bytes) -> lxml.html.HtmlElement | None:
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        tree = lxml.html.document_fromstring(data, parser=parser)
    except (etree.ParserError, ValueError):
        return None
    for unseen in list(tree.iter("script", "style", "head", "title")):
        unseen.drop_tree()
    return tree


def _text(tree: lxml.html.HtmlElement) -> str:
    """Inline elements part no word, all others do."""
    pieces = []
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        pieces.append("" if element.tag in _INLINE else "\n")
        if event == "start":
            pieces.append(element.text or "")
        elif element is not tree:
            pieces.append(element.tail or "")
    return "".join(pieces)


def _spine(archive: zipfile.ZipFile) -> Iterator[str]:
    container = ET.fromstring(archive.read("META-INF/container.xml"))
    opf = next(e.attrib["full-path"] for e in container.iter() if e.tag.endswith("rootfile"))
    root = ET.fromstring(archive.read(opf))
    listed = [e for e in root.iter() if e.tag.endswith("}item")]
    texts = [e for e in listed if e.get("media-type", "").endswith(("html", "html+xml", "svg+xml"))]
    items = {e.get("id"): e.get("href") for e in texts}
    for entry in root.iter():
        href = items.get(entry.get("idref")) if entry.tag.endswith("}itemref") else None
        if href is not None:
            name = str(PurePath(opf).parent / href)
            if name in archive.namelist():
                yield name


def _run(command: list[str | Path], package: str) -> bytes:
    if shutil.which(str(command[0])) is None:
        raise SystemExit(f"{command[0]} is needed: install {package}")
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return b""
    return done.stdout

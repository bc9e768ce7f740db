"""Outlook mailboxes (pst, ost), folder by folder. libpff reads the file."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pypff

from kb.engine.errors import DamagedFile
from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.archives.parts import Read
from kb.engine.ingest.extract.extraction import Extraction, Source, usual_ending
from kb.engine.ingest.extract.mail import mailbox, property_heap
from kb.engine.ingest.extract.mail.eml import Letters
from kb.engine.ingest.extract.mail.mailbox import MOST_MAILS, Opened
from kb.engine.ingest.extract.mail.message_parts import Mail
from kb.engine.ingest.extract.mail.msg_properties import Properties
from kb.engine.ingest.extract.mail.outlook_mail import (
    MOST_PARTS,
    attached_file,
    attached_mail,
    attached_name,
    mail_of,
)

_MOST_FOLDERS = 1_000
_DEEPEST_FOLDER = 20
_WAY, _AS_MAIL = 0x3705, 5  # how an attachment is kept
_DAMAGE = (OSError, MemoryError)  # what libpff makes of senseless bytes and sizes


def extract(source: Source, read: Read) -> Extraction:
    """Raises DamagedFile."""
    letters = Letters(source, read)
    file = pypff.file()
    try:
        file.open_file_object(source.path.open("rb"))
        root = file.get_root_folder()
    except _DAMAGE as error:
        raise _damaged(source) from error
    if root is None:
        raise _damaged(source)
    return Extraction(
        "email",
        usual_ending(source.filename, ("pst", "ost")),
        letters.parts.after_start(mailbox.pages(source, letters, _mails(file, root))),
    )


def _damaged(source: Source) -> DamagedFile:
    message = f"{source.filename} is damaged: it is cut off, or no mailbox at all"
    return DamagedFile(message, filename=source.filename)


def _mails(file: Any, root: Any) -> Iterator[tuple[str, Opened]]:
    """Each by its folder. `file` has to stay open as long."""
    waiting = [(root, "", 0)]
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            break
        folder, path, depth = waiting.pop()
        for index in range(min(_count(folder, "number_of_sub_messages"), MOST_MAILS + 1)):
            yield path, partial(_opened, folder, index)
        if depth < _DEEPEST_FOLDER:
            waiting += [(inner, _path(path, inner), depth + 1) for inner in _folders(folder)]
    file.close()


def _folders(folder: Any) -> list[Any]:
    """The last one first."""
    found = []
    for index in range(min(_count(folder, "number_of_sub_folders"), _MOST_FOLDERS)):
        try:
            found.append(folder.get_sub_folder(index))
        except _DAMAGE:  # its mails are lost, those of the others are not
            continue
    return found[::-1]


def _count(of: Any, name: str) -> int:
    """0 where the file does not make sense, or where there are none: a contact has no files."""
    try:
        return int(getattr(of, name, 0))
    except _DAMAGE:
        return 0


def _path(path: str, folder: Any) -> str:
    try:
        name = line(folder.name or "").replace("/", " ")
    except _DAMAGE:
        name = ""
    return "/".join(filter(None, (path, name)))


def _opened(folder: Any, index: int) -> "Mail | str":
    try:
        return _mail(folder.get_sub_message(index))
    except _DAMAGE:
        return "it is damaged"


def _mail(item: Any) -> Mail:
    recipients = getattr(item, "recipients", None)  # a contact has none
    people = () if recipients is None else recipients.record_sets
    return mail_of(
        _properties(item.record_sets),
        (_properties([records]) for records in people),
        _attachments(item),
    )


def _attachments(item: Any) -> Iterator[Mail]:
    for index in range(min(_count(item, "number_of_attachments"), MOST_PARTS)):
        try:
            yield _attached(item.get_attachment(index))
        except _DAMAGE:  # one broken attachment must not cost the mail
            continue


def _attached(attachment: Any) -> Mail:
    properties = _properties(attachment.record_sets)
    if properties.number(_WAY) != _AS_MAIL:
        return attached_file(properties)
    size = min(_count(attachment, "size"), property_heap.LARGEST)
    mail = property_heap.properties(attachment.read_buffer(size) if size else b"")
    if mail is None:
        return attached_file(properties)  # by its name alone
    return attached_mail(mail_of(mail, (), ()), attached_name(properties))


def _properties(record_sets: Any) -> Properties:
    values: dict[tuple[int, int], bytes] = {}
    for records in record_sets:
        for entry in records.entries:
            if entry.entry_type is not None and entry.value_type is not None:
                values[entry.entry_type, entry.value_type] = entry.data or b""
    return Properties(values, lambda number, kind: values.get((number, kind), b""))

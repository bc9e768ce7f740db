"""Mails in Outlook's own format (msg), read like any other mail."""

from collections.abc import Iterator
from dataclasses import replace

from kb.engine.ingest.extract.archives.parts import Read
from kb.engine.ingest.extract.embedded.object import file_of
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.mail.eml import extract_mail
from kb.engine.ingest.extract.mail.message_parts import Mail
from kb.engine.ingest.extract.mail.msg_properties import names_in, of_folder
from kb.engine.ingest.extract.mail.outlook_mail import (
    DEEPEST,
    MOST_PARTS,
    attached_bytes,
    attached_file,
    attached_mail,
    attached_name,
    mail_of,
)
from kb.engine.ingest.extract.ole.compound import Compound, making_sense
from kb.engine.ingest.extract.ole.storage import as_file


def extract(source: Source, read: Read) -> Extraction:
    compound = Compound(source)
    with making_sense(source):
        mail = _mail(compound, [], 0, names_in(compound))
    return replace(extract_mail(mail, source, read), format="msg")


def _mail(compound: Compound, folder: list[str], depth: int, names: dict[int, int]) -> Mail:
    people = _storages(compound, folder, "__recip_version1.0_#")
    properties = of_folder(compound, folder, names)
    return mail_of(
        properties,
        (of_folder(compound, storage, page=properties.page) for storage in people),
        _attachments(compound, folder, depth, names, properties.page),
    )


def _attachments(
    compound: Compound, folder: list[str], depth: int, names: dict[int, int], page: int
) -> Iterator[Mail]:
    for storage in _storages(compound, folder, "__attach_version1.0_#"):
        properties = of_folder(compound, storage, page=page)
        inner = [*storage, "__substg1.0_3701000D"]
        if [*inner, "__properties_version1.0"] in compound:
            if depth < DEEPEST:
                mail = _mail(compound, inner, depth + 1, names)
                yield attached_mail(mail, attached_name(properties))
        elif inner in compound:  # a document of another program, set into the text
            yield _object(compound, inner, attached_name(properties))
        else:
            yield attached_file(properties)


def _object(compound: Compound, storage: list[str], name: str) -> Mail:
    """The file inside it; otherwise the object, which is reported as unreadable."""
    data = as_file(compound, storage) or b""
    file = file_of(name or "object", data)
    return attached_bytes(*(file if isinstance(file, tuple) else (name or "object", data)))


def _storages(compound: Compound, folder: list[str], prefix: str) -> list[list[str]]:
    depth = len(folder)
    found = {
        tuple(path[: depth + 1])
        for path in compound.names()
        if path[:depth] == folder and len(path) > depth and path[depth].startswith(prefix)
    }
    return [list(path) for path in sorted(found)[:MOST_PARTS]]

"""Mails in Outlook's own form (msg) in, the same as any other mail out: with its headers, its text,
and what is attached to it. What else Outlook saves so is read alike: appointments, contacts, tasks.
"""

from collections.abc import Iterator
from dataclasses import replace
from email.message import Message
from email.utils import format_datetime

from kb.engine.ingest.extract.eml import extract_mail
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.mail_parts import Mail
from kb.engine.ingest.extract.markup import Item, join
from kb.engine.ingest.extract.nested.parts import Read
from kb.engine.ingest.extract.ole.compound import Compound, making_sense
from kb.engine.ingest.extract.ole.compressed_rtf import unpacked
from kb.engine.ingest.extract.ole.msg_properties import Properties
from kb.engine.ingest.extract.rtf_reader import Reader, TooDeep

_DEEPEST = 3  # mails attached to mails
_MOST_PARTS = 1_000
_SUBJECT, _BODY, _HTML, _RTF, _HEADERS = 0x0037, 0x1000, 0x1013, 0x1009, 0x007D
_SENT, _DELIVERED, _CREATED = 0x0039, 0x0E06, 0x3007
_SENDER_NAME, _SENDER_ADDRESS, _SENDER_SMTP = 0x0C1A, 0x0C1F, 0x5D01
_SHOWN = {1: (0x0E04, "To"), 2: (0x0E03, "Cc"), 3: (0x0E02, "Bcc")}
_NAME, _SMTP, _ADDRESS, _KIND = 0x3001, 0x39FE, 0x3003, 0x0C15
_LONG_NAME, _SHORT_NAME, _DATA, _MIME, _CONTENT_ID = 0x3707, 0x3704, 0x3701, 0x370E, 0x3712
_IS_SHOWN_IN_TEXT = 0x7FFE  # an attachment that is hidden
# Of a contact, in the order in which they are told.
_CONTACT = {
    0x3001: "Name",
    0x3A16: "Company",
    0x3A17: "Title",
    0x3A08: "Business phone",
    0x3A09: "Home phone",
    0x3A1C: "Mobile",
    0x3A24: "Fax",
    0x3A15: "Address",
    0x3A27: "City",
    0x3A26: "Country",
}


def extract(source: Source, read: Read) -> Extraction:
    compound = Compound(source)
    with making_sense(source):
        mail = _mail(compound, [], 0)
    return replace(extract_mail(mail, source, read), format="msg")


def _mail(compound: Compound, folder: list[str], depth: int) -> Mail:
    properties = Properties(compound, folder)
    mail: Mail = Message()
    mail["Subject"] = properties.text(_SUBJECT)
    mail["From"] = _person(properties, _SENDER_NAME, _SENDER_SMTP, _SENDER_ADDRESS)
    for name, people in _recipients(compound, folder, properties).items():
        if people:
            mail[name] = people
    sent = next(filter(None, map(properties.date, (_SENT, _DELIVERED, _CREATED))), None)
    if sent is not None:
        mail["Date"] = format_datetime(sent)
    mail["Content-Type"] = "multipart/mixed"
    mail.set_payload([])
    mail.attach(_text(properties))
    for attachment in _attachments(compound, folder, depth):
        mail.attach(attachment)
    return mail


def _person(properties: Properties, name: int, *addresses: int) -> str:
    called = properties.text(name)
    found = (properties.text(address) for address in addresses)
    address = next((text for text in found if "@" in text and text[:1] != "/"), "")
    if address and called and address.lower() != called.lower():
        return f"{called} <{address}>"
    return address or called


def _recipients(compound: Compound, folder: list[str], mail: Properties) -> dict[str, str]:
    """As they are listed one by one; else as the mail shows them."""
    people: dict[str, list[str]] = {name: [] for _, name in _SHOWN.values()}
    for storage in _storages(compound, folder, "__recip_version1.0_#"):
        properties = Properties(compound, storage)
        kind = properties.number(_KIND) or 1
        name = _SHOWN.get(kind, _SHOWN[1])[1]
        person = _person(properties, _NAME, _SMTP, _ADDRESS)
        people[name] += [person] if person else []
    return {name: ", ".join(people[name]) or mail.text(shown) for shown, name in _SHOWN.values()}


def _text(properties: Properties) -> Mail:
    """The forms of the text, of which the reader of mails takes one."""
    forms: Mail = Message()
    forms["Content-Type"] = "multipart/alternative"
    forms.set_payload([])
    plain = properties.text(_BODY)
    html = properties.binary(_HTML) or properties.text(_HTML).encode()
    if not plain.strip() and not html:
        plain = _of_rtf(unpacked(properties.binary(_RTF)))
    told = [f"{name}: {properties.text(number)}" for number, name in _CONTACT.items()]
    if properties.message_class.startswith("IPM.Contact"):
        plain = "\n".join([*(line for line in told if not line.endswith(": ")), "", plain])
    if plain.strip():
        forms.attach(_part("text/plain; charset=utf-8", plain.encode("utf-8", "replace")))
    if html:
        forms.attach(_part(f"text/html{properties.charset}", html))
    return forms


def _of_rtf(data: bytes) -> str:
    try:
        items = Reader().read(data.decode("latin-1"))
    except TooDeep:
        return ""
    return join(item for item in items if isinstance(item, Item))


def _attachments(compound: Compound, folder: list[str], depth: int) -> Iterator[Mail]:
    for storage in _storages(compound, folder, "__attach_version1.0_#"):
        properties = Properties(compound, storage)
        name = next(filter(None, map(properties.text, (_LONG_NAME, _SHORT_NAME, _NAME))), "")
        inner = [*storage, "__substg1.0_3701000D"]
        if [*inner, "__properties_version1.0"] in compound:
            if depth < _DEEPEST:
                yield _attached_mail(_mail(compound, inner, depth + 1), name)
            continue
        if inner in compound:  # a document of another program, set into the text
            continue
        part = _part(properties.text(_MIME) or "application/octet-stream", properties.binary(_DATA))
        if name:
            part.add_header("Content-Disposition", "attachment", filename=name)
        if properties.text(_CONTENT_ID) and properties.number(_IS_SHOWN_IN_TEXT):
            part["Content-ID"] = properties.text(_CONTENT_ID)
        yield part


def _attached_mail(mail: Mail, name: str) -> Mail:
    part: Mail = Message()
    part["Content-Type"] = "message/rfc822"
    if name:
        part.add_header("Content-Disposition", "attachment", filename=name)
    part.set_payload([mail])
    return part


def _part(kind: str, data: bytes) -> Mail:
    """Its bytes stay as they are: nobody will send it."""
    part: Mail = Message()
    part["Content-Type"] = " ".join(kind.split())
    part["Content-Transfer-Encoding"] = "8bit"
    part.set_payload(data.decode("ascii", "surrogateescape"))
    return part


def _storages(compound: Compound, folder: list[str], prefix: str) -> list[list[str]]:
    depth = len(folder)
    found = {
        tuple(path[: depth + 1])
        for path in compound.names()
        if path[:depth] == folder and len(path) > depth and path[depth].startswith(prefix)
    }
    return [list(path) for path in sorted(found)[:_MOST_PARTS]]

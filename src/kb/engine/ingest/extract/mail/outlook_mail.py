"""Turns Outlook's mails, appointments, contacts and tasks into ordinary mails."""

from collections.abc import Iterable, Iterator
from email.message import Message
from email.utils import format_datetime

from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.mail.compressed_rtf import unpacked
from kb.engine.ingest.extract.mail.message_parts import Mail
from kb.engine.ingest.extract.mail.msg_properties import Properties
from kb.engine.ingest.extract.markup import Item, join
from kb.engine.ingest.extract.rtf.reader import Reader, TooDeep

DEEPEST = 3  # mails attached to mails
MOST_PARTS = 1_000
_SUBJECT, _BODY, _HTML, _RTF, _HEADERS = 0x0037, 0x1000, 0x1013, 0x1009, 0x007D
_SENT, _DELIVERED, _CREATED = 0x0039, 0x0E06, 0x3007
_SENDER_NAME, _SENDER_ADDRESS, _SENDER_SMTP = 0x0C1A, 0x0C1F, 0x5D01
_SHOWN = {1: (0x0E04, "To"), 2: (0x0E03, "Cc"), 3: (0x0E02, "Bcc")}
_NAME, _SMTP, _ADDRESS, _KIND = 0x3001, 0x39FE, 0x3003, 0x0C15
_LONG_NAME, _SHORT_NAME, _DATA, _MIME, _CONTENT_ID = 0x3707, 0x3704, 0x3701, 0x370E, 0x3712
# By the names under which Outlook keeps them, in the order in which they are told.
_MEETINGS = ("IPM.Appointment", "IPM.Schedule.Meeting")
_MEETING = {
    0x820D: "Start",
    0x820E: "End",
    0x8208: "Location",
    0x8232: "Repeated",
    0x8238: "Attendees",
}
_TASK = {0x8104: "Start", 0x8105: "Due", 0x810F: "Completed", 0x811F: "Owner"}
_STATUS, _DONE = 0x8101, 0x8102
_STATES = ("not started", "in progress", "completed", "waiting for someone else", "deferred")
_NEVER = 4500  # the year of a date that is not set
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


def mail_of(properties: Properties, people: Iterable[Properties], parts: Iterable[Mail]) -> Mail:
    """`people` are its recipients, `parts` its attachments."""
    mail: Mail = Message()
    mail["Subject"] = _without_mark(properties.text(_SUBJECT))
    mail["From"] = _person(properties, _SENDER_NAME, _SENDER_SMTP, _SENDER_ADDRESS)
    for name, shown in _recipients(people, properties).items():
        if shown:
            mail[name] = shown
    sent = next(filter(None, map(properties.date, (_SENT, _DELIVERED, _CREATED))), None)
    if sent is not None:
        mail["Date"] = format_datetime(sent)
    mail["Content-Type"] = "multipart/mixed"
    mail.set_payload([])
    told = "\n".join(_planned(properties))
    if told:
        mail.attach(_part("text/plain; charset=utf-8", told.encode("utf-8", "replace")))
    mail.attach(_text(properties))
    for part in parts:
        mail.attach(part)
    return mail


def _planned(properties: Properties) -> Iterator[str]:
    """When and where a meeting is, and when a task is due."""
    kind = properties.message_class
    if kind.startswith(_MEETINGS):
        told = _MEETING
    elif kind.startswith("IPM.Task"):
        told = _TASK
    else:
        return
    for name, called in told.items():
        number = properties.named(name)
        moment = properties.date(number) if number else None
        words = line(properties.text(number)) if number and moment is None else ""
        if moment is not None and moment.year < _NEVER:
            words = moment.strftime("%Y-%m-%d %H:%M UTC")
        if words:
            yield f"{called}: {words}"
    if told is _TASK:
        status = properties.number(properties.named(_STATUS))
        yield f"Status: {_STATES[status] if 0 <= status < len(_STATES) else _STATES[0]}"
        done = properties.decimal(properties.named(_DONE))
        if 0 < done < 1:
            yield f"Done: {done:.0%}"


def _without_mark(subject: str) -> str:
    """In a mailbox the subject begins with how long its `Re:` is."""
    return subject[2:] if subject[:1] == "\x01" else subject


def _person(properties: Properties, name: int, *addresses: int) -> str:
    called = properties.text(name)
    found = (properties.text(address) for address in addresses)
    address = next((text for text in found if "@" in text and text[:1] != "/"), "")
    if address and called and address.lower() != called.lower():
        return f"{called} <{address}>"
    return address or called


def _recipients(people: Iterable[Properties], mail: Properties) -> dict[str, str]:
    """As they are listed one by one; else as the mail shows them."""
    told: dict[str, list[str]] = {name: [] for _, name in _SHOWN.values()}
    for properties in people:
        kind = properties.number(_KIND) or 1
        person = _person(properties, _NAME, _SMTP, _ADDRESS)
        told[_SHOWN.get(kind, _SHOWN[1])[1]] += [person] if person else []
    return {name: ", ".join(told[name]) or mail.text(shown) for shown, name in _SHOWN.values()}


def _text(properties: Properties) -> Mail:
    """The forms of the text; the reader of mails chooses one."""
    forms: Mail = Message()
    forms["Content-Type"] = "multipart/alternative"
    forms.set_payload([])
    plain = properties.text(_BODY)
    html = properties.binary(_HTML) or properties.text(_HTML).encode()
    if not plain.strip() and not html:
        plain = _of_rtf(unpacked(properties.binary(_RTF)))
    told = [f"{name}: {properties.text(number)}" for number, name in _CONTACT.items()]
    if properties.message_class.startswith("IPM.Contact"):
        plain = "\n".join([*(each for each in told if not each.endswith(": ")), "", plain])
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


def attached_name(properties: Properties) -> str:
    return next(filter(None, map(properties.text, (_LONG_NAME, _SHORT_NAME, _NAME))), "")


def attached_file(properties: Properties) -> Mail:
    kind = properties.text(_MIME)
    if not kind or kind.lower().startswith(("message/", "multipart/")):  # which is bytes here
        kind = "application/octet-stream"
    part = _part(kind, properties.binary(_DATA))
    name = attached_name(properties)
    if name:
        part.add_header("Content-Disposition", "attachment", filename=name)
    if properties.text(_CONTENT_ID) and properties.number(_IS_SHOWN_IN_TEXT):
        part["Content-ID"] = properties.text(_CONTENT_ID)
    return part


def attached_bytes(name: str, data: bytes) -> Mail:
    part = _part("application/octet-stream", data)
    part.add_header("Content-Disposition", "attachment", filename=name)
    return part


def attached_mail(mail: Mail, name: str) -> Mail:
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

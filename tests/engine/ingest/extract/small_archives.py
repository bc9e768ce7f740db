"""Small archives, mails and pictures for tests: all that holds other files, or is held."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage

from PIL import Image


def zipped(files: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


def mailed(files: Mapping[str, bytes], text: str = "The birds we counted") -> bytes:
    """A mail with these files attached."""
    message = EmailMessage()
    message["Subject"] = "Birds"
    message.set_content(text)
    for name, content in files.items():
        message.add_attachment(content, "application", "octet-stream", filename=name)
    return message.as_bytes()


def saved(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    data = io.BytesIO()
    picture.save(data, kind, **options)
    return data.getvalue()


def blank(width: int = 200, height: int = 100, shade: int | str = "white") -> Image.Image:
    return Image.new("L", (width, height), shade)

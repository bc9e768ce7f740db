"""GET / and the files it loads: kb's web page.

Everything is read once, at the first start. Its files have addresses made from their contents, so a
browser keeps them for good and never mixes a new version with an old one.
"""

import gzip
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response

router = APIRouter(include_in_schema=False)

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_START = "index.html"
_BASE = "{{base}}"  # stands in the page for where its files are
_MODULES = "{{modules}}"  # and for what it is to load at once
_LATER = frozenset({"vendor/uplot.js"})  # loaded by the view that needs it

# Pictures of pages come with the key in a header, which an <img> cannot send: hence `blob:`.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "vary": "accept-encoding",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page, ready to be sent."""

    content: bytes
    media_type: str
    etag: str
    caching: str

    @classmethod
    def of(cls, name: str, content: bytes, caching: str) -> "Asset":
        digest = hashlib.sha256(content).hexdigest()[:32]
        media_type = _TYPES[name.rpartition(".")[2]]
        return cls(content, media_type, f'"{digest}"', caching)


@cache
def assets() -> dict[str, Asset]:
    """The file at each address; `/` is the page itself."""
    contents = dict(sorted(_contents(files("kb.engine") / "web", "")))
    digest = hashlib.sha256()
    for name, content in contents.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    base = f"/page/{digest.hexdigest()[:16]}"
    start = _start(contents.pop(_START).decode(), base, contents)
    found = {
        f"{base}/{name}": Asset.of(name, content, "public, max-age=31536000, immutable")
        for name, content in contents.items()
    }
    return {"/": Asset.of(_START, start, "no-cache"), **found}


@cache
def zipped(path: str) -> bytes:
    """When it is first asked for: at the start nobody has time to wait for it."""
    return gzip.compress(assets()[path].content, 9, mtime=0)


def _start(page: str, base: str, names: Iterable[str]) -> bytes:
    """The page, which names all its modules: or the browser would have to read each to learn of
    the next."""
    modules = (name for name in names if name.endswith(".js") and name not in _LATER)
    links = (f'<link rel="modulepreload" href="{base}/{name}">' for name in modules)
    return page.replace(_MODULES, "\n    ".join(links)).replace(_BASE, base).encode()


def _contents(folder: Traversable, above: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _contents(entry, f"{above}{entry.name}/")
        elif entry.name.rpartition(".")[2] in _TYPES:
            found.append((above + entry.name, entry.read_bytes()))
    return found


def paths() -> frozenset[str]:
    """The addresses that need no key: there is nothing in them but the program."""
    return frozenset(assets())


async def _show(request: Request) -> Response:
    asset = assets()[request.url.path]
    headers = {**_HEADERS, "etag": asset.etag, "cache-control": asset.caching}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = asset.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["content-encoding"] = "gzip"
        content = zipped(request.url.path)
    return Response(content, media_type=asset.media_type, headers=headers)


# One route for each, so that any other address is missing in the words of the API.
for _path in assets():
    router.add_route(_path, _show, methods=["GET", "HEAD"])

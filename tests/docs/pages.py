"""Markdown files in, their headings, links, sections and shell lines out."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^(#{1,6}) (.+?)\s*$", re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PROMPT = "$ "
SHELLS = ("sh", "console")


def pages() -> list[Path]:
    """Every Markdown file that we wrote: below the root by hand, everything in docs/."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def without_code(markdown: str) -> str:
    """Without fenced blocks, where a # is a comment and brackets are not links."""
    return FENCE.sub("", markdown)


def anchors(markdown: str) -> set[str]:
    """What can stand after # in a link to this page: headings as GitHub names them."""
    found: set[str] = set()
    for _, title in HEADING.findall(without_code(markdown)):
        bare = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        number = sum(bare == each or each.startswith(f"{bare}-") for each in found)
        found.add(bare if bare not in found else f"{bare}-{number}")
    return found


def links(markdown: str) -> list[str]:
    """Targets within the project: what begins with a scheme is somebody else's."""
    targets = LINK.findall(without_code(markdown))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def sections(markdown: str, level: int) -> dict[str, str]:
    """Each heading of this level, with the text down to the next heading of it or above."""
    marks = "#" * level
    parts = re.split(rf"^#{{1,{level}}} ", markdown, flags=re.MULTILINE)
    titles = re.findall(rf"^(#{{1,{level}}}) ", markdown, re.MULTILINE)
    found = {}
    for mark, part in zip(titles, parts[1:], strict=True):
        if mark == marks:
            title, _, body = part.partition("\n")
            found[title.strip()] = body
    return found


def shell_lines(markdown: str) -> list[str]:
    """The commands of fenced shell blocks: all lines of `sh`, prompted ones of `console`."""
    lines = []
    for kind, block in FENCE.findall(markdown):
        if kind not in SHELLS:
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if kind == "sh":
                lines.append(line)
            elif line.startswith(PROMPT):
                lines.append(line.removeprefix(PROMPT))
    return [line for line in lines if line.strip()]

"""Every source by name, and which of them can read a path."""

from collections.abc import Sequence
from pathlib import Path

from kb.imports.archive import was_unpacked
from kb.imports.item import Source, Unreadable
from kb.imports.own_export.reader import KbExport
from kb.imports.programs.basic_memory import BasicMemory
from kb.imports.programs.chatgpt import ChatGpt
from kb.imports.programs.claude import Claude
from kb.imports.programs.memory_server import Memory
from kb.imports.programs.memory_service import MemoryService
from kb.imports.programs.notion import Notion
from kb.imports.programs.obsidian import Obsidian

# In the order in which they are asked: the more exactly a source knows its own, the earlier.
SOURCES: tuple[Source, ...] = (
    KbExport(),
    MemoryService(),
    Claude(),
    ChatGpt(),
    Memory(),
    Notion(),
    BasicMemory(),
    Obsidian(),
)


def source_for(path: Path, name: str | None, sources: Sequence[Source] = SOURCES) -> Source:
    """The source of that name, or the first that recognises the path."""
    known = ", ".join(source.name for source in sources)
    for source in sources:
        if source.name == name or (name is None and source.recognises(path)):
            return source
    if name is not None:
        raise Unreadable(f"there is no source called {name}; known are: {known}")
    if was_unpacked(path):
        raise Unreadable(
            f"{path} is nothing that can be recognised as an export; unpack a vault or another "
            f"folder of notes first, and import that, or name what it is with --from ({known})"
        )
    raise Unreadable(
        f"{path} is nothing that can be recognised as an export; name it with --from ({known}), or "
        "add files and folders with kb add"
    )

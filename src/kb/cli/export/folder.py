"""Writes the files of an export, each whole or not at all, in the order they arrive."""

from pathlib import Path
from typing import Self

from kb.cli.failure import Failure
from kb.cli.terminal.say import warn
from kb.client import Json
from kb.imports.own_export import form
from kb.platform import sync


class ExportFolder:
    """A new folder, or an empty one. What says that it is an export is written last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (path / form.DOCUMENTS).is_file() and not (path / form.ABOUT).exists():
            raise Failure(
                f"{path} holds an export of kb that was not finished: remove it, or export into a "
                "new folder"
            )
        if any(path.iterdir()):
            raise Failure(f"{path} is not empty: export into a new folder")
        self.documents = self.passages = self.pages = 0
        self._unsynced = {
            path / name for name in (form.DOCUMENTS, form.PASSAGES, form.WORDS, form.README)
        }
        self._open = {
            name: (path / name).open("xb", buffering=2**20)
            for name in (form.DOCUMENTS, form.PASSAGES, form.WORDS)
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for file in self._open.values():
            file.close()
        if kind is not None:
            warn(f"stopped: what is in {self.path} is no whole export; remove it, and export again")

    def room_for(self, path: str) -> Path:
        """The path of a file to write, in folders that exist."""
        target = self.path.joinpath(*path.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        self._unsynced.add(target)
        return target

    def put_note(self, record: Json, path: str) -> None:
        text = "".join(passage["text"] for passage in record["passages"])
        with self.room_for(path).open("xb") as file:
            file.write(form.written_note(record, text))

    def put_record(self, record: Json, path: str | None, sha256: str | None) -> None:
        """The lines of a document whose file or note is here by now."""
        about = {name: value for name, value in record.items() if name not in ("passages", "words")}
        self._write(form.DOCUMENTS, about | {"path": path, "sha256": sha256})
        for passage in record["passages"]:
            self._write(form.PASSAGES, {"document": record["uid"], **passage})
        for words in record["words"]:
            self._write(form.WORDS, {"document": record["uid"], **words})
        self.documents += 1
        self.passages += len(record["passages"])
        self.pages += len(record["words"])

    def finish(self, numbering: str, last_ids: Json) -> Json:
        """Say what this is, now that all of it is there."""
        for file in self._open.values():
            file.flush()
        (self.path / form.README).write_bytes(form.README_TEXT.encode())
        self._sync()
        about = {
            "format": form.NAME,
            "version": form.VERSION,
            "numbering": numbering,
            "last_ids": last_ids,
            "documents": self.documents,
            "passages": self.passages,
            "pages_with_words": self.pages,
        }
        (self.path / form.ABOUT).write_bytes(form.as_json(about).encode() + b"\n")
        sync(self.path / form.ABOUT)
        sync(self.path)
        return about

    def _write(self, name: str, value: Json) -> None:
        self._open[name].write(form.as_json(value).encode() + b"\n")

    def _sync(self) -> None:
        """Have the disk hold everything. At the end, when most of it is there already: one after
        the other, each file would wait for the disk."""
        folders = {Path()}
        for path in self._unsynced:
            if path.exists():  # of a document that was deleted meanwhile there is none
                sync(path)
                folders.update(path.relative_to(self.path).parents)
        for folder in folders:
            sync(self.path / folder)

"""Reads a multipart body: its files go to disk, its few fields stay in memory."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from fastapi import Request
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser

from kb.engine.data_folder.originals import naming_trouble
from kb.engine.errors import BodyTooLarge, InvalidEncoding

FIELDS_BYTES = 2**20  # what the fields beside the file may take, all of them together


class _Form(MultiPartParser):
    """The framework has a limit for each field alone, and many fields are as good as a long one."""

    _taken = 0

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._current_part.file is None:
            self._taken += end - start
            if self._taken > FIELDS_BYTES:
                raise BodyTooLarge(
                    f"The fields beside the file may take {FIELDS_BYTES:,} bytes in all",
                    max_bytes=FIELDS_BYTES,
                )
        super().on_part_data(data, start, end)


@asynccontextmanager
async def read_form(
    request: Request, *, max_files: int, max_fields: int
) -> AsyncIterator[FormData]:
    """All of it, until it is closed. A large file is put on disk while it arrives."""
    try:
        with naming_trouble("store-incoming"):
            async with aclosing(request.stream()) as stream:
                form = await _Form(
                    request.headers,
                    stream,
                    max_files=max_files,
                    max_fields=max_fields,
                    max_part_size=FIELDS_BYTES,
                ).parse()
    except MultiPartException as error:
        raise InvalidEncoding(
            f"The body is not a form that can be read ({error.message.rstrip('.')}): send it as "
            "multipart/form-data with the boundary that its content-type names"
        ) from error
    try:
        yield form
    finally:
        await form.close()


def content_kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()

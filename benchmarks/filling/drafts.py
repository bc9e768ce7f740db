"""A text in, the document that a store is to make of it out."""

import hashlib

from kb.engine.values import Draft


def text_draft(title: str, text: str, path: str, *tags: str, filename: str | None = None) -> Draft:
    data = text.encode()
    return Draft(
        title=title,
        filename=filename,
        doc_type="text",
        format="txt",
        source_path=path,
        tags=tags,
        metadata={},
        content_hash=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
    )

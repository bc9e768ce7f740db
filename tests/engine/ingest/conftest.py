"""What the tests of the readers share."""

import pytest

from kb.engine.ingest.extract import Source, extract


@pytest.fixture
def extracted(tmp_path):
    """A file's content and name in, what its reader makes of it out."""

    def extracted(data: bytes | str, filename: str, **options):
        path = tmp_path / "stored"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return extract(Source(path, filename, **options))

    return extracted

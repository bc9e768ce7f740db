"""A folder for those tests that do not fill one of their own."""

import pytest

NOTE = "# Otters\n\n" + "Otters swim in the river and sleep on their backs. " * 60
HERON = b"Herons stand in the reeds and look at the water.\n" * 120


@pytest.fixture
def folder(open_api, tmp_path):
    """A long note, a file and a short note, at rest."""
    with open_api(tmp_path / "data") as api:
        api.add_note(NOTE, title="On otters", tags=["river"], metadata={"seen": "twice"})
        api.add_file(
            HERON, "heron.txt", source_path="/data/heron.txt", title="Of herons", tags="reeds"
        )
        api.add_note("Egrets wade.", title="Birds", tags=["reeds"])
    return tmp_path / "data"

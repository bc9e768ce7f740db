"""A folder for those tests that do not fill one of their own."""

import shutil

import pytest

NOTE = "# Otters\n\n" + "Otters swim in the river and sleep on their backs. " * 60
HERON = b"Herons stand in the reeds and look at the water.\n" * 120


@pytest.fixture(scope="session")
def filled(open_api, tmp_path_factory):
    """A long note, a file and a short note, at rest."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    with open_api(folder) as api:
        api.add_note(NOTE, title="On otters", tags=["river"], metadata={"seen": "twice"})
        about = {"source_path": "/data/heron.txt", "title": "Of herons", "tags": "reeds"}
        api.add_file(HERON, "heron.txt", **about)
        api.add_note("Egrets wade.", title="Birds", tags=["reeds"])
    return folder


@pytest.fixture
def folder(filled, tmp_path):
    """The folder of this test, to be damaged: filled once for all of them."""
    return shutil.copytree(filled, tmp_path / "data")

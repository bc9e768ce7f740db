"""The first row of a long table is seen with every passage of it."""

import pytest

ROWS = "".join(f"ship{number},{number * 7},harbour of Vigsund\n" for number in range(200))
HEADER = "Vessel,Tonnage,Port"
SHOWN = "| Vessel | Tonnage | Port |"


@pytest.fixture
def table(api):
    job = api.add_file(f"{HEADER}\n{ROWS}".encode(), "ships.csv")
    return api.document(job["document_id"])


def test_a_hit_shows_the_columns_of_its_table(api, table):
    answer = api.post("/search", json={"query": "ship150", "top": 1}).json()
    [hit] = answer["results"]
    assert hit["text"].splitlines()[0] == SHOWN
    marked = [hit["text"][start:end] for start, end in hit["highlights"]]
    assert "ship150" in marked


def test_joined_passages_show_them_once(api, table):
    query = {"query": "harbour of Vigsund", "top": 5, "merge": True}
    for hit in api.post("/search", json=query).json()["results"]:
        assert hit["text"].count("Tonnage") == 1


def test_the_passages_of_a_document_have_them_beside_their_text(table):
    first, *later = table["chunks"]
    assert (first["table_header"], first["text"].splitlines()[0]) == ("", SHOWN)
    assert {chunk["table_header"] for chunk in later} == {SHOWN}
    assert not any("Tonnage" in chunk["text"] for chunk in later)

"""All chunks in, arrays of what the index in memory has to know of them out."""

import apsw
import numpy as np

from kb.engine.store.database import Query, Row
from kb.engine.store.words import Ids


def chunk_places(query: Query) -> tuple[Ids, Ids, Ids]:
    """The ids, documents and places of all chunks.

    Nearly always the chunks of a document were written in a row, so that its first one and their
    number tell the others. The numbers come from an index and as long strings: a Python object for
    each would take twice as long.
    """
    [columns] = query(
        "SELECT group_concat(document_id), group_concat(id), group_concat(seq), "
        "group_concat(number), group_concat(in_a_row) FROM (SELECT document_id, min(id) AS id, "
        "min(seq) AS seq, count(*) AS number, min(id - seq) = max(id - seq) AND "
        "max(seq) - min(seq) + 1 = count(*) AS in_a_row "
        "FROM chunks INDEXED BY sqlite_autoindex_chunks_2 GROUP BY document_id)"
    )
    document, first, seq, number, in_a_row = (
        np.fromstring(column or "", np.int64, sep=",") for column in columns
    )
    number[in_a_row == 0] = 0
    places = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    ids, documents, seqs = (np.repeat(each, number) for each in (first, document, seq))
    others = _scattered(query, document[in_a_row == 0])
    return (
        np.concatenate([ids + places, others[:, 0]]),
        np.concatenate([documents, others[:, 1]]),
        np.concatenate([seqs + places, others[:, 2]]),
    )


def _scattered(query: Query, documents: Ids) -> Ids:
    """The chunks of documents in which they do not stand in a row."""
    rows: list[Row] = []
    if len(documents):  # an empty array cannot be bound
        rows = query(
            "SELECT id, document_id, seq FROM chunks WHERE document_id IN carray(:documents)",
            documents=apsw.carray(documents),
        )
    return np.array(rows, np.int64).reshape(-1, 3)

"""Rebuilds what is derived from passages, while searches go on."""

from collections.abc import Iterable

from kb.engine.store.file.database import Query
from kb.engine.store.search.word_index_renewal import begin_anew
from kb.engine.verify.checks.passages import vector_sets
from kb.engine.verify.checks.totals import COUNTS, UNUSED_TAGS
from kb.engine.verify.report import Finding


def mend(query: Query, findings: Iterable[Finding], terms_version: int) -> list[str]:
    """Repair what one transaction can; returns what was done, in words. Words are rebuilt bit by
    bit, and vectors by the code that makes missing ones."""
    by_remedy: dict[str, list[Finding]] = {}
    for finding in findings:
        by_remedy.setdefault(finding.remedy, []).append(finding)
    done = []
    if "words" in by_remedy or "terms" in by_remedy:
        query("INSERT OR IGNORE INTO chunk_terms SELECT id, x'', x'' FROM chunks")
        begin_anew(query, terms_version)
        done.append("the word index is made anew from the passages")
    wrong = {each.chunk_id for each in by_remedy.get("vectors", []) if each.chunk_id is not None}
    if wrong:
        _drop_vectors(query, wrong)
        one = len(wrong) == 1
        done.append(
            "1 vector is made anew from its passage"
            if one
            else f"{len(wrong)} vectors are made anew from their passages"
        )
    if "tags" in by_remedy:
        for (name,) in query(UNUSED_TAGS):
            query("DELETE FROM tags WHERE name = :name", name=name)
        done.append("tags that no document has are gone")
    if done or "totals" in by_remedy:
        for name, sql in COUNTS.items():
            [(value,)] = query(sql)
            query("UPDATE totals SET value = :value WHERE name = :name", name=name, value=value)
    if "totals" in by_remedy:
        done.append("the totals are counted anew")
    return done


def _drop_vectors(query: Query, chunk_ids: Iterable[int]) -> None:
    for kept in vector_sets(query):
        for chunk_id in chunk_ids:
            query(f"DELETE FROM {kept.codes} WHERE chunk_id = :id", id=chunk_id)

"""What a damaged store knew about itself, as far as it can be trusted."""

import json
import re
from collections.abc import Callable

from kb.engine.verify.rebuilding.backup_rows import BackupRows
from kb.engine.verify.rebuilding.salvage import Salvage

# How far something is that begins anew.
_PROGRESS = ("terms_next", "terms_up_to", "terms_renewed", "check")
_ID = re.compile(r"[0-9a-f]{32}")
_JSON = ("paces", "last_backup", "numbering_taken", "unproven_texts", "lost_texts")
_MODELS = ("model", "other_model", "chosen_model")


def saved_facts(old: Salvage, backup: BackupRows) -> tuple[dict[str, str], list[str]]:
    """The facts by name, and remarks on those that cannot be proven. Senseless ones are left out:
    the next start does without them or finds out by itself."""
    facts: dict[str, str] = {}
    doubts = []
    rows = old.whole("facts", ["name", "value"])
    saved = {row["name"]: row["value"] for row in backup.all("facts")}
    is_sane = _sane(old)
    for (name, value), is_proven in ((each.values, each.is_proven) for each in rows):
        if not isinstance(name, str) or not isinstance(value, str) or name in facts:
            continue
        if is_proven or saved.get(name) == value:
            facts[name] = value
        elif is_sane(name, value):
            facts[name] = value
            doubts.append(f"what the store knows of itself: {name}")
    if "facts" in old.incomplete:
        lacking = {name: value for name, value in saved.items() if name not in facts}
        facts |= lacking
        if not saved:
            doubts.append("what the store knows of itself: something of it may be missing")
        elif lacking:
            names = ", ".join(sorted(lacking.keys() - set(_PROGRESS)))
            doubts.append(
                f"what the store knows of itself is as of the backup of {backup.taken_at}: {names}"
            )
    return {name: value for name, value in facts.items() if name not in _PROGRESS}, doubts


def _sane(old: Salvage) -> Callable[[str, str], bool]:
    models = {
        model
        for table in ("vectors", "other_vectors")
        for (model,) in old.trusted(f"SELECT DISTINCT model FROM {table}")
    }

    def is_sane(name: str, value: str) -> bool:
        if name in _MODELS:
            return value in models
        if name == "vectors_place":
            return value in ("0", "1")
        if name in ("numbering", "store_id"):
            return _ID.fullmatch(value) is not None
        if name in _JSON:
            return _is_json(value)
        return name in ("model_folder", "v2_taken_over", "v2_imported", "terms_version")

    return is_sane


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True

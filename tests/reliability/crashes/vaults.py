"""A client in, notes of an Obsidian vault in its store out, by `kb import`."""

import json
from pathlib import Path

from ..clients import Client
from ..engine_process import Answer
from ..oracle import Oracle, State

_NOTES = 3


def import_vault(client: Client) -> None:
    """A vault of its own. A second import changes nothing, and after a death it goes on."""
    oracle = client.oracle
    vaults = client.engine.folder.with_name(f"vaults-{oracle.name}")
    vault = vaults / str(len(list(vaults.glob("*"))))  # one may be there that no room was left for
    texts = [oracle.new_state() for _ in range(_NOTES)]
    notes = {vault / f"{number}.md": _note(each) for number, each in enumerate(texts)}
    if not _written(vault, notes, oracle):
        return

    def post() -> Answer:
        code, said = client.engine.kb("import", str(vault), "--json")
        if "{" not in said:  # it was killed
            return Answer(500, said)
        outcome, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])  # errors may follow
        if outcome["failed"] and oracle.disk_is_full:
            return Answer(507, said)
        return Answer(200 if code == 0 else 500, outcome)

    wanted = []
    for path, state in notes.items():
        submission = oracle.submission_of(str(path))
        submission.retry, submission.wanted = post, 200
        oracle.begin(submission, state)
        wanted.append((submission, state))
    answer = post()
    if answer.status == 507:
        return  # of each nobody knows: some room may have been there
    if answer.status != 200:
        oracle.note_refusal(str(vault), answer)
        return
    for submission, state in wanted:
        oracle.settle(submission, state)
    again = post()
    if again.status != 200 or again.body["unchanged"] != _NOTES:
        oracle.note_refusal(f"{vault} once more", again)


def _written(vault: Path, notes: dict[Path, State], oracle: Oracle) -> bool:
    """False where the disk is known to be full."""
    try:
        (vault / ".obsidian").mkdir(parents=True)
        for path, state in notes.items():
            path.write_text(state.text)
    except OSError:
        if not oracle.disk_is_full:
            raise
        return False
    return True


def _note(state: State) -> State:
    """Its tags are where Obsidian has them."""
    return state._replace(text=f"---\ntags: [{', '.join(sorted(state.tags))}]\n---\n{state.text}")

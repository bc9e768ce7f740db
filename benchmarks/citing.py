"""Whether kb cites the right page: PDFs and questions in, the share of right pages out.

    python -m benchmarks.citing PATH [--keep FOLDER] [--misses]

PATH holds `pdfs/`, `queries.jsonl` (`_id`, `text`) and `qrels.tsv` (query, `<pdf>#p<page>`, score).
The files go in with `kb add`, as a person would do it, and the questions through the REST API. A
hit is right only if both its file and its page number are.
"""

import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.options import options_of
from benchmarks.running import API_KEY, Client, Server, connected, engine

TOPS = (1, 3, 5, 10)

Page = tuple[str, int]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--keep", type=Path, help="data folder to keep, and to use again")
    parser.add_argument("--misses", action="store_true", help="print the questions that went wrong")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)) / "data"
        folder.parent.mkdir(parents=True, exist_ok=True)
        with engine(folder) as server:
            _add(server, options.path / "pdfs")
            _ask_all(connected(server), options.path, options.misses)


def _add(server: Server, pdfs: Path) -> None:
    began = time.perf_counter()
    environ = {"KB_ENGINE_URL": f"http://127.0.0.1:{server.port}", "KB_API_KEY": API_KEY}
    command = [str(Path(sys.executable).with_name("kb")), "add", str(pdfs)]
    subprocess.run(command, env={**os.environ, **environ}, check=True)
    counts = connected(server).status()["counts"]
    seconds = time.perf_counter() - began
    print(f"{counts['documents']} documents, {counts['chunks']} chunks in {seconds:.1f} s")


def _ask_all(client: Client, path: Path, with_misses: bool) -> None:
    rows = (path / "queries.jsonl").read_text("utf-8").splitlines()
    questions = {row["_id"]: row["text"] for row in map(json.loads, rows)}
    wanted = _wanted(path / "qrels.tsv")
    found = {key: _pages(client, questions[key]) for key in wanted}
    ranks = {key: _rank([*dict.fromkeys(found[key])], pages) for key, pages in wanted.items()}
    strict = {key: _rank(found[key], pages) for key, pages in wanted.items()}
    print(f"{len(wanted)} questions: the right page among the first   pages  passages")
    for top in TOPS:
        shares = [
            sum(rank <= top for rank in each.values()) / len(wanted) for each in (ranks, strict)
        ]
        print(f"{top:47} {shares[0]:7.3f} {shares[1]:9.3f}")
    if with_misses:
        for key, rank in ranks.items():
            if rank > 5:
                pages = ", ".join(f"{name} p. {page}" for name, page in sorted(wanted[key]))
                print(f"rank {rank}: {questions[key]}\n    {pages}")


def _wanted(qrels: Path) -> dict[str, set[Page]]:
    wanted: dict[str, set[Page]] = {}
    with qrels.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            name, _, page = row["corpus-id"].rpartition("#p")
            wanted.setdefault(row["query-id"], set()).add((name, int(page)))
    return wanted


def _pages(client: Client, question: str) -> list[Page]:
    """The page of each passage found, best first."""
    results = client.search(question, top=50)["results"]
    return [(Path(hit["filename"]).stem, hit["page"]) for hit in results]


def _rank(found: list[Page], wanted: set[Page]) -> float:
    """At which place a right page stands first; infinity if it does not."""
    return next((rank for rank, page in enumerate(found, 1) if page in wanted), math.inf)


if __name__ == "__main__":
    main()

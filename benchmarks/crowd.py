"""Many small files and one long scan at once: how fast they go in, and how long others wait.

    python -m benchmarks.crowd [--files 2000] [--pages 40] [--kill] [--hash]

A folder of small files of many kinds and a scanned PDF go in with `kb add`, while notes and small
files are added in turn, one after the other, and timed until they are searchable. Of the scan it is
told what it said to be left at each page, and what was; `--files 0` is the scan alone, `--pages 0`
the files without it. With `--kill` the engine is killed half-way (`kill -9`) and started again
under the running command. In the end every file must be there once. Then the same folder is added
again, which should find everything unchanged.
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from benchmarks.filling.corpus import paragraphs
from benchmarks.options import options_of
from benchmarks.report import percentile
from benchmarks.running import API_KEY, Client, Json, Server, connected, free_port

PAUSE = 0.5  # between notes and small files
_LOOK_EVERY = 0.1
SCAN_NAME = "scan.pdf"
_ENDINGS = ("txt", "md", "html", "csv", "json", "py", "eml", "rtf", "svg", "log")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--hash", action="store_true", help="without the model, for a quick look")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "files"
        folder.mkdir()
        make_files(folder, options.files)
        if options.pages:
            make_scan(folder / SCAN_NAME, options.pages)
        Crowd(Path(scratch), folder, "hash" if options.hash else "minilm").run(options.kill)


def make_files(folder: Path, count: int) -> None:
    """Small files of many kinds, each with words of its own."""
    texts = [text for text in paragraphs(None) if 200 < len(text) < 1_200]
    chosen = random.Random(11)
    for number in range(count):
        ending = _ENDINGS[number % len(_ENDINGS)]
        path = folder / f"{number % 40:02}" / f"file-{number}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_content(ending, number, chosen.choice(texts)), "utf-8")


def _content(ending: str, number: int, text: str) -> str:
    title = f"File {number}"
    plain = text.replace("<", " ").replace(">", " ").replace("&", " ")
    match ending:
        case "md":
            return f"# {title}\n\n{text}\n"
        case "html":
            return f"<html><title>{title}</title><body><h1>{title}</h1><p>{plain}</p></body></html>"
        case "csv":
            rows = [" ".join(plain.split()[n : n + 4]).replace('"', "") for n in range(0, 80, 4)]
            return "number,words\n" + "\n".join(f'{n},"{row}"' for n, row in enumerate(rows))
        case "json":
            return json.dumps({"title": title, "text": text, "number": number})
        case "py":
            return f"def file_{number}():\n    {json.dumps(text)}\n    return {number}\n"
        case "eml":
            head = f"From: a@example.org\nTo: b@example.org\nSubject: {title}\nMIME-Version: 1.0\n"
            return f"{head}Content-Type: text/plain; charset=utf-8\n\n{text}\n"
        case "rtf":
            bare = plain.replace("\\", " ").replace("{", " ").replace("}", " ")
            bare = bare.encode("ascii", "replace").decode()
            return f"{{\\rtf1\\ansi {title}\\par {bare}}}"
        case "svg":
            return f'<svg xmlns="http://www.w3.org/2000/svg"><text>{title} {plain}</text></svg>'
    return f"{title}\n\n{text}\n"


def make_scan(path: Path, pages: int) -> None:
    """Pictures of text in a PDF, as a scanner would make them at 150 dpi."""
    texts = [text for text in paragraphs(None) if len(text) > 400]
    font = ImageFont.load_default(22)
    pictures = []
    for number in range(pages):
        picture = Image.new("L", (1240, 1754), 255)
        words = " ".join(texts[number * 3 : number * 3 + 3]).split()
        lines = [" ".join(words[n : n + 11]) for n in range(0, min(len(words), 440), 11)]
        text = f"Page {number + 1} of the scan\n\n" + "\n".join(lines)
        ImageDraw.Draw(picture).multiline_text((100, 100), text, 0, font, spacing=14)
        pictures.append(picture)
    pictures[0].save(path, save_all=True, append_images=pictures[1:], resolution=150)


def print_scan(seen: list[tuple[float, Json]]) -> None:
    """A row for each page, as soon as it was begun: what was said to be left, and what was."""
    if not seen:
        return
    end = seen[-1][0]
    print("the scan, by page in hand: seconds said to be left, seconds left, ratio, progress")
    for at, job in seen:
        page = re.match(r"Reading page (\d+) of", job["message"])
        if page is not None and end > at:
            said, left = job["remaining_seconds"], end - at
            print(f"{page[1]:>4} {said:8.1f} {left:8.1f} {said / left:6.2f} {job['progress']:6.2f}")


class Crowd:
    def __init__(self, scratch: Path, folder: Path, embedder: str) -> None:
        self._folder = folder
        self._port = free_port()
        self._log = scratch / "engine.log"
        self._environ = {
            "KB_DATA_DIR": str(scratch / "data"),
            "KB_PORT": str(self._port),
            "KB_API_KEY": API_KEY,
            "KB_EMBEDDER": embedder,
            "KB_LOG_LEVEL": "warning",
        }
        self._server = self._start()

    def _start(self) -> Server:
        command = [sys.executable, "-P", "-m", "kb.engine"]
        return Server(command, self._port, self._environ, self._log)

    def run(self, kill: bool) -> None:
        files = sum(path.is_file() for path in self._folder.rglob("*"))
        connected(self._server).close()
        done = threading.Event()
        waits: dict[str, list[float]] = {"notes": [], "small files": []}
        small = threading.Thread(target=self._add_small, args=(waits, done), daemon=True)
        seen: list[tuple[float, Json]] = []
        scan = threading.Thread(target=self._follow_scan, args=(seen, done), daemon=True)
        memory: list[float] = []
        weighing = threading.Thread(target=self._weigh, args=(memory, done), daemon=True)
        began = time.perf_counter()
        adding = self._adding()
        small.start()
        scan.start()
        weighing.start()
        if kill:
            self._kill_half_way(files)
        output = adding.communicate()[0]
        took = time.perf_counter() - began
        done.set()
        small.join()
        scan.join()
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        print(f"load average {load}")
        print(f"{files} files in {took:.1f} s: {files / took:.1f} files/s")
        for name, times in waits.items():
            if times:
                p50, p95 = percentile(times, 50), percentile(times, 95)
                print(f"{len(times)} {name}: p50 {p50:.2f} s, p95 {p95:.2f} s")
        print_scan(seen)
        print(f"memory (PSS) of all processes: {max(memory):.0f} MB at most")
        self._check(files, output)
        time.sleep(60)
        print(f"a minute later: {self._server.memory_mb():.0f} MB")
        self._add_again(files)
        self._server.stop()

    def _adding(self) -> subprocess.Popen[str]:
        environ = {"KB_ENGINE_URL": f"http://127.0.0.1:{self._port}", "KB_API_KEY": API_KEY}
        kb = str(Path(sys.executable).with_name("kb"))
        return subprocess.Popen(
            [kb, "add", "--json", str(self._folder)],
            env={**os.environ, **environ},
            stdout=subprocess.PIPE,
            text=True,
        )

    def _add_small(self, waits: dict[str, list[float]], done: threading.Event) -> None:
        number = 0
        while not done.wait(PAUSE):
            number += 1
            kind = "notes" if number % 2 else "small files"
            try:
                waits[kind].append(self._takes(kind, f"About zugzwang{number}."))
            except (OSError, RuntimeError) as error:  # killed: the next one finds it again
                print(f"number {number} was cut off: {type(error).__name__}", file=sys.stderr)

    def _follow_scan(self, seen: list[tuple[float, Json]], done: threading.Event) -> None:
        """What the job of the scan said, at each change of its message, and when."""
        job_id = None
        while not done.wait(_LOOK_EVERY):
            try:
                client = Client(self._port)
                while not done.wait(_LOOK_EVERY):
                    if job_id is None:
                        running = client.call("GET", "/api/v1/jobs?status=running")["jobs"]
                        named = [job["id"] for job in running if job["filename"] == SCAN_NAME]
                        job_id = named[0] if named else None
                        continue
                    job = client.call("GET", f"/api/v1/jobs/{job_id}")
                    if not seen or seen[-1][1]["message"] != job["message"]:
                        seen.append((time.perf_counter(), job))
                    if job["status"] not in ("queued", "running"):
                        return
            except (OSError, RuntimeError):  # killed
                continue

    def _weigh(self, memory: list[float], done: threading.Event) -> None:
        while not done.wait(1.0):
            memory.append(self._server.memory_mb())

    def _takes(self, kind: str, text: str) -> float:
        client = Client(self._port)
        began = time.perf_counter()
        if kind == "notes":
            body = json.dumps({"text": text}).encode()
            job = client.call("POST", "/api/v1/jobs", body)["job_id"]
        else:
            job = client.add_file("small.txt", text.encode())
        while client.call("GET", f"/api/v1/jobs/{job}")["status"] != "done":
            time.sleep(0.02)
        client.close()
        return time.perf_counter() - began

    def _kill_half_way(self, files: int) -> None:
        client = connected(self._server)
        while client.status()["counts"]["documents"] < files / 2:
            time.sleep(0.1)
        self._server.kill()
        self._server = self._start()
        connected(self._server).close()
        print("killed and started again")

    def _check(self, files: int, output: str) -> None:
        answer = json.loads(output)
        print({name: answer[name] for name in ("added", "updated", "unchanged", "failed")})
        for file in answer["files"]:
            if file["error"]:
                print(file["path"], file["error"])
        client = connected(self._server)
        paths: Counter[str] = Counter()
        for offset in range(0, client.status()["counts"]["documents"], 100):
            page = client.call("GET", f"/api/v1/documents?limit=100&offset={offset}")
            paths.update(row["source_path"] for row in page["documents"] if row["source_path"])
        twice = [path for path, count in paths.items() if count > 1]
        print(f"{len(paths)} of {files} files are there, {len(twice)} of them more than once")
        scan = self._folder / SCAN_NAME
        if scan.exists():
            hits = client.search("page 2 of the scan", path_prefix=str(scan))["results"]
            print(f"the scan answers with pages {[hit['page'] for hit in hits[:5]]}")

    def _add_again(self, files: int) -> None:
        began = time.perf_counter()
        answer = json.loads(self._adding().communicate()[0])
        took = time.perf_counter() - began
        print(f"again: {answer['unchanged']} of {files} unchanged, {files / took:.0f} files/s")


if __name__ == "__main__":
    main()

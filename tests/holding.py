"""An engine whose jobs are at work for as long as a test likes, however fast the machine is.

It embeds what holds a certain word only while a certain file is not there. All else goes on.
"""

import os
import sys
import time
from pathlib import Path

WORD = "holdfast"
WHERE = "HELD_WHILE_THIS_IS_THERE"  # in its environment: the path of that file
TESTS = Path(__file__).parent

# What `python -m kb.engine` is, and one that can be held.
COMMAND = [
    sys.executable,
    "-P",
    "-c",
    f"import sys; sys.path.append({str(TESTS)!r}); import holding; holding.run_engine()",
]


def hold() -> None:
    """Before the engine starts, in its process."""
    from kb.engine.embed import HashEmbedder
    from kb.engine.values import Vectors

    file, embed = Path(os.environ[WHERE]), HashEmbedder.embed

    def held(self: HashEmbedder, texts: list[str]) -> Vectors:
        while any(WORD in text for text in texts) and file.exists():
            time.sleep(0.01)
        return embed(self, texts)

    HashEmbedder.embed = held  # type: ignore[method-assign]


def run_engine() -> None:
    hold()
    from kb.engine.__main__ import main

    main()

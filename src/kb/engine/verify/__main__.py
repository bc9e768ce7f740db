"""`python -m kb.engine.verify`: checks a data folder and reports as lines of JSON.

It prints a line for each step and one at the end; `kb verify --data-dir` shows them to people.
"""

import argparse
import json
import logging
import sys
from pathlib import Path
from typing import Any

from kb.engine.backup.lines import Lines
from kb.engine.backup.steps import Step
from kb.engine.errors import KbError, StorageFailed
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.verify.at_rest import AtRest, Verified, folder_of
from kb.engine.verify.report import as_values
from kb.engine.verify.verification import Run
from kb.settings import BadSetting, read_settings

WHOLE, WRONG, FAILED = 0, 1, 2


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kb.engine.verify", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--repair", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr, format="%(message)s")
    sys.exit(_run(options.data_dir, options.repair))


def _run(data_dir: Path, repair: bool) -> int:
    lines = Lines()

    def tell(current: Run) -> None:
        lines.tell(Step(current.step, current.done, current.total))

    try:
        with folder_of(data_dir, repair) as folder:
            backups: Path | None = read_settings(reader="engine")["KB_BACKUP_DIR"].value
            verified = AtRest(folder, terms, TERMS_VERSION, tell, backups).verify(repair)
    except KbError as error:
        lines.fail(error.code, error.message)
        return FAILED
    except BadSetting as error:
        lines.fail("bad_setting", str(error))
        return FAILED
    except OSError as error:
        lines.fail(StorageFailed.code, f"{error.filename}: {error.strerror}")
        return FAILED
    # Of a folder that can only be read a copy was checked, which is gone by now.
    told = json.dumps(answer(verified)).replace(str(folder.path), str(data_dir))
    lines.end(json.loads(told))
    return WHOLE if verified.is_whole else WRONG


def answer(verified: Verified) -> dict[str, Any]:
    return {
        **as_values(verified.report),
        "repaired": verified.repaired,
        "lost": verified.lost,
        "unproven": verified.unproven,
        "damaged_database": verified.damaged_database,
        "left": as_values(verified.after)["findings"] if verified.after else None,
        "hint": verified.hint,
    }


if __name__ == "__main__":
    main()

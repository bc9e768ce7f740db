"""The page's own modules, run by node: words that anybody may write into its address."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import kb.engine

PAGE = Path(kb.engine.__file__).parent / "web"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")


def run(script):
    """What a script prints that can import the page's modules, as JSON."""
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script], cwd=PAGE, capture_output=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("word", ["__proto__", "constructor", "toString", "hasOwnProperty"])
def test_a_type_that_every_object_knows_is_only_a_word(word):
    name = run(
        'import { typeName } from "./words.js";'
        f"console.log(JSON.stringify([typeName({json.dumps(word)})]))"
    )
    assert name == [word[0].upper() + word[1:]]


def test_days_of_several_years_have_their_year():
    ticks = [f"Date.UTC({year}, 0, 1) / 1000" for year in (2024, 2025)]
    shown = run(
        'import { dates } from "./words.js";'
        f"console.log(JSON.stringify([dates([{', '.join(ticks)}]), dates([{ticks[0]}])]))"
    )
    assert shown == [["1 Jan 2024", "1 Jan 2025"], ["1 Jan"]]


def test_an_address_is_read_into_its_own_fields_alone():
    browser = (
        "globalThis.location = {search: '', pathname: '/'}; globalThis.addEventListener = () => {};"
        "globalThis.history = {pushState() {}}; globalThis.scrollTo = () => {};"
        'const { address, onLink } = await import("./address.js");'
    )
    search = "/?__proto__=x&constructor=x&view=__proto__&tag=__proto__&tag=toString&since=__proto__"
    read = run(
        browser
        + f"const anchor = {{ getAttribute: () => {json.dumps(search)} }};"
        + "onLink({ target: { closest: () => anchor }, preventDefault() {} });"
        + "console.log(JSON.stringify([address.get(), {}.x ?? null]))"
    )
    assert read == [
        {
            "view": "__proto__",
            "q": "",
            "tags": ["__proto__", "toString"],
            "type": "",
            "since": "",
            "id": "",
            "chunk": None,
            "page": None,
        },
        None,
    ]

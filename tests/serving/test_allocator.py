"""Which allocator a program of ours runs on."""

import os
import subprocess
import sys

import pytest

from kb.serving import memory

PROGRAM = """
import os, sys
from kb.serving import memory
memory.keep_no_small_objects(os.environ)
print(sys.getallocatedblocks())
"""


@pytest.mark.skipif(memory._glibc() is None, reason="there is no glibc")
@pytest.mark.parametrize(("chosen", "is_cs"), [(None, True), ("pymalloc", False)])
def test_a_program_starts_again_on_the_allocator_of_c_unless_another_was_chosen(chosen, is_cs):
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONMALLOC"}
    if chosen:
        environ["PYTHONMALLOC"] = chosen
    said = subprocess.check_output([sys.executable, "-c", PROGRAM], env=environ, text=True)
    blocks = int(said)  # those of Python's own allocator
    assert (blocks == 0) is is_cs

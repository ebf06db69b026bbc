"""Two layers confine a child; each of them alone refuses files."""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers.courses import ROOT

ALONE = """
import os, sys
sys.path.insert(0, {root!r})
from grader.child import confinement, seccomp
{without}
reader, writer = os.pipe()
prepared = confinement.prepare(with_landlock=True)
prepared.enter(writer)
os.close(0)  # it may have as many files as it has
said = []
for deed in (lambda: os.open("/etc/passwd", 0), lambda: os.listdir("/")):
    try: deed()
    except OSError as error: said.append(error.errno)
    else: said.append(0)
os.write(1, repr(said).encode())
os._exit(0)
"""
BY_LANDLOCK, BY_SECCOMP = 13, 1


@pytest.mark.parametrize(
    ("without", "number"),
    [
        ("seccomp.Filter.apply = lambda self: None", BY_LANDLOCK),
        ("confinement.restrict_self = lambda ruleset: None", BY_SECCOMP),
    ],
    ids=["Landlock", "seccomp"],
)
def test_a_layer_alone_refuses_files(without: str, number: int) -> None:
    code = ALONE.format(root=str(ROOT), without=without)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == repr([number, number])


def test_memory_that_can_be_written_and_run_is_refused() -> None:
    """Learner code could write machine code there."""
    code = f"""
import mmap, sys
sys.path.insert(0, {str(ROOT)!r})
from grader.child import confinement
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
try: confinement.prepare(with_landlock=False)
except RuntimeError as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "the warm process has memory that can be both written and run\n"

"""Where graded runs work in no isolation, or in a weaker one: what `grade` leaves, and what the doctor says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_isolation import NO_SECCOMP, handed_in, handgrad
from test_worker_probe import BROKEN, NOWHERE, assert_nothing_is_read_or_written

from grader.sandbox.isolation import machine

NO_LANDLOCK = "import grader.child.confinement as c; c.landlock_version = lambda: 0"


@pytest.mark.parametrize("option", ["--out", "--one"])
def test_nothing_is_read_or_written_where_no_worker_answers(option: str, tmp_path: Path) -> None:
    """This grades a class, or one submission."""
    assert_nothing_is_read_or_written(option, tmp_path)


def test_what_an_earlier_run_left_stays_as_it_is(tmp_path: Path) -> None:
    school, out = handed_in(tmp_path), tmp_path / "grades"
    assert handgrad("grade", str(school), "--out", str(out), "--workers", "1").returncode == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (school / "bob" / "04_linear").mkdir(parents=True)
    (school / "bob" / "04_linear" / "lin_grad.py").write_text("def lin_grad(inp, out, w, b): ...\n")
    assert handgrad("grade", str(school), "--out", str(out), code=NOWHERE).returncode == 3
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_the_doctor_names_a_weaker_isolation_that_works() -> None:
    """Name the strongest isolation that works where the best one offered does not; none where nothing is weaker."""
    offered = machine()
    partly = handgrad("doctor", code=BROKEN.format(where=(offered.strongest,)))
    assert partly.returncode == 3
    named = re.findall(r"a trial run works with: --isolation (\w+)\n", partly.stdout)
    assert named == offered.weaker(offered.strongest)[:1]


def test_the_doctor_shows_what_would_be_used() -> None:
    weaker = handgrad("doctor", code=NO_LANDLOCK)
    assert weaker.returncode == 0
    assert re.search(
        r"graded runs\s+isolated: seccomp\n.*without|seccomp alone.*the kernel offers no Landlock", weaker.stdout
    )
    bare = handgrad("doctor", code=NO_SECCOMP)
    assert bare.returncode == 3
    assert re.search(r"missing\s+the kernel has no seccomp filters", bare.stdout)


def test_without_numpy_the_doctor_says_so() -> None:
    done = handgrad("doctor", code="sys.modules['torch'] = None; sys.modules['numpy'] = None")
    assert (done.returncode, done.stdout.startswith("bubblewrap")) == (3, True)


def test_the_doctor_imports_no_torch() -> None:
    """It is there for those whose torch is broken, too: the worker that it tries has one of its own."""
    done = handgrad("doctor", code="sys.modules['torch'] = None")
    assert (done.returncode, done.stdout.startswith("bubblewrap")) == (0, True)

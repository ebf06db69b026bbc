"""Classes of odd names, links, devices, modes, archives and contents: whoever is honest has all points.

One of them; `thorough/test_every_drawn_class.py` has more.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.drawn_classes import HONEST, draw_class, drop_capabilities
from helpers.fault_injection import RIGHT, Classes
from helpers.grading import SharedWorker

from grader.classroom.file_tree import displayable_name
from grader.classroom.platform_names import archive_stem
from grader.classroom.student_results import read_record
from grader.results.records import StudentResults
from grader.safe_text import no_formula
from grader.sandbox.isolation import Isolation

pytestmark = pytest.mark.slow

CONTROL = re.compile(r"[^\n -\x7e\xa0-\U0010ffff]")


@pytest.fixture
def classes(tmp_path: Path, shared_worker: Callable[[Isolation], SharedWorker]) -> Iterator[Classes]:
    with classes_in(tmp_path, shared_worker) as classes:
        yield classes


@contextmanager
def classes_in(tmp_path: Path, worker: Callable[[Any], Any]) -> Iterator[Classes]:
    """Provide the classes of a folder, to be graded with a worker for their isolation."""
    yield Classes(tmp_path, worker)
    for folder, _, _ in os.walk(tmp_path):  # whatever its mode was
        os.chmod(folder, 0o755)


def listing(root: Path) -> list[tuple[str, int]]:
    return sorted(
        (os.path.join(at, name), os.lstat(os.path.join(at, name)).st_mtime_ns)
        for at, folders, files in os.walk(root)
        for name in (*folders, *files)
    )


def test_a_drawn_class_is_graded(classes: Classes, tmp_path: Path) -> None:
    assert_graded(classes, tmp_path, 1)


def assert_graded(classes: Classes, tmp_path: Path, seed: int) -> None:
    """Check that the class of this seed is graded, not changed, and that nobody is passed over in silence."""
    names = draw_class(tmp_path / "class", RIGHT.encode(), seed)
    before = listing(tmp_path / "class")
    outcome = classes.run("out", before=drop_capabilities)
    said = outcome.said + outcome.table
    assert outcome.code in (0, 1, 3), outcome.said
    assert "Traceback" not in said
    assert not CONTROL.search(outcome.said), outcome.said
    honest = read_record(tmp_path / "out" / f"{HONEST}.json")
    assert isinstance(honest, StudentResults)
    assert [(each.status, each.score) for each in honest.exercises] == [("passed", 3.0)]
    for name in names:
        known = displayable_name(archive_stem(os.fsdecode(name)))
        assert no_formula(known) in said.replace('""', '"'), f"nothing is said of {known}"
    if outcome.code == 3:
        assert "not graded" in outcome.said
    assert listing(tmp_path / "class") == before
    assert {path.suffix for path in (tmp_path / "out").iterdir()} <= {".json", ".csv"}
    if seed % 4 == 0:  # what is kept is what was made
        again = classes.run("out", before=drop_capabilities)
        assert (again.code, again.records) == (outcome.code, outcome.records)
    shutil.rmtree(tmp_path / "class")

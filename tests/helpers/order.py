"""Order the tests, divide them into parts, and keep together what shares expensive work; a plugin of pytest."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
ONE_CLASS = ("test_nbgrader_autograde.py", "test_nbgrader_forgery.py", "test_nbgrader_traps.py")
"""Files that share one class, `graded_class`, which takes long to grade."""
OF_ONE_FILE = (
    "nbgrader notebook_kernel class_grading cli sandbox measuring every_exercise every_forgery every_release "
    "cluster real_kernel drawn_pages".split()
)
"""Beginnings, after `test_`, of the names of files whose tests share a fixture that takes long to make."""
OF_ONE_PAGE = ("test_learners.py", "test_every_check_and_grade.py")
"""Files whose tests of one exercise share the results computed for it."""
ISOLATED = ("test_isolation.py", "test_autograd_removal.py")
"""Files whose tests share a worker that takes long to start."""
PAGE = re.compile(r"\[(\d\d_\w+/\w+)")
LONGEST = "fifty_kills nbgrader_stock nbgrader_processes random_order undeclared cluster".split()
"""Beginnings of the names of the thorough files that take longest: begun last, one would run alone."""

COST_OF_FIXTURES = {"worker": 1, "each_worker": 2}
"""Which tests come later than those that need no process: they need one warm worker, or one of each mode."""
COST_OF_SLOW = 3  # the marker `slow`: the test starts programs


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of slow tests."""
    config.addinivalue_line("markers", "slow: starts programs or waits for them; it comes after everything else.")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare `--part`."""
    parser.addoption("--part", metavar="K/N", help="the K-th of N parts of the tests, each about as long")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Import the tests from the last to the first in every second process of a parallel run of the whole suite.

    Where nothing is compiled yet, as in a fresh clone, each of two processes compiles half, and not both everything.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if worker[-1] in "13579" and [Path(argument).resolve() for argument in session.config.args] == [TESTS]:
        for path in sorted(TESTS.glob("**/test_*.py"), reverse=True):
            if path.relative_to(TESTS).parts[0] not in session.config.getini("norecursedirs"):
                with contextlib.suppress(Exception, pytest.skip.Exception):  # it is reported when it is collected
                    importlib.import_module(path.stem)


def pytest_collection_finish() -> None:
    """Exempt the imported modules from garbage collection: each run of pytest inside a test collects five times."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Collect garbage once: afterwards pytest collects ten times, in search of errors in finalizers."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of `--part`, and put cheap tests first, so that a mistake shows within seconds.

    The thorough suite begins with its longest files.
    """
    if config.option.part:
        part, parts = map(int, config.option.part.split("/"))
        longest_first = sorted(items, key=lambda item: not _begins(item.path.name, LONGEST))
        mine = set(list(dict.fromkeys(map(_unit_of_parts, longest_first)))[part - 1 :: parts])
        config.hook.pytest_deselected(items=[item for item in items if _unit_of_parts(item) not in mine])
        items[:] = [item for item in items if _unit_of_parts(item) in mine]
    items.sort(key=_cost)


def _unit_of_parts(item: pytest.Item) -> str:
    """Return what is not divided between parts: the name of a file of `OF_ONE_FILE`, or the id of a test."""
    return item.path.name if _begins(item.path.name, OF_ONE_FILE) else item.nodeid


def _cost(item: pytest.Item) -> int:
    """Return the place of a test in the order: the lowest first."""
    if item.path.parent.name == "thorough" and _begins(item.path.name, LONGEST):
        return -1
    if item.get_closest_marker("slow") is not None:
        return COST_OF_SLOW
    return max((COST_OF_FIXTURES.get(name, 0) for name in getattr(item, "fixturenames", ())), default=0)


def _begins(file: str, names: Sequence[str]) -> bool:
    """Return whether a test file's name, after `test_`, begins with one of these."""
    return file.startswith(tuple(f"test_{name}" for name in names))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler that gives a process all cases of a function at once, and thorough tests one by one.

    Tests that share a page of the corpus, a class or a worker go to one process.
    """
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # else the largest groups come first

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file.endswith(ONE_CLASS) and "thorough" not in file:
                return "one class"
            if Path(file).name in OF_ONE_PAGE and (page := PAGE.search(nodeid)):
                return page[1]
            if Path(file).name in ISOLATED:
                return "isolated"
            if _begins(Path(file).name, OF_ONE_FILE):
                return file
            return nodeid if "thorough" in file else nodeid.partition("[")[0]

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            super().mark_test_complete(node, item_index, duration)
            scope = self._split_scope(self.registered_collections[node][item_index])
            if all(self.assigned_work[node][scope].values()):  # else it is counted again after each test
                del self.assigned_work[node][scope]

    return Scheduling(config, log)

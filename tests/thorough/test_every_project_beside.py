"""Somebody else's project with every argument and every course file of `test_pytest_beside`."""

from __future__ import annotations

import pytest
import test_pytest_beside
from test_pytest_beside import ARGUMENTS, COURSE_FILES

pytest_plugins = ["pytester"]


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_strangers_project_runs_as_it_does_without_handgrad(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    test_pytest_beside.test_a_strangers_project_runs_as_it_does_without_handgrad(pytester, arguments)


@pytest.mark.parametrize("name", COURSE_FILES)
def test_tests_beside_a_course_file_of_somebody_elses_run(pytester: pytest.Pytester, name: str) -> None:
    test_pytest_beside.test_tests_beside_a_course_file_of_somebody_elses_run(pytester, name)

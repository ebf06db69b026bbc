"""The plugin that pytest loads wherever handgrad is installed: beside other projects it does nothing.

It looks for a `course.yaml` of handgrad's around what pytest was asked for and what it collects. Where there is one,
`pytest_course` is imported and registered, which does the work; elsewhere nothing else of handgrad is even imported but
`pytest_folders`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .pytest_folders import COURSE, STATE, exercises_folder, holds_course, is_exercise_file, named_path


def course_plugin(config: pytest.Config) -> ModuleType:
    """Return the plugin that checks exercises, imported and registered with pytest."""
    from . import pytest_course

    if not config.pluginmanager.is_registered(pytest_course):
        config.pluginmanager.register(pytest_course, "handgrad-course")
    return pytest_course


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Check the command-line arguments before pytest does, if any of them belongs to a course.

    Returns:
        The exit code if an argument cannot be used; else `None`, and pytest goes on.
    """
    if config.option.help or config.option.version or not any(_belong_to_course(config)):
        return None
    code: int | None = course_plugin(config).check_arguments(config)
    return code


def _belong_to_course(config: pytest.Config) -> Iterator[bool]:
    """Yield for each command-line argument whether it belongs to a course.

    It does if it is a path in a course's `exercises/`, is a course, or does not exist and was typed inside a course.
    """
    for argument in config.args:
        path = named_path(config, argument)
        if (folder := exercises_folder(path)) is not None:
            yield holds_course(config, folder.parent)
        elif os.path.exists(path):
            yield holds_course(config, path)
        else:
            here = config.invocation_params.dir
            yield any(holds_course(config, folder) for folder in (here, *here.parents))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    """Collect a course's exercise files in place of every other collector, so that they are never imported here."""
    collected = yield
    if is_exercise_file(str(file_path)) and holds_course(parent.config, file_path.parent.parent.parent):
        return course_plugin(parent.config).collectors(parent, file_path)
    return collected


@pytest.hookimpl(wrapper=True)
def pytest_report_from_serializable(config: pytest.Config) -> Generator[None, Any, Any]:
    """Turn `report.handgrad`, which comes from an xdist worker as JSON values, into an `AnswerOutcome` again.

    The course plugin is registered first where this process has not done so. Reports without `handgrad` stay as they
    are.
    """
    report = yield
    if hasattr(report, "handgrad"):
        course_plugin(config).restore_outcome(report)
    return report


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return a warning for each folder that keeps a learner's progress but has lost its `course.yaml`."""
    folders = {exercises_folder(named_path(config, argument)) for argument in config.args}
    roots = sorted(folder.parent for folder in folders if folder is not None)
    lost = [root for root in roots if os.path.isdir(root / STATE) and not holds_course(config, root)]
    return [f"handgrad: there is no course in {root}/{COURSE}: put it back, or run: handgrad init new" for root in lost]

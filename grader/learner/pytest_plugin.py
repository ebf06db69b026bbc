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

from .pytest_folders import COURSE, STATE, exercises_folder, holds_course, is_taken, named_path


def course_plugin(config: pytest.Config) -> ModuleType:
    """Import the plugin that checks exercises, have pytest call its hooks from now on, and return it."""
    from . import pytest_course

    if not config.pluginmanager.is_registered(pytest_course):
        config.pluginmanager.register(pytest_course, "handgrad-course")
    return pytest_course


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Have what was asked for checked before pytest does, if any of it belongs to a course."""
    if config.option.help or config.option.version or not any(_asked_for(config)):
        return None
    code: int | None = course_plugin(config).check_arguments(config)
    return code


def _asked_for(config: pytest.Config) -> Iterator[bool]:
    """Whether each argument lies in a course's exercises, is a course, or is no path but is typed in a course."""
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
    """Take a course's exercise files out of the hands of every other collector: they are never imported here."""
    collected = yield
    if is_taken(str(file_path)) and holds_course(parent.config, file_path.parent.parent.parent):
        return course_plugin(parent.config).collectors(parent, file_path)
    return collected


@pytest.hookimpl(tryfirst=True)
def pytest_report_from_serializable(config: pytest.Config, data: dict[str, Any]) -> None:
    """Get ready for the report on an answer that a process of pytest-xdist found where this one did not look."""
    if "handgrad" in data:
        course_plugin(config)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is amiss in a folder that has been a course: the learner's progress is there."""
    folders = {exercises_folder(named_path(config, argument)) for argument in config.args}
    roots = sorted(folder.parent for folder in folders if folder is not None)
    lost = [root for root in roots if os.path.isdir(root / STATE) and not holds_course(config, root)]
    return [f"handgrad: there is no course in {root}/{COURSE}: put it back, or run: handgrad init new" for root in lost]

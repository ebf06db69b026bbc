"""A learner's folder: makes it, and puts stubs back with a copy of what they replace."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from pathlib import Path

from grader import INSTALL, UV_SOURCE, WITHOUT_CUDA
from grader.authoring import build
from grader.course.course import (
    COURSE_FILE,
    Course,
    CourseExercise,
    bundled_folder,
    find_root,
    load_course,
    package_folder,
)
from grader.course.course_file import QUIZ_FILE
from grader.errors import InfrastructureError, UsageError
from grader.files import keep_copy, remedy, write_atomically
from grader.quiz.answer_sheet import variant_of

VARIANTS = 9999
PROJECT = f"""\
# For pytest, editors and `uv sync`, which installs what this course needs: torch in its build without CUDA, and
# handgrad from the wheel that you were given, in this folder.
[project]
name = "my-gradients"
version = "0"
requires-python = ">=3.11"
dependencies = ["handgrad", "torch"]

[tool.uv]
package = false

[tool.uv.sources]
torch = {{ index = "pytorch-cpu" }}
{UV_SOURCE}
[[tool.uv.index]]
name = "pytorch-cpu"
url = "https://download.pytorch.org/whl/cpu"
explicit = true
"""
EDITOR = """\
{
  "python.testing.pytestEnabled": true,
  "python.testing.unittestEnabled": false,
  "python.testing.pytestArgs": ["exercises"]
}
"""
CONTAINER = f"""\
{{
  "name": "Gradients by hand",
  "image": "mcr.microsoft.com/devcontainers/python:3.12",
  "postCreateCommand": "{INSTALL} {WITHOUT_CUDA}",
  "customizations": {{ "vscode": {{ "extensions": ["ms-python.python"] }} }}
}}
"""
FILES = {
    "pyproject.toml": f"{PROJECT}\n{build.PYTEST_OPTIONS}",
    ".vscode/settings.json": EDITOR,
    ".devcontainer/devcontainer.json": CONTAINER,
}
"""The files of a learner's folder for pytest, uv and editors, by path."""


def init(target: Path, package: str = "") -> Course:
    """Make a workspace in `target` with the lessons and stubs of a course, but no solutions; return the new course.

    Every answer sheet gets its own random variant.

    Args:
        target: the folder, new or empty.
        package: the name of the installed package that the course comes in. If empty, it is the author's course whose
            folder this process is in, which need not be installed, or else handgrad's own.

    Raises:
        UsageError: `target` is not empty, or lies in a learner's course, or there is no such package.
        InfrastructureError: `target` cannot be written; nothing of it is left behind.
    """
    _expect_room(target)
    own = None if package else _authors_folder()
    source, was_there = load_course(own) if own else _source(package), target.is_dir()
    try:
        _fill(target, source)
    except BaseException as failure:
        _empty(target, was_there)
        if isinstance(failure, OSError):
            raise InfrastructureError(
                f"{target} cannot be made ({failure.strerror}): {remedy(failure)}, and run the same command again."
            ) from failure
        raise
    return load_course(target)


def _authors_folder() -> Path | None:
    """Return the folder of an author's own course that this process is in; `None` outside, and in handgrad's own."""
    root = find_root(Path.cwd())
    if root is None or not (root / "solutions").is_dir():
        return None
    return None if load_course(root).config.course == load_course(bundled_folder()).config.course else root


def _source(package: str) -> Course:
    """Return the course that comes in an installed package.

    Raises:
        UsageError: the package is not installed, or has no course that names it.
    """
    folder = package_folder(package)
    if folder is None:
        raise UsageError(f"There is no course in a package {package}: install it, or correct its name.")
    course = load_course(folder)
    if course.config.package != package:
        raise UsageError(f"{folder / COURSE_FILE} does not say `package: {package}`: its author has to add it.")
    return course


def _expect_room(target: Path) -> None:
    """Raise an error unless `target` can hold a new course.

    Raises:
        UsageError: the folder lies in a course already, is a file, or is not empty.
    """
    around = find_root(target)
    if around is not None and (around == target.resolve() or load_course(around).solutions.parent != around):
        where = f"{around} is a course already"
        if around == Path.cwd().resolve():
            raise UsageError(f"{where}, and you are in it: type handgrad to go on.")
        raise UsageError(f"{where}: go there and type handgrad to go on; another course needs a folder outside of it.")
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target.resolve()} is a file: name a new folder.")
    first = min(target.iterdir(), default=None) if target.exists() else None
    if first is not None:
        raise UsageError(f"{target.resolve()} already holds {first.name}: name a new folder, such as my-course.")


def _fill(target: Path, source: Course) -> None:
    """Write a learner's files into the folder `target`: lessons, stubs, a new variant of each quiz, course.yaml.

    For an author's own course, which may not be installed, the `course.yaml` names the course's folder as its package.
    """
    for unit in source.config.units:
        folder = target / "exercises" / unit.id
        folder.mkdir(parents=True)
        for lesson in sorted((source.root / "exercises" / unit.id).iterdir()):
            if lesson.is_file() and lesson.suffix != ".py" and lesson.name != QUIZ_FILE:
                shutil.copyfile(lesson, folder / lesson.name)
    for exercise in source.exercises:
        text = build.stub(exercise, new_variant())
        (target / exercise.file).write_text(text, encoding="utf-8")
    for name, text in FILES.items():
        (target / name).parent.mkdir(exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
    text = (source.root / COURSE_FILE).read_text(encoding="utf-8")
    if source.solutions.parent == source.root == _authors_folder():  # it may not be installed
        text = re.sub(r"^package:.*\n", "", text, flags=re.MULTILINE)
        text = f"package: {json.dumps(source.root.as_posix())}  # on this machine alone\n{text}"
    (target / COURSE_FILE).write_text(text, encoding="utf-8")  # last: it makes the folder a course


def _empty(target: Path, keep: bool) -> None:
    """Remove the files that a failed `init` has made.

    Args:
        target: the folder, which holds no other files.
        keep: whether the folder itself was there before, and stays.
    """
    if not target.is_dir():
        return
    made = {name.split("/")[0] for name in FILES}
    for name in ("exercises", *made, COURSE_FILE):
        if (target / name).is_dir():
            shutil.rmtree(target / name, ignore_errors=True)
        else:
            (target / name).unlink(missing_ok=True)
    if not keep:
        target.rmdir()


def new_variant() -> int:
    """Return the random number of a variant, from 1 to `VARIANTS`."""
    return 1 + secrets.randbelow(VARIANTS)


def reset(exercise: CourseExercise, variant: int | None = None) -> Path | None:
    """Put the stub of an exercise back, and keep a copy of its file.

    Args:
        exercise: the exercise.
        variant: the variant of a new answer sheet; `None` for that of the old sheet.

    Returns:
        The path of the copy; `None` if there was no file.

    Raises:
        InfrastructureError: the folder cannot be written; nothing has changed then.
    """
    if exercise.path.is_dir():
        raise InfrastructureError(f"{exercise.path} is a folder: move it away, and the stub can be put back.")
    try:
        backup = keep_copy(exercise.path, exercise.course.root)
        text = build.stub(exercise, variant_of(exercise.path) if variant is None else variant)
        write_atomically(exercise.path, text.encode())
    except OSError as error:
        raise InfrastructureError(
            f"{exercise.path} cannot be put back ({error.strerror}): {remedy(error)}. Nothing has changed."
        ) from error
    return backup

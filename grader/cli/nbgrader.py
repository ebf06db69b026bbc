"""The commands `handgrad nbgrader ...`, for instructors who grade with nbgrader."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader import INSTALL_NBGRADER
from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.nbgrader.course_folder import Written

app = typer.Typer(
    name="nbgrader",
    help="For instructors: the course as nbgrader assignments.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _root() -> None: ...


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The nbgrader course folder to make or rebuild.")],
    course: Annotated[
        Path | None, typer.Option(help="The course; the one you are in, or handgrad's own, if left out.")
    ] = None,
) -> None:
    """Make an nbgrader course folder, or rebuild it; your own cells and assignments stay."""
    from grader.course.course import load_course, notebook_course

    _require_nbgrader()
    from grader.nbgrader.course_folder import build_folder

    found = load_course(course) if course is not None else notebook_course(Path.cwd())
    written = build_folder(found, folder)
    _print_summary(folder, written, found.config.units[0].id)


def _require_nbgrader() -> None:
    if importlib.util.find_spec("nbgrader") is None:
        raise UsageError(f"nbgrader is not installed here: run {INSTALL_NBGRADER}")


def _print_summary(folder: Path, written: Written, unit: str) -> None:
    for file in written.files:
        print(folder / file)
    print(f"{len(written.files)} file(s) written." if written.files else "Everything is up to date.")
    if written.backups:
        print(f"Copies of what was replaced: {', '.join(str(folder / backup) for backup in written.backups)}")
    if written.own_config:
        print(f"{folder / 'nbgrader_config.py'} has changes of your own and was left as it is.")
    if written.unprotected:
        print("It does not name handgrad.SecureExecute, so autograde would run student code unprotected.")
    go = "" if folder.resolve() == Path.cwd() else f"cd {folder}, then "
    print(f"next: {go}nbgrader generate_assignment {unit}")

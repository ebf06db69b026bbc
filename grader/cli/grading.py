"""The commands for instructors that set up and run grading: here, on Gradescope, and with nbgrader."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader import INSTALL_NBGRADER
from grader.errors import UsageError
from grader.safe_text import escaped, one_line, plain, print_message

if TYPE_CHECKING:
    from grader.classroom.class_file import ClassPlan, GradeOptions
    from grader.classroom.class_folder import ClassFolder
    from grader.classroom.class_grading import Grading
    from grader.classroom.roster import Roster
    from grader.classroom.score_changes import ScoreChanges
    from grader.course.course import Course, CourseExercise
    from grader.nbgrader.course_folder import FolderChanges
    from grader.results.records import Isolation
    from grader.sandbox.isolation import Machine
    from grader.sandbox.worker_probe import Versions

ALONE = "--one PATH --out FILE grades what one student handed in"
IsolationOption = Annotated[
    Literal["box", "kernel", "seccomp", "none"] | None,
    typer.Option(
        help="How learner code is isolated: box (bubblewrap, Landlock and seccomp), kernel (without bubblewrap), "
        "seccomp alone, or none; the strongest that this machine offers, if left out."
    ),
]


# --- grade ---------------------------------------------------------------------------------------------------------


def grade(
    submissions: Annotated[
        str | None,
        typer.Argument(
            metavar="SUBMISSIONS",
            help="The submissions of the class: a folder with a folder or an archive for each student, or a download "
            "from Moodle, Canvas, Gradescope or GitHub as it came. Or the name of an assignment in class.yaml, which "
            "can be left out if it is the only one.",
        ),
    ] = None,
    one: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Grade the submission of one student, and write its record to the file of --out."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder for STUDENT.json and grades.csv; grades if left out."),
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(metavar="UNIT", help="Only this unit, such as 04_linear or 4; may be repeated.")
    ] = None,
    exercise: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this exercise; may be repeated.")
    ] = None,
    student: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this student; may be repeated. Results of others in the folder are kept."
        ),
    ] = None,
    roster: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV list of the class: results get the names of the students in it."),
    ] = None,
    layout: Annotated[
        Literal["plain", "sections", "canvas", "moodle", "gradescope", "github"] | None,
        typer.Option(
            help="How SUBMISSIONS is laid out: a folder or an archive for each student (plain), sections of them, or a "
            "platform's download; recognised, if left out."
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            "-y",
            help="Enter 0 points, without asking, for whoever has nothing that can be graded.",
        ),
    ] = False,
    workers: Annotated[
        int,
        typer.Option(metavar="N", min=1, max=256, help="How many worker processes; one for each core if left out."),
    ] = os.cpu_count() or 1,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="The time limit of one exercise file; the course's if left out."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=2**53 - 1,
            help="The seed of an earlier run, to repeat it; that of the results folder if left out, or a new one.",
        ),
    ] = None,
    isolation: IsolationOption = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Grade on a Dask cluster: the address of its scheduler, its scheduler file, or local.",
        ),
    ] = None,
    gradebook: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Enter the scores in nbgrader's gradebook, such as sqlite:///gradebook.db, too."
        ),
    ] = None,
    format: Annotated[Literal["text", "json"], typer.Option("--format", help="Text for people, JSON for programs.")] = (
        "text"
    ),
) -> None:
    """For instructors: grade a class; one result file per student, and grades.csv."""
    from grader.classroom.class_file import (
        GRADES,
        GradeOptions,
        grade_options,
        read_class_file,
        refuse_record_of_class,
        remark_on_rules,
    )
    from grader.classroom.class_grading import Grading
    from grader.classroom.course_choice import open_for_class
    from grader.classroom.grade_terminal import grade_with_progress, with_time_limit

    plan = read_class_file(Path.cwd())
    course = open_for_class(Path.cwd(), plan.content.course)
    course = course if timeout is None else with_time_limit(course, timeout)
    plan = plan.with_unit_ids(course.config)
    units = [course.config.unit_id(name) for name in unit or ()]
    if one is not None:
        if out is None:
            raise UsageError(f"{ALONE}: name the record with --out, as in --out ada.json.")
        if submissions is not None or roster or gradebook or student or layout or scheduler:
            raise UsageError(f"{ALONE}: leave out what is for a class.")
        refuse_record_of_class(plan, out)
        _print_remarks([remark_on_rules(plan, str(one))])
        alone = Grading(workers, "none", seed, _chosen_exercises(course, units, exercise or ()))
        raise typer.Exit(_grade_one(course, one, out, alone, isolation, yes=yes, as_json=format == "json"))
    given = GradeOptions(out=out, units=units, exercises=exercise or (), roster=roster, layout=layout)
    options = grade_options(plan, submissions, given)
    _print_remarks([options.remark])
    from grader.classroom.exercise_names import ExerciseNames
    from grader.nbgrader.database import needs_nbgrader

    folder, assignment = options.out or GRADES, options.assignment
    class_folder, roster_of_class = _find_class(course, plan, options, folder, is_layout_given=layout is not None)
    with _naming_line(plan, assignment, "units"):
        names = ExerciseNames(course, _chosen_exercises(course, options.units, options.exercises) or course.exercises)
    changes = _score_changes(plan, assignment, class_folder, names.wanted, roster_of_class)
    grading = Grading(
        workers, "none", seed, names.wanted, frozenset(student or ()), changes=changes, is_assignment=bool(assignment)
    )
    entering: AbstractContextManager[set[str]] = nullcontext(set())
    if gradebook is not None:
        with needs_nbgrader():
            from grader.nbgrader.gradebook_entry import entering_in_gradebook
        entering = entering_in_gradebook(
            names, gradebook, class_folder, folder, changes.adjustments, assignment, plan.content.assignments
        )
    with entering as old_points, _prepare_machines(grading, isolation, scheduler) as isolated:
        code = grade_with_progress(course, class_folder, folder, isolated, yes=yes, as_json=format == "json")
    raise typer.Exit(max(code, 1) if old_points else code)


def _print_remarks(remarks: Iterable[str]) -> None:
    """Print remarks on stderr, each in one line; nothing for an empty one."""
    for remark in filter(None, remarks):
        print_message(one_line(plain(remark)), sys.stderr)


def _grade_one(
    course: Course,
    submission: Path,
    record: Path,
    grading: Grading,
    isolation: Isolation | None,
    *,
    yes: bool,
    as_json: bool,
) -> int:
    """Grade the submission of one student on this machine, and print the points, or the record.

    Args:
        course: the course.
        submission: the submission, a folder, an archive or a file.
        record: the file that the student's record is written to.
        grading: the options of the run.
        isolation: how learner code is isolated; `None` for the strongest way.
        yes: whether to give 0 points if nothing can be graded.
        as_json: whether to print the record in place of the points.

    Returns:
        The exit code: 3 if something could not be graded, 1 if an answer is wrong, else 0.
    """
    from grader.classroom.class_grading import grade_submission
    from grader.classroom.grade_terminal import isolated_here, score_line
    from grader.results.records import dumps, exit_code

    results = grade_submission(course, submission, record, isolated_here(grading, isolation), yes=yes)
    if as_json:
        print(escaped(dumps(results)), end="")
    else:
        print_message(score_line(results))
    return exit_code(results.exercises)


def _find_class(
    course: Course, plan: ClassPlan, options: GradeOptions, results_folder: Path, *, is_layout_given: bool
) -> tuple[ClassFolder, Roster | None]:
    """Find the submissions of a class, match them with its roster, and let the user confirm a doubtful layout.

    Args:
        course: the course.
        plan: the `class.yaml` of the current folder.
        options: what is graded.
        results_folder: the folder for the results, which may hold those of earlier runs.
        is_layout_given: whether the command line names the layout.

    Returns:
        The submissions, and the roster; `None` if the class has none.

    Raises:
        UsageError: the submissions or the roster cannot be read, or the user refuses the layout; names the line of
            `class.yaml` for an assignment.
    """
    from grader.classroom.class_folder import find_submissions
    from grader.classroom.grade_terminal import confirm_layout
    from grader.classroom.roster import match_roster
    from grader.classroom.score_changes import class_roster

    is_named = options.layout is not None
    with _naming_line(plan, options.assignment, "layout" if is_named and not is_layout_given else "submissions"):
        class_folder = find_submissions(course, options.submissions, results_folder, options.layout)
    roster = None
    if options.roster is not None:
        exercises = [exercise.id for exercise in course.exercises]
        roster = class_roster(plan, options.roster, options.assignment, results_folder, exercises)
        class_folder = match_roster(class_folder, roster)
    confirm_layout(class_folder, options.submissions, is_named=is_named, plan=plan, assignment=options.assignment)
    return class_folder, roster


@contextmanager
def _naming_line(plan: ClassPlan, assignment: str, key: str) -> Iterator[None]:
    """Name the line of `class.yaml` in an error that is raised within the block.

    Args:
        plan: the `class.yaml`.
        assignment: the name of the assignment that is graded; empty if it is none, and no line is named.
        key: the key of the assignment that is at fault.

    Raises:
        UsageError: the block raised one; with the line before its message.
    """
    try:
        yield
    except UsageError as error:
        if not assignment:
            raise
        raise UsageError(f"{plan.line('assignments', assignment, key)}: {error}") from error


def _score_changes(
    plan: ClassPlan, assignment: str, class_folder: ClassFolder, exercises: Iterable[CourseExercise],
    roster: Roster | None,
) -> ScoreChanges:  # fmt: skip
    """Return what changes the points of these exercises in an assignment, after printing the remarks on it.

    Args:
        plan: the `class.yaml`.
        assignment: the name of the assignment; empty if it is none, and nothing changes points.
        class_folder: the submissions of the class.
        exercises: the exercises that are graded.
        roster: the roster of the class; `None` if it has none.
    """
    from grader.classroom.score_changes import score_changes

    points = {exercise.id: exercise.points for exercise in exercises}
    changes = score_changes(plan, assignment, class_folder, points, roster)
    _print_remarks(changes.remarks)
    return changes


@contextmanager
def _prepare_machines(grading: Grading, isolation: Isolation | None, scheduler: str | None) -> Iterator[Grading]:
    """Choose the isolation on the machines that grade, and yield the options of the run with it.

    A cluster is connected within the block.

    Args:
        grading: the options of the run.
        isolation: how learner code is isolated; `None` for the strongest way that all these machines have.
        scheduler: the address of a Dask cluster's scheduler, its scheduler file, or "local"; `None` for this machine.
    """
    if not scheduler:
        from grader.classroom.grade_terminal import isolated_here

        yield isolated_here(grading, isolation)
        return
    from grader.classroom.dask_pool import connected

    with connected(scheduler, grading.workers) as cluster:
        on_cluster = replace(grading, cluster=cluster, isolation=cluster.isolation(isolation))
        print_message(f"handgrad: grading on {cluster.size}, isolated: {on_cluster.isolation}.", sys.stderr)
        yield on_cluster


def _chosen_exercises(course: Course, units: Sequence[str], exercises: Sequence[str]) -> tuple[CourseExercise, ...]:
    """Return the exercises of these units and with these ids; empty, which means the whole course, if none is named.

    Raises:
        UsageError: there is no such unit or exercise; names the nearest.
    """
    for name in units:
        if {exercise.unit for exercise in course.select([name])} != {name}:
            is_exercise = any(exercise.id == name for exercise in course.exercises)
            further = f", or --exercise {name}" if is_exercise else ""
            raise UsageError(f"{name} is no unit: name one such as {course.config.units[0].id}{further}.")
    chosen = [*units, *(course.find(name).id for name in exercises)]
    return course.select(chosen) if chosen else ()


# --- gradescope ----------------------------------------------------------------------------------------------------


def gradescope(
    autograder: Annotated[
        Path, typer.Argument(metavar="ZIP", help="The file of the autograder, such as my-course.zip.")
    ],
    unit: Annotated[
        list[str] | None, typer.Option(metavar="UNIT", help="Only this unit, such as 04_linear or 4; may be repeated.")
    ] = None,
    submission: Annotated[
        Path | None,
        typer.Option(
            "--try", metavar="SUBMISSION", help="Grade a submission as Gradescope will, with the autograder in ZIP."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file for the results of --try; they are printed, if left out."),
    ] = None,
    isolation: IsolationOption = None,
) -> None:
    """For instructors: make the autograder that Gradescope takes; with --try, grade a submission as it will."""
    if submission is None:
        _make_autograder(autograder, unit or ())
        return
    if unit:
        raise UsageError("--unit chooses what an autograder is made with: name it without --try.")
    try_autograder = _try_unpacked if autograder.is_dir() else _try_zip
    raise typer.Exit(try_autograder(autograder, submission, out, isolation))


def _make_autograder(target: Path, units: Sequence[str]) -> None:
    """Write the zip file of an autograder for these units, or for the whole course, and print how to try it."""
    import secrets

    from grader.classroom.course_choice import class_course
    from grader.export.gradescope import autograder
    from grader.files import write_atomically

    course = class_course(Path.cwd())
    content = autograder(course, units, secrets.token_hex(16))
    try:
        write_atomically(target, content)
    except OSError as error:
        raise UsageError(f"{target} cannot be written ({error.strerror}): name another file.") from error
    print_message(f"{target} is the autograder of {course.config.title} ({len(content) / 1e6:.1f} MB). It holds the")
    print_message("solutions: keep it to yourself. What it will say of a submission:")
    print(f"  handgrad gradescope {target} --try SUBMISSION")


def _try_unpacked(source: Path, submission: Path, out: Path | None, isolation: Isolation | None) -> int:
    """Grade a submission by an unpacked autograder, and write or print the results.

    Args:
        source: the folder of the autograder.
        submission: the submission, a folder or a file.
        out: the file for the results; `None` to print them.
        isolation: how student code is isolated; the strongest way if `None`.

    Returns:
        The exit code: 3 where there is no score, else 0.
    """
    from grader.export.graded_work import ExportOptions
    from grader.export.gradescope import graded_submission, open_source, results_json
    from grader.sandbox.isolation import choose, machine

    course, secret = open_source(source)
    handed_in = submission.resolve()  # the platform names this folder, and no student can make it a link
    record = graded_submission(course, secret, handed_in, choose(machine(), isolation))
    content = results_json(course, record, ExportOptions())["results.json"]
    if out is None:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    else:
        out.write_bytes(content)
    return 3 if record.score is None else 0


def _try_zip(autograder: Path, submission: Path, out: Path | None, isolation: Isolation | None) -> int:
    """Grade a submission by a zipped autograder, with the version of handgrad in it, and write or print the results.

    Args:
        autograder: the zip file.
        submission: the submission, a folder or a file.
        out: the file for the results; `None` to print them.
        isolation: how student code is isolated; the strongest way if `None`.

    Returns:
        The exit code of the command in the zip file: 3 where there is no score, else 0.

    Raises:
        UsageError: the file is no autograder.
    """
    with tempfile.TemporaryDirectory(prefix="handgrad-") as source:
        try:
            with zipfile.ZipFile(autograder) as archive:
                archive.extractall(source)
        except (OSError, zipfile.BadZipFile) as error:
            says = f"{autograder} is no autograder: make one with: handgrad gradescope my-course.zip"
            raise UsageError(says) from error
        options = ["--try", str(submission.resolve())]
        options += ["--out", str(out.resolve())] if out is not None else []
        options += ["--isolation", isolation] if isolation is not None else []
        command = [sys.executable, "-m", "handgrad", "gradescope", ".", *options]
        return subprocess.run(command, cwd=source, env={**os.environ, "PYTHONPATH": source}, check=False).returncode


# --- doctor --------------------------------------------------------------------------------------------------------

LIBRARIES = ("torch", "numpy")
Lines = list[tuple[str, str]]  # a name and a text each, printed in two columns


def doctor() -> None:
    """For instructors: show how learner code is isolated here by `grade`, and try it once."""
    from grader.sandbox.isolation import machine

    here = machine()
    outcome, works = _graded_run_lines(here)
    print("\n".join(f"{name:<12}{says}" for name, says in (*_isolation_lines(here), *outcome)))
    raise typer.Exit(0 if works else 3)


def _isolation_lines(machine: Machine) -> Lines:
    """Return a line on each isolation that says whether this machine offers it."""
    return [
        ("bubblewrap", machine.no_box or "usable: no network, no files, no other processes"),
        ("landlock", f"version {machine.landlock}" if machine.landlock else "not offered by this kernel"),
        ("seccomp", machine.no_seccomp or "usable: system calls are filtered"),
        ("user", "root: learner code runs as nobody" if machine.root else "unprivileged"),
    ]


def _graded_run_lines(machine: Machine) -> tuple[Lines, bool]:
    """Return lines on what graded runs use, and whether a trial run works in the isolation that `grade` chooses.

    If it does not, a line names the first weaker isolation in which one works.
    """
    from grader.sandbox.isolation import weakness

    chosen = machine.strongest
    if chosen == "none":
        lines = [("graded runs", "refused without --isolation none"), ("missing", machine.missing)]
        return [*_installed_lines(), *lines], False
    outcome = _try_graded_run(chosen)
    if isinstance(outcome, str):
        weaker = next((name for name in machine.weaker(chosen) if not isinstance(_try_graded_run(name), str)), None)
        lines = [("graded runs", f"do not work in isolation {chosen}"), ("why", outcome)]
        if weaker:
            lines.append(("", f"a trial run works with: --isolation {weaker}"))
        return [*_installed_lines(), *lines], False
    lines = [
        ("python", f"{outcome.python} ({sys.executable})"),
        *((name, getattr(outcome, name)) for name in LIBRARIES),
        ("graded runs", f"isolated: {chosen}"),
        *([("", says)] if (says := weakness(chosen, machine)) else []),
        ("tried", "a graded run gave the right answer"),
    ]
    return lines, True


def _try_graded_run(isolation: Isolation) -> Versions | str:
    """Run a trial job in this isolation; return the versions that it reports, or why it failed."""
    from grader.errors import InfrastructureError
    from grader.sandbox.worker import start_worker
    from grader.sandbox.worker_probe import worker_versions

    try:
        with start_worker(isolation) as worker:
            return worker_versions(worker)
    except (InfrastructureError, ImportError) as error:
        return str(error)


def _installed_lines() -> Lines:
    """Return lines on the installed versions of Python and the libraries."""
    lines = [("python", f"{sys.version.split()[0]} ({sys.executable})")]
    for name in LIBRARIES:
        try:
            lines.append((name, version(name)))
        except PackageNotFoundError:
            lines.append((name, f"not installed: run `pip install {name}`"))
    return lines


# --- nbgrader ------------------------------------------------------------------------------------------------------

nbgrader_app = typer.Typer(
    name="nbgrader",
    help="For instructors: the course as nbgrader assignments.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@nbgrader_app.callback()
def _nbgrader() -> None:
    """Make `nbgrader` a group of commands; typer calls this before each of them."""


@nbgrader_app.command("init", short_help="Make an nbgrader course folder, or rebuild it.")
def nbgrader_init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The nbgrader course folder to make or rebuild.")],
    course: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder of the course; if left out, the one you are in, or else that of the notebooks that are "
            "there, or else handgrad's own.",
        ),
    ] = None,
) -> None:
    """Make an nbgrader course folder, or rebuild it; your own cells and assignments stay."""
    from grader.classroom.course_choice import course_of_notebooks
    from grader.course.course import load_course

    if importlib.util.find_spec("nbgrader") is None:
        raise UsageError(f"nbgrader is not installed here: run {INSTALL_NBGRADER}")
    from grader.nbgrader.course_folder import build_folder

    opened = load_course(course) if course is not None else course_of_notebooks(Path.cwd(), folder)
    written = build_folder(opened, folder)
    _print_summary(folder, written, opened.config.units[0].id)


def _print_summary(folder: Path, written: FolderChanges, unit: str) -> None:
    """Print the files that were written to an nbgrader course folder, and the command, for `unit`, that comes next."""
    for file in written.files:
        print(folder / file)
    print(f"{len(written.files)} file(s) written." if written.files else "Everything is up to date.")
    if written.backups:
        print_message(f"Copies of what was replaced: {', '.join(str(folder / backup) for backup in written.backups)}")
    if written.own_config:
        print_message(f"{folder / 'nbgrader_config.py'} has changes of your own and was left as it is.")
    if written.course_line:
        print_message(
            f"It does not name this course: write {written.course_line} into it, below a line import os, and in place "
            "of any line that names another course."
        )
    if written.unprotected:
        print_message("It does not name handgrad.SecureExecute, so autograde would run student code unprotected.")
    go = "" if folder.resolve() == Path.cwd() else f"cd {folder}, then "
    for outdated in written.regraded:
        print_message(
            f"{outdated} was graded with other points than the course has now: to grade it again, run "
            f"{go}nbgrader generate_assignment {outdated} --force and nbgrader autograde {outdated}; "
            f"files that are no notebooks: handgrad grade SUBMISSIONS --unit {outdated} --gradebook URL"
        )
    for released in written.released:
        print_message(f"{released} is released in an older form: nbgrader generate_assignment {released} --force")
    if not (written.released or written.regraded):
        print(f"next: {go}nbgrader generate_assignment {unit}")

"""The `handgrad` command: one function per command, each a few lines over the modules below."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from grader import __version__
from grader.errors import KEPT, HandgradError, InfrastructureError, UsageError, fault_report
from grader.safe_text import one_line

from . import author as author_command
from . import report as report_command
from .card import card
from .doctor import doctor
from .export import export
from .grade import grade
from .gradescope import gradescope
from .lesson import lesson
from .nbgrader import app as nbgrader_app
from .quiz import quiz
from .review import review
from .train import train

if TYPE_CHECKING:
    from grader.course.course import Course
    from grader.learner.session import Session
    from grader.rendering.picture_data import ExercisePictures

PLAIN = "--plain"


class _EndOfInputError(Exception):
    """Carry an `EOFError` of a command past click, which would treat it as Ctrl-D.

    Args:
        cause: the error.
    """

    def __init__(self, cause: EOFError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Commands(TyperGroup):
    """Hold the commands; what they raise reaches `main`."""

    def invoke(self, context: Any) -> Any:
        """Run the command, replacing an `EOFError` by one that click does not treat as Ctrl-D."""
        try:
            return super().invoke(context)
        except EOFError as error:
            raise _EndOfInputError(error) from error


app = typer.Typer(
    name="handgrad",
    cls=_Commands,
    help="Learn to write gradients by hand: fill in the stubs under exercises/, and each mistake is named.\n\n"
    "Begin with handgrad init my-course. In that folder, handgrad without a command shows what to do next, and "
    "checks every file as you save it.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(nbgrader_app)


def _ids(incomplete: str) -> list[str]:
    """Exercise and unit ids for shell completion."""
    try:
        course = _course()
    except HandgradError:
        return []
    names = [exercise.id for exercise in course.exercises] + [unit.id for unit in course.config.units]
    return [name for name in names if name.startswith(incomplete)]


Targets = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID|UNIT|PATH]...", help="What to check; everything if left out.", autocompletion=_ids),
]
ExerciseId = Annotated[str, typer.Argument(metavar="ID", help="An exercise, such as lin_grad.", autocompletion=_ids)]
Format = Annotated[Literal["text", "json"], typer.Option("--format", help="Text for people, JSON for programs.")]


def main() -> None:
    """Run the command; report every problem in one sentence, with an exit code that is 3 for a fault of ours."""
    arguments = sys.argv[1:]
    if PLAIN in arguments:  # wherever it stands
        arguments = [PLAIN, *(each for each in arguments if each != PLAIN)]
    try:
        app(arguments, prog_name="handgrad")
    except HandgradError as error:
        _fail(str(error), error.exit_code)
    except _EndOfInputError as error:  # by what click would end with exit code 1, as if somebody had given up
        _fail(one_line(fault_report(error.cause)), 3)
    except BrokenPipeError:  # whoever read what is printed has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}: put that right and run the command again. {KEPT}", 3)
    except Exception as error:
        _fail(one_line(fault_report(error)), 3)


def _fail(message: str, code: int) -> None:
    print(f"handgrad: {message}", file=sys.stderr)
    sys.exit(code)


def _plain(wanted: bool) -> None:
    if wanted:
        from grader.rendering.console import ask_for_plain

        ask_for_plain()


def _version(wanted: bool) -> None:
    if wanted:
        print(f"handgrad {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    plain: Annotated[
        bool,
        typer.Option(
            PLAIN, callback=_plain, help="Text alone, for screen readers, as with ACCESSIBLE=1; any command has it."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        from grader.learner.watch import watch

        watch(_course())


@app.command()
def init(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="A new folder for your course.")] = None,
    package: Annotated[
        str, typer.Option("--from", metavar="PACKAGE", help="The installed package of another course.")
    ] = "",
    own: Annotated[
        Path | None, typer.Option("--course", metavar="DIR", help="For authors: begin a course of your own there.")
    ] = None,
) -> None:
    """Make a folder with all lessons and stubs, ready to start."""
    from grader.learner import workspace

    if own is not None and folder is None and not package:
        _new_course(own)
        return
    if folder is None or own is not None:
        raise UsageError("Name one new folder, such as handgrad init my-course; handgrad init -h has more.")
    course = workspace.init(folder, package)
    here = course.root == Path.cwd().resolve()
    go = "Start here:" if here else f"Go there, and start:\n  cd {shlex.quote(str(folder))}"
    print(f"{course.root if here else folder} is ready. {go}\n  handgrad")
    print("It checks each exercise as you save it: open the same folder in your editor, beside the terminal.")
    first = folder / "exercises" / course.exercises[0].unit / "README.md"
    print(f"It begins with the lesson in {first}: read it with handgrad lesson, or handgrad lesson --browser.")


def _new_course(folder: Path) -> None:
    """Begin a course of an author's own, and say how it goes on."""
    from grader.authoring.scaffold import FIRST, UNIT, new_course

    course = new_course(folder)
    print(f"{folder} is a course with one exercise, {FIRST}. Go there, and write your own:")
    print(f"  cd {shlex.quote(str(folder))}\n  handgrad new cube_grad --unit {UNIT}\n  handgrad audit")
    wheel, package = "pip wheel . --no-deps", course.config.package
    print(f"To give it to learners: {wheel}. They install that beside handgrad, and type:")
    print(f"  handgrad init my-folder --from {package}")


app.command()(lesson)


@app.command()
def check(
    targets: Targets = None,
    show: Annotated[
        bool,
        typer.Option(
            "--show", help="Draw each wrong answer as a heat map, and where in the forward pass it goes wrong."
        ),
    ] = False,
    format: Annotated[
        Literal["text", "json", "html"],
        typer.Option("--format", help="Text for people, JSON for programs, or a page of HTML with the pictures."),
    ] = "text",
) -> None:
    """Check exercises and say which mistake each wrong answer is."""
    from grader.learner.check_terminal import check_and_record, print_results
    from grader.results.records import exit_code

    course = _course()
    chosen = course.select(targets or [])
    with _session(course) as session:
        album: list[ExercisePictures] | None = [] if show or format == "html" else None
        results = check_and_record(session, chosen, album)
        print_results(session, chosen, results, album, format)
    raise typer.Exit(exit_code(results))


@app.command()
def hint(
    exercise_id: ExerciseId,
    answer_name: Annotated[str, typer.Argument(metavar="[ANSWER]", help="One answer, such as w.g.")] = "",
) -> None:
    """Show the next hint for an answer, one step at a time."""
    from grader.learner.check_terminal import last_result
    from grader.rendering.console import print_lines, report_width
    from grader.rendering.render_text import answer_in_need, hint_lines

    course = _course()
    exercise = course.find(exercise_id)
    with _session(course) as session:
        answer = answer_in_need(last_result(session, exercise), answer_name)
        if answer is None:
            print_lines([((f"{exercise.file} passes: there is nothing to hint at.", "good"),)])
            return
        if answer.status == "error":
            raise InfrastructureError(answer.message)
        seen = min(session.progress.hints_seen(exercise, answer) + 1, len(answer.hints))
        session.progress.record_hints_seen(exercise, answer, seen)
        session.progress.save()
        print_lines(
            [((f"{exercise.file}  {answer.name}", "bold"),), *hint_lines(exercise, answer, report_width(), seen)]
        )
        print_lines([((note, "todo"),) for note in session.progress.notes])


@app.command("list")
def list_() -> None:
    """List all exercises and how far you are."""
    from grader.learner.progress import by_unit, next_exercise
    from grader.learner.progress_terminal import exercise_lines, progress_bars
    from grader.rendering.console import print_lines, report_width
    from grader.rendering.render_text import next_step

    course = _course()
    with _session(course) as session:
        for unit in course.config.units:
            print_lines([((f"{unit.id}  {unit.title}", "bold"),)])
            for exercise in course.exercises:
                if exercise.unit == unit.id:
                    print_lines(exercise_lines(session, exercise))
        units = by_unit(course, session.progress, [unit.id for unit in course.config.units])
        print_lines(progress_bars(units, report_width()))
        print_lines([next_step(next_exercise(session.progress, course.exercises))])


@app.command()
def reset(
    exercise_id: ExerciseId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Put an exercise's stub back; what you wrote is kept as a backup."""
    from grader.learner import workspace
    from grader.rendering.console import print_lines

    course = _course()
    exercise = course.find(exercise_id)
    if exercise.path.exists() and not yes:
        _confirm(f"Put the stub of {exercise.file} back? What you wrote is kept as a backup.")
    backup = workspace.reset(exercise)
    with _session(course) as session:
        session.progress.forget(exercise)
        session.progress.save()
    kept = f" What was there is in {backup.relative_to(course.root)}." if backup else ""
    print_lines([((f"{exercise.file} is a fresh stub.{kept}", ""),)])


@app.command()
def solution(exercise_id: ExerciseId) -> None:
    """Show the worked solution of an exercise that you have passed."""
    from grader.authoring.build import worked_text
    from grader.learner.check_terminal import last_result

    course = _course()
    exercise = course.find(exercise_id)
    with _session(course) as session:
        result = last_result(session, exercise)
    if result.status != "passed":
        raise UsageError(f"{exercise.file} does not pass yet: first get a hint with: handgrad hint {exercise.id}")
    print(worked_text(exercise))


app.command()(quiz)
app.command(short_help="Go over the mistakes that you have met most.")(review)
app.command(short_help="Train a model with your own gradients.")(train)
app.command(short_help="Show what you solved in a unit, and which mistakes you overcame.")(card)


app.command(short_help="For instructors: grade a class into a folder.")(grade)
app.command(short_help="For instructors: show how a class is doing.")(report_command.report)
app.command(short_help="For instructors: write results as another platform reads them.")(export)
app.command(short_help="For instructors: make an autograder for Gradescope.")(gradescope)
app.command(short_help="For instructors: show how code is isolated here.")(doctor)
app.command()(author_command.new)
app.command()(author_command.build)
app.command()(author_command.audit)


def _confirm(question: str) -> None:
    """Go on only if the answer is yes."""
    try:
        sure = typer.confirm(question)
    except typer.Abort as left:  # Ctrl-C, or nobody there to answer
        print("\nNothing was changed. To be asked nothing: --yes", file=sys.stderr)
        raise typer.Exit(130 if isinstance(left.__context__, KeyboardInterrupt) else 1) from None
    if not sure:
        print("Nothing was changed.")
        raise typer.Exit(1)


def _course() -> Course:
    from grader.course.course import open_course

    return open_course(Path.cwd())


def _session(course: Course) -> Session:
    from grader.learner.session import Session

    return Session(course)

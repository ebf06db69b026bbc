"""The commands for learners: begin a course, read lessons, check exercises, take quizzes, and see one's progress."""

from __future__ import annotations

import json
import shlex
import sys
import textwrap
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from grader.errors import HandgradError, InfrastructureError, UsageError
from grader.safe_text import print_message

if TYPE_CHECKING:
    from grader.course.course import Course, CourseExercise
    from grader.learner.card import Card
    from grader.learner.session import Session
    from grader.rendering.picture_data import ExercisePictures
    from grader.rendering.render_text import Line

WHOLE_COURSE = "all"
STOPPED = 130  # the exit code after Ctrl-C


def _course() -> Course:
    """Return the course of the working folder, or of a folder above it."""
    from grader.course.course import open_course

    return open_course(Path.cwd())


def _session(course: Course) -> Session:
    """Return a learner's session of a course: its progress, and a worker that is started at the first check."""
    from grader.learner.session import Session

    return Session(course)


def _unit_ids(incomplete: str) -> list[str]:
    """Return the ids of units that begin with this text, for shell completion; none outside a course."""
    try:
        units = _course().config.units
    except HandgradError:
        return []
    return [unit.id for unit in units if unit.id.startswith(incomplete)]


def _quiz_units(incomplete: str) -> list[str]:
    """Return the ids of units with a quiz that begin with this text, for shell completion; none outside a course."""
    try:
        exercises = _course().exercises
    except HandgradError:
        return []
    return [exercise.unit for exercise in exercises if exercise.is_quiz and exercise.unit.startswith(incomplete)]


def _ids(incomplete: str) -> list[str]:
    """Return the ids of exercises and units that begin with this text, for shell completion; none outside a course."""
    try:
        course = _course()
    except HandgradError:
        return []
    names = [exercise.id for exercise in course.exercises] + [unit.id for unit in course.config.units]
    return [name for name in names if name.startswith(incomplete)]


ExerciseId = Annotated[str, typer.Argument(metavar="ID", help="An exercise, such as lin_grad.", autocompletion=_ids)]


# --- init ----------------------------------------------------------------------------------------------------------


def init(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="A new folder for your course.")] = None,
    package: Annotated[
        str,
        typer.Option(
            "--from", metavar="PACKAGE", help="The installed package of another course; handgrad's own if left out."
        ),
    ] = "",
    own: Annotated[
        Path | None,
        typer.Option("--course", metavar="DIR", help="For authors: begin a course of your own in this new folder."),
    ] = None,
) -> None:
    """Make a folder with all lessons and stubs, ready to start."""
    from grader.learner import workspace
    from grader.rendering.console import print_lines

    if own is not None and folder is None and not package:
        _begin_own_course(own)
        return
    if folder is None or own is not None:
        raise UsageError("Name one new folder, such as handgrad init my-course; handgrad init -h has more.")
    course = workspace.init(folder, package)
    is_here = course.root == Path.cwd().resolve()
    first = folder / "exercises" / course.exercises[0].unit / "README.md"
    lines = [
        f"{course.root if is_here else folder} is ready. {'Start here:' if is_here else 'Go there, and start:'}",
        *([] if is_here else [f"  cd {shlex.quote(str(folder))}"]),
        "  handgrad",
        "It checks each exercise as you save it: open the same folder in your editor, beside the terminal.",
        f"It begins with the lesson in {first}: read it with handgrad lesson, or handgrad lesson --browser.",
    ]
    if Path(course.config.package).is_absolute():
        taken = f"It takes the right answers from {course.config.package}: it is for you, to see what learners see."
        lines = [taken, *lines]
    print_lines([((line, ""),) for line in lines])


def _begin_own_course(folder: Path) -> None:
    """Begin an author's own course in a folder, and print what to do next."""
    from grader.authoring.scaffold import FIRST, UNIT, new_course

    course = new_course(folder)
    print_message(f"{folder} is a course with one exercise, {FIRST}. Go there, and write your own:")
    print(f"  cd {shlex.quote(str(folder))}\n  handgrad new cube_grad --unit {UNIT}\n  handgrad audit")
    wheel, package = "pip wheel . --no-deps", course.config.package
    print_message(f"To give it to learners: {wheel}. They install that beside handgrad, and type:")
    print(f"  handgrad init my-folder --from {package}")


# --- lesson --------------------------------------------------------------------------------------------------------


def lesson(
    unit: Annotated[
        str,
        typer.Argument(
            metavar="UNIT", help="A unit, such as 04_linear or 4; the next one if left out.", autocompletion=_unit_ids
        ),
    ] = "",
    browser: Annotated[bool, typer.Option("--browser", help="Open it in the browser, with its pictures.")] = False,
) -> None:
    """Read a unit's lesson, in the terminal or in the browser."""
    from grader.learner import lesson as lessons
    from grader.learner.progress import Progress, next_exercise
    from grader.rendering.console import has_pager, pager, print_lines, terminal

    course = _course()
    following = next_exercise(Progress.load(course.root), course.exercises) or course.exercises[0]
    unit_id = lessons.unit_named(course, unit) if unit else following.unit
    if browser:
        print_lines([((lessons.open_in_browser(course, unit_id), ""),)])
        return
    text, console = lessons.lesson_text(course, unit_id), terminal()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a lesson has signs that not every encoding has
    if not sys.stdout.isatty():
        print(text, end="")
    elif has_pager():
        with pager(console):
            lessons.print_in(console, text)
    else:
        lessons.print_in(console, text)


# --- check, hint, list, reset, solution ----------------------------------------------------------------------------


def check(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID|UNIT|PATH",
            help="Exercises, units (04_linear or 4) or files to check; the whole course if left out.",
            autocompletion=_ids,
        ),
    ] = None,
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


def hint(
    exercise_id: ExerciseId,
    answer_name: Annotated[
        str,
        typer.Argument(
            metavar="ANSWER", help="One answer, such as w.g; if left out, the first wrong one, else the first to do."
        ),
    ] = "",
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


def list_() -> None:
    """List all exercises and how far you are."""
    from grader.learner.check_terminal import exercise_lines, progress_bars
    from grader.learner.progress import by_unit, next_exercise
    from grader.rendering.console import print_paged, report_width
    from grader.rendering.render_text import next_step

    course = _course()
    with _session(course) as session:
        lines: list[Line] = []
        for unit in course.config.units:
            lines.append(((f"{unit.id}  {unit.title}", "bold"),))
            for exercise in course.exercises:
                if exercise.unit == unit.id:
                    lines += exercise_lines(session, exercise)
        units = by_unit(course, session.progress, [unit.id for unit in course.config.units])
        lines += [*progress_bars(units, report_width()), next_step(next_exercise(session.progress, course.exercises))]
    print_paged(lines)


def reset(
    exercise_id: ExerciseId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
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


def _confirm(question: str) -> None:
    """Ask a question, and return if the answer is yes; else exit with code 1, or with `STOPPED` after Ctrl-C.

    Raises:
        typer.Exit: the answer is no, or none was given.
    """
    from grader.rendering.console import terminal

    console = terminal()
    if console.is_terminal:
        question = textwrap.fill(question, console.width - len(" [y/N]: "), break_long_words=False)
    try:
        is_sure = typer.confirm(question)
    except typer.Abort as abort:  # Ctrl-C, or nobody there to answer
        print("\nNothing was changed. To be asked nothing: --yes", file=sys.stderr)
        raise typer.Exit(STOPPED if isinstance(abort.__context__, KeyboardInterrupt) else 1) from None
    if not is_sure:
        print("Nothing was changed.")
        raise typer.Exit(1)


def solution(exercise_id: ExerciseId) -> None:
    """Show the worked solution of an exercise that you have passed."""
    from grader.authoring.build import worked_text
    from grader.learner.check_terminal import last_result
    from grader.rendering.console import print_source

    course = _course()
    exercise = course.find(exercise_id)
    with _session(course) as session:
        result = last_result(session, exercise)
    if result.status != "passed":
        raise UsageError(f"{exercise.file} does not pass yet: first get a hint with: handgrad hint {exercise.id}")
    print_source(worked_text(exercise))


# --- quiz ----------------------------------------------------------------------------------------------------------


def quiz(
    unit: Annotated[
        str,
        typer.Argument(
            metavar="UNIT",
            help="A unit, such as 04_linear or 4; the next open one if left out (with --export: all of them).",
            autocompletion=_quiz_units,
        ),
    ] = "",
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For authors: write FILE.xml for Moodle, or FILE.zip in QTI 2.1."),
    ] = None,
    variant: Annotated[
        int, typer.Option(metavar="N", min=0, help="With --export: which variant of the numbers to ask about.")
    ] = 0,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin again with other numbers; the old sheet is kept.")
    ] = False,
) -> None:
    """Take a unit's quiz, one question at a time."""
    from grader.course.course import open_authors_course

    course = _course() if export is None else open_authors_course(Path.cwd())
    quizzes = _quizzes_of(course, unit)
    if export is None:
        raise typer.Exit(_take_quiz(course, quizzes, is_named=bool(unit), fresh=fresh))
    from grader.authoring.quiz_export import export_quizzes

    print("\n".join(export_quizzes(course, quizzes, export, variant)))


def _quizzes_of(course: Course, unit: str) -> list[CourseExercise]:
    """Return the quiz of a unit, or all quizzes of the course if `unit` is empty.

    Raises:
        UsageError: there is no such unit, or it has no quiz.
    """
    quizzes = [exercise for exercise in course.select([unit] if unit else []) if exercise.is_quiz]
    if not quizzes:
        units = [exercise.unit for exercise in course.exercises if exercise.is_quiz]
        raise UsageError(f"{unit or 'this course'} has no quiz. Units with one: {', '.join(units) or 'none yet'}.")
    return quizzes


def _take_quiz(course: Course, quizzes: list[CourseExercise], *, is_named: bool, fresh: bool) -> int:
    """Ask the questions of the named quiz, or of the first that is not finished; return the exit code.

    Args:
        course: the course.
        quizzes: the quizzes to choose from; at least one.
        is_named: whether to take the first of the quizzes even if it is finished.
        fresh: whether to put a new sheet with other numbers in place of the old one, which is kept.

    Returns:
        0 if the whole quiz is right, 130 if the learner left by Ctrl-C, else 1.
    """
    from grader.learner import workspace
    from grader.learner.quiz_session import QuizSession
    from grader.learner.quiz_terminal import first_open_quiz, take_quiz

    variant = workspace.new_variant()
    sittings = [QuizSession(exercise, variant) for exercise in quizzes]
    with _session(course) as session:
        taking = sittings[0] if is_named else first_open_quiz(session, sittings)
        if fresh:
            backup = workspace.reset(taking.exercise, variant)
            kept = f" The old one is kept in {backup.relative_to(course.root)}." if backup else ""
            print_message(f"This is a new sheet, with other numbers.{kept}")
        return take_quiz(session, taking)


# --- review, train, card -------------------------------------------------------------------------------------------


def review(
    questions: Annotated[int, typer.Option(metavar="N", min=0, help="How many questions to ask at most.")] = 5,
    output: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Text for people, JSON for programs.")
    ] = "text",
) -> None:
    """Go over the mistakes that you have met most: quiz questions on them, and what to write once more."""
    from grader.learner import workspace
    from grader.learner.review import as_json, make_review, run_review

    course = _course()
    with _session(course) as session:
        chosen = make_review(course, session.progress, questions)
        if output == "json":
            print(json.dumps(as_json(chosen)))
            return
        raise typer.Exit(run_review(session, chosen, workspace.new_variant()))


def train(
    unit: Annotated[
        str, typer.Argument(metavar="UNIT", help="A unit, such as 07_network or 7.", autocompletion=_unit_ids)
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where the picture goes, an SVG with a page and the weights beside it; into .handgrad/ if left out.",
        ),
    ] = None,
    output: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Text for people, JSON for programs.")
    ] = "text",
) -> None:
    """Train a model with your own gradients, beside torch's: 07_network, 12_attention or 13_engine."""
    from grader.files import FOLDER, write_atomically
    from grader.learner.check_terminal import check_and_record
    from grader.learner.lesson import unit_named

    course = _course()
    unit_id = unit_named(course, unit)
    with _session(course) as session:
        session.warm_up()
        from grader.learner import training_view
        from grader.learner.training import load_training
        from grader.learner.training import train as train_unit

        exercises = [course.find(name) for name in load_training(course, unit_id).exercises]
        results = check_and_record(session, exercises)
        with training_view.shown_live(quiet=output == "json") as on_part:
            trained = train_unit(course, unit_id, results, session.warm_up(), on_part)
    picture = out or course.root / FOLDER / f"train_{unit_id}.svg"
    files = training_view.files_beside(picture)
    write_atomically(picture, training_view.svg_of(trained).encode())
    write_atomically(files["page"], training_view.training_page(trained).encode())
    write_atomically(files["weights"], trained.weights_file())
    if output == "json":
        print(training_view.as_json(trained, picture))
    else:
        training_view.print_training(trained, picture)
    if trained.is_stopped:
        raise typer.Exit(STOPPED)
    raise typer.Exit(0 if trained.is_goal_reached and trained.first_difference is None else 1)


def card(
    unit: Annotated[
        str,
        typer.Argument(
            metavar="UNIT|all",
            help="A unit, such as 04_linear or 4; the last with something solved if left out. all: the whole course, "
            "as a page with your own curves, and as a picture.",
            autocompletion=_unit_ids,
        ),
    ] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the picture goes, an SVG; into .handgrad/ if left out.")
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Your name on the page of the whole course; a line for it if left out.")
    ] = "",
) -> None:
    """Show a unit's card: what you solved, which mistakes you met and overcame; as text, and as a picture to share."""
    from grader.learner.card import card_of
    from grader.learner.progress import Progress
    from grader.rendering.console import print_lines

    course = _course()
    progress = Progress.load(course.root)
    cards = [card_of(course, progress, unit.id) for unit in course.config.units]
    if name and unit != WHOLE_COURSE:
        raise UsageError(
            "a card has no name on it: handgrad card all --name writes it on the certificate of the course."
        )
    lines = _certificate(course, cards, out, name) if unit == WHOLE_COURSE else _unit_card(course, cards, unit, out)
    print_lines([*lines, *(((note, "todo"),) for note in progress.notes)])


def _certificate(course: Course, cards: Sequence[Card], out: Path | None, name: str) -> list[Line]:
    """Write the certificate of the whole course as an SVG picture and an HTML page, and return its lines of text.

    The page has the curves that `handgrad train` has drawn.

    Args:
        course: the course.
        cards: the cards of the course's units.
        out: the path of the picture; `None` for `certificate.svg` in the folder where progress is kept. The page lies
            beside it, with the ending `.html`.
        name: the learner's name, for the page alone; if empty, the page has a line to write it on.
    """
    from datetime import date

    from grader.files import FOLDER, write_atomically
    from grader.learner.card import certificate_lines, certificate_page, certificate_svg

    files = {card.unit: course.root / FOLDER / f"train_{card.unit}.svg" for card in cards}
    curves = {name: file.read_text(encoding="utf-8") for name, file in files.items() if file.is_file()}
    picture = out or course.root / FOLDER / "certificate.svg"
    page = picture.with_suffix(".html")
    write_atomically(picture, certificate_svg(cards, date.today()).encode())
    write_atomically(page, certificate_page(cards, curves, date.today(), name).encode())
    return [*certificate_lines(cards), ((f"page: {page}", "dim"),), ((f"picture: {picture}", "dim"),)]


def _unit_card(course: Course, cards: Sequence[Card], unit: str, out: Path | None) -> list[Line]:
    """Write the card of one unit as a picture, and return the card as lines of text.

    Args:
        course: the course.
        cards: the cards of all units.
        unit: the id of the unit; empty for the last unit with something solved, or else the first unit.
        out: the file of the picture; `None` for one in the folder where progress is kept.
    """
    from grader.files import FOLDER, write_atomically
    from grader.learner.card import card_lines, card_svg
    from grader.learner.lesson import unit_named

    last = next((card.unit for card in reversed(cards) if card.solved), None)
    unit_id = unit_named(course, unit) if unit else last
    chosen = next((card for card in cards if card.unit == unit_id), cards[0])
    picture = out or course.root / FOLDER / f"card_{chosen.unit}.svg"
    write_atomically(picture, card_svg(chosen).encode())
    return [*card_lines(chosen), ((f"picture: {picture}", "dim"),)]

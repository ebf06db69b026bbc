"""The `handgrad` command: its subcommands in the order of their use, and what becomes of an error."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from grader import __version__
from grader.errors import KEPT, HandgradError, fault_report
from grader.safe_text import one_line, print_message

from . import author, grading, learner, results

PLAIN = "--plain"


class _EndOfInputError(Exception):
    """Carry an `EOFError` of a command past click, which would treat it as Ctrl-D.

    Args:
        cause: the error.
    """

    def __init__(self, cause: EOFError) -> None:
        """Take the message of the cause as this error's."""
        super().__init__(str(cause))
        self.cause = cause


class _Commands(TyperGroup):
    """The group of all commands, which lets errors pass to `main`."""

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


def main() -> None:
    """Run the command, report every error in one sentence, and exit.

    The exit code is 3 for a fault of handgrad's, and 1, without a message, if whoever reads the output has ended.
    """
    arguments = sys.argv[1:]
    if PLAIN in arguments:  # after a command, too
        arguments = [PLAIN, *(argument for argument in arguments if argument != PLAIN)]
    try:
        app(arguments, prog_name="handgrad")
    except HandgradError as error:
        _fail(str(error), error.exit_code)
    except _EndOfInputError as error:  # by what click would end with exit code 1, as if somebody had given up
        _fail(one_line(fault_report(error.cause)), 3)
    except BrokenPipeError:  # the program that reads the output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}: put that right and run the command again. {KEPT}", 3)
    except Exception as error:
        _fail(one_line(fault_report(error)), 3)


def _fail(message: str, code: int) -> None:
    """Print `handgrad:` and a message to stderr, and exit with this code."""
    print_message(f"handgrad: {message}", sys.stderr)
    sys.exit(code)


def _turn_on_plain_text(is_given: bool) -> None:
    """Make all output of this run plain text if the option `--plain` is given."""
    if is_given:
        from grader.rendering.console import ask_for_plain

        ask_for_plain()


def _print_version(is_given: bool) -> None:
    """Print the version of handgrad if the option `--version` is given.

    Raises:
        typer.Exit: it is given; the run ends with exit code 0.
    """
    if is_given:
        print(f"handgrad {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    plain: Annotated[
        bool,
        typer.Option(
            PLAIN,
            callback=_turn_on_plain_text,
            help="Plain text, nothing drawn and nothing drawn over, for screen readers, as with ACCESSIBLE=1; any "
            "command takes it.",
        ),
    ] = False,
) -> None:
    """Run watch mode in the course of the current folder if `handgrad` is called without a subcommand."""
    if context.invoked_subcommand is None:
        from grader.course.course import open_course
        from grader.learner.watch import watch

        watch(open_course(Path.cwd()))


app.command()(learner.init)
app.command()(learner.lesson)
app.command()(learner.check)
app.command()(learner.hint)
app.command("list")(learner.list_)
app.command(short_help="Put an exercise's stub back, with a backup of your work.")(learner.reset)
app.command()(learner.solution)
app.command()(learner.quiz)
app.command(short_help="Go over the mistakes that you have met most.")(learner.review)
app.command(short_help="Train a model with your own gradients.")(learner.train)
app.command(short_help="Show what you solved in a unit, and which mistakes you overcame.")(learner.card)

app.command(short_help="For instructors: grade a class into a folder.")(grading.grade)
app.command(short_help="For instructors: show how a class is doing.")(results.report)
app.command(short_help="For instructors: write results as another platform reads them.")(results.export)
app.command(short_help="For instructors: make an autograder for Gradescope.")(grading.gradescope)
app.command(short_help="For instructors: show how code is isolated here.")(grading.doctor)
app.command(short_help="For authors: begin an exercise, ready to fill in.")(author.new)
app.command()(author.build)
app.command()(author.audit)
app.add_typer(grading.nbgrader_app)

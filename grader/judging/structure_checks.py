"""Check a submission before any number is compared: is the function there, does it run, does it change arguments?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from grader.child.learner_imports import is_passed_over
from grader.course.course import CourseExercise
from grader.course.sampling import Array
from grader.diagnosis import hints
from grader.diagnosis.exceptions import diagnose_error
from grader.diagnosis.mistake import Mistake
from grader.reference.compare import agrees
from grader.reference.trial import Trial
from grader.sandbox.checked_reply import Call, Facts
from grader.sandbox.definitions import definitions
from grader.sandbox.source_text import Source

from .given_answer import TrialCalls

CELL_SHARE = 0.25  # of the time limit, for each cell of a notebook


def check_source(facts: Facts, exercise: CourseExercise, source: Source) -> Mistake | None:
    """Return what is wrong with the whole file or notebook, so that no answer can be judged; `None` if nothing is.

    Args:
        facts: the worker's reply on how the source was run.
        exercise: the exercise.
        source: the learner's source.
    """
    limit = exercise.course.policy.time_limit
    if facts.error is not None:
        return diagnose_error(facts.error, source, time_limit=limit)
    endless = next(
        (call.error for call in facts.calls if call.error is not None and call.error.kind == "timeout"), None
    )
    if endless is not None and exercise.function.is_test:  # an exception would be its answer, and this is none
        return diagnose_error(endless, source, time_limit=limit)
    if not facts.calls:
        failed = _failed_cell(facts, exercise.id, source, limit * CELL_SHARE)
        return failed or Mistake("missing-function", _missing_function(facts, exercise, source))
    if facts.stub:
        return Mistake("todo", "not attempted yet")
    if source.has_body(exercise.id, exercise.function.faulty):
        return Mistake("todo", "nothing has been changed yet; one line of the body is wrong")
    return None


def notes(facts: Facts, source: Source) -> Iterator[str]:
    """Yield notes on what of the source was not run, and on what it uses that a graded run does not have."""
    yield from source.notes
    for line in facts.ignored:
        yield f"skipped, because it is not Python{source.location(line)}"
    for construct in facts.unusual:
        where = source.location(construct.line, construct.file)
        if is_passed_over(construct.name):
            library = construct.name.removeprefix("torch.utils.").partition(".")[0]
            yield f"{library} is ignored in checks and graded runs{where}"
        else:
            yield f"{construct.name} is not available in graded runs{where}"


def passed_over_inside(facts: Facts, function: str, source: Source) -> str:
    """Return a clause on the lines of a function that were not run because they are not Python; empty if none."""
    inside = sorted(source.lines_of(function) & set(facts.ignored)) if facts.ignored else []
    if not inside:
        return ""
    more = f" (and {len(inside) - 1} more)" if len(inside) > 1 else ""
    return f"{source.describe_command(inside[0])}{more}, which was skipped: write it as Python"


def _failed_cell(facts: Facts, function: str, source: Source, cell_limit: float) -> Mistake | None:
    """Return the mistake that the cell which defines the function failed, or was not read; `None` if no cell did.

    Args:
        facts: the worker's reply, with the errors of cells.
        function: the name of the function.
        source: the notebook.
        cell_limit: the time limit of a cell in seconds, for the message.
    """
    if source.skipped_cells:
        where = source.file or source.cell_name(source.skipped_cells[0])
        return Mistake("error", f"{where} was not read, because it is too long; hand in the code alone")
    errors = {failed.cell: failed.error for failed in facts.failed}
    number = source.last_failed_cell(function, errors)
    return None if number is None else diagnose_error(errors[number], source, time_limit=cell_limit)


def _missing_function(facts: Facts, exercise: CourseExercise, source: Source) -> str:
    """Return the message that the function is not defined, naming the most similar function that is."""
    function, others = exercise.id, {other.id for other in exercise.course.exercises}
    defined = facts.defined if source.file else [name for name in facts.defined if name not in others]
    near = difflib.get_close_matches(function, defined, 1, 0.4) or defined[:1]
    if not source.file:
        if bound := definitions(source.cells, {function}, literals_count=True):
            where = source.cell_name(bound[-1].cell)
            return f"{where} binds {function} to a value that is not a function: give that value another name"
        if near:
            return f"a cell of the notebook defines `{near[0]}`, but none defines `{function}`: rename it"
        return f"no cell of the notebook defines {function}: write it in the cell of this exercise"
    if near:
        return f"{source.file} defines `{near[0]}`, not `{function}`: rename the function to `{function}`"
    return f"{source.file} does not define {function}: write it, or get the stub back with: handgrad reset {function}"


def check_inputs(trial_calls: TrialCalls) -> dict[bool, Mistake]:
    """Return the mistake of the first argument that a call changed, by whether the change is within rounding.

    Args:
        trial_calls: the calls of the learner's function, each with its trial.

    Returns:
        Under `False` the first real change, under `True` the first one within rounding; a key is missing if there is
        none.
    """
    mistakes: dict[bool, Mistake] = {}
    for trial, call in trial_calls:
        for only_rounded, wrong in _changed_inputs(call, trial):
            mistakes.setdefault(only_rounded, wrong)
    return mistakes


def _changed_inputs(call: Call, trial: Trial) -> Iterator[tuple[bool, Mistake]]:
    """Yield a mistake for each argument, or `.g` of an argument, that the call changed.

    Args:
        call: the call of the learner's function.
        trial: the trial, with the arguments as they were before the call.

    Yields:
        Whether the change is within rounding, as where the step of a finite difference was added and subtracted again;
        and the mistake.
    """
    for name, argument in trial.arguments.items():
        if not isinstance(argument, Array):
            if name in call.after:
                yield False, Mistake("mutated-input", f"the function changes {name} in place")
            continue
        watched = [(name, call.after.get(name), argument.values)] if name in call.after else []
        if argument.g is not None and f"{name}.g" not in trial.expected:
            watched.append((f"{name}.g", call.stored.get(name, {}).get("g"), argument.g))
        for part, value, before in watched:
            after = value.array if value is not None else None
            if after is None or after.shape != before.shape or after.tobytes() != before.tobytes():
                message = f"the function changes {part} in place"
                if after is None or not agrees(after, before, "float64"):
                    yield False, Mistake("mutated-input", message)
                else:
                    message = f"{message}: adding a step and subtracting it again changes the last digits"
                    yield True, Mistake("mutated-input", message, hints.CHANGED_BY_ROUNDING)

"""The forward pass of a trial as a program, recorded once for each trial.

Whoever needs the program alone need not import the operators, which takes a tenth of the time of a whole check.
"""

from __future__ import annotations

from dataclasses import replace

from grader.course.exercise import Declaration, Exercise, InSteps
from grader.program.program import Program
from grader.program.recording import Unrecordable, record
from grader.reference.compare import scaled_error
from grader.reference.trial import IMPOSSIBLE, Trial

FAITHFUL = 1e-6  # how far a recorded gradient may be from the reference, in proportion to its greatest entry


def program_of(exercise: Exercise, trial: Trial) -> Program:
    """Return the forward pass of a trial as a program, which is recorded once and kept in the trial.

    Raises:
        ValueError: the forward pass cannot be recorded, or cannot be run.
    """

    def recorded() -> Program:
        """Record the forward pass."""
        forward = exercise.forward.values if isinstance(exercise.forward, InSteps) else exercise.forward
        program = record(
            forward,
            {name: trial.inputs[name] for name in exercise.forward_names},
            trial.out_g,
            targets=[answer.wrt for answer in exercise.answers if answer.wrt in exercise.step_names],
            output_name=exercise.output_name,
            upstream_name=exercise.upstream_name if exercise.gives_upstream else "",
        )
        names = {each.wrt: each.name for each in exercise.answers if each.stored and each.name != each.wrt}
        return replace(program, sizes=trial.setting.sizes, gradient_names=names)

    program: Program = trial.remember("program", recorded)
    return program


def faithful_program_of(exercise: Declaration, trial: Trial) -> Program | None:
    """Return the forward pass of a trial as a program, if its right gradients are those of the reference; else `None`.

    `None` is also returned for an exercise without a forward pass, and where the forward pass cannot be recorded.
    """
    if not isinstance(exercise, Exercise):
        return None
    try:
        program = program_of(exercise, trial)
        trial.remember("program is faithful", lambda: _check_faithful(exercise, trial, program))
    except (Unrecordable, *IMPOSSIBLE):
        return None
    return program


def _check_faithful(exercise: Exercise, trial: Trial, program: Program) -> None:
    """Compare the right gradients and Jacobians of a program with the reference, and raise an exception if they differ.

    Raises:
        Unrecordable: they differ, so that autograd differentiates some operation in another way.
    """
    for answer in exercise.answers:
        if answer.kind in ("gradient", "jacobian") and trial.expected[answer.name] is not None:
            gradients = program.gradients() if answer.kind == "gradient" else program.jacobians()
            if scaled_error(gradients[answer.wrt], trial.new(answer)) > FAITHFUL:
                raise Unrecordable(f"the {answer.kind} of {answer.wrt} differs from the reference")

"""Misconceptions that a spec declares as edits of the recorded forward pass: the gradients of the edited program.

Reading a spec imports neither numpy nor torch: the forward pass is recorded when a gradient is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grader.course.exercise import Misconception

if TYPE_CHECKING:
    from grader.program.operation import Array
    from grader.program.program import Program

# Takes the program of a trial, and any inputs of the forward pass by name; returns the program of the mistake.
Edit = Callable[..., "Program"]


@dataclass(frozen=True)
class EditedGradient:
    """The wrong formula of a misconception: a function that returns the gradient of a target in an edited program.

    Args:
        forward: the forward pass.
        edit: takes the recorded program, and inputs by name; returns the edited program.
        target: the input whose gradient is returned.
    """

    forward: Callable[..., Any]
    edit: Edit
    target: str

    @property
    def __signature__(self) -> inspect.Signature:
        """Return the signature: the inputs of the forward pass, and the upstream gradient `out_g`."""
        parameters = inspect.signature(self.forward).parameters
        upstream = inspect.Parameter("out_g", inspect.Parameter.KEYWORD_ONLY)
        return inspect.Signature([*parameters.values(), upstream])

    def __call__(self, out_g: object, **inputs: object) -> Array:
        """Return the wrong gradient, shaped like the target.

        Args:
            out_g: the upstream gradient, shaped like the output.
            inputs: the inputs of the forward pass by name.
        """
        gradients = _edited_program(self.forward, self.edit, tuple(inputs.items()), out_g).gradients()
        return gradients[self.target]


def edited(
    forward: Callable[..., Any], targets: str, code: str, edit: Edit, says: str, *hints: str
) -> tuple[Misconception, ...]:
    """Return a misconception for each of some targets: that its gradient is the one of an edited program.

    Args:
        forward: the forward pass of the exercise.
        targets: the names of inputs, separated by blanks, such as `"x w"`.
        code: the public code of the mistake, such as `"wrong-sign"`.
        edit: takes the program of the forward pass, and any of its inputs by name; returns the edited program. It finds
            its places by `Program.nodes_of`.
        says: a clause that says what is wrong.
        hints: up to three, from a question to almost the answer.
    """
    return tuple(
        Misconception(code, f"{target}.g", EditedGradient(forward, edit, target), says, hints)
        for target in targets.split()
    )


@lru_cache(64)  # the same edit is asked for each target
def _edited_program(
    forward: Callable[..., Any], edit: Edit, inputs: tuple[tuple[str, Any], ...], out_g: object
) -> Program:
    """Record a forward pass, apply `edit` to the program, and return the edited one; it is kept for other targets.

    Args:
        forward: the forward pass.
        edit: takes the program, and any of the inputs by name; returns the edited program.
        inputs: pairs of a name and a value; a tensor is recognised by its identity.
        out_g: the upstream gradient, shaped like the output.
    """
    program, known = _recorded_program(forward, inputs, out_g), dict(inputs)
    names = list(inspect.signature(edit).parameters)[1:]
    return edit(program, **{name: known[name] for name in names})


@lru_cache(16)  # every edit is tried on the same trials
def _recorded_program(forward: Callable[..., Any], inputs: tuple[tuple[str, Any], ...], out_g: object) -> Program:
    """Return the forward pass of one trial as a program, which is kept for other edits.

    Args:
        forward: the forward pass.
        inputs: pairs of a name and a value; a tensor is recognised by its identity.
        out_g: the upstream gradient, shaped like the output.
    """
    from grader.program.recording import record

    return record(forward, dict(inputs), out_g)

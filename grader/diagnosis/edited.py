"""Misconceptions that a spec declares as edits: the gradients of the forward pass's program after one of them.

Reading a spec imports neither numpy nor torch: the forward pass is recorded when a gradient is asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grader.exercise import Misconception

if TYPE_CHECKING:
    from grader.program.operation import Array
    from grader.program.program import Program

# Takes the program of a trial, and any inputs of the forward pass by name; returns the program of the mistake.
Edit = Callable[..., "Program"]


@dataclass(frozen=True)
class EditedGradient:
    """The rule of a misconception: the gradient of a target in an edited program.

    Args:
        forward: the forward pass.
        edit: what the mistake makes of its program.
        target: the input whose gradient is meant.
    """

    forward: Callable[..., Any]
    edit: Edit
    target: str

    @property
    def __signature__(self) -> inspect.Signature:
        """Return the inputs of the forward pass, and the upstream gradient."""
        parameters = inspect.signature(self.forward).parameters
        upstream = inspect.Parameter("out_g", inspect.Parameter.KEYWORD_ONLY)
        return inspect.Signature([*parameters.values(), upstream])

    def __call__(self, out_g: object, **inputs: object) -> Array:
        """Return the wrong gradient, shaped like the target."""
        gradients = _edited(self.forward, self.edit, tuple(inputs.items()), out_g).gradients()
        return gradients[self.target]


def edited(
    forward: Callable[..., Any], targets: str, code: str, edit: Edit, says: str, *hints: str
) -> tuple[Misconception, ...]:
    """Return a misconception about the gradient of each target.

    Args:
        forward: the forward pass of the exercise.
        targets: names of inputs, with blanks between them.
        code: see `Misconception`, as for `says` and `hints`.
        edit: takes the program of the forward pass and any of its inputs by name; returns that of the mistake. It finds
            its places by `Program.nodes_of`.
        says: the fact.
        hints: up to three steps.
    """
    return tuple(
        Misconception(code, f"{target}.g", EditedGradient(forward, edit, target), says, hints)
        for target in targets.split()
    )


@lru_cache(64)  # the same edit is asked for each target
def _edited(forward: Callable[..., Any], edit: Edit, inputs: tuple[tuple[str, Any], ...], out_g: object) -> Program:
    """Return the edited program of a trial, whose tensors are told apart by their identity."""
    program, known = _recorded(forward, inputs, out_g), dict(inputs)
    names = list(inspect.signature(edit).parameters)[1:]
    return edit(program, **{name: known[name] for name in names})


@lru_cache(16)  # every edit is tried on the same trials
def _recorded(forward: Callable[..., Any], inputs: tuple[tuple[str, Any], ...], out_g: object) -> Program:
    """Return the forward pass of a trial as a program."""
    from grader.program.recording import record

    return record(forward, dict(inputs), out_g)

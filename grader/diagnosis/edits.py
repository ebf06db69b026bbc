"""Edits of a program: an operator, where it is made, and what was chosen there."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.program.operation import NoCandidate
from grader.program.program import Program

from .operators.contract import Operator
from .operators.places import Spot


@dataclass(frozen=True)
class Edit:
    """An operator, made at all places of a spot with one choice.

    Args:
        operator: what is done.
        spot: where.
        choice: what was chosen there.
    """

    operator: Operator[Hashable]
    spot: Spot
    choice: Hashable

    @property
    def code(self) -> str:
        """The public code of the mistake."""
        return self.operator.code_of(self.choice)

    @cached_property
    def rank(self) -> float:
        """The likelihood rank: the operator's, and more for a wider place or for some iterations only."""
        return self.operator.rank + self.spot.rank

    def apply(self, program: Program) -> Program:
        """Return the program that a learner with this mistake wrote; where the operator does not apply, it is right.

        Args:
            program: the program of any trial, perhaps with other edits.

        Raises:
            NoCandidate: it applies at none of the places.
        """
        edited = program
        for place in self.spot.places(program.right):
            edited = self.operator(edited, place, self.choice) or edited
        if edited is program:
            raise NoCandidate(f"{self.operator.name} does not apply")
        return edited

    def message(self, program: Program) -> str:
        """Return a clause about the answer; `program` is the right one of the trial that it is made for."""
        clause = self.operator.message.format(**self.operator.message_fields(program, self.spot, self.choice))
        return f"{clause}, {self.spot.iterations}" if self.spot.iterations else clause


def edits_of(operators: tuple[Operator[Hashable], ...], program: Program) -> Iterator[Edit]:
    """Yield every edit that is seen in a program, in the order of the operators' ranks and the widths of the places."""
    spots = [
        (operator.rank + spot.rank, operator, spot, choice)
        for operator in operators
        for spot, choice in operator.edits(program)
    ]
    for _, operator, spot, choice in sorted(spots, key=lambda each: each[0]):
        yield Edit(operator, spot, choice)

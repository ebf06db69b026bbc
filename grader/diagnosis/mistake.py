"""What went wrong, as a record without prose: edits of the right computation, and what they explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.program.forward import Place


@dataclass(frozen=True)
class Fact:
    """One edit as it is kept in a record.

    Args:
        operator: what was done: the name of an operator, or of a fact.
        parameters: where and with what it was done: names, numbers, and lists of these.
        says: a clause about the answer; empty where `words.yaml` has one under the name.
    """

    operator: str
    parameters: Mapping[str, Any]
    says: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """Return it as plain JSON values, without prose."""
        return {"operator": self.operator, "parameters": _plain(self.parameters)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


@dataclass(frozen=True)
class Mistake:
    """A mistake that gives the learner's numbers.

    Args:
        code: from the public vocabulary.
        facts: the edits, the one that gives the code first.
        at: the places in the first trial's program that they are made at; empty where they are about no operation.
        hints: hints of its own, where an author has written some.
        cause: the answer in which the same mistake is nearer to the loss; empty where there is none.
    """

    code: str
    facts: tuple[Fact, ...] = ()
    at: tuple[Place, ...] = ()
    hints: tuple[str, ...] = ()
    cause: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """What is kept of it in a result, as plain JSON values."""
        edits = [fact.record for fact in self.facts]
        return {"edits": edits, "cause": self.cause, "at": [list(place) for place in self.at]}


@dataclass(frozen=True)
class Diagnosis:
    """A verdict on a wrong answer, in words.

    Args:
        code: from the public vocabulary.
        says: the fact, a clause about the answer.
        hints: hints of its own, if any.
        mistake: what the words were made from, where they were made from a mistake in the numbers.
    """

    code: str
    says: str
    hints: tuple[str, ...] = ()
    mistake: Mistake | None = None

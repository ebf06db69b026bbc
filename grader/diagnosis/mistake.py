"""Records of what is wrong with an answer: `Fact`s, a `Mistake` made of these, and a `Diagnosis` in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.program.forward import Place


@dataclass(frozen=True)
class Fact:
    """One edit of the right program, or one observation of the numbers, as it is kept in a result.

    Args:
        operator: the name of an operator, such as "sign-flipped", or of an observation.
        parameters: where and with which choice the edit is made, as message fields: names, numbers, and lists of these,
            such as {"step": "`x @ w`", "operand": "x"}.
        says: a clause about the answer; empty where `words.yaml` has one under the name.
    """

    operator: str
    parameters: Mapping[str, Any]
    says: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """Return {"operator": name, "parameters": message fields} as plain JSON values, without the clause."""
        return {"operator": self.operator, "parameters": _plain_json(self.parameters)}


def _plain_json(value: Any) -> Any:
    """Return a value as plain JSON: tuples as lists, keys as strings.

    What is no mapping, list, string, number, truth value or `None` becomes a string.
    """
    if isinstance(value, Mapping):
        return {str(key): _plain_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_json(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


@dataclass(frozen=True)
class Mistake:
    """A mistake that explains the learner's numbers.

    Args:
        code: its public code.
        facts: the edits or observations that it consists of; the first one gives the code.
        at: the edited places in the program of the first trial; empty where no operation is edited.
        hints: the author's own hints for it, where there are any.
        cause: the name of the answer nearer to the loss that has the same mistake; empty where there is none.
    """

    code: str
    facts: tuple[Fact, ...] = ()
    at: tuple[Place, ...] = ()
    hints: tuple[str, ...] = ()
    cause: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """Return {"edits": facts, "cause": name of an answer, "at": edited places} as plain JSON values.

        A result on disk keeps it.
        """
        edits = [fact.record for fact in self.facts]
        return {"edits": edits, "cause": self.cause, "at": [list(place) for place in self.at]}


@dataclass(frozen=True)
class Diagnosis:
    """A verdict on a wrong answer in words.

    Args:
        code: the public code.
        says: a clause about the answer.
        hints: the author's own hints, where there are any.
        mistake: the mistake that the words were made from; `None` where the verdict has another reason.
    """

    code: str
    says: str
    hints: tuple[str, ...] = ()
    mistake: Mistake | None = None

"""Records of what is wrong with an answer: a `Mistake`, and the `Fact`s about the learner's numbers behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.program.forward import Place
    from grader.program.program import Program

Hints = tuple[str, ...] | Mapping[str, tuple[str, ...]]  # for any public code of a mistake, or by code


@dataclass(frozen=True)
class Fact:
    """One edit of the right program, or one observation of the numbers, as it is kept in a result.

    Args:
        operator: the name of an operator, such as "sign-flipped", or of an observation.
        parameters: where and with which choice the edit is made, as message fields: names, numbers, and lists of these,
            such as {"step": "`x @ w`", "operand": "x"}.
        says: a clause about the answer; empty where it is made of the message of the `FactKind` of this name.
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
    """Describe what is wrong with an answer: its code, its sentence and what supports it.

    Args:
        code: the public code.
        says: a clause about the answer; empty during a search, as `words.with_words` makes it from the facts.
        hints: hints for this mistake, where there are any; the first to be shown comes first.
        facts: the edits or observations that explain the learner's numbers, of which the first one gives the code;
            empty where something else than the numbers is wrong, or nothing explains them.
        at: the edited places in the program of the first trial; empty where no operation is edited.
        cause: the name of the answer nearer to the loss that has the same mistake, during a search its target; empty
            where there is none.
        rewrite: makes of the right program of a trial the one that gives the learner's numbers, for a picture of it;
            `None` where no edit of a program does.
    """

    code: str
    says: str = ""
    hints: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    at: tuple[Place, ...] = ()
    cause: str = ""
    rewrite: Callable[[Program], Program] | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields but for `rewrite`, which cannot be pickled."""
        return {**self.__dict__, "rewrite": None}

    @property
    def record(self) -> dict[str, Any]:
        """Return {"edits": facts, "cause": name of an answer, "at": edited places} as plain JSON values.

        A result on disk keeps it.
        """
        edits = [fact.record for fact in self.facts]
        return {"edits": edits, "cause": self.cause, "at": [list(place) for place in self.at]}


@dataclass(frozen=True)
class FactKind:
    """A kind of fact about the numbers of a wrong answer; calling it makes the mistake that consists of such a fact.

    Args:
        name: unique among facts and operators, and stable: it is kept in records, and other languages have their
            messages under it.
        message: a clause about the answer, such as "it is {number} everywhere", with message fields in braces; see
            `words.fill_template`.
        besides: the clause for a fact that is told after another mistake; empty where none is.
        times: for a factor, the words that say it behind what is multiplied, such as "times {factor}"; empty where
            there are none.
        hints: hints that come before those of the code.
    """

    name: str
    message: str
    besides: str = ""
    times: str = ""
    hints: tuple[str, ...] = ()

    def __call__(self, code: str, /, **fields: Any) -> Mistake:
        """Return the mistake of a public code that consists of one fact of this kind, with these message fields."""
        return Mistake(code, hints=self.hints, facts=(Fact(self.name, fields),))


FACT_KINDS: dict[str, FactKind] = {}


def fact_kind(name: str, message: str, *, besides: str = "", times: str = "", hints: tuple[str, ...] = ()) -> FactKind:
    """Return a new kind of fact, after adding it to `FACT_KINDS`.

    Args:
        name: its name, which no other fact and no operator has.
        message: a clause about the answer, such as "it is {number} everywhere", with message fields in braces.
        besides: the clause for a fact that is told after another mistake; empty where none is.
        times: for a factor, the words that say it behind what is multiplied; empty where there are none.
        hints: hints that come before those of the code.

    Raises:
        ValueError: there is another kind of this name. An equal one is there if the import of a module was
            interrupted, as by Ctrl-C in a notebook, and is repeated.
    """
    kind = FactKind(name, message, besides, times, hints)
    if FACT_KINDS.setdefault(name, kind) != kind:
        raise ValueError(f"there are two kinds of facts called {name}")
    return kind

"""Says in words what a mistake is: the one place where sentences are made, from the templates of `words.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import yaml

from .mistake import Diagnosis, Fact, Mistake

FILE = Path(__file__).with_name("words.yaml")
STEPS = 3
BESIDES = "besides, "

OF_ANY_FUNCTION = frozenset(
    {
        "crash", "error", "hard-coded", "memory", "missing-function", "mutated-input", "not-finite", "not-repeatable",
        "syntax-error", "timeout", "used-autograd", "wrong-dtype", "wrong-type",
    }
)  # fmt: skip
"""What any function can do wrong; the other hints ask about a loss, and about the derivatives on the way from it."""


@cache
def words() -> Mapping[str, Any]:
    """Everything in `words.yaml`."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Mapping[str, Any] = yaml.load(FILE.read_text(encoding="utf-8"), loader)
    return found


def finding(mistake: Mistake) -> Diagnosis:
    """The mistake in words: a clause about the answer, and hints that fit it."""
    of = words()["hints_of"]
    hints = mistake.hints or tuple(of["follows"] if mistake.cause else of.get(mistake.facts[0].operator, ()))
    return Diagnosis(mistake.code, says(mistake), hints, mistake)


def says(mistake: Mistake) -> str:
    """The fact, a clause about the answer."""
    clauses = [clause(fact) for fact in mistake.facts]
    first, *others = [f"{BESIDES if fact.parameters.get('besides') else ''}{text}"
                      for fact, text in zip(mistake.facts, clauses, strict=True)]  # fmt: skip
    said = "; ".join((first, *others))
    return f"the same cause as in {mistake.cause}: {said}" if mistake.cause else said


def clause(fact: Fact) -> str:
    """Return one edit or fact in words."""
    return fact.says or filled(words()["says"][fact.operator], fact.parameters)


def filled(template: str, told: Mapping[str, Any]) -> str:
    """A template with its parameters in words."""
    return _Filler(told).vformat(template, (), told)


class _Filler(Formatter):
    """Fills a template in; `{name:style}` says how a parameter is spoken."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.told = told

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        name = str(key)
        if name in DERIVED:
            return DERIVED[name](self.told)
        return spoken(self.told[name], name)

    def format_field(self, value: Any, format_spec: str) -> str:
        return str(value) if not format_spec else STYLES[format_spec](value, self.told)


def spoken(value: Any, name: str = "") -> Any:
    """Return a parameter in words; what has a style of its own is left as it is."""
    if name in ("shape", "expected"):
        return _shape(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    return listed(map(spoken, value)) if isinstance(value, (list, tuple)) else value


def listed(items: Iterable[Any]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *some, last = [str(item) for item in items]
    return f"{', '.join(some)} and {last}" if some else last


def _shape(shape: Sequence[Any]) -> str:
    parts = [f"{part[0]}={part[1]}" if isinstance(part, (list, tuple)) and part[0] else
             str(part[1] if isinstance(part, (list, tuple)) else part) for part in shape]  # fmt: skip
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _subject(told: Mapping[str, Any]) -> str:
    return str(told.get("part", "every entry"))


def _target(told: Mapping[str, Any]) -> str:
    return "that" if told.get("besides") else "what it should be"


def _entry(told: Mapping[str, Any]) -> str:
    at = f"[{','.join(map(str, told['place']))}]" if told["place"] else ""
    return f"{told['name']}{at} = {told['value']}" if told["name"] else f"entry {at}"


def _kinds(told: Mapping[str, Any]) -> str:
    texts = []
    for kind, sizes in told["kinds"]:
        known = ", ".join(f"{axis}={size}" for axis, size in sizes)
        texts.append(f"{kind} ({known})" if known else kind)
    return listed(texts)


def _options(told: Mapping[str, Any]) -> str:
    chosen = " and ".join(f"{name} is {value}" for name, value in told["options"])
    return f", where {chosen}" if chosen else ""


def _varying(told: Mapping[str, Any]) -> str:
    often = f"it is right in {told['right']} of {told['trials']} trials; " if told.get("right") else ""
    which = "in another" if often else "in this"
    return f"{often}{which} trial every entry is {told['factor']} times the right one, and another factor in others"


DERIVED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "minus": lambda told: "-" if told.get("negative") else "",
    "subject": _subject,
    "target": _target,
    "entry": _entry,
    "kinds": _kinds,
    "options": _options,
    "owner": lambda told: f"the shape of {told['owner']}, " if told["owner"] else "",
    "largest": lambda told: "the largest entry of the right answer" if told["entries"] > 1 else "the right one",
    "how_far": lambda told: "" if told["error"] == "1" else f"{told['error']} times ",
    "varying": _varying,
    "alone": lambda told: ", and none in a batch of one" if told["alone"] else "",
}


def _share(wrong: int, told: Mapping[str, Any]) -> str:
    return f"{wrong} of {told['entries']} entries are wrong" if told["entries"] > 1 else "the value is wrong"


def _mask(passes: bool, told: Mapping[str, Any]) -> str:
    state = "passes its gradient on, and must be 0" if passes else "is 0, and must pass its gradient on"
    return f"the mask is another one: {_entry(told)} {state}"


STYLES: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "share": _share,
    "mask": _mask,
}


def hints_when(case: str) -> tuple[str, ...]:
    """The hints for what was found before any number was compared; none where there is nothing special about it."""
    return tuple(words()["hints_when"].get(case, ()))


def hints_for(code: str, own: Sequence[str], answers: Sequence[str], *, derives: bool = True) -> tuple[str, ...]:
    """Three hints: the mistake's own or its code's first, filled up with the last of the answer's.

    Args:
        own: hints that a mistake brings.
        answers: the three hints of the answer.
        derives: the answer is derived from a forward pass, so that the hints of every code have something to say.
    """
    fitting = words()["hints"].get(code, ()) if derives or code in OF_ANY_FUNCTION else ()
    ladder = (*own, *(hint for hint in fitting if hint not in own))[:STEPS]
    return (*ladder, *answers[len(ladder) : STEPS])

"""Put mistakes into words, made from the messages of their facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from string import Formatter
from typing import Any

from grader.course.exercise import RETURN

from .hints import fix_first
from .mistake import FACT_KINDS, Fact, Mistake

WHERE_SQUARE = "where all axes have the same size"
ITEMS = ("first", "second", "third", "fourth", "fifth", "sixth")


def with_words(mistake: Mistake) -> Mistake:
    """Return a mistake with a clause about the answer in `says`, made from its facts, and with hints that fit it."""
    hints = fix_first([answer_in_words(mistake.cause, "the")], is_same=True) if mistake.cause else mistake.hints
    return replace(mistake, says=message_of(mistake), hints=hints)


def message_of(mistake: Mistake) -> str:
    """Return the clauses of all facts of a mistake, about the answer: "it is not summed over bs".

    A further edit or factor is a clause of its own, "... is missing; also, ...". If the mistake names another answer
    as its `cause`, return a reference to that one: "the same mistake as in x.g".
    """
    if mistake.cause:
        return f"the same mistake as in {answer_in_words(mistake.cause, 'the')}"
    return "; also, ".join(dict.fromkeys(map(clause, mistake.facts)))


def answer_in_words(name: str, article: str = "its") -> str:
    """Return an answer's name in a sentence: `x.g`; for `return.0` "its first value", or "the first value returned"."""
    kind, _, place = name.partition(".")
    if kind != RETURN or not place.isdigit():
        return name
    returned = " returned" if article == "the" else ""  # an engine has numbered values, too
    return f"{article} {ITEMS[int(place)]} value{returned}" if int(place) < len(ITEMS) else f"value {place}"


def clause(fact: Fact) -> str:
    """Return a fact, an edit or an observation, as a clause: its own in `says`, or the filled message of its kind."""
    if fact.says:
        return fact.says
    kind = FACT_KINDS[fact.operator]
    return fill_template(kind.besides if fact.parameters.get("besides") else kind.message, fact.parameters)


def fill_template(template: str, fields: Mapping[str, Any]) -> str:
    """Return a template such as "it is {number} everywhere" with the message fields filled in, in words."""
    return _Filler(fields).vformat(template, (), fields)


class _Filler(Formatter):
    """Fill a template in, in which `{name}` is a message field and `{name:style}` one with a style of `STYLES`.

    Args:
        fields: the message fields by name.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        """Store the message fields."""
        self.fields = fields

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the message field called `key` in words; for a key of `DERIVED`, what is made of all fields there.

        Args:
            key: the name in the braces.
            args: not read.
            kwargs: not read.
        """
        name = str(key)
        if name in DERIVED:
            return DERIVED[name](self.fields)
        return field_in_words(self.fields[name], name)

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a value as text, by the function of `STYLES` that the template names after a colon, if it names one.

        Args:
            value: the value of the field.
            format_spec: the name of the style; empty for none.
        """
        return str(value) if not format_spec else STYLES[format_spec](value, self.fields)


def field_in_words(value: Any, name: str = "") -> Any:
    """Return a message field as text: a shape in brackets, a float with three digits, a list with "and".

    Args:
        value: the value of the field; a string or a whole number is returned unchanged.
        name: the name of the field; the fields `shape` and `expected` are shapes.
    """
    if name in ("shape", "expected"):
        return _shape(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    return list_in_words(map(field_in_words, value)) if isinstance(value, (list, tuple)) else value


def list_in_words(items: Iterable[Any]) -> str:
    """Return one or more items as a list in words: "a", "a and b", "a, b and c"."""
    *some, last = [str(item) for item in items]
    return f"{', '.join(some)} and {last}" if some else last


def _shape(shape: Sequence[Any]) -> str:
    """Return a shape, of sizes or of pairs (axis name, size), as text: "(bs=4, n=3)"."""
    parts = [f"{part[0]}={part[1]}" if isinstance(part, (list, tuple)) and part[0] else
             str(part[1] if isinstance(part, (list, tuple)) else part) for part in shape]  # fmt: skip
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _subject(fields: Mapping[str, Any]) -> str:
    """Return the field `part`: the part of the answer that a message is about, such as "the first row".

    It is "every entry" where the fields have no `part`.
    """
    return str(fields.get("part", "every entry"))


def _index(fields: Mapping[str, Any]) -> str:
    """Return the index of the entry that a message names: "[0,1]"; empty for an array without axes."""
    return f"[{','.join(map(str, fields['place']))}]" if fields["place"] else ""


def _entry(fields: Mapping[str, Any]) -> str:
    """Return the entry of an input that a message names, with its value: "x[0,1] = 0.5".

    It is "entry [0,1]" where `name` is empty.

    Args:
        fields: with the name of the input as `name`, the index as `place` and the entry as `value`.
    """
    at = _index(fields)
    return f"{fields['name']}{at} = {fields['value']}" if fields["name"] else f"entry {at}"


def _example(fields: Mapping[str, Any]) -> str:
    """Return the first wrong entry as a clause: ", among them the one at x[0,1]".

    Where it is the only wrong one: ", the one at x[0,1]". Empty for an answer of one entry.

    Args:
        fields: with the number of all `entries`, that of the `wrong` ones, and the name and index of `_entry`.
    """
    if fields["entries"] == 1:
        return ""
    entry = f"the one at {fields['name']}{_index(fields)}" if fields["name"] else _entry(fields)
    return f", {'among them ' if fields['wrong'] > 1 else ''}{entry}"


def _kinds(fields: Mapping[str, Any]) -> str:
    """Return kinds of trials as clauses: "for a batch of one (bs=1) and where all axes have the same size".

    Args:
        fields: with `kinds`, a list of [kind, sizes]: [["a batch of one", [["bs", 1]]], ["a square case", []]].
    """
    texts = []
    for kind, sizes in fields["kinds"]:
        known = ", ".join(f"{axis}={size}" for axis, size in sizes)
        clause = WHERE_SQUARE if kind == "a square case" else f"for {kind}"
        texts.append(f"{clause} ({known})" if known else clause)
    return list_in_words(texts)


def _options(fields: Mapping[str, Any]) -> str:
    """Return a trial's options as a clause: "; here `dim` is 1 and `keepdim` is True"; empty if there are none.

    A single one is called an argument: "; here the argument `shape` is (2,)".

    Args:
        fields: with `options`, pairs of a name and a value: [["dim", 1], ["keepdim", True]].
    """
    chosen = [f"`{name}` is {value}" for name, value in fields["options"]]
    return f"; here {'the argument ' * (len(chosen) == 1)}{' and '.join(chosen)}" if chosen else ""


def _varying(fields: Mapping[str, Any]) -> str:
    """Return the sentence that an answer is off by a factor that differs from trial to trial.

    Args:
        fields: with the `factor` in one trial; and, where the answer is right in some of the trials, the number of
            these as `right` and that of all as `trials`.
    """
    factor = fields["factor"]
    if fields.get("right"):
        often = f"it is right in {fields['right']} of {fields['trials']} trials"
        return f"{often}; in another trial every entry is {factor} times what it should be"
    return f"in this trial every entry is {factor} times what it should be; the factor differs between trials"


def multiple_in_words(factor: str) -> str:
    """Return a factor before what it multiplies: "twice", "1/4 of", "2.5 times"."""
    if factor == "2":
        return "twice"
    return f"{factor} {'of' if re.fullmatch(r'-?[0-9]+/[0-9]+', factor) else 'times'}"


def _mixture(fields: Mapping[str, Any]) -> str:
    """Return a weighted sum of the new and the stored gradient: "0.1 times the new gradient plus the stored one".

    Args:
        fields: with the weights `new` and `before`, as text.
    """
    factors = {"1": "", "2": "twice "}
    new, before = (factors.get(text, f"{text} times ") for text in (fields["new"], fields["before"]))
    if fields["before"] == "0":
        return f"{new}the new gradient"
    if fields["new"] == "0":
        return f"{before}the stored gradient"
    return f"{new}the new gradient plus {before}the stored one"


DERIVED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "minus": lambda fields: "-" if fields.get("negative") else "",
    "mixture": _mixture,
    "subject": _subject,
    "entry": _entry,
    "index": _index,
    "kinds": _kinds,
    "options": _options,
    "owner": lambda fields: f"that of {fields['owner']}, " if fields["owner"] else "",
    "varying": _varying,
    "example": _example,
    "those": lambda fields: "those" if len(fields["answers"]) > 1 else fields["answers"][0],
    "multiple": lambda fields: multiple_in_words(str(fields["factor"])),
}


def all_of(count: int) -> str:
    """Return "all 12" for 12 things, and "both" for two."""
    return "both" if count == 2 else f"all {count}"


def _share(wrong: int, fields: Mapping[str, Any]) -> str:
    """Return how many entries are wrong, and by how much: "3 of 12 entries are wrong; the largest error is ...".

    For an answer of one entry, return its value and the right one.

    Args:
        wrong: the number of wrong entries.
        fields: with the number of all `entries`; the largest `error`, as a multiple of the largest right entry; whether
            the answer is right in batches of one `alone`; and, for one entry, the numbers `given` and `right`.
    """
    if fields["entries"] == 1 and "given" in fields:
        return f"the value is {fields['given']}; it must be {fields['right']}"
    times = "as large as" if fields["error"] == "1" else f"{fields['error']} times"
    total = fields["entries"]
    verb = "is" if wrong == 1 else "are"
    several = f"{all_of(total)} entries are wrong" if wrong == total else f"{wrong} of {total} entries {verb} wrong"
    several += ", and none in a batch of one" * fields["alone"]
    error = "its error" if wrong == 1 else "the largest error"
    return f"{several}; {error} is {times} the largest entry of the right answer"


def _mask(passes: bool, fields: Mapping[str, Any]) -> str:
    """Return the sentence on a wrong mask, with an entry at which it is wrong.

    Args:
        passes: whether the upstream gradient passes there, and must not; else it does not, and must.
        fields: the message fields, with the entry's array, index and value as `name`, `place` and `value`.
    """
    state = (
        "the upstream gradient passes, but the gradient must be 0 there"
        if passes
        else "the gradient is 0, but the upstream gradient must pass through"
    )
    return f"the mask is wrong: at {_entry(fields)} {state}"


def _zeros(wrong: int, fields: Mapping[str, Any]) -> str:
    """Return how many entries that must be 0 are not: "3 of 12 entries that must be 0 are nonzero; ...".

    Args:
        wrong: the number of entries that are nonzero and must be 0.
        fields: the message fields, with the number of entries that must be 0 as `zeros`.
    """
    zeros = fields["zeros"]
    some = f"{all_of(zeros)} entries" if wrong == zeros else f"{wrong} of {zeros} entries"
    which = some if zeros > 1 else "the entry"
    return f"{which} that must be 0 {'is' if wrong == 1 else 'are'} nonzero; the others are right"


def _exact(wrong: int, fields: Mapping[str, Any]) -> str:
    """Return how many entries are wrong in one trial: "3 of 12 entries are wrong", or "all 12 entries are wrong".

    "the value is wrong" for an array of one entry.

    Args:
        wrong: the number of wrong entries.
        fields: the message fields, among them the number of all `entries`.
    """
    if fields["entries"] == 1:
        return "the value is wrong"
    total = fields["entries"]
    return (
        f"{f'all {total}' if wrong == total else f'{wrong} of {total}'} entries {'is' if wrong == 1 else 'are'} wrong"
    )


def _times(count: str, fields: Mapping[str, Any]) -> str:
    """Return how many times something counts: "once", "twice", "not at all" or "0.5 times"; `fields` is not read."""
    return {"0": "not at all", "1": "once", "2": "twice"}.get(count, f"{count} times")


STYLES: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "share": _share,
    "mask": _mask,
    "zeros": _zeros,
    "exact": _exact,
    "times": _times,
}

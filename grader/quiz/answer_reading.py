"""The meaning of an answer as it was typed: words around it are dropped, and the formula is evaluated, never run.

A meaning is a word (`none`, `runtimeerror`), or a list of arrays: the number at one point, or the sizes of a shape, or
the values of a formula, at several points.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grader.course.questions import NOT_READ, Expression, Given, Number, Shape, Word
from grader.errors import ExpressionError
from grader.safe_text import plain

if TYPE_CHECKING:
    import numpy as np

    from .formula_equivalence import Point

    Values = str | list[np.ndarray]

LONGEST_MESSAGE = 4000
LONGEST_PROSE = 500  # in which parts and definitions are looked for
SHOWN = 40
TypedQuestion = Number | Shape | Expression | Word

_A = r"(?:(?:it|this|that|python|pytorch|torch|the last line)\s+)?"
_RAISES = (
    r"(?:(?:(?:will |would )?(?:raises?|throws?|gives?)|is|(?:stops?|fails?|ends?) (?:with|in))\s+)?(?:(?:an?|the)\s+)?"
)
_ERROR = re.compile(
    rf"{_A}{_RAISES}((?:(?:runtime|value|type|index|key|name|attribute|zero division) )?\w*(?:error|exception))\b"
    r"\s*(?:[:(,].*|(?:is|because|since|as) .*)?", re.I | re.S
)  # fmt: skip
_FAILS = re.compile(rf"{_A}(?:will )?(?:fails?|crash(?:es)?|breaks|raises|throws|stops|errors)", re.I)
_GIVES = re.compile(rf"{_A}(?:returns|gives|prints|is)\s+", re.I)
_TENSOR = re.compile(r"(?:torch\.)?tensor\((True|False)\)")
WORDS: Mapping[str, str] = {
    "none": "none", "true": "true", "false": "false", "yes": "true", "no": "false", "nothing": "none", "nan": "nan",
    "inf": "inf", "infinity": "inf",
}  # fmt: skip

_ABOUT = re.compile(
    r"(?:about|approximately|approx\.?|roughly|around|circa|ca\.?|nearly|exactly|it is|the answer is|by|a factor of"
    r"|all)"
    r"\s+|[~=≈×]\s*|x\s*(?=\d)", re.I
)  # fmt: skip
_REASON = re.compile(r"[\s,;:.(–-]+(?:because|since)\b.*", re.I | re.S)
_BRACKET = re.compile(r"(.*\S)\s+\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.S)  # `4 (the diagonal)`
_SPLIT = re.compile(r"[,;:]\s+(?:i\.e\.|that is|which is|so|thus)?|\s+(?:i\.e\.|that is|which is|so|[–-]|=)\s", re.I)
_REMARK = re.compile(r"[A-Za-z'’ -]+")
_NAMED = r"(?=[A-Za-z_][\w.]*\s*=(?!=))"  # `p = ` follows
_WHERE = re.compile(rf"[\s,;(]+(?:where|with|for|using)\s+{_NAMED}|(?<=[\w)\]]),\s+{_NAMED}", re.I)
_NEXT_NAMED = re.compile(rf"(?:\s*,|\s+and)\s+{_NAMED}", re.I)
_SAME_AS = re.compile(r"(?:it )?(?:is |equals )?(?:exactly )?(?:the )?(?:same as|equal to|identical to)\s+", re.I)
_WORDS_BEFORE = re.compile(r"([A-Za-z]+(?: [A-Za-z]+)*) (?=[-+−.]?\d)")
_WORDS = re.compile(r"[A-Za-z]{2,}\s+\w|\d\s*[A-Za-z]+\s+\w")
_PROSE = re.compile(r"[\w)] (?:of|over|the|by|from|with|for|along|is|and) [\w(]", re.I)
DIRECTIONS = frozenset(
    "not no never minus down up less more fewer falls fall rises rise drops drop smaller larger lower higher".split()
)  # words that may change a number which they stand before
_WITH_UNIT = re.compile(r"(.*?[\d.)])\s*([A-Za-z]+(?: [a-z]+)*)", re.S)
_ENGLISH = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:(?:,\d{3})+(?![\d,])|(?:\.\d{3}){2,}(?![\d,.]))")
_OF_PERCENT = re.compile(r"\s*(?:%|percent|per cent)\s+of\s+(?=[\d.])", re.I)
_OF_ALL = re.compile(r"(\d+) (?:out )?of (?:the |all )?(\d+)\b.*", re.I)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)s?")
_CARDINALS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = (
    "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth "
    "seventeenth eighteenth nineteenth"
).split()
NUMBER_WORDS: Mapping[str, int] = {
    **{word: value for value, word in enumerate(_CARDINALS)},
    **{word: 10 * value for value, word in enumerate(_TENS, start=2)},
    "a": 1, "an": 1,
}  # fmt: skip
DENOMINATORS: Mapping[str, int] = {
    "half": 2, "quarter": 4, "hundredth": 100, "thousandth": 1000, "millionth": 10**6,
    **{word: value for value, word in enumerate(_ORDINALS, start=3)},
    **{f"{word[:-1]}ieth": 10 * value for value, word in enumerate(_TENS, start=2)},
}  # fmt: skip
SCALES: Mapping[str, int] = {"thousand": 1000, "million": 10**6}
MULTIPLES: Mapping[str, str] = {
    **dict.fromkeys(("twice", "double", "doubles", "doubled"), "2"), **dict.fromkeys(("triple", "tripled"), "3"),
    "halves": "1/2", "halved": "1/2",
}  # fmt: skip
COUNTS = frozenset("times x fold everywhere nats only altogether total in overall exactly".split())
LARGER = frozenset("as large larger much many great greater big bigger".split())
"""Words behind a factor that change nothing: `10 times as large`."""
AROUND = frozenset("just only always exactly it is the a an by answer there are so then therefore".split())
"""Words before an answer that change nothing."""
OF_FORMULAS = frozenset("just only it is the answer formula result gradient so then therefore".split())
CHANGES = frozenset(
    "or minus negative transposed reversed swapped halved doubled squared times plus over divided multiplied "
    "added percent wrong maybe per".split()
)  # words that may change an answer which they stand behind
BYTES: Mapping[str, float] = {
    "B": 1, "byte": 1, "bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
    "kilobyte": 1e3, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12,
    "kilobytes": 1e3, "megabytes": 1e6, "gigabytes": 1e9, "terabytes": 1e12,
}  # fmt: skip
"""How many bytes each unit of memory is."""
_ASKED_CHANGE = re.compile(r"how (?:far|much) do(?:es)? .*?\b(fall|rise|drop|grow|shrink)\b", re.I)
_SAME = re.compile(
    r"(?:(?:it )?(?:is |stays |remains |does )?(?:unchanged|the same|not change(?:d)?)|(?:it )?doesn['’]t change"
    r"|no change)(?: at all)?|not at all", re.I
)  # fmt: skip

_THE = r"(?:it has |it is |is |has )?(?:the\s+)?"
_SHAPE_OF = re.compile(
    rf"{_THE}(?:same(?:\s+(?:shape|size))?\s+as|like|(?:shape|size)\s+of|as)\s+(?:that of )?(.+)", re.I
)
_TRANSPOSED = re.compile(rf"{_THE}transpose\s+of\s+(.+)|(.+?)\s+transposed", re.I)
_SCALAR = re.compile(r"(?:an?\s+)?(?:scalar|(?:single\s+)?number)", re.I)
_BETWEEN_AXES = re.compile(r"\s*[×*·]\s*|\s+(?:x|by)\s+|(?<=\d)x(?=\d)|\s+")
_AXIS = re.compile(r"\w+", re.ASCII)


def readings(question: TypedQuestion, text: str) -> Iterator[Values]:
    """Yield the meanings that an answer may have, the likeliest first.

    Args:
        question: the question, with the numbers of the learner's variant.
        text: the learner's answer as typed.

    Yields:
        A word in small letters; or a list of arrays: the number alone, or the shape or the formula's value at each of
        the points.

    Raises:
        ExpressionError: the answer cannot be read; says which part is not understood.
    """
    bare = _REASON.sub("", _unquoted(text))
    try:
        yield from _whole_readings(question, bare)
    except ExpressionError:
        values = _meaning_of_parts(question, bare)
        if values is None:
            raise
        yield values


def _whole_readings(question: TypedQuestion, text: str) -> Iterator[Values]:
    """Yield the meanings that an answer may have, the likeliest first, if nothing stands before it or behind it.

    Raises:
        ExpressionError: the answer cannot be read; says which part is not understood.
    """
    word = _known_word(question, text) or _word(text)
    if word is not None:
        yield word
    elif isinstance(question, Shape):
        yield shape(question, text)
    elif isinstance(question, Expression):
        yield formula(question, text)
    else:
        english = text if "[" in text else _ENGLISH.sub(lambda match: re.sub("[,.]", "", match[0]), text)
        yield number(question, english)
        if english != text and text.count(",") == 1 and "." not in text and not re.search(r"0(?!\d)", text):
            yield number(question, text)  # `78,401` may be a decimal comma; of `7,840` nobody would write the 0


def _meaning_of_parts(question: TypedQuestion, text: str) -> Values | None:
    """Return the meaning of an answer with words around it, or given twice; `None` if there is no such meaning.

    These are `just out.g`, `4 (the diagonal)`, `the factor is: 4`, and `same as h, (bs, m)`, of which both parts have
    the same meaning. A text longer than `LONGEST_PROSE` has none.

    Args:
        question: the question.
        text: the answer, which cannot be read as a whole.

    Raises:
        ExpressionError: it is a formula with a remark behind it, which may change it.
    """
    if len(text) > LONGEST_PROSE:
        return None
    bracket = _BRACKET.fullmatch(text.rstrip("."))
    pairs = [(bracket[1].rstrip(",:; "), bracket[2])] if bracket is not None else []
    splits = [match for match in _SPLIT.finditer(text) if _is_outside(text[: match.start()])]
    pairs += [(text[: match.start()], text[match.end() :]) for match in dict.fromkeys((*splits[:1], *splits[-1:]))]
    for before, behind in pairs:
        first, second = _meaning(question, before), _meaning(question, behind)
        if first is not None and second is not None and _same_meaning(first, second):
            return first
        if second is not None and first is None and _change_nothing(question, before):
            return second
        if bracket is not None and first is not None and second is None and _REMARK.fullmatch(behind):
            words = set(re.findall(r"[a-z]+", behind.lower()))
            if isinstance(question, Expression):
                raise ExpressionError(f"write the formula alone: leave out {quoted(f'({behind})')}")
            if not words & (CHANGES | NUMBER_WORDS.keys() - AROUND):
                return first
    while (match := re.match(r"([A-Za-z]+)\s+(?=\S)", text)) is not None and _change_nothing(question, match[1]):
        text = text[match.end() :]
        if (values := _meaning(question, text)) is not None:
            return values
    return None


def _meaning(question: TypedQuestion, text: str) -> Values | None:
    """Return the first of `_whole_readings` of an answer or a part of it; `None` if it cannot be read as a whole."""
    try:
        return next(_whole_readings(question, text.strip()))
    except ExpressionError:
        return None


def _same_meaning(first: Values, second: Values) -> bool:
    """Return whether two parts of an answer are the same word, or have the same values but for rounding."""
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    from .formula_equivalence import same_values

    return same_values(first, second)


def _is_outside(text: str) -> bool:
    """Return whether as many brackets are closed as are opened in what stands before a place."""
    return text.count("(") == text.count(")") and text.count("[") == text.count("]")


def _definitions_first(text: str) -> str:
    """Return a formula with what it is followed by, `p - targ, where p = sigmoid(inp)`, as statements in order.

    A text without such definitions is returned unchanged.
    """
    for match in _WHERE.finditer(text[:LONGEST_PROSE]):
        value, definitions = text[: match.start()], text[match.end() :]
        if _is_outside(value) and (match[0].startswith(",") <= (re.fullmatch(r"[\w.]+", value) is None)):
            definitions = definitions if _is_outside(definitions) else definitions.removesuffix(")")
            commas = [comma for comma in _NEXT_NAMED.finditer(definitions) if _is_outside(definitions[: comma.start()])]
            for comma in reversed(commas):
                definitions = f"{definitions[: comma.start()]}; {definitions[comma.end() :]}"
            return f"{definitions}; {value}"
    return text


def quoted(text: str) -> str:
    """Return a text in backticks, on one line, of at most `SHOWN` characters, none of which is a backtick."""
    line = plain(" ".join(text.split())).replace("`", "'")
    return f"`{line}`" if len(line) <= SHOWN else f"`{line[: SHOWN - 1]}…`"


def _unquoted(text: str) -> str:
    """Return a text without the backticks, dollar signs or quotes around it."""
    bare = text.strip().strip("`$").strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" and bare.count(bare[0]) == 2:
        bare = bare[1:-1].strip()
    return bare


def _known_word(question: TypedQuestion, text: str) -> str | None:
    """Return the text in small letters if it is a single word that the question declares; `None` if it is not."""
    word = text.rstrip(".").lower()
    known = {key.lower() for key in (question.right, *question.wrong)} if isinstance(question, Word) else set()
    return word if word in known and word.isalpha() else None


def _word(text: str) -> str | None:
    """Return the word that an answer consists of, in small letters: `none`, say, or an error's name; else `None`.

    `error` for an answer such as `it fails`. An error's name may stand in any line, the last one counts.
    """
    for line in reversed(text.strip().splitlines()):
        if (match := _ERROR.fullmatch(line.strip().rstrip(".!"))) is not None:
            return match[1].replace(" ", "").lower()
    bare = _GIVES.sub("", text.strip().rstrip("."), count=1)
    bare = _TENSOR.sub(r"\1", bare)
    return "error" if _FAILS.fullmatch(bare) else WORDS.get(bare.lower())


def number(question: Number | Word, text: str) -> list[np.ndarray]:
    """Return the number that an answer means, in the question's unit, as a list of one array of shape ().

    Raises:
        ExpressionError: the answer is no number, has an unknown unit, or is a sentence.
    """
    try:
        return _number(question, text)
    except ExpressionError as error:
        if error.code == NOT_READ and _is_prose(text):
            message = "write the number alone, with its sign, as a decimal, a fraction or a product of numbers"
            raise ExpressionError(message) from None
        raise


def _is_prose(text: str) -> bool:
    """Return whether a word is followed by another word or a number, in a text without calls and without `[`.

    A word has two letters or more, or stands behind a digit: "it is", "is 5", "3 rows of".
    """
    return _WORDS.search(text) is not None and re.search(r"\w\(|\[", text) is None


def _number(question: Number | Word, text: str) -> list[np.ndarray]:
    """Return the number that an answer means, in the question's unit, as a list of one array of shape ().

    Args:
        question: the question.
        text: the answer as typed; some words around the number, such as "about", are dropped.

    Raises:
        ExpressionError: the answer is no number, or has an unknown unit.
    """
    import numpy as np

    from .formula_evaluation import arithmetic

    bare = _GIVES.sub("", text, count=1).rstrip(",")
    while (match := _ABOUT.match(bare)) and match.end() < len(bare):
        bare = bare[match.end() :]
    bare = _OF_PERCENT.sub("/100*", re.sub(r"^(?:minus|negative)\s+(?=[\d.])", "-", bare, flags=re.I))
    match = _OF_ALL.fullmatch(bare)
    if match is not None and match[2] in re.findall(r"\d+", question.ask) and int(match[1]) <= int(match[2]):
        bare = match[1]  # `10 of 100`, where the question says that there are 100
    match = _WORDS_BEFORE.match(bare)
    if match is not None and _in_digits(bare) == bare and _change_nothing(question, match[1]):
        bare = bare[match.end() :]
    bare = "1" if "factor" in _words_of_question(question) and _SAME.fullmatch(bare) else bare
    bare = _in_digits(_without_counted(question, bare))
    bare = re.sub(r"\b(ln|log)(?=\d+$)(?!10\d*\()", r"\1 ", bare)
    bare = re.sub(r",\s*grad_fn=<\w+>", "", bare)
    bare, worth = _without_unit(question, bare)
    if re.fullmatch(r"\d{1,3}(?: \d{3})+(?:[.,]\d+)?", bare):
        bare = bare.replace(" ", "")
    bare = re.sub(r"(?<=\d)(?<!\b0)\s*x\s*(?=\d)", "*", bare)  # not `0x10`
    return [np.asarray(arithmetic(_definitions_first(bare)) * worth)]


def _in_digits(text: str) -> str:
    """Return a number in words as a formula, such as `-1*3/40` for `minus three fortieths`.

    Any other text unchanged.
    """
    words = re.split(r"[\s-]+", text.lower())
    sign = "-1*" if words[0] in ("minus", "negative") else ""
    words = [word for word in words[bool(sign) :] if word != "and"]
    if len(words) == 1 and words[0] in MULTIPLES:
        return sign + MULTIPLES[words[0]]
    if words in (["a"], ["an"]):
        return text  # it counts only before a noun, as in `a third`; alone it may be the letter of a choice
    ordinal = _ORDINAL.fullmatch(words[-1]) if len(words) > 1 else None
    below = DENOMINATORS.get(words[-1].removesuffix("s").replace("halve", "half"), 0) if words else 0
    below = int(ordinal[1]) if ordinal is not None else below
    above = _cardinal(words[:-1] or ["one"]) if below else _cardinal(words)
    if above is None:
        return text
    return f"{sign}{above}/{below}" if below else f"{sign}{above}"


def _cardinal(words: Sequence[str]) -> int | None:
    """Return the whole number that words name, 230 for `two hundred thirty`.

    `None` if they name none, as `two three`.
    """
    total = group = 0
    for word in words:
        value = NUMBER_WORDS.get(word)
        if value is not None:
            below = group % 100  # `thirty one`: only a digit may stand after a ten, and nothing after anything else
            if below and (below < 20 or below % 10 or not 0 < value < 10):
                return None
            group += value
        elif word == "hundred" and group < 20:
            group = 100 * (group or 1)
        elif word in SCALES:
            total, group = total + SCALES[word] * (group or 1), 0
        else:
            return None
    return total + group if words else None


def _without_unit(question: Number | Word, text: str) -> tuple[str, float]:
    """Return a number's text without its unit, and the factor to the question's unit.

    Words that the question has, such as `rows`, are dropped if it names no unit; a text without a unit is unchanged.

    Raises:
        ExpressionError: the unit is unknown.
    """
    if (percent := re.fullmatch(r"(.+?)\s*(?:%|percent|per cent)", text, re.S)) is not None:
        return percent[1], 0.01
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        return text, 1.0
    number_text, unit = match[1], match[2]
    if isinstance(question, Number) and question.unit:
        worth = {name.lower(): value for name, value in worth_of_units(question).items()}
        if unit.lower() not in worth:
            raise ExpressionError(f"{quoted(unit)} is no unit here: give the number in {question.unit}")
        return number_text, worth[unit.lower()]
    known = _words_of_question(question) | COUNTS
    known |= LARGER if "factor" in known else set()
    return (number_text, 1.0) if set(unit.lower().split()) <= known else (text, 1.0)


def worth_of_units(question: Number) -> dict[str, float]:
    """Return how many of the question's unit each unit is that an answer may have, by name; that unit is the first."""
    memory = {name: worth / BYTES[question.unit] for name, worth in BYTES.items()} if question.unit in BYTES else {}
    return {question.unit: 1.0, **memory, **question.units}


def _change_nothing(question: TypedQuestion, words: str) -> bool:
    """Return whether words before an answer may be dropped: all are in the question, or are such as "just" and "is".

    The answer `row 3` is 3 if the question has the word "row". A formula may have words of the question in it.
    """
    if isinstance(question, Expression):
        return set(words.lower().split()) <= OF_FORMULAS - question.given.keys()
    question_change = _ASKED_CHANGE.search(question.ask)
    change = {question_change[1].lower(), f"{question_change[1].lower()}s"} if question_change is not None else set()
    return set(words.lower().split()) <= (_words_of_question(question) - DIRECTIONS) | AROUND | change


def _without_counted(question: Number | Word, text: str) -> str:
    """Return a number in words without what it counts: `three` for `three entries` if the question says `entries`.

    Any other text unchanged.
    """
    words = text.removeprefix("it ").split()
    counted = {word for word in _words_of_question(question) | COUNTS if _in_digits(word) == word}
    while len(words) > 1 and words[-1].lower() in counted:
        words.pop()
    shortened = " ".join(words)
    return shortened if _in_digits(shortened) != shortened else text


def _words_of_question(question: TypedQuestion) -> set[str]:
    """Return the words of a question, in small letters."""
    return set(re.findall(r"[a-z]+", question.ask.lower()))


def shape(question: Shape, text: str) -> list[np.ndarray]:
    """Return the shape that an answer means, at each point as an array of its sizes.

    Raises:
        ExpressionError: the answer is no shape.
    """
    import numpy as np

    from .formula_equivalence import evaluate

    shapes = []
    for value in evaluate(_shape_formula(text), _points_of_shape(question), is_list=True):
        sizes = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(size, (int, float, np.number)) and float(size).is_integer() for size in sizes):
            raise ExpressionError("it is no shape: write a size or a name for each axis, such as (k, 3)")
        shapes.append(np.array(sizes, dtype="float64"))
    return shapes


def _shape_formula(text: str) -> str:
    """Return a formula for a shape that is described in words, such as `the shape of x` or `bs x n`.

    Axes with `×`, `x`, `by` or spaces between them get commas; any other formula stays, without a final point.
    """
    bare = re.sub(r"^(?:the\s+)?(?:shape|size)\s*[:=]?\s*(?=[(\[])", "", text.strip().rstrip("."), flags=re.I)
    if (match := _TRANSPOSED.fullmatch(bare)) is not None:
        return f"({match[1] or match[2]}).T.shape"
    if (match := _SHAPE_OF.fullmatch(bare)) is not None:
        owner = match[1].removesuffix(".shape").removesuffix("'s")
        return f"({owner}).shape"
    if _SCALAR.fullmatch(bare):
        return "()"
    if (match := re.fullmatch(r"(.+)'s(?: shape)?", bare)) is not None:
        return f"({match[1]}).shape"
    bare = re.sub(r"\.size$", ".shape", bare)
    inner = bare[1:-1].strip() if bare[:1] + bare[-1:] in ("()", "[]") else bare
    axes = _BETWEEN_AXES.split(inner)
    return f"({', '.join(axes)},)" if len(axes) > 1 and all(map(_AXIS.fullmatch, axes)) else bare


def formula(question: Expression, text: str) -> list[np.ndarray]:
    """Return the value of the formula that an answer consists of, as an array for each point.

    Raises:
        ExpressionError: the answer is no formula, or has no finite value.
    """
    from .formula_equivalence import as_arrays, evaluate

    bare = re.sub(r"(?<=[\w)\]]) transposed\b", ".T", re.sub(r" times (?=[\w(\[-])", " · ", _SAME_AS.sub("", text)))
    try:
        return as_arrays(evaluate(_definitions_first(bare), points_of(question)))
    except ExpressionError:
        if _PROSE.search(text):
            raise ExpressionError("write a formula of operators and functions, not a sentence") from None
        raise


def points_of(question: Expression) -> tuple[Point, ...]:
    """Return the points at which the formulas of a question are compared."""
    return _points(_variables_of(question), (), ())


def _points_of_shape(question: Shape) -> tuple[Point, ...]:
    """Return the points at which the shapes of a question are compared; a parameter has one size in all of them."""
    sizes = tuple((name, size) for name, (size,) in question.params.items())
    names = re.findall(r"[A-Za-z_]\w*", " ".join((question.right, *question.wrong)))
    return _points(_variables_of(question), tuple(dict.fromkeys(names)), sizes)


def _variables_of(question: Shape | Expression) -> tuple[tuple[str, Given], ...]:
    """Return the variables of a question by name, each as a `Given`."""
    return tuple(
        (name, given if isinstance(given, Given) else Given(axes=given)) for name, given in question.given.items()
    )


@lru_cache(maxsize=128)
def _points(
    given: tuple[tuple[str, Given], ...], names: tuple[str, ...], sizes: tuple[tuple[str, float], ...]
) -> tuple[Point, ...]:
    """Return the random points at which formulas are compared.

    Args:
        given: the name of each variable with its axes and range.
        names: the names of further axes.
        sizes: the name and the size of each axis whose size is fixed.
    """
    from grader.course.shapes import axes_of

    from .formula_equivalence import Variable, draw_points

    variables = {
        name.replace(".", "_"): Variable(axes_of(own.axes), own.low, own.high, own.value) for name, own in given
    }
    return draw_points(variables, names, {name: int(size) for name, size in sizes})


def key_values(question: TypedQuestion, key: str) -> Any:
    """Return the likeliest meaning of an author's answer, right or wrong; it is evaluated once, and then cached.

    It is a word, or a list of arrays, as `readings` yields them.

    Args:
        question: the question.
        key: the author's answer as text.
    """
    return _key_values(type(question), _question_as_json(question), key)


def _question_as_json(question: TypedQuestion) -> str:
    """Return a question as JSON, which can be the key of a cache, as a question cannot."""
    return question.model_dump_json()


@lru_cache(maxsize=1024)
def _key_values(kind: type[TypedQuestion], frozen: str, key: str) -> Any:
    """Return the likeliest meaning of an author's answer, as `readings` yields it: a word, or a list of arrays.

    Args:
        kind: the type of the question.
        frozen: the JSON of the question.
        key: the author's answer, right or wrong, as text.
    """
    return next(readings(kind.model_validate_json(frozen), key))

"""Cuts a typed formula into tokens; signs of mathematics and decimal commas become what Python writes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.errors import ExpressionError

LONGEST = 500
MOST_TOKENS = 300
LONGEST_TOKEN = 40
MEANT = {
    "−": "-", "–": "-", "×": "*", "∗": "*", "⊙": "*", "∘": "*", "⋅": "·", "∙": "·", "÷": "/", "≤": "<=", "≥": ">=",
    "≠": "!=", "≈": "=", "ᵀ": ".T", "⊤": ".T", "½": "(1/2)", "⅓": "(1/3)", "¼": "(1/4)", "¾": "(3/4)", "⅕": "(1/5)",
    "⅛": "(1/8)", "’": "'", "‘": "'", "“": '"', "”": '"', "…": "...", "∂": "d", "π": " pi ", "∞": "inf", "Σ": " sum ",
    "∑": " sum ", "σ": " sigmoid ", "√": " sqrt ", "\xa0": " ",
}  # fmt: skip
OF_ONE_NUMBER = frozenset("ln exp sqrt sigmoid tanh sin cos".split())  # not log, which may have a base
KEPT = "·⊗"
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile("[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|#[^\n]*)|(?P<newline>\n)"
    r"|(?P<number>(?:\d(?:_?\d)*(?:\.(?![A-Za-z_.])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"""|(?P<turned>(?<=[\w)\]])')|(?P<text>'[^'\n]*'|"[^"\n]*")"""
    r"|(?P<sign>\.\.\.|\*\*|//|[-+*/@%&|^:]=|[<>=!]=|[-+*/@%^~&|<>=().,:;\[\]·⊗])",
    re.ASCII,
)
_OPENS, _CLOSES = "([", ")]"


@dataclass(frozen=True)
class Token:
    """A piece of a formula.

    Args:
        kind: `number`, `name`, `text` (in quotes), `sign`, or `end`.
        text: as it stands there; without its quotes.
        start: index of its first character.
    """

    kind: str
    text: str
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def tokens(text: str, *, decimal_comma: bool = True) -> list[Token]:
    """The tokens of a formula; a new line that ends a statement is a `;`.

    Args:
        decimal_comma: whether `1,5` may be a number, which it is where no list can be meant.

    Raises:
        ExpressionError: it is too long, or there is a sign in it that means nothing.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has {len(text)} characters: {LONGEST} are more than enough for this answer")
    found = list(_cut(_plain_signs(text)))
    if len(found) > MOST_TOKENS:
        raise ExpressionError(f"it has more than {MOST_TOKENS} parts: the answer is much shorter")
    while found and found[-1].text in (";", "."):
        del found[-1]
    return [*(_with_decimal_commas(found) if decimal_comma else found), Token("end", "")]


def _plain_signs(text: str) -> str:
    """Only what a keyboard has, and two signs that Python has no word for."""
    text = re.sub(r"(?<=\d)(?=[½⅓¼¾⅕⅛])", "+", _RAISED.sub(lambda raised: f"**({raised[0].translate(RAISED)})", text))
    text = "".join(MEANT.get(sign, sign) for sign in text)
    for sign in text:
        if not (sign in KEPT or (sign.isascii() and (sign.isprintable() or sign in "\t\n\r"))):
            name = unicodedata.name(sign, f"U+{ord(sign):04X}")
            raise ExpressionError(f"it contains {name}, which is not on every keyboard: use plain letters and signs")
    return text


def _cut(text: str) -> Iterator[Token]:
    place = depth = 0
    last = Token("sign", ";")
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ExpressionError(f"the sign {text[place]} has no meaning here: use + - * / @ ** and brackets")
        kind, token, place = found.lastgroup or "", found[0], found.end()
        if kind == "newline":
            if depth or not _ends_operand(last) or re.match(r"\s*[-+*/@)\].,]", text[place:]):
                continue
            kind, token = "sign", ";"
        elif kind == "space":
            continue
        elif kind == "turned":
            kind, token = "sign", "'"
        elif len(token) > LONGEST_TOKEN and kind != "text":
            says = f"there is a {kind} of {len(token)} characters in it: {LONGEST_TOKEN} are more than enough"
            raise ExpressionError(says)
        depth += (token in _OPENS) - (token in _CLOSES) if kind == "sign" else 0
        last = Token(kind, token, found.start())
        yield replace(last, text=token[1:-1]) if kind == "text" else last


def _ends_operand(token: Token) -> bool:
    return token.kind != "sign" or token.text in (")", "]", "'")


def _with_decimal_commas(found: list[Token]) -> list[Token]:
    """`1,5` as one number, outside the brackets of a call and of a list, where no other comma stands beside it."""
    levels = list(_levels(found))
    commas = [level for level, token in zip(levels, found, strict=True) if token.text == ","]
    merged: list[Token] = []
    for place, token in enumerate(found):
        before, after = merged[-2:], levels[place]
        is_number = (
            len(before) == 2
            and before[0].kind == token.kind == "number"
            and before[1].text == ","
            and before[0].end + 2 == before[1].end + 1 == token.start + 1
            and before[0].text.isdigit()
            and re.fullmatch(r"\d+([eE][+-]?\d+)?", token.text)
            and after >= 0
            and commas.count(after) == 1 + _decimals_beside(found, levels, place)
        )
        if is_number:
            merged[-2:] = [Token("number", f"{before[0].text}.{token.text}", before[0].start)]
        else:
            merged.append(token)
    return merged


def _decimals_beside(found: list[Token], levels: list[int], place: int) -> int:
    """How many other numbers with a comma stand between the same brackets, an operator or more away."""
    others = [
        at
        for at in range(1, len(found) - 1)
        if found[at].text == ","
        and levels[at] == levels[place]
        and at != place - 1
        and found[at - 1].text.isdigit()
        and found[at + 1].kind == "number"
        and found[at - 1].end == found[at].start == found[at + 1].start - 1
        and (at < 2 or found[at - 2].text != ",")
        and (at + 2 >= len(found) or found[at + 2].text != ",")
    ]
    return len(others)


def _levels(found: list[Token]) -> Iterator[int]:
    """The bracket that each token stands in, by number; a negative one where a comma parts a list there."""
    stack, opened = [0], 0
    for place, token in enumerate(found):
        if token.kind == "sign" and token.text in _OPENS:
            opened += 1
            is_call = place > 0 and _ends_operand(found[place - 1]) and found[place - 1].kind != "number"
            is_pair = _is_pair(found, place)
            is_list = token.text == "[" or (is_pair and stack[-1] < 0)
            is_decimal = is_pair and (found[place - 1].text in OF_ONE_NUMBER or _is_share_in_log(found, place))
            is_list |= is_call and not is_decimal
            stack.append(-opened if is_list else opened)
        elif token.kind == "sign" and token.text in _CLOSES and len(stack) > 1:
            yield stack.pop()
            continue
        yield stack[-1]


def _is_share_in_log(found: list[Token], place: int) -> bool:
    """`log(0,1)`: nobody takes the logarithm of 0."""
    return found[place - 1].text == "log" and found[place + 1].text == "0"


def _is_pair(found: list[Token], place: int) -> bool:
    """Nothing but `(2,3)` stands here."""
    return "".join(token.text for token in found[place + 2 : place + 5 : 2]) == ",)"

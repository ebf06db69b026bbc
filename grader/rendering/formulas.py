"""Formulas of a lesson, written as plain text, as MathML for a page.

A block is read as formulas only if each of its lines is one; tables, matrices and worked numbers stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from itertools import zip_longest
from typing import NamedTuple

TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<attribute>\.[A-Za-z_]\w*)"
    r"|(?P<sign>\.\.\.|\*\*|->|[-+\u00b7*@/^()\[\],='\u00b2\u00b3])",
    re.ASCII,
)
RULE = re.compile("-+")
ROW = re.compile(r"(?<![\w\])])\[([^\[\]]*)\]")
PARTED = re.compile(r",\s*|\s+")
EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
DRAWN = "DRAWN"  # stands for a fraction or a matrix in what is left of a line
AROUND_SIGNS = re.compile(r"\s+(=|->|[-+\u00b7*@/])\s+")
NUMBERS = re.compile(r"[-+\d.\s\u00b7()/]+")
CONNECTING = ("as", "else", "if", "otherwise", "with")  # words that may follow any factor
POWERS = {"\u00b2": "2", "\u00b3": "3"}
SIGNS = {"-": "\u2212", "*": "\u00b7", "@": "@", "->": "\u2192", "...": "\u2026"}
COLUMNS = 3  # blanks that part two formulas in a line
SPACE = "\u00a0"
TAG = re.compile("<[^>]*>")
MATRIX, ROW_MATRIX = '<mtable class="matrix">', '<mtable class="matrix row">'
ONE_ROW = re.compile(f"{ROW_MATRIX}(.*?)</mtable>")
DIGIT, GAP = 0.5, 0.9  # the width of a digit, and the space at both sides of an entry, in em
BLANK = "<mspace width='.3em'/>"


class NoFormula(Exception):
    """A text is no formula."""


class FormulaToken(NamedTuple):
    """A part of a formula's text.

    Args:
        kind: `number`, `name`, `attribute`, `sign`, or `set` for what is MathML already.
        text: the text of the part.
        is_apart: whether a blank stands before it.
        is_tight: whether none stands behind it.
    """

    kind: str
    text: str
    is_apart: bool
    is_tight: bool


@dataclass(frozen=True)
class MathNode:
    """A part of a formula as MathML.

    Args:
        mathml: the element, or several elements in a row.
        inside: the element without the brackets around it, if it has any.
        word: the name, if the part is a name alone.
    """

    mathml: str
    inside: str = ""
    word: str = ""

    @property
    def row(self) -> str:
        """Return the part as one MathML element."""
        return f"<mrow>{self.mathml}</mrow>"

    @property
    def bare(self) -> str:
        """Return the part as one MathML element, without brackets around all of it, which a fraction does not need."""
        return f"<mrow>{self.inside or self.mathml}</mrow>"


END = FormulaToken("", "", False, False)


def formulas_html(text: str) -> str:
    """Return a block of text as MathML, one formula below the other; empty if a line of it is no formula.

    Args:
        text: lines such as `dL/db[l]  =  sum over i of  out.g[i,l]`; three blanks or more part formulas in a line.
            A fraction may be drawn over three lines, a matrix over as many as it has rows.
    """
    try:
        tables = [_table(part.split("\n")) for part in EMPTY_LINES.split(text.strip("\n"))]
    except (NoFormula, RecursionError):
        return ""
    source = f'<annotation encoding="text/plain">{escape(text.rstrip())}</annotation>'
    parts = "".join(f"<mtr><mtd>{table}</mtd></mtr>" for table in tables)
    whole = tables[0] if len(tables) == 1 else f"<mtable>{parts}</mtable>"
    return f'<math display="block"><semantics>{whole}{source}</semantics></math>'


def _table(lines: list[str]) -> str:
    """Return formulas that stand below each other as a MathML table in which their first `=` are aligned.

    Args:
        lines: the lines of text, without empty ones; the list is empty afterwards.

    Raises:
        NoFormula: a line is no formula, or is indented like a second column without going on with `=` or `+`.
    """
    indent = _indent(lines[0])
    rows: list[str] = []
    while lines:
        columns = _first_columns(lines)
        if _indent(lines.pop(0)) > indent + COLUMNS and rows and columns[0][0].text not in ("=", "+"):
            raise NoFormula
        rows.append(f"<mtr>{_cells(columns)}</mtr>")
    if sum(ROW_MATRIX in row for row in rows) > 1:
        rows = _aligned(rows)
    return f'<mtable class="formulas" displaystyle="true">{"".join(rows)}</mtable>'


def _aligned(rows: Sequence[str]) -> list[str]:
    """Return rows of MathML in which the columns of all one-row matrices are as wide as each other, so that they align.

    The first columns of the first such matrix of each row all get the width of the widest first entry, and so on; the
    second matrices of the rows have widths of their own.
    """
    matrices = [
        [[unescape(TAG.sub("", entry)) for entry in matrix.split("</mtd>")[:-1]] for matrix in ONE_ROW.findall(row)]
        for row in rows
    ]
    widths = [
        [max(map(len, column)) for column in zip_longest(*below_each_other, fillvalue="")]
        for below_each_other in zip_longest(*matrices, fillvalue=())
    ]

    def spread(row: str) -> str:
        """Return a row with the width of each column in its matrices."""
        places = iter(widths)

        def with_widths(matrix: re.Match[str]) -> str:
            """Return the next matrix of the row with the width of each column."""
            cells = matrix[1].split("<mtd>")
            wide = (
                f'<mtd style="min-width:{width * DIGIT + GAP:g}em">{cell}'
                for width, cell in zip(next(places), cells[1:], strict=False)
            )
            return f"{ROW_MATRIX}{cells[0]}{''.join(wide)}</mtable>"

        return ONE_ROW.sub(with_widths, row)

    return [spread(row) for row in rows]


def _indent(line: str) -> int:
    """Return the number of blanks that a line begins with."""
    return len(line) - len(line.lstrip())


def _first_columns(lines: list[str]) -> list[list[FormulaToken]]:
    """Return the columns of the first formula, each as tokens, and remove from `lines` what is drawn around it.

    Columns have wide gaps between them, as in `q.g = ...   (n, d)`. A drawn fraction or matrix is a single token.

    Args:
        lines: the lines of text, at least one; changed in place: those above and below the first formula that belong to
            a drawn fraction or matrix are removed or blanked, and then the formula's own line is the first.

    Raises:
        NoFormula: the first formula is none, because a character stands in no formula.
    """
    if DRAWN in lines[0]:
        raise NoFormula
    sets: list[str] = []
    middle = _without_fractions(lines, sets) or _without_matrices(lines, sets)
    drawn = iter(sets)
    return [
        [token._replace(kind="set", text=next(drawn)) if token.text == DRAWN else token for token in column]
        for column in _columns_of_tokens(middle)
    ]


def _without_fractions(lines: list[str], sets: list[str]) -> str:
    """Return the second of three lines with `DRAWN` in place of each fraction drawn over them; empty if none is.

    Fractions are drawn if all text above and below the second line is a numerator or a denominator. Otherwise nothing
    is changed.

    Args:
        lines: the lines of text; the first two are removed if fractions are drawn.
        sets: receives the fractions, as MathML.
    """
    if len(lines) < 3:
        return ""
    above, middle, below = lines[:3]
    text, end, parts = "", 0, []
    for rule in RULE.finditer(middle):
        first, last = rule.span()
        if above[first:last].strip() and below[first:last].strip():
            parts.append((above[first:last], below[first:last]))
            text, end = f"{text}{middle[end:first]} {DRAWN} ", last
            above, below = _blanked(above, first, last), _blanked(below, first, last)
    if not parts or above.strip() or below.strip():
        return ""
    sets += [f"<mfrac>{_formula(top).row}{_formula(bottom).row}</mfrac>" for top, bottom in parts]
    del lines[:2]
    return text + middle[end:]


def _without_matrices(lines: list[str], sets: list[str]) -> str:
    """Return the first line with `DRAWN` in place of each matrix that begins in it.

    Args:
        lines: at least one line of text. In the lines below the first, the rows of these matrices are replaced by
            blanks, in place; a line of which nothing else is left is removed from the list.
        sets: receives the matrices, as MathML, one item for each.
    """
    text, end = "", 0
    for row in ROW.finditer(lines[0]):
        first, last = row.span()
        rows = [row[1]]
        for number, line in enumerate(lines[1:], 1):
            below = ROW.fullmatch(line, first, last)
            if below is None or line[end:first].strip():
                break
            rows.append(below[1])
            lines[number] = _blanked(line, first, last)
        table = "".join(f"<mtr>{''.join(map(_entry, re.split(PARTED, row.strip())))}</mtr>" for row in rows)
        sets.append(f"{ROW_MATRIX if len(rows) == 1 else MATRIX}{table}</mtable>")
        text, end = f"{text}{lines[0][end:first]}{DRAWN}", last
    lines[1:] = filter(str.strip, lines[1:])
    return text + lines[0][end:]


def _entry(text: str) -> str:
    """Return the text of an entry of a matrix as a MathML cell."""
    return f"<mtd>{_formula(text).mathml}</mtd>"


def _blanked(line: str, first: int, last: int) -> str:
    """Return a line with blanks in place of its characters from index `first` to before `last`."""
    return line[:first] + " " * len(line[first:last]) + line[last:]


def _columns_of_tokens(text: str) -> list[list[FormulaToken]]:
    """Return the columns of a line, which have `COLUMNS` blanks or more between them, each as tokens.

    Blanks between brackets separate no columns.

    Raises:
        NoFormula: a character stands in no formula.
    """
    columns: list[list[FormulaToken]] = [[]]
    text = AROUND_SIGNS.sub(lambda sign: f" {sign[1]} ", text.strip())
    place, depth = 0, 0
    while place < len(text):
        blanks = len(text[place:]) - len(text[place:].lstrip())
        place += blanks
        match = TOKEN.match(text, place)
        if match is None:
            raise NoFormula
        if blanks >= COLUMNS and depth == 0:
            columns.append([])
        sign = match[0]
        depth += (sign in ("(", "[")) - (sign in (")", "]"))
        place = match.end()
        columns[-1].append(FormulaToken(str(match.lastgroup), sign, blanks > 0, not text[place : place + 1].isspace()))
    return columns


def _cells(columns: Sequence[Sequence[FormulaToken]]) -> str:
    """Return the columns of a line as MathML table cells.

    An equation gives two cells, its left side and the rest; any other column, such as a shape, one that spans two.

    Raises:
        NoFormula: no column is an equation or a shape and the line does not begin with `+`, or a column holds numbers
            alone.
    """
    goes_on = columns[0][:1] != [] and columns[0][0].text == "+"
    if not goes_on and not any(_has_equals(column) or _is_shape(column) for column in columns):
        raise NoFormula
    cells: list[str] = []
    for column in columns:
        equals = next((place for place, token in enumerate(column) if token.text == "="), None)
        if goes_on and not cells:
            cells += ["<mtd></mtd>", f'<mtd class="rest">{_Reader(column).relation()}</mtd>']
        elif equals is not None:
            left = _Reader(column[:equals]).relation() if equals else ""
            cells.append(f'<mtd class="left">{left}</mtd><mtd class="rest">{_Reader(column[equals:]).relation()}</mtd>')
        elif NUMBERS.fullmatch(" ".join(token.text for token in column)):
            raise NoFormula  # a table of numbers
        else:
            cells.append(f'<mtd class="rest" columnspan="2">{_Reader(column).relation()}</mtd>')
    return "".join(cells)


def _has_equals(column: Sequence[FormulaToken]) -> bool:
    """Return whether a column has an equals sign, and so is an equation."""
    return any(token.text == "=" for token in column)


def _is_shape(column: Sequence[FormulaToken]) -> bool:
    """Return whether a column is a name with its shape, such as `x (bs, n)`."""
    kinds = [token.kind for token in column]
    return kinds[:1] == ["name"] and len(column) > 1 and column[1].text == "(" and column[1].is_apart


def _formula(text: str) -> MathNode:
    """Return the text of one formula as MathML.

    Raises:
        NoFormula: the text is no formula.
    """
    (tokens,) = columns if len(columns := _columns_of_tokens(text)) == 1 else [[]]
    return MathNode(_Reader(tokens).relation())


class _Reader:
    """Read the tokens of one formula, each method a part of it; all raise `NoFormula` where there is no such part."""

    def __init__(self, tokens: Sequence[FormulaToken]) -> None:
        """Begin before the first token."""
        self.tokens, self.place = list(tokens), 0

    def next_text(self) -> str:
        """Return the text of the next token; empty at the end."""
        return self.tokens[self.place].text if self.place < len(self.tokens) else ""

    def take(self) -> FormulaToken:
        """Return the next token, and move on to the one after it.

        Raises:
            NoFormula: no token is left.
        """
        if self.place == len(self.tokens):
            raise NoFormula
        self.place += 1
        return self.tokens[self.place - 1]

    def takes(self, sign: str) -> bool:
        """Return whether the text of the next token is `sign`; if so, move on to the token after it."""
        is_next = self.next_text() == sign
        self.place += is_next
        return is_next

    def relation(self) -> str:
        """Read all tokens that are left, sums with `=` or `->` between them, and return them as MathML.

        Raises:
            NoFormula: the tokens have no such form, or there are none.
        """
        mathml = self.list_until(("=", "->"))
        while self.place < len(self.tokens):
            sign = self.take().text
            mathml += _operator(sign) + self.list_until(("=", "->"))
        if not mathml:
            raise NoFormula
        return mathml

    def list_until(self, ends: Sequence[str]) -> str:
        """Read sums with commas between them, up to one of the signs in `ends` or the end, and return them as MathML.

        Returns:
            The MathML; empty if the next token is one of these signs, or there is none.

        Raises:
            NoFormula: the tokens have no such form.
        """
        if self.place == len(self.tokens) or self.next_text() in ends:
            return ""
        mathml = self.sum().mathml
        while self.takes(","):
            is_last = self.place == len(self.tokens) or self.next_text() in ends  # as in `(n,)`
            mathml += "<mo rspace='0'>,</mo>" if is_last else f"<mo separator='true'>,</mo>{self.sum().mathml}"
        if self.place < len(self.tokens) and self.next_text() not in ends:
            raise NoFormula
        return mathml

    def sum(self) -> MathNode:
        """Read products with `+` and `-` between them, perhaps with a sign before the first, and return them as MathML.

        Raises:
            NoFormula: the tokens have no such form.
        """
        parts = []
        if self.next_text() in ("+", "-"):
            parts.append(_operator(self.take().text, form="prefix"))
        node = self.product()
        parts.append(node.mathml)
        while self.next_text() in ("+", "-"):
            sign = self.take()
            if sign.is_apart and sign.is_tight:
                raise NoFormula  # a number with a sign behind a word
            parts += [_operator(sign.text), self.product().mathml]
        return node if len(parts) == 1 else MathNode("".join(parts))

    def product(self) -> MathNode:
        """Read factors with `*`, `@` or `/` between them, and return them as MathML.

        `/` makes a fraction, whose numerator is all that was read before it.

        Raises:
            NoFormula: the tokens have no such form.
        """
        node = self.phrase()
        while (sign := self.next_text()) in ("\u00b7", "*", "@", "/"):
            self.take()
            signed = self.takes("-")
            factor = self.phrase()
            if signed:
                factor = MathNode(_operator("-", form="prefix") + factor.mathml)
            if sign == "/":
                node = MathNode(f"<mfrac>{node.bare}{factor.bare}</mfrac>")
            else:
                node = MathNode(node.mathml + _operator(sign) + factor.mathml)
        return node

    def phrase(self) -> MathNode:
        """Read a factor with the words before it, such as "mean of x", or a sum over indices, and return all as MathML.

        Raises:
            NoFormula: the tokens have no such form, for example two factors without a sign between them.
        """
        words: list[MathNode] = []
        while True:
            if [token.text for token in self.tokens[self.place : self.place + 2]] == ["sum", "over"]:
                node = self.sum_over()
            else:
                node = self.power()
            words.append(node)
            kind, text, is_apart, _ = self.tokens[self.place] if self.place < len(self.tokens) else END
            if kind not in ("name", "number", "set") and text not in ("(", "..."):
                break
            if not node.word and is_apart and text not in CONNECTING:
                raise NoFormula  # two factors without a sign
        if len(words) == 1:
            return words[0]
        *before, last = words
        parts = [_word(node.word) if node.word else f"{node.mathml}{BLANK}" for node in before]
        return MathNode("".join(parts) + (f"<mtext>{last.word}</mtext>" if len(last.word) > 1 else last.mathml))

    def sum_over(self) -> MathNode:
        """Read "sum over i, j of" and its product, and return them as MathML: a sum's sign with the indices below it.

        Raises:
            NoFormula: the tokens have no such form.
        """
        self.place += 2
        depth, first = 0, self.place
        while (text := self.take().text) != "of" or depth:
            depth += (text in ("(", "[")) - (text in (")", "]"))
        indices = [
            t._replace(kind="sign", text=",") if t.text == "and" else t for t in self.tokens[first : self.place - 1]
        ]
        below = _Reader(indices).relation()
        product = self.product()
        return MathNode(f"<munder><mo>\u2211</mo><mrow>{below}</mrow></munder>{product.mathml}")

    def power(self) -> MathNode:
        """Read a factor, with its exponents and primes if it has any, and return it as MathML.

        Raises:
            NoFormula: the tokens have no such form.
        """
        node = self.factor()
        while self.next_text() in ("^", "**", "'", *POWERS):
            sign = self.take().text
            if sign == "'":
                after = self.tokens[self.place] if self.place < len(self.tokens) else END
                if after.kind == "name" and not after.is_apart:
                    raise NoFormula  # "c's"
                node = MathNode(f"{node.mathml}<mo lspace='0' rspace='0'>\u2032</mo>")
                continue
            if sign in POWERS:
                exponent = f"<mn>{POWERS[sign]}</mn>"
            else:
                minus = self.takes("-")
                exponent = (_operator("-", form="prefix") if minus else "") + self.power().bare
            node = MathNode(f"<msup>{node.row}<mrow>{exponent}</mrow></msup>")
        return node

    def factor(self) -> MathNode:
        """Read a number, a name or a sum in brackets, and what stands right behind it, and return them as MathML.

        Right behind it may stand indices, attributes and arguments.

        Raises:
            NoFormula: the tokens have no such form.
        """
        token = self.take()
        if token.kind == "set":
            return MathNode(token.text)
        if token.kind == "number":
            return MathNode(f"<mn>{token.text}</mn>")
        if token.text == "...":
            return MathNode(_operator("..."))
        if token.text == "(":
            inside = self.list_until((")",))
            self.close(")")
            is_pair = ">,</mo>" in inside
            node = MathNode(f"{_bracket('(')}{inside}{_bracket(')')}", "" if is_pair else inside)
        elif token.kind == "name":
            node = MathNode(_name(token.text), word=token.text)
        else:
            raise NoFormula
        return self.with_what_follows(node)

    def with_what_follows(self, node: MathNode) -> MathNode:
        """Read the indices, attributes and arguments right behind a factor, and return the MathML of all.

        Args:
            node: the factor, which has been read; returned unchanged if nothing stands right behind it.

        Raises:
            NoFormula: a bracket is not closed, or holds no formula.
        """
        while self.place < len(self.tokens) and not self.tokens[self.place].is_apart:
            token = self.tokens[self.place]
            if token.text == "[":
                self.take()
                node = MathNode(f"<msub>{node.row}<mrow>{self.list_until((']',))}</mrow></msub>")
                self.close("]")
            elif token.text == "(":
                self.take()
                inside = self.list_until((")",))
                self.close(")")
                if node.word == "sqrt":
                    node = MathNode(f"<msqrt>{inside}</msqrt>")
                else:
                    node = MathNode(f"{node.mathml}{_bracket('(')}{inside}{_bracket(')')}")
            elif token.kind == "attribute":
                self.take()
                node = MathNode(f"{node.mathml}<mi>{token.text}</mi>")
            else:
                break
        return node

    def close(self, bracket: str) -> None:
        """Move on behind a closing bracket.

        Raises:
            NoFormula: the next token is not `bracket`.
        """
        if not self.takes(bracket):
            raise NoFormula


def _operator(sign: str, form: str = "") -> str:
    """Return a sign as MathML; `form`, such as "prefix", is the value of its attribute of that name, if not empty."""
    return f"<mo{f' form={form!r}' if form else ''}>{SIGNS.get(sign, sign)}</mo>"


def _name(name: str) -> str:
    """Return a name as MathML; a single letter is italic, whichever fonts there are."""
    return f"<mi class='letter'>{name}</mi>" if len(name) == 1 else f"<mi>{name}</mi>"


def _bracket(sign: str) -> str:
    """Return a bracket as MathML, which a browser draws as tall as its content."""
    return f"<mo>{sign}</mo>"


def _word(word: str) -> str:
    """Return a word as MathML with a blank behind it; the `d` of a derivative as a letter with a narrower gap."""
    return "<mi>d</mi><mspace width='.1em'/>" if word == "d" else f"<mtext>{word}{SPACE}</mtext>"

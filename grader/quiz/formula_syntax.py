"""The syntax tree of a formula that a learner types, in Python's grammar; it is walked and never run.

Mathematical notation that Python lacks (`2x`, `a·b`, `x²`, `x^2`, `wᵀ`, `w'`, `log 10`, `½`, `1,5`) is first
translated, token by token. Each token knows how it was written, so that messages can quote it. The text for Python's
parser is short and nested a few levels deep, and its brackets match.
"""

from __future__ import annotations

import ast
import itertools
import keyword
import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.errors import ExpressionError

from .operations import MODULES

LONGEST = 500
MOST_TOKENS = 300
LONGEST_TOKEN = 40
DEEPEST = 30
SAME_SIGNS = str.maketrans("−–×∗⊙∘⋅∙÷≈’‘“”∂\xa0", "--****··/=''\"\"d ")
WORDS = {
    "≤": "<=", "≥": ">=", "≠": "!=", "ᵀ": ".T", "⊤": ".T", "…": "...", "π": "pi", "∞": "inf", "Σ": "sum", "∑": "sum",
    "σ": "sigmoid", "√": "sqrt", "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "eps",
    "μ": "mu", "θ": "theta",
}  # fmt: skip
FRACTIONS = "½⅓¼¾⅕⅛"
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
LOWERED = str.maketrans(f"{RAISED}⁻⁺", "0123456789-+")
INFIX: Mapping[str, str] = {"beside·": "·", "outer·": "⊗"}
"""Signs with the precedence of `*` that Python lacks: `a · b` becomes `a *beside·* b`, whose name cannot be typed."""
PYTHON: Mapping[str, str] = {"^": "**", **{sign: f"*{name}*" for name, sign in INFIX.items()}}
OF_MATHEMATICS = frozenset("log ln exp sqrt sin cos tan tanh sum sigmoid".split())
OF_ONE_NUMBER = OF_MATHEMATICS - {"log", "tan", "sum"}  # log may have a base
NO_NAMES = frozenset(keyword.kwlist) - {"None", "True", "False"} | {"eval", "exec"}
LINKS = frozenset("for in if else".split())
REFUSED = {
    "and": "`and` cannot be read here: write `&`",
    "or": "`or` cannot be read here: write `|`",
    "not": "`not` cannot be read here: write `~`",
}
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|#[^\n]*)|(?P<newline>\n)"
    rf"|(?P<number>\d*[{FRACTIONS}]|\d+,\d+(?:[eE][+-]?\d+)?(?!\d|\.(?![A-Za-z_]))|(?:\d(?:_?\d)*(?:\.(?![A-Za-z_.])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    rf"""|(?P<turned>(?<=[\w)\]ᵀ⊤{RAISED}{FRACTIONS}])')|(?P<text>'[^'\n]*'|"[^"\n]*")|(?P<raised>[⁻⁺]?[{RAISED}]+)"""
    rf"|(?P<word>[{''.join(WORDS)}])"
    r"|(?P<sign>\.\.\.|\*\*|//|[-+*/@%&|^:]=|[<>=!]=|[-+*/@%^~&|<>=().,:;\[\]·⊗])",
    re.ASCII,
)


@dataclass(frozen=True)
class Token:
    """A piece of a formula.

    Args:
        kind: `number`, `name`, `text` (in quotes), `sign`, or `end`.
        text: its meaning in Python, without quotes.
        written: its text as the learner wrote it.
    """

    kind: str
    text: str
    written: str = ""

    @property
    def is_decimal(self) -> bool:
        """Return whether the token is a number with a comma, `1,5`."""
        return self.kind == "number" and "," in self.written

    @property
    def ends_operand(self) -> bool:
        """Return whether the token may be the last one of an operand, as a name or a closing bracket."""
        return self.text in (")", "]", "...") if self.kind == "sign" else self.text not in LINKS

    @property
    def starts_operand(self) -> bool:
        """Return whether the token may be the first one of an operand, as a name or an opening bracket."""
        return self.text in ("(", "[", "...") if self.kind == "sign" else self.text not in NO_NAMES

    @property
    def opens(self) -> bool:
        """Return whether the token is a bracket that opens."""
        return self.kind == "sign" and self.text in ("(", "[")

    @property
    def closes(self) -> bool:
        """Return whether the token is a bracket that closes."""
        return self.kind == "sign" and self.text in (")", "]")


END = Token("end", "")


@dataclass(frozen=True)
class FormulaStatement:
    """Hold an expression and the names that its value is assigned to.

    Args:
        targets: the names; none if the value is not assigned.
        value: the syntax tree of the expression.
    """

    targets: tuple[str, ...]
    value: ast.expr


def read_formula(text: str, names: Collection[str] = (), *, is_list: bool = False) -> tuple[FormulaStatement, ...]:
    """Return the statements of a formula, of which the last has the value of the formula.

    Semicolons and points at the end of the text are dropped.

    Args:
        text: the formula as the learner wrote it.
        names: the variables, `out_g` for `out.g`; brackets after one of them mean a product, not a call.
        is_list: whether the value is a list, so that `3,4` are two numbers and not a decimal.

    Raises:
        ExpressionError: the text is too long or too deep, or is no formula; says where and what to write.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it has {len(text)} characters: {LONGEST} are more than enough for this answer")
    tokens = list(_with_lists(list(_tokens(text.translate(SAME_SIGNS))), is_list=is_list))
    if len(tokens) > MOST_TOKENS:
        raise ExpressionError(f"it has more than {MOST_TOKENS} parts: the answer is much shorter")
    while tokens and tokens[-1].text in (";", ".") and tokens[-1].kind == "sign":
        del tokens[-1]
    known, statements = {*names, *_loop_names(tokens)}, []
    for targets, value in _statements(tokens):
        value = list(_with_joined_names(value, known))
        tree = _tree(list(_in_python(value, known)))
        outside = {token.text for token, level in zip(value, _levels(value), strict=True) if level == 0}
        if "," in outside and not is_list:
            raise ExpressionError("there is a comma in it: one answer is wanted")
        known.update(targets)
        statements.append(FormulaStatement(targets, tree))
    return tuple(statements)


def shown_name(name: str) -> str:
    """Return the learner's name of a variable: `out.g` for `out_g`."""
    return f"{name[:-2]}.g" if name.endswith("_g") else name


def _tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a formula; a new line that ends a statement is a `;`, and `1,5` is one number.

    Raises:
        ExpressionError: a sign in the text has no meaning, or a token is too long.
    """
    place = depth = 0
    last = Token("sign", ";")
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(_meaningless_message(text[place]))
        kind, written, place = match.lastgroup or "", match[0], match.end()
        if kind == "newline":
            if depth or not last.ends_operand or re.match(r"\s*[-+*/@)\].,]", text[place:]):
                continue
            pieces = [Token("sign", ";", written)]
        elif kind == "space":
            continue
        else:
            pieces = [Token(*piece, written) for piece in _meanings(kind, written)]
        for last in pieces:
            if len(last.text) > LONGEST_TOKEN and last.kind != "text":
                raise ExpressionError(
                    f"there is a {last.kind} of {len(last.text)} characters in it: {LONGEST_TOKEN} are more than enough"
                )
            depth += last.opens - last.closes
            yield last


def _meanings(kind: str, written: str) -> list[tuple[str, str]]:
    """Return the kind and the text of each token for a piece of a formula: `**` and `2` for the piece `²` of `x²`.

    Args:
        kind: the name of the group of `_TOKEN` that the piece matched, such as `number` or `raised`.
        written: the piece as the learner wrote it.

    Raises:
        ExpressionError: a sign in a quoted text has no meaning.
    """
    if kind == "turned":
        written, kind = ".T", "word"
    written = WORDS.get(written, written) if kind == "word" else written
    if kind == "number" and written[-1] in FRACTIONS:
        return [("number", repr(float(written[:-1] or 0) + unicodedata.numeric(written[-1])))]
    if kind == "raised":
        sign, digits = re.fullmatch(r"([-+]?)(.*)", written.translate(LOWERED)).groups()  # type: ignore[union-attr]
        return [("sign", "**"), *([("sign", sign)] if sign else []), ("number", digits)]
    if kind == "number":
        return [("number", written.replace(",", "."))]
    if kind == "text":
        if meaningless := next((sign for sign in written if not _is_plain_ascii(sign) and sign not in "…·⊗"), ""):
            raise ExpressionError(_meaningless_message(meaningless))
        return [("text", written[1:-1].replace("…", "..."))]
    if written == ".T":
        return [("sign", "."), ("name", "T")]
    return [("name" if kind == "word" and written.isalpha() else "sign" if kind == "word" else kind, written)]


def _is_plain_ascii(sign: str) -> bool:
    """Return whether a character is printable ASCII, a tab or a line break."""
    return sign.isascii() and (sign.isprintable() or sign in "\t\n\r")


def _meaningless_message(sign: str) -> str:
    """Return the message for a sign that has no meaning in formulas."""
    if _is_plain_ascii(sign):
        return f"the sign {sign} has no meaning here: use + - * / @ ** and brackets"
    name = unicodedata.name(sign, f"U+{ord(sign):04X}")
    return f"it contains {name}, which is not on every keyboard: use plain letters and signs"


def _with_lists(tokens: Sequence[Token], *, is_list: bool) -> Iterator[Token]:
    """Yield the tokens, with `1,5` as two numbers and a comma where commas separate items.

    They do in a list, and between brackets that have another comma; elsewhere `1,5` stays one number.

    Args:
        tokens: the tokens of a formula.
        is_list: whether the value of the whole formula is a list.
    """
    levels = list(_levels(tokens))
    lists = {level for token, level in zip(tokens, levels, strict=True) if token.text == "," and token.kind == "sign"}
    for token, level in zip(tokens, levels, strict=True):
        if token.is_decimal and (is_list or level < 0 or level in lists):
            first, second = token.written.split(",")
            yield from (Token("number", first, first), Token("sign", ",", ","), Token("number", second, second))
        else:
            yield token


def _levels(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield for each token the number of the innermost open bracket around it; 0 outside of any.

    The brackets are numbered from 1, in order. The number is negative if a comma in the bracket separates items, as in
    a call or a list, so that `1,5` there is two numbers.
    """
    stack, opened = [0], 0
    ahead = [Token("sign", ""), *tokens, END, END]
    for before, token, inner, after in zip(ahead, ahead[1:], ahead[2:], ahead[3:], strict=False):
        if token.closes and len(stack) > 1:
            yield stack.pop()
            continue
        if token.opens:
            opened += 1
            is_pair = inner.is_decimal and after.text == ")"
            is_share = before.text == "log" and inner.text.startswith("0.")  # nobody takes the logarithm of 0
            is_call = before.ends_operand and before.kind != "number"
            is_list = (is_pair and stack[-1] < 0) or (
                is_call and not (is_pair and (before.text in OF_ONE_NUMBER or is_share))
            )
            stack.append(-opened if is_list or token.text == "[" else opened)
        yield stack[-1]


def _statements(tokens: Sequence[Token]) -> Iterator[tuple[tuple[str, ...], list[Token]]]:
    """Yield the names that each statement is assigned to, none if there is no `=`, and the tokens of its value.

    A `return` in front of a value is dropped, `+=` counts as `=`, and of `a = b = c` only `b` is assigned to.

    Raises:
        ExpressionError: a statement is empty.
    """
    depth = 0
    targets: tuple[str, ...] = ()
    value: list[Token] = []
    for token in [*tokens, Token("sign", ";", "end")]:
        depth += token.opens - token.closes
        if depth > 0 or token.kind != "sign" or token.text not in ("=", "+=", ";"):
            value.append(token)
        elif token.text != ";":
            targets, value = _targets(value), []
        else:
            if value and value[0].kind == "name" and value[0].text == "return":
                del value[0]
            if not value and token.written != "end":
                raise ExpressionError("something is missing before `;`")
            yield targets, value
            targets, value = (), []
    if value:
        yield targets, value[:-1]


def _targets(left: Sequence[Token]) -> tuple[str, ...]:
    """Return the names on the left of an assignment; none if it is something else, such as `dL/dw`."""
    names = "".join(token.text for token in left).strip("()[]").split(",")
    return tuple(map(_variable, names)) if all(name.replace(".", "_").isidentifier() for name in names) else ()


def _variable(name: str) -> str:
    """Return the name of a variable by which it is known: `out_g` for `out.g` and `out.grad`."""
    return re.sub(r"_grad$", "_g", name.replace(".", "_")) if "." in name else name


def _loop_names(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the names between `for` and `in`."""
    is_target = False
    for token in tokens:
        if token.kind == "name" and token.text in ("for", "in"):
            is_target = token.text == "for"
        elif is_target and token.kind == "name":
            yield token.text


def _with_joined_names(tokens: Sequence[Token], known: Collection[str]) -> Iterator[Token]:
    """Yield the tokens, with `out.g` as one name, and with `^T` as the attribute `.T`.

    Args:
        tokens: the tokens of a formula.
        known: the names of variables; `out.g(` is a name and a bracket only if it is one of them.
    """
    ahead = [*tokens, END, END, END]
    place, before = 0, END
    while place < len(tokens):
        token, after, owned, behind = ahead[place : place + 4]
        place += 1
        if token.text in ("**", "^") and after.text == "T":
            token = replace(token, text=".")
        elif token.kind == "name" and before.text != "." == after.text and owned.text in ("g", "grad"):
            name = _variable(f"{token.text}.{owned.text}")
            if name in known or behind.text != "(":
                token = replace(token, text=name, written=f"{token.written}.{owned.written}")
                place += 2
        yield token
        before = token


@dataclass
class _Bracket:
    """Describe an open bracket.

    Args:
        opened: its sign.
        is_module: whether it belongs to a call that makes a function, such as `nn.Softmax(0)`.
        is_divided: whether the last product or quotient in it was a quotient.
    """

    opened: str
    is_module: bool = False
    is_divided: bool = False


def _in_python(tokens: Sequence[Token], known: Collection[str]) -> Iterator[Token]:
    """Yield the tokens of a formula in Python's grammar.

    Operands side by side (`2x`, `(1 - out) out.g`) become a product. A function whose operand has no brackets
    (`log 10`) becomes a sign, with the precedence of the sign `+`.

    Args:
        tokens: the tokens of one expression.
        known: the names of variables.

    Raises:
        ExpressionError: an operator or a bracket is missing, or there are too many brackets.
    """
    brackets = [_Bracket("")]
    before, can_be_called, is_module = Token("sign", ""), False, False
    for token, after in itertools.pairwise([*tokens, END]):
        bracket, is_call = brackets[-1], token.text == "(" and can_be_called
        if before.ends_operand and token.starts_operand and not is_call and not (token.opens and token.text == "["):
            if before.kind == "text" or not (token.opens or token.kind == "name" or token.written[-1] in FRACTIONS):
                raise ExpressionError(f"between `{before.written}` and `{token.written}` an operator is missing")
            if bracket.is_divided:
                raise ExpressionError(f"what is `{token.written}` divided by? Put brackets there")
            yield Token("sign", "·", token.written)
        if token.kind == "name" and token.text in NO_NAMES - LINKS:
            raise ExpressionError(REFUSED.get(token.text, _misplaced_message(before, token)))
        if before.text == "." and before.kind == "sign":
            _check_attribute(token)
        if token.opens:
            brackets.append(_Bracket(token.text, is_call and is_module))
        elif token.closes:
            if len(brackets) == 1:
                raise ExpressionError(f"`{token.text}` closes a bracket that was never opened")
            if bracket.opened + token.text not in ("()", "[]"):
                raise ExpressionError(_never_closed_message(bracket.opened))
            brackets.pop()
        elif before.ends_operand and token.text not in (".", "**", "^") and not token.ends_operand:
            bracket.is_divided = token.text in ("/", "//")
        if len(brackets) > DEEPEST:
            raise ExpressionError(f"it is nested more than {DEEPEST} deep: the answer is much simpler")
        is_function = token.kind == "name" and (before.text == "." or token.text not in known)
        can_be_called, is_module = is_function or (token.closes and bracket.is_module), token.text in MODULES
        is_applied = token.text in OF_MATHEMATICS and after.kind in ("number", "name") and after.starts_operand
        if is_applied and before.text != ".":
            token = replace(token, kind="sign")
        if token.text != "+" or before.ends_operand:  # a sign that changes nothing
            yield token
        before = token
    if len(brackets) > 1:
        raise ExpressionError(_never_closed_message(brackets[-1].opened))


def _check_attribute(name: Token) -> None:
    """Check that a token may follow a point.

    Raises:
        ExpressionError: the token is no name, or a private one.
    """
    if name.kind != "name":
        raise ExpressionError("a name is missing behind a point")
    if name.text.startswith("_"):
        raise ExpressionError(f"`.{name.text}` is not allowed: only arithmetic and array methods are")


def _never_closed_message(opened: str) -> str:
    """Return the message for a bracket that is never closed."""
    return f"the bracket `{opened}` is never closed: put `{')' if opened == '(' else ']'}` where it ends"


def _misplaced_message(before: Token, token: Token) -> str:
    """Return the message for a token that may not follow the one before it."""
    if token.text == "*" and before.text in ("", "(", "["):
        return "`*` has no place here"
    if token.kind == "end":
        return "it ends too early: something is missing at its end"
    if before.ends_operand:
        return f"between `{before.written}` and `{token.written}` an operator is missing"
    return f"something is missing before `{token.written}`"


def _tree(tokens: Sequence[Token]) -> ast.expr:
    """Return the syntax tree of an expression.

    Args:
        tokens: the tokens, in Python's grammar.

    Raises:
        ExpressionError: Python's parser refuses them; says where.
    """
    pieces = [*map(_piece, tokens)]
    try:
        tree: ast.expr = ast.parse(" ".join(pieces), mode="eval").body
        if any(map(_is_applied, tokens)):
            starts = itertools.accumulate((len(piece.encode()) + 1 for piece in pieces), initial=0)
            tree = _Applications(dict(zip(starts, tokens, strict=False))).visit(tree)
        return tree
    except SyntaxError as error:
        if "'else'" in error.msg:
            raise ExpressionError("behind `if`, `else` is missing") from error
        if not error.msg.startswith("invalid syntax"):
            raise ExpressionError(f"it cannot be read ({error.msg})") from error
        ends = itertools.accumulate(len(piece) + 1 for piece in pieces)
        column = error.offset or math.inf  # 0 where the text ends too early
        place = next((place for place, end in enumerate(ends) if end > column), len(tokens))
        before, token, _ = [Token("sign", ""), *tokens, END, END][place : place + 3]
        raise ExpressionError(_misplaced_message(before, token)) from error
    except (ValueError, MemoryError, RecursionError) as error:
        raise ExpressionError("it is nested too deeply: the answer is much simpler") from error


def _is_applied(token: Token) -> bool:
    """Return whether a token is a sign for a function whose operand has no brackets, as `√` in `√x`."""
    return token.kind == "sign" and token.text in OF_MATHEMATICS


class _Applications(ast.NodeTransformer):
    """Replace the signs that stand for functions without brackets, as in `log x`, by calls.

    Args:
        tokens: the tokens by the column where they begin.
    """

    def __init__(self, tokens: Mapping[int, Token]) -> None:
        """Keep the tokens, by the column where each begins."""
        self.tokens = tokens

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Return a call in place of a sign that stands for a function; any other node unchanged.

        Raises:
            ExpressionError: it is unclear where the function ends.
        """
        self.generic_visit(node)
        function = self.tokens.get(node.col_offset, END)
        if not _is_applied(function):
            return node
        if self.tokens.get((node.end_col_offset or 0) + 1, END).text == "/":
            raise ExpressionError(f"where does `{function.text}` end? Put brackets there")
        return ast.Call(ast.Name(function.text), [node.operand], [])


def _piece(token: Token) -> str:
    """Return the Python source that stands for a token of a formula.

    A number too large for a float becomes `1e999`, which is infinite.
    """
    if token.kind == "number":
        number = float(token.text)
        return "1e999" if math.isinf(number) else repr(number)
    if token.kind == "text":
        return repr(token.text)
    if _is_applied(token):
        return "+"
    return PYTHON.get(token.text, token.text)

"""The statements of a learner's code that give an answer, to be shown beside what was found in it.

Within them, the part that is wrong is marked where the mistake in the answer says for certain which one it is: where
there is only one part that it can be about, in the statement and in everything that its variables are made of.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.results.records import AnswerResult

LONGEST = 100_000  # characters of a file or a cell that is read
MOST_STATEMENTS, MOST_LINES = 3, 6
MOST_NODES = 1_000  # of an answer's statement and of what its variables are made of
LINE_OF_ERROR = re.compile(r"\(\S+, line (\d+): ")
CALLED_WITH = re.compile(r"\b(?:takes .*positional arguments? but|missing \d+ required positional|takes no arguments)")
CHANGED_ARGUMENT = re.compile(r"the function changes `(\S+?)` in place")
VIEWS = (  # of an array, which share its memory or may do so
    "T", "data", "detach", "expand", "flatten", "numpy", "permute", "ravel", "reshape", "squeeze", "t", "transpose",
    "unsqueeze", "view", "view_as",
)  # fmt: skip
COUNTS = ("len", "numel", "size", "shape", "float", "int")  # what a size is made with
UNREACHED = ("crash", "timeout")  # codes of a call that did not return, so that no statement after its end counts
NEW_ARRAYS = ("zeros", "zeros_like", "empty", "empty_like", "full", "full_like", "tensor")
RULE_OF_ENGINE = "backward rule of "
MISUSED_PARTNERS = ("wrongly-transposed", "kernel-turned", "reshaped-in-product", "inverse-in-product")  # operators
NO_VALUES = ("g", "shape", "dtype", "ndim", "device", "numel", "size", "dim")  # of `inp.shape`, the values are not read
UNREADING = ("len", "zeros_like", "ones_like", "empty_like", "full_like")  # functions that read no values either

Finder = Callable[[Sequence[ast.AST], Mapping[str, Any]], Iterator[ast.expr]]


@dataclass(frozen=True)
class Statement:
    """A statement of the learner's.

    Args:
        line: the number of its first line in its file or cell, from 1.
        text: its lines, without the indentation that they share.
        marked: where in the text the part begins and ends that is wrong; `None` where that is not certain.
        role: what it does, such as "where w.g is stored", if it may be right; empty if what is wrong is in it.
        cell: the number of its cell among several, from 1; 0 if there is no other.
    """

    line: int
    text: str
    marked: tuple[int, int] | None = None
    role: str = ""
    cell: int = 0

    @property
    def place(self) -> str:
        """Return its cell, if there are several, and its line, such as "cell 7, line 3"."""
        return f"cell {self.cell}, line {self.line}" if self.cell else f"line {self.line}"


def statements_of(
    code: Sequence[str], function: str, answer: AnswerResult, cause: AnswerResult | None = None
) -> list[Statement]:
    """Return the statements of a function that a wrong answer is about, at most `MOST_STATEMENTS`, in order.

    If the message names the line of an error, it is the statement of that line; if it says that the function was called
    with too many or too few arguments, the head of its definition; if it names an argument that is changed in place,
    they are the statements that change it. If the mistake is in how an array is used, it is the only statement that can
    use it. Else they store the answer or return it, or fill its entries afterwards. If there is one, and its value is
    only a variable, as in `w.g = total`, the last assignment to that variable stands before it.

    Args:
        code: the text of the file, or of each cell in the order in which they ran; the last definition of the function
            counts.
        function: the name of the function.
        answer: the answer; the part that its mistake is about is marked where that is certain.
        cause: the answer that its message refers to, as in "the same mistake as in w.g"; `None` if it refers to none.

    Returns:
        The statements; empty if the code is no Python, no statement is recognised as storing the answer, the call ended
        before any of them at a line that is not known, or the mistake is in a rule of an engine, which is in another
        function.
    """
    if RULE_OF_ENGINE in (cause or answer).message:
        return []
    for number, text in reversed([*enumerate(code, 1)]):
        definition = _definition(text, function)
        if definition is not None:
            cell = number if len(code) > 1 else 0
            if CALLED_WITH.search(answer.message):
                return [replace(_head(text, definition), cell=cell)]
            try:
                faulty = _faulty_statements(definition, answer)
                giving = [] if answer.code in UNREACHED else _giving_statements(definition, answer.name)
                chosen = giving if faulty is None else faulty
            except RecursionError:  # a formula that Python parses, but that is nested too deeply to be searched
                return []
            wrong = _wrong_part(definition, chosen, answer)
            shown = chosen[:MOST_STATEMENTS]
            statements = [(node, replace(_statement(text, node, wrong), cell=cell)) for node in shown]
            return [
                statement
                if faulty is not None or statement.marked
                else replace(statement, role=_role(node, answer.name))
                for node, statement in statements
            ]
    return []


def _head(text: str, definition: ast.FunctionDef) -> Statement:
    """Return the head of a function, its name and its parameters, as a statement."""
    lines = text.splitlines()[definition.lineno - 1 : max(definition.body[0].lineno - 1, definition.lineno)]
    return Statement(definition.lineno, "\n".join(lines[:MOST_LINES]))


def _role(statement: ast.stmt, answer: str) -> str:
    """Return what a statement does for an answer: "where w.g is stored", "where it is returned" or "... computed"."""
    if isinstance(statement, ast.Return):
        return "where it is returned"
    is_stored = any(_is_part_of(target, {answer}) for target in _targets(statement))
    return f"where {answer} is stored" if is_stored else "where it is computed"


def _definition(text: str, function: str) -> ast.FunctionDef | None:
    """Return the last definition of a function in a text; `None` if there is none, or the text is no Python.

    A text of more than `LONGEST` characters is not read.
    """
    if len(text) > LONGEST or function not in text:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape has been warned of already
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    definitions = (node for node in reversed(tree.body) if isinstance(node, ast.FunctionDef) and node.name == function)
    return next(definitions, None)


def _faulty_statements(definition: ast.FunctionDef, answer: AnswerResult) -> list[ast.stmt] | None:
    """Return the statements of a function in which an answer goes wrong for certain; `None` where they are not known.

    The list is empty if the message names an argument that is changed in place, but no statement that changes it is
    recognised.
    """
    if (changed := CHANGED_ARGUMENT.search(answer.message)) is not None:
        return list(_changing_statements(definition, {changed[1]}))
    if (line := LINE_OF_ERROR.search(answer.message)) is not None:
        at = [each for each in _statements(definition.body) if each.lineno <= int(line[1]) <= (each.end_lineno or 0)]
        return at[-1:] or None
    edits = (answer.mistake or {}).get("edits") or []
    if len(edits) != 1 or edits[0].get("operator") not in MISUSED_PARTNERS:
        return None
    using = _uses_with_gradient(definition, answer.name, _partners(edits[0].get("parameters") or {}))
    return using if len(using) == 1 else None


def _partners(parameters: Mapping[str, Any]) -> set[str]:
    """Return the names in the operation of a mistake but for that of the operand whose gradient is wrong.

    Such as wh for the gradient of h through `h @ wh`.
    """
    try:
        step = ast.parse(str(parameters.get("step", "")).strip("`"), mode="eval")
    except SyntaxError:
        return set()
    called = {node.func for node in ast.walk(step) if isinstance(node, ast.Call)}
    names = {node.id for node in ast.walk(step) if isinstance(node, ast.Name) and node not in called}
    return names - {str(parameters.get("factor", "")), str(parameters.get("operand", ""))}


def _uses_with_gradient(definition: ast.FunctionDef, answer: str, names: Collection[str]) -> list[ast.stmt]:
    """Return the statements that an answer depends on in which arrays of these names meet a gradient, from the top.

    A gradient is a name such as `g`, `x.g` or `x_g`, and whatever is computed from one.

    Args:
        definition: the function; if it contains other functions, nothing is returned.
        answer: the name of the answer.
        names: the names of the arrays.
    """
    if any(isinstance(node, ast.FunctionDef | ast.Lambda) for node in ast.walk(definition) if node is not definition):
        return []
    statements = [
        each for each in _statements(definition.body) if _targets(each) or isinstance(each, ast.Return | ast.Expr)
    ]
    own = {node.arg for node in ast.walk(definition.args) if isinstance(node, ast.arg)}
    own |= {_base(target) for each in statements for target in _targets(each)}
    reads = {id(each): _names_read(each) for each in statements}
    writes = {id(each): _names_written(each, own) for each in statements}
    gradients = {name for read in reads.values() for name in read if name == "g" or name.endswith((".g", "_g"))}
    needed = {answer}
    for _ in statements:  # a loop passes a value on to an earlier statement
        for each in statements:
            gradients |= writes[id(each)] if reads[id(each)] & gradients else set()
            is_given = answer.startswith("return") and isinstance(each, ast.Return)
            needed |= reads[id(each)] if is_given or writes[id(each)] & needed else set()
    is_needed = (each for each in statements if isinstance(each, ast.Return) or writes[id(each)] & needed)
    return [each for each in is_needed if reads[id(each)] & gradients and not reads[id(each)].isdisjoint(names)]


def _names_written(statement: ast.stmt, own: Collection[str]) -> set[str]:
    """Return the variables and attributes that a statement changes, by an assignment or by a method of theirs.

    Args:
        statement: the statement.
        own: the variables and attributes of the function; a method of anything else, such as `torch`, changes nothing.
    """
    called = getattr(getattr(statement, "value", None), "func", None) if isinstance(statement, ast.Expr) else None
    changed = {_base(called.value)} if isinstance(called, ast.Attribute) else set()
    changed = {name for name in changed if name in own or name.partition(".")[0] in own}
    return changed | {_base(target) for target in _targets(statement)}


def _base(target: ast.expr) -> str:
    """Return the variable or attribute that an assignment changes: "w.g" for `w.g[0, i]`."""
    while isinstance(target, ast.Subscript | ast.Starred):
        target = target.value
    return ast.unparse(target)


def _names_read(statement: ast.stmt) -> set[str]:
    """Return the variables, and the attributes `.g` of variables, that a statement reads for their values."""
    value: ast.AST = getattr(statement, "value", None) or statement
    parts = [*ast.walk(value)]
    unread = {part.value for part in parts if isinstance(part, ast.Attribute) and part.attr in NO_VALUES}
    names = {part.id for part in parts if isinstance(part, ast.Name) and part not in unread}
    names |= {ast.unparse(part) for part in parts if isinstance(part, ast.Attribute) and part.attr == "g"}
    return names | ({_base(statement.target)} if isinstance(statement, ast.AugAssign) else set())


def _giving_statements(definition: ast.FunctionDef, answer: str) -> list[ast.stmt]:
    """Return the statements of a function that store an answer or return it, or fill its entries afterwards.

    Before a statement that gives only a variable stands the last assignment to that variable.
    """
    given = list(_answer_statements(definition, answer))
    before = _assigned_before(definition, given, answer) if len(given) == 1 else []
    names = {ast.unparse(target) for each in [*before, *given] for target in _targets(each)}
    is_stored = not answer.startswith("return")
    filled = list(_changing_statements(definition, {answer} if is_stored else names))
    if filled:  # what it began with, and that it is returned, is not what is wrong
        given = [*(each for each in [*before, *given] if not _is_beginning(each)), *filled]
        given = [each for each in given if not (isinstance(each, ast.Return) and isinstance(each.value, ast.Name))]
        return sorted(dict.fromkeys(given), key=lambda each: each.lineno)
    return [*before, *given]


def _is_beginning(statement: ast.stmt) -> bool:
    """Return whether a statement assigns nothing but new arrays, such as `torch.zeros_like(w)`."""
    value = getattr(statement, "value", None)
    parts = value.elts if isinstance(value, ast.Tuple) else [getattr(value, "elt", value)]
    return all(_name_of(part).removeprefix("new_") in NEW_ARRAYS for part in parts if part is not None)


def _answer_statements(definition: ast.FunctionDef, answer: str) -> Iterator[ast.stmt]:
    """Yield the statements of a function that store an answer, or that return it, in the order of the text.

    Args:
        definition: the function.
        answer: the name of the answer, such as `w.g` or `return`.
    """
    for statement in _statements(definition.body):
        if answer.partition(".")[0] == "return":
            if isinstance(statement, ast.Return) and statement.value is not None:
                yield statement
        elif answer in (ast.unparse(target) for target in _targets(statement)):
            yield statement


def _assigned_before(definition: ast.FunctionDef, given: Sequence[ast.stmt], answer: str) -> list[ast.stmt]:
    """Return the last assignment before a statement to the variable that is all that it gives for an answer.

    Args:
        definition: the function.
        given: the statements that store or return the answer; the first counts.
        answer: the name of the answer; of "return.1", the second of the returned values counts.

    Returns:
        The assignment as the only element; empty if there is none, or the value is more than a variable.
    """
    value, place = getattr(given[0], "value", None), answer.partition(".")[2]
    if isinstance(given[0], ast.Return) and isinstance(value, ast.Tuple) and place.isdigit():
        value = value.elts[int(place)] if int(place) < len(value.elts) else None
    if not isinstance(value, ast.Name):
        return []
    before = [
        statement
        for statement in _statements(definition.body)
        if statement.lineno < given[0].lineno and value.id in (ast.unparse(target) for target in _targets(statement))
    ]
    return before[-1:]


def _changing_statements(definition: ast.FunctionDef, names: Collection[str]) -> Iterator[ast.stmt]:
    """Yield the statements of a function that change an array in place, where that is seen, in the order of the text.

    Args:
        definition: the function.
        names: the names of the array, such as `inp` or `out.g`; it is also changed under those of views and elements.
    """
    known = set(names)
    for statement in _statements(definition.body):
        if isinstance(statement, ast.For) and _is_part_of(statement.iter, known):
            known.add(ast.unparse(statement.target))
        for part in _own_nodes(statement):
            if _changes_in_place(part) and any(_is_part_of(target, known) for target in _changed_by(part)):
                yield statement
                break
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign) and value is not None and _is_part_of(value, known):
            known |= {ast.unparse(target) for target in _targets(statement) if isinstance(target, ast.Name)}


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, without those of the statements in its blocks."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from ast.walk(child)


def _changed_by(part: ast.AST) -> Iterator[ast.expr]:
    """Yield the expression that a node of `_changes_in_place` changes."""
    if isinstance(part, ast.Subscript):
        yield part.value
    elif isinstance(part, ast.AugAssign):
        yield part.target
    elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        yield part.func.value


def _is_part_of(value: ast.expr, known: Collection[str]) -> bool:
    """Return whether an expression is one of those `known`, or an element or a view of it."""
    while ast.unparse(value) not in known:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            value = value.func
        elif isinstance(value, ast.Subscript | ast.Attribute):
            if isinstance(value, ast.Attribute) and value.attr not in VIEWS and not value.attr.endswith("_"):
                return False
            value = value.value
        else:
            return False
    return True


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """Return the expressions that a statement assigns to, each part of a tuple as one of them.

    `x += 1` and `x: int = 1` assign, too; for any other statement, such as a loop, the list is empty.
    """
    if isinstance(statement, ast.Assign):
        return [part for target in statement.targets for part in getattr(target, "elts", [target])]
    return [statement.target] if isinstance(statement, ast.AugAssign | ast.AnnAssign) else []


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a function in the order of the text: those in blocks too, but not in inner functions.

    The handlers of exceptions are yielded, too.
    """
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "handlers", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))


def _statement(text: str, node: ast.stmt, wrong: _Part | None) -> Statement:
    """Return a statement as the text of its first `MOST_LINES` lines, with the place of the wrong part if known.

    Args:
        text: the text that the statement was parsed from.
        node: the statement's syntax node.
        wrong: the part that is wrong, in this statement or in another one; `None` if that is not known.
    """
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
    shown = textwrap.dedent("\n".join(lines[:MOST_LINES]))
    is_inside = wrong is not None and any(part is wrong.node for part in ast.walk(node))
    marked = _place(lines[:MOST_LINES], shown, node.lineno, wrong) if wrong is not None and is_inside else None
    return Statement(node.lineno, shown + ("\n..." if len(lines) > MOST_LINES else ""), marked)


def _place(lines: Sequence[str], shown: str, first: int, part: _Part) -> tuple[int, int] | None:
    """Return the index of a part's first character in the shown text, and the index behind its last one.

    `None` if the part is on more than one line, or on a line that is not shown.

    Args:
        lines: the lines of the statement as they stand in the file.
        shown: the lines of the statement without the indentation that they share.
        first: the number of the first line in the file.
        part: the part.
    """
    line, begin, last_line, end = part.span
    number = line - first
    if line != last_line or number >= len(lines):
        return None
    begin, end = (len(lines[number].encode()[:at].decode()) for at in (begin, end))
    before = shown.split("\n")[: number + 1]
    shift = sum(len(text) + 1 for text in before[:-1]) - (len(lines[number]) - len(before[-1]))
    return begin + shift, end + shift


@dataclass(frozen=True)
class _Part:
    """A part of a statement.

    Args:
        node: the part's node in the syntax tree.
        is_call_alone: whether, of the call of a method, only the method and its arguments are meant.
    """

    node: ast.expr
    is_call_alone: bool = False

    @property
    def span(self) -> tuple[int, int, int, int]:
        """Return the part's first line and byte, and the line and byte right behind its end.

        Lines are counted from 1, bytes from 0. For a negation, that is the span of its minus sign.
        """
        node, function = self.node, getattr(self.node, "func", None)
        line, begin = node.lineno, node.col_offset
        last_line, end = node.end_lineno or 0, node.end_col_offset or 0
        if self.is_call_alone and isinstance(function, ast.Attribute):
            line = function.end_lineno or 0
            begin = (function.end_col_offset or 0) - len(function.attr.encode())
        if isinstance(node, ast.UnaryOp):  # the minus
            last_line, end = line, begin + 1
        return line, begin, last_line, end


# --- the part that is wrong ----------------------------------------------------------------------------------------


def _wrong_part(definition: ast.FunctionDef, chosen: Sequence[ast.stmt], answer: AnswerResult) -> _Part | None:
    """Return the part of some statements that is wrong for certain; `None` if that is not known.

    Args:
        definition: the function.
        chosen: the statements of it that give the answer.
        answer: the answer, with the mistake that explains its numbers.
    """
    edits = (answer.mistake or {}).get("edits") or []
    if answer.code == "error":
        return _failing_product(chosen, answer.message)
    if len(edits) != 1 or (answer.mistake or {}).get("cause") or edits[0].get("operator") not in FINDERS:
        return None
    nodes = _nodes_of_answer(definition, chosen)
    find = FINDERS[edits[0]["operator"]]
    try:
        parts = list(find(nodes, edits[0].get("parameters") or {}))
    except RecursionError:  # a very long formula
        parts = []
    if len(parts) != 1:
        return None
    return _Part(parts[0], is_call_alone=find not in OPERANDS and _name_of(parts[0]) not in COUNTS)


def _failing_product(chosen: Sequence[ast.stmt], message: str) -> _Part | None:
    """Return the matrix product (`@`) that raised an error for its shapes; `None` if it is not certain which.

    Args:
        chosen: the statements that give the answer.
        message: the message of the error, which names the line.
    """
    line = LINE_OF_ERROR.search(message)
    if line is None or "mat1 and mat2 shapes" not in message:
        return None
    parts = [part for node in chosen if node.lineno == int(line[1]) for part in ast.walk(node)]
    products = [part for part in parts if isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult)]
    is_other = any(_name_of(part) in ("mm", "matmul", "addmm", "linear") for part in parts)
    return _Part(products[0]) if len(products) == 1 and not is_other else None


def _nodes_of_answer(definition: ast.FunctionDef, chosen: Sequence[ast.stmt]) -> list[ast.AST]:
    """Return the syntax nodes of all that an answer is computed from.

    Args:
        definition: the function.
        chosen: the statements that give the answer.

    Returns:
        The nodes of these statements, of the assignments to the variables in them, and so on. Empty if it is not
        certain what the answer is computed from: where a variable is assigned more than once, or otherwise than by
        `name = ...`, or anything is changed in place.
    """
    if any(_changes_in_place(part) for part in ast.walk(definition)):
        return []
    assigned: dict[str, list[ast.stmt]] = {}
    for part in ast.walk(definition):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            assigned.setdefault(part.id, [])
    for statement in _statements(definition.body):
        for target in _targets(statement):
            if isinstance(target, ast.Name):
                assigned[target.id].append(statement)
    nodes: list[ast.AST] = []
    waiting, seen = list(chosen), {id(statement) for statement in chosen}
    while waiting:
        statement = waiting.pop()
        if not isinstance(statement, ast.Assign | ast.Return):
            return []
        if isinstance(statement, ast.Assign) and (
            len(statement.targets) > 1 or isinstance(statement.targets[0], ast.Tuple)
        ):
            return []
        parts = list(ast.walk(statement.value or statement))
        nodes += parts
        if len(nodes) > MOST_NODES:
            return []
        for name in {part.id for part in parts if isinstance(part, ast.Name)} & set(assigned):
            if len(assigned[name]) != 1:
                return []
            if id(assigned[name][0]) not in seen:
                seen.add(id(assigned[name][0]))
                waiting += assigned[name]
    return nodes


def _changes_in_place(part: ast.AST) -> bool:
    """Return whether a node stores into a part of an array, is an assignment such as `+=`, or calls one like `add_`."""
    is_store = isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load)
    return is_store or isinstance(part, ast.AugAssign) or re.fullmatch(r"[a-z]\w*[a-z]_", _name_of(part)) is not None


def _operand(key: str) -> Finder:
    """Return a function that finds the expression which the mistake's parameter `key` names.

    It takes syntax nodes and the mistake's parameters, and yields the nodes at which the expression is read for its
    value. The parameter is the source of an expression, in backquotes or not, such as `x @ w`; nodes are compared with
    it by their unparsed source. Nothing is yielded if the parameter is missing or no expression.
    """

    def find(nodes: Sequence[ast.AST], parameters: Mapping[str, Any]) -> Iterator[ast.expr]:
        """Yield these places; where one is the base of a power, the whole power in its place.

        Not yielded: places in a comparison, which read the expression for a mask only; before an attribute of
        `NO_VALUES`; and as an argument of a function of `UNREADING`.
        """
        try:
            name = ast.unparse(ast.parse(str(parameters[key]).strip("`"), mode="eval"))
        except (SyntaxError, ValueError, KeyError):
            return
        unread: set[ast.AST] = {
            part.value for part in nodes if isinstance(part, ast.Attribute) and part.attr in NO_VALUES
        }
        unread |= {
            arg for part in nodes if isinstance(part, ast.Call) and _name_of(part) in UNREADING for arg in part.args
        }
        unread |= {inner for part in nodes if isinstance(part, ast.Compare) for inner in ast.walk(part)}
        powers = {part.left: part for part in nodes if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Pow)}
        for part in nodes:
            if isinstance(part, ast.expr) and part not in unread and ast.unparse(part) == name:
                yield powers.get(part, part)

    return find


def _averages(nodes: Sequence[ast.AST], _: Mapping[str, Any]) -> Iterator[ast.expr]:
    """Yield the calls of `mean` among the nodes, and the divisors such as `len(x)` or `x.shape[0]` that are sizes."""
    for part in nodes:
        if isinstance(part, ast.Call) and _name_of(part) in ("mean", "nanmean", "average"):
            yield part
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) and _is_size(part.right):
            yield part.right


def _is_size(part: ast.expr) -> bool:
    """Return whether an expression contains attributes or calls, all of which are sizes, such as `len` and `shape`."""
    names = [
        node.attr if isinstance(node, ast.Attribute) else _name_of(node)
        for node in ast.walk(part)
        if isinstance(node, ast.Attribute | ast.Call)
    ]
    return bool(names) and set(names) <= set(COUNTS)


def _leading_minus(nodes: Sequence[ast.AST], _: Mapping[str, Any]) -> Iterator[ast.expr]:
    """Yield the negated factor that the first statement's value begins with: `-a` for `-a * b`.

    Nothing without a minus.
    """
    part = next((node for node in nodes if isinstance(node, ast.expr)), None)
    while isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult | ast.Div | ast.MatMult):
        part = part.left
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
        yield part


def _call(key: str) -> Finder:
    """Return a function that finds the calls of the function which the mistake's parameter `key` names.

    It takes syntax nodes and the mistake's parameters, and yields the calls of a function or method of this name.
    """
    return lambda nodes, parameters: (
        part for part in nodes if isinstance(part, ast.Call) and _name_of(part) == parameters.get(key)
    )


def _comparisons(nodes: Sequence[ast.AST], _: Mapping[str, Any]) -> Iterator[ast.expr]:
    """Yield the comparisons among the nodes; none if a `~`, a `not` or a subtraction may reverse one afterwards."""
    if not any(isinstance(part, ast.Invert | ast.Not | ast.Sub) for part in nodes):
        yield from (part for part in nodes if isinstance(part, ast.Compare))


def _fractions(nodes: Sequence[ast.AST], _: Mapping[str, Any]) -> Iterator[ast.expr]:
    """Yield the floating-point numbers among the nodes, such as `0.5`."""
    yield from (part for part in nodes if isinstance(part, ast.Constant) and isinstance(part.value, float))


def _number(nodes: Sequence[ast.AST], parameters: Mapping[str, Any]) -> Iterator[ast.expr]:
    """Yield the nodes that are the number in the mistake's parameter "number"."""
    yield from (part for part in nodes if isinstance(part, ast.Constant) and part.value == parameters.get("number"))


def _name_of(part: ast.AST) -> str:
    """Return the name of the function or method that a call calls; empty for anything else."""
    function = part.func if isinstance(part, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


OTHER, FACTOR, CHOICE = OPERANDS = _operand("other"), _operand("factor"), _operand("choice")
FINDERS: Mapping[str, Finder] = {
    "another-partner": OTHER,
    "derivative-with-another-value": OTHER,
    "another-value-in-one-place": OTHER,
    "value-for-gradient": OTHER,
    "times-operand": FACTOR,
    "forward-value": CHOICE,
    **dict.fromkeys(("averaged", "factor-divided"), _averages),
    "result-negated": _leading_minus,
    "result-summed": _call("how"),
    "derivative-of-another-function": _call("name"),
    "mask-inverted": _comparisons,
    "factor-number-typed-in": _fractions,
    "factor-typed-in": _number,
}
"""By operator: what finds in the nodes of an answer's code every part that its mistake can be about."""

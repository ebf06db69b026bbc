"""Labels of the marked operations of a graph: a formula of what must be and of what is done, in the source's own names.

Where the diagnosis does not name both, there is no label.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.course.shapes import guess_axes
from grader.diagnosis.mistake import Mistake
from grader.diagnosis.operators.partners import product_chain
from grader.diagnosis.operators.places import expression_of
from grader.program.forward import Node, Place
from grader.program.operation import SYMBOLS
from grader.program.program import Program

# By code, formulas of what is done in place of what must be: the first whose fields are known and short is the label.
CHANGES: Mapping[str, tuple[str, ...]] = {
    "wrong-sign": ("* (-1)",),
    "wrong-factor": ("* {factor}",),
    "mean-for-sum": ("sum / {sizes}", "sum / n"),
    "sum-for-mean": ("/ n -> / 1",),
    "extra-factor": ("* {factor}",),
    "missing-local": ("{missing} -> 1", "{partner} -> 1"),
    "missing-path": ("{operand} -> 0",),
    "missing-upstream": ("{gradient} -> 1",),
    "missing-batch-sum": ("sum(0) -> no sum",),
    "extra-batch-sum": ("no sum -> sum(0)",),
    "partial-batch": ("sum -> part of it",),
    "sum-of-products": ("sum(a*b) -> sum(a)*sum(b)",),
    "summed-wrong-axis": ("axis -> {axis}", "{right} -> {wrong}"),
    "reshape-for-transpose": (".t() -> reshape",),
    "elementwise-for-matmul": ("@ -> *",),
    "wrong-point": ("f'({operand}) -> f'({choice})", "{own} -> {other}"),
    "wrong-operand": ("= {formula}", "{own} -> {other}"),
    "value-for-gradient": ("{gradient} -> {other}", "g -> value"),
    "forward-value": ("g -> value",),
    "inverse-for-transpose": (".t() -> inverse",),
    "inverted-mask": ("mask -> 1 - mask",),
    "overwritten": ("+= -> =",),
    "wrong-order": ("1, 2 -> 2, 1",),
    "hard-coded": ("n -> a number",),
}
FIELD = re.compile(r"\{(\w+)\}")
NAMES = frozenset(("choice", "factor", "gradient", "missing", "operand", "other", "own", "partner"))  # fields of code
OF_RESULT = re.compile(r"the right answer (multiplied|divided) by (the exponential of )?(.+)")
OF_PARTNER = re.compile(r"the gradient of (.+) is used in place of (.+)")
LONGEST_CHANGE = 28  # characters of a label
LONG_NAME = 12  # characters, above which a call in a name is the function alone: `sqrt` for `(var + 1e-5).sqrt()`
LONGEST_FUNCTION = 7  # characters of the name of a function in one
OWN_DERIVATIVE = "exp"  # the function that is its own derivative
INSIDE = {
    "the function": "{slope}({x}) * g -> {f}({x} * g)",
    "the derivative": "{slope}({x}) * g -> {slope}({x} * g)",
    "the derivative, and outside": "{slope}({x}) -> {slope}({x} * g)",
}


@dataclass(frozen=True)
class Named:
    """Hold what a diagnosis says of its places.

    Args:
        code: the public code.
        facts: of each edit the name of its operator and its message fields.
    """

    code: str = ""
    facts: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def change_at(self, program: Program, places: Sequence[Place], place: Place) -> str:
        """Return the label of the node that reads a place; empty where the diagnosis does not name what is done there.

        Args:
            program: the forward pass.
            places: all places of the mistake in it.
            place: one of them.
        """
        if len(self.facts) > 1 and len(self.facts) != len(places):
            return change_of(self.code, {})
        number = places.index(place) if len(self.facts) > 1 else 0
        operator, parameters = self.facts[number] if self.facts else ("", {})
        node = program.nodes[place[0]]
        own = _change_by_operator(operator, parameters, program, place)
        label = change_of(self.code, parameters) if own is None else own
        label = _with_function(label, node)
        return label if len(label) <= LONGEST_CHANGE else ""


def named_mistake(mistake: Mistake) -> Named:
    """Return the code of a mistake, with the operator and the message fields of each of its edits."""
    return Named(mistake.code, tuple((fact.operator, fact.parameters) for fact in mistake.facts))


def change_of(code: str, parameters: Mapping[str, Any]) -> str:
    """Return a formula of what must be and of what is done instead, such as `+= -> =`; empty if the code has none.

    Args:
        code: the public code of a mistake.
        parameters: its message fields, of which short ones are filled in.
    """
    for template in CHANGES.get(code, ()):
        values = {}
        for name in FIELD.findall(template):
            text = str(parameters.get(name, "")).strip("`")
            values[name] = code_name(text, is_factor=template.startswith("* ")) if name in NAMES else text
        if all(values.values()) and len(formula := template.format(**values)) <= LONGEST_CHANGE:
            return formula
    return ""


def code_name(text: str, is_factor: bool = False) -> str:
    """Return a name or an expression of the source, its calls shortened where it is long; empty where it is neither.

    Args:
        text: the expression, such as `(x @ w).sigmoid() - targ`, which becomes `sigmoid - targ`.
        is_factor: a sum or a difference is put in brackets.
    """
    text = text.strip("`")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    short = text if len(text) <= LONG_NAME else ast.unparse(_WithoutArguments().visit(tree))
    return f"({short})" if is_factor and isinstance(tree, ast.BinOp) else short


class _WithoutArguments(ast.NodeTransformer):
    """Replaces each call by the name of the function that is called."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the name of the function."""
        return ast.Name(node.func.attr) if isinstance(node.func, ast.Attribute) else node.func


def _change_by_operator(operator: str, parameters: Mapping[str, Any], program: Program, place: Place) -> str | None:
    """Return the label that an operator's mistake has at a place; `None` where its code says all.

    Args:
        operator: the name of the operator.
        parameters: the message fields of the edit.
        program: the forward pass.
        place: the place, a node and a slot.
    """
    node = program.nodes[place[0]]
    if operator == "derivative-missing":
        return _missing_derivative(program, node, place[1])
    if operator == "value-mixed-into-result" and (match := OF_RESULT.search(str(parameters.get("what", "")))):
        name = code_name(match[3], is_factor=not match[2])
        return name and f"{'*' if match[1] == 'multiplied' else '/'} {f'exp({name})' if match[2] else name}"
    if operator == "gradient-for-partner":
        return _gradient_in_place(str(parameters.get("own", "")), str(parameters.get("other", "")))
    if operator == "trained-partner":
        used = OF_PARTNER.fullmatch(str(parameters.get("what", "")))
        return _gradient_in_place(used[2], used[1]) if used else ""
    if operator == "whole-factor-mistaken":
        return _mistaken_cofactors(parameters, program, place)
    if operator == "upstream-inside-function":
        return _upstream_inside(parameters, node)
    if operator == "probabilities-over-other-axes":
        return _other_axes(parameters, program, node)
    return None


def _missing_derivative(program: Program, node: Node, slot: int) -> str:
    """Return the factor that is missing in the gradient of a slot: `b -> 1` for a in `a * b`, else `tanh' -> 1`."""
    if len(node.values) == 1 or (node.operation.family == "pointwise" and len(node.operands) == 1):
        return "f' -> 1"
    other = node.operand(1 - slot) if slot in (0, 1) else None
    if other is None or node.name not in ("mul", "matmul", "div"):
        return ""
    name = code_name(program.name_of(other), is_factor=node.name == "div")
    if node.name == "div":
        return f"/ {name} -> / 1" if name and slot == 0 else ""
    return f"{name} -> 1" if name else ""


def _gradient_in_place(own: str, other: str) -> str:
    """Return the label `inp -> gradient of w`: a gradient is used where a value must be; empty if one has no name.

    Args:
        own: the expression that must be used.
        other: the expression whose gradient is used.
    """
    right, used = code_name(own), code_name(other)
    return f"{right} -> gradient of {used}" if right and used else ""


def _mistaken_cofactors(parameters: Mapping[str, Any], program: Program, place: Place) -> str:
    """Return the factors of an operand in a product, and what is used in their place: `(inp - mean)/sqrt -> out`.

    Args:
        parameters: the message fields of the edit.
        program: the forward pass.
        place: the node of the product, and the slot of the operand.
    """
    other, formula, slot = code_name(str(parameters.get("other", ""))), "", place[1]
    for i in product_chain(program, place):
        node = program.nodes[i]
        factor = node.operand(1 - slot)
        name = "" if factor is None else code_name(program.name_of(factor), is_factor=True)
        if not name or not other:
            return ""
        sign = "/" if node.name == "div" else "*"
        formula = f"{formula}{sign}{name}" if formula or sign == "/" else name
        if expression_of(program, node) == parameters.get("product"):
            return f"{formula} -> {other}"
        slot = program.forward.uses[i][0][1]
    return ""


def _upstream_inside(parameters: Mapping[str, Any], node: Node) -> str:
    """Return the label of a function whose operand is multiplied by the upstream gradient: `f'(x) * g -> f'(x * g)`.

    Empty if the mistake names no such form; without the names of the function and operand if they are too long.
    """
    template, x = INSIDE.get(str(parameters.get("inside", ""))), code_name(str(parameters.get("operand", "")))
    if template is None:
        return ""
    slope = node.name if node.name == OWN_DERIVATIVE else f"{node.name}'"
    label = template.format(slope=slope, f=node.name, x=x)
    return label if x and len(label) <= LONGEST_CHANGE else template.format(slope="f'", f="f", x="x")


def _other_axes(parameters: Mapping[str, Any], program: Program, node: Node) -> str:
    """Return over which axes softmax probabilities sum to 1: `sum over t -> over s and t`; empty if one has no name."""
    axes = guess_axes(node.values[0].shape, program.sizes)  # type: ignore[union-attr]
    dim = node.options.get("dim")
    if not isinstance(dim, int) or any(axis.startswith("_") for axis in axes):
        return ""
    wrong = str(parameters.get("axes", ""))
    return f"sum over {axes[dim]} -> over {' and '.join(axes) if wrong == 'all entries' else wrong}"


def _with_function(change: str, node: Node) -> str:
    """Return the formula of a change with `f'` replaced by the derivative of the node's function, such as `tanh'`.

    Unchanged if the name of the function is long or no word.
    """
    is_function = node.operation.family == "pointwise" and node.name.isalpha() and len(node.name) <= LONGEST_FUNCTION
    is_named = is_function and node.name not in SYMBOLS and "(x" not in change
    return change.replace("f'", f"{node.name}'") if is_named else change

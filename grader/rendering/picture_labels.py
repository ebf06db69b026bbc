"""Labels of the marked operations of a graph: a formula of what must be and of what is done, in the source's own names.

Where the diagnosis does not name both, the label is a few words on the kind of the mistake.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Mapping, Sequence
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
    "mean-for-sum": ("sum / {sizes}", "sum -> mean"),
    "sum-for-mean": ("mean -> sum",),
    "extra-factor": ("* {factor}",),
    "missing-local": ("{missing} -> 1", "{partner} -> 1"),
    "missing-upstream": ("{gradient} -> 1",),
    "sum-of-products": ("sum(a*b) -> sum(a)*sum(b)",),
    "summed-wrong-axis": ("axis -> {axis}", "{right} -> {wrong}"),
    "elementwise-for-matmul": ("@ -> *",),
    "wrong-point": ("f'({operand}) -> f'({choice})", "{own} -> {other}"),
    "wrong-operand": ("= {formula}", "{own} -> {other}"),
    "value-for-gradient": ("{gradient} -> {other}", "g -> value"),
    "inverted-mask": ("mask -> 1 - mask",),
    "overwritten": ("+= -> =",),
    "wrong-order": ("1, 2 -> 2, 1",),
}
# By operator, the same where its code does not say enough: the first of several that is short, of which all fields are
# known. The label is left out where there is none.
CHANGES_BY_OPERATOR: Mapping[str, str | tuple[str, ...]] = {
    "constant": "always {number}",
    "zero-but-for-rounding": "always 0",
    "right-only-where": "right for some inputs only",
    "path-counted-twice": "added twice",
    "derivative-with-another-value": "{value} -> {other}",
    "derivative-of-another-function": "f' -> {name}'",
    "formula-wrong": "{mistake}",
    "value-for-derivative": "f' -> {factor}",
    "function-at-another-value": "{source} -> {point}",
    "stops-early": "gradient of {choice}",
    "gradient-of-another-target": "gradient of {choice}",
    "gradients-exchanged": "gradient of {choice}",
    "values-exchanged": "swapped with {other}",
    "other-gradient-added": "+ {other}",
    "averaged-with-other-gradient": "mean with {other}",
    "upstream-missing": "{gradient} -> 1",
    "upstream-twice": "{upstream} -> {upstream}**2",
    "upstream-in-every-iteration": "+ {upstream} in every step",
    "divided-by-another-count": "/ {right} -> / {count}",
    "size-of-another-axis": "{right} -> {wrong}",
    "value-mistaken": "{value} -> {choice}",
    "operation-left-out": "{is}",
    "only-one-path": "only {choice}",
    "kernel-turned": "kernel {how}",
    "moved-along-axis": "{array} {how}",
    "cut-elsewhere": "{how}",
    "padding-exchanged": "both ends swapped",
    "parts-exchanged": "{parts} {how}",
    "same-branch-everywhere": "{branch} everywhere",
    "normalisation-scaled-otherwise": "/ {scale} {choice}",
    "factor-expression": "* {expression}",
    "function-of-result": "{choice}",
    "other-probabilities": ("softmax -> {wrong}", "{wrong}"),
    "other-entries-selected": "goes to {choice}",
    "function-of-gradient": "f' * g -> f(g)",
    "product-of-paths": "product of both derivatives",
    "gain-misplaced": "{gain} {position}",
    "softmax-formula-mistaken": "{mistake}",
    "running-sum-over-other-entries": "{how}",
    "value-for-gradient": "{gradient} -> {other}",
    "terms-squared": "as if squared",
    "difference-mistaken": "{mistake}",
    "entries-of-result": "{what}",
    "masked-with-zeros": "-inf -> 0",
    "number-mistaken": "{right} -> {wrong}",
    "other-variance": "{right} -> {wrong}",
    "other-pairs": "{wrong} paired",
    "wrongly-transposed": "{arrangement}",
    "result-summed": "{how} over {axis}",
    "sum-missing": "not summed over {axes}",
    "taps-dropped": "{which}",
    "border-entries-missing": "nothing {choice}",
    "read-too-early": "part of the gradient",
    "selection-forgotten": "goes to every entry",
    "some-terms-summed": "sum -> part of it",
    "largest-term-alone": "sum -> part of it",
    "reshaped-in-product": "{reshape}",
    "contribution-added-behind": "added after the derivative",
    "channels-reshaped": ".t() -> reshape",
    "one-hot-reshaped": ".t() -> reshape",
    "reshaped-back": "transpose -> reshape",
    "reshape-in-forward": "transpose -> reshape",
    "inverse-in-product": ".t() -> inverse",
}
# By code, what a label says where no formula does.
KINDS: Mapping[str, str] = {
    "imprecise": "measured or rounded",
    "wrong-sign": "a wrong sign",
    "missing-upstream": "upstream gradient missing",
    "missing-local": "a derivative is missing",
    "extra-factor": "one factor too many",
    "missing-path": "a path is missing",
    "missing-batch-sum": "a sum is missing",
    "extra-batch-sum": "one sum too many",
    "partial-batch": "only a part is used",
    "summed-wrong-axis": "along a wrong axis",
    "transposed": "transposed",
    "reshape-for-transpose": "entries are mixed up",
    "inverse-for-transpose": "inverse, not transpose",
    "diagonal-only": "only the diagonal",
    "broadcast-accident": "broadcast by accident",
    "wrong-factor": "a wrong factor",
    "wrong-point": "taken at a wrong value",
    "wrong-operand": "a wrong array is used",
    "stale-gradient": "old gradient not cleared",
    "shared-array": "two values share an array",
    "shape-special": "right for some sizes only",
    "forward-value": "a value of the forward pass",
    "hard-coded": "a number is typed in",
    "not-linear": "not linear in g",
    "wrong-local": "a wrong derivative",
}
# Operators that pass no gradient from some iteration of a loop to the one before it.
LOST_BETWEEN_ITERATIONS = frozenset(("carry-dropped", "only-one-iteration-back", "truncated"))
# By operator that exchanges two values, the message field with the name of the second.
EXCHANGED = {"gradients-exchanged": "choice", "values-exchanged": "other"}
FIELD = re.compile(r"\{(\w+)\}")
NAMES = frozenset(
    (
        "branch",
        "choice",
        "count",
        "expression",
        "factor",
        "gradient",
        "missing",
        "name",
        "operand",
        "other",
        "own",
        "partner",
        "point",
        "right",
        "source",
        "upstream",
        "value",
        "wrong",
    )
)  # fields of code
VALUES = NAMES - {"factor", "gradient", "name", "upstream"}
WHOLE = frozenset(
    (
        "function-of-result",
        "gain-misplaced",
        "gradient-of-another-target",
        "gradients-exchanged",
        "normalisation-scaled-otherwise",
        "other-entries-selected",
        "other-pairs",
        "other-probabilities",
        "size-of-another-axis",
        "stops-early",
    )
)  # operators whose fields are words, or names that are shortened only where they are long
# Words of a message field, and shorter ones for a label; the next are tried only while the label is too long.
SHORTER: Sequence[tuple[re.Pattern[str], str]] = tuple(
    (re.compile(long), short)
    for long, short in (
        ("the upstream gradient", "g"),
        ("(?:in reverse order|the wrong way round) along (?:the )?", "reversed, "),
        ("(?:are |is )?(?:in reverse order|the wrong way round)", "reversed"),
        (" by one entry along (.*), towards the (beginning|end)", r" to the \2 of \1"),
        (", divided by the number of entries", " / count"),
        (r" \(\w+ = .* here\)", ""),
        (", wherever .*", ""),
        ("the first and second parts", "1st and 2nd parts"),
        ("the reciprocal of the sum of the exponentials", "1 / sum(exp)"),
        ("root mean square", "rms"),
        ("the probabilities are inside the sum over the row", "softmax inside the sum"),
        ("the same probability for every entry", "same probability everywhere"),
        ("1 at the largest entry and 0 elsewhere", "1 at the largest, else 0"),
        ("only the sign of .* is used", "only the sign is used"),
        ("1 is subtracted from every entry of .*", "1 subtracted from every entry"),
        ("a hard decision, 0 or 1, is used in place of (.*)", r"\1 rounded to 0 or 1"),
        (r"the (\w+) is also applied to (\w+)", r"\2 -> \1(\2)"),
        ("each operand gets the gradient of the other", "gradients swapped"),
        ("the formula for the derivative of [a-z]+ is differentiated once more", "f' -> f''"),
        ("the [a-z]+ is differentiated as if it were", "as if it were"),
        ("the exponent is taken to be one larger than it is", "exponent taken one too large"),
        ("the logarithm of the base .* is a divisor", "* log -> / log"),
        ("the number of entries that follow", "the number that follow"),
        ("the running sum of g from the beginning of the axis", "running sum from the start"),
        (r"the entries marked by .* are set to", "entries set to"),
        ("the sign of .* is lost", "a sign is lost"),
        ("the rows of the two factors are in different orders.*", "rows in different orders"),
        ("the difference between each entry of g and .*", "differences of g"),
        ("the plain mean of g over .* is used", "plain mean, not weighted"),
        ("the result is divided by the number of (?:unmasked )?entries in the row", "result / number of entries"),
        ("the terms of the sum over the row", "the terms"),
        ("the probability of the entry|the probabilities", "softmax"),
        ("all of its entries", "all entries"),
        (" of (?:the kernel|each window)", ""),
        (" of the right answer", ""),
        (r"\b(?:is|are) ", ""),
        ("the ", ""),
        ("^sum over row", "sum"),
    )
)
APPOSITION = re.compile(r", the [^,]+,(?= is )")  # to a name in a message field
EXPLAINED = re.compile(
    r"(?:, the | \(the |, for each |, as if |; |: ).*"
)  # what follows a name or a clause in a message field
GRADIENT_OF = "the gradient of "
FUNCTION_ITSELF = re.compile(r"\bf\b(?!')")
OF_STEP = re.compile(r"^the (?:earlier|later) | of the \w+ iteration$")
LONGEST_CHANGE = 30  # characters of a label
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

    @property
    def is_lost_between_iterations(self) -> bool:
        """Return whether a gradient gets lost where it must be passed to the iteration of a loop before."""
        return any(
            operator in LOST_BETWEEN_ITERATIONS
            or (operator == "arrival-overwritten" and "next iteration" in str(parameters.get("choice", "")))
            for operator, parameters in self.facts
        )

    def exchanged_values(self, program: Program) -> dict[int, str]:
        """Return the values that are exchanged with those at the mistake's places: by their id, the label of each.

        Empty where none is exchanged, or the forward pass has no value with its name.
        """
        ids = {program.name_of(node.id): node.id for node in program.nodes}
        pairs = [
            (str(fields.get(EXCHANGED[operator], "")), str(fields.get("value", "")), operator)
            for operator, fields in self.facts
            if operator in EXCHANGED
        ]
        return {
            ids[other]: _formula_of_operator(operator, {EXCHANGED[operator]: value}) or ""
            for other, value, operator in pairs
            if other in ids
        }

    def change_at(self, program: Program, places: Sequence[Place], place: Place) -> str:
        """Return the label of the node at one of the mistake's places, such as `+= -> =`.

        It is that of the edit with the same number as the place. Where no short formula is known, it is in words for
        the first edit and empty for any other.

        Args:
            program: the forward pass.
            places: all places of the mistake in the forward pass.
            place: one of these places.
        """
        if len(self.facts) > 1 and len(self.facts) != len(places):
            return change_of(self.code)
        number = places.index(place) if len(self.facts) > 1 else 0
        operator, parameters = self.facts[number] if self.facts else ("", {})
        node = program.nodes[place[0]]
        own = _change_by_operator(operator, parameters, program, place)
        label = _with_function(_formula_of(self.code, parameters) if own is None else own, node)
        is_other = place != places[number] and node.text != program.nodes[places[number][0]].text
        is_quoted = any(f"`{node.text}`" in str(value) for value in parameters.values())
        if is_other and not is_quoted and _names(parameters, label):
            return change_of(self.code)  # it is of the other operands of the first place
        is_short = 0 < len(label) <= LONGEST_CHANGE
        return label if is_short else "" if number else change_of(self.code)


def _names(parameters: Mapping[str, Any], label: str) -> bool:
    """Return whether a label has the name of a value from the message fields of a mistake, other than a gradient's."""
    values = (str(value) for name, value in parameters.items() if name in VALUES)
    return any(name and name in label for name in map(code_name, values))


def named_mistake(mistake: Mistake) -> Named:
    """Return the code of a mistake, with the operator and the message fields of each of its edits."""
    return Named(mistake.code, tuple((fact.operator, fact.parameters) for fact in mistake.facts))


def change_of(code: str) -> str:
    """Return words for a mistake of which no more than its code is known, or a formula such as `+= -> =`.

    Empty if the code has neither.
    """
    return KINDS.get(code, "") or _formula_of(code, {})


def _formula_of(code: str, parameters: Mapping[str, Any]) -> str:
    """Return a formula of what must be and what is done instead; empty if the code has no short one.

    Args:
        code: the public code of a mistake.
        parameters: the message fields of the mistake, of which short ones are filled in.
    """
    formulas = (_filled(template, parameters, NAMES) for template in CHANGES.get(code, ()))
    return next(filter(None, formulas), "")


def _filled(template: str, parameters: Mapping[str, Any], names: Container[str]) -> str:
    """Return a template filled with message fields, each cut to a name or a clause.

    Empty if a field is missing, or the result is longer than `LONGEST_CHANGE`.

    Args:
        template: a formula with fields in braces.
        parameters: the message fields.
        names: the fields that must be code.
    """
    values = {}
    for name in FIELD.findall(template):
        text = EXPLAINED.sub("", APPOSITION.sub("", str(parameters.get(name, ""))))
        shown = _name(text, is_factor=template.startswith("* ")) if name in names else text.replace("`", "")
        values[name] = shown
    formula = short_words(template.format(**values)) if all(values.values()) else ""
    return formula if len(formula) <= LONGEST_CHANGE else ""


def short_words(text: str) -> str:
    """Return a clause with long words replaced by those of `SHORTER`, one after another, until it fits a label.

    The result may still be too long.
    """
    for long, short in SHORTER:
        if len(text) > LONGEST_CHANGE:
            text = long.sub(short, text)
    return text


def _name(text: str, is_factor: bool = False) -> str:
    """Return a message field as code, such as `w` or `gradient of w`; empty if it is neither a name nor an expression.

    Args:
        text: the message field.
        is_factor: whether a sum or a difference gets brackets.
    """
    name = code_name(text.removeprefix(GRADIENT_OF), is_factor)
    return f"{GRADIENT_OF.removeprefix('the ')}{name}" if name and text.startswith(GRADIENT_OF) else name


def code_name(text: str, is_factor: bool = False) -> str:
    """Return a name or an expression of the source, with long calls cut to their names; empty if the text is neither.

    Args:
        text: the expression, such as `(x @ w).sigmoid() - targ`, which becomes `sigmoid - targ`.
        is_factor: whether a sum or a difference gets brackets.
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
        """Return the node of the function's name in place of the call."""
        return ast.Name(node.func.attr) if isinstance(node.func, ast.Attribute) else node.func


def _change_by_operator(operator: str, parameters: Mapping[str, Any], program: Program, place: Place) -> str | None:
    """Return the label that an operator's mistake has at a place.

    `None` if the label is that of the mistake's code; empty if the operator has one, but it is too long or lacks a
    name.

    Args:
        operator: the name of the operator.
        parameters: the message fields of the edit.
        program: the forward pass.
        place: the place, a node and a slot.
    """
    node = program.nodes[place[0]]
    if operator == "derivative-missing":
        factor = _local_derivative(program, node, place[1])
        return factor and f"{factor} -> {'/ 1' if factor.startswith('/') else '1'}"
    if operator == "derivative-twice":
        factor = _local_derivative(program, node, place[1], is_raised=True)
        return factor and f"{factor} -> {factor}**2"
    if operator == "value-mixed-into-result":
        sign, value = str(parameters.get("sign", "")), str(parameters.get("value", ""))
        name = code_name(value, is_factor=sign in ("*", "/"))
        return name and sign and (f"{sign}({name})" if sign.endswith("exp") else f"{sign} {name}")
    if operator == "derivative-not-multiplied":
        return f"g * f' -> g {'+' if parameters.get('how') == 'added to' else '/'} f'"
    if operator == "value-for-derivative" and str(parameters.get("factor", "")).endswith(" itself"):
        return "f' -> f"
    if operator == "derivative-of-another-function" and str(parameters.get("name", "")).startswith("the "):
        return short_words(f"f' -> that of {parameters['name']}")
    if operator == "another-partner":
        return _value_of_another_step(str(parameters.get("own", "")), str(parameters.get("other", "")))
    if operator == "gradient-for-partner":
        return _gradient_in_place(str(parameters.get("own", "")), str(parameters.get("other", "")))
    if operator in ("gradient-of-another-value", "gradient-of-another-value-for-operand"):
        return _used_gradient(str(parameters.get("mistake", "")))
    if operator == "number-missing":
        right = code_name(str(parameters.get("right", "")))
        return right and (f"{right} -> 0" if "0 is used" in str(parameters.get("lack", "")) else f"without {right}")
    if operator == "trained-partner":
        own = code_name(str(parameters.get("own", "")))
        return own and f"{own} -> {'updated' if parameters.get('rate') else 'gradient of'} {own}"
    if operator == "whole-factor-mistaken":
        return _mistaken_cofactors(parameters, program, place)
    if operator == "upstream-inside-function":
        return _upstream_inside(parameters, node)
    if operator == "probabilities-over-other-axes":
        return _other_axes(parameters, program, node)
    return _formula_of_operator(operator, parameters)


def _formula_of_operator(operator: str, parameters: Mapping[str, Any]) -> str | None:
    """Return the label in `CHANGES_BY_OPERATOR` with message fields filled in; `None` if the operator has none there.

    Empty if every such label is too long, or lacks a field.

    Args:
        operator: the name of the operator.
        parameters: the message fields of the edit.
    """
    templates = CHANGES_BY_OPERATOR.get(operator)
    if templates is None:
        return None
    names = ((), NAMES) if operator in WHOLE else (NAMES,)
    templates = (templates,) if isinstance(templates, str) else templates
    return next(filter(None, (_filled(each, parameters, own) for each in templates for own in names)), "")


def _local_derivative(program: Program, node: Node, slot: int, *, is_raised: bool = False) -> str:
    """Return the factor that the gradient of a slot has: `b` for a in `a * b`, `/ b` for a in `a / b`, else `f'`.

    Empty for other operations of several operands, for a denominator, and where the other operand has no short name.

    Args:
        program: the forward pass.
        node: the node of the operation.
        slot: the slot of the operand.
        is_raised: whether a power of the factor is written, so that an expression gets brackets.
    """
    if len(node.values) == 1 or (node.operation.family == "pointwise" and len(node.operands) == 1):
        return "f'"
    other = node.operand(1 - slot) if slot in (0, 1) else None
    if other is None or node.name not in ("mul", "matmul", "div"):
        return ""
    name = code_name(program.name_of(other), is_factor=is_raised or node.name == "div")
    if node.name == "div":
        return f"/ {name}" if name and slot == 0 else ""
    return name


def _value_of_another_step(own: str, other: str) -> str:
    """Return the label `h -> x`, or `h -> h of another step` if both names are equal.

    Empty if an expression has no name.

    Args:
        own: the expression that must be used.
        other: the expression that is used.
    """
    right, used = (code_name(OF_STEP.sub("", text)) for text in (own, other))
    return "" if not right or not used else f"{right} -> {used}{' of another step' if right == used else ''}"


def _gradient_in_place(own: str, other: str) -> str:
    """Return the label `inp -> gradient of w`, for a gradient used in place of a value.

    Empty if an expression has no name.

    Args:
        own: the expression that must be used.
        other: the expression whose gradient is used.
    """
    right, used = code_name(own), code_name(other)
    return f"{right} -> gradient of {used}" if right and used else ""


def _used_gradient(mistake: str) -> str:
    """Return the label `gradient of h` for the gradient that is used in place of another, or `gradient -> out.g`.

    Where that means that a division is missing, return `/ rms missing`. Empty if an expression has no name.

    Args:
        mistake: the clause that says which gradient is used, or which division is missing.
    """
    if missing := re.fullmatch("the division by (.+) is missing", mistake):
        divisor = code_name(missing[1])
        return divisor and f"/ {divisor} missing"
    used = mistake.partition(" is used ")[0]
    name = code_name(used.removeprefix(GRADIENT_OF))
    return name and (f"gradient of {name}" if used.startswith(GRADIENT_OF) else f"gradient -> {name}")


def _mistaken_cofactors(parameters: Mapping[str, Any], program: Program, place: Place) -> str:
    """Return the other factors of a product, and what is used in their place, as a label: `(inp - mean)/sqrt -> out`.

    Empty if one of them has no name.

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

    It has the names of the function and the operand if these are short. Empty if the mistake names no such form.

    Args:
        parameters: the message fields of the edit.
        node: the node of the function.
    """
    template, x = INSIDE.get(str(parameters.get("inside", ""))), code_name(str(parameters.get("operand", "")))
    if template is None:
        return ""
    slope = node.name if node.name == OWN_DERIVATIVE else f"{node.name}'"
    label = template.format(slope=slope, f=node.name, x=x)
    return label if x and len(label) <= LONGEST_CHANGE else template.format(slope="f'", f="f", x="x")


def _other_axes(parameters: Mapping[str, Any], program: Program, node: Node) -> str:
    """Return over which axes softmax probabilities must and do sum to 1: `sum over t -> over s and t`.

    Empty if an axis has no name.

    Args:
        parameters: the message fields of the edit, which have the wrong axes.
        program: the forward pass.
        node: the node of the softmax.
    """
    axes = guess_axes(node.values[0].shape, program.sizes)  # type: ignore[union-attr]
    dim = node.options.get("dim")
    if not isinstance(dim, int) or any(axis.startswith("_") for axis in axes):
        return ""
    wrong = str(parameters.get("axes", ""))
    return f"sum over {axes[dim]} -> over {' and '.join(axes) if wrong == 'all entries' else wrong}"


def _with_function(change: str, node: Node) -> str:
    """Return the formula of a change with `f'` replaced by the derivative of the node's function, such as `tanh'`.

    Unchanged if the name of the function is long or is no word.
    """
    is_function = node.operation.family == "pointwise" and node.name.isalpha() and len(node.name) <= LONGEST_FUNCTION
    is_named = is_function and node.name not in SYMBOLS and "(x" not in change
    if not is_named:
        return change
    named = change.replace("f'", f"{node.name}'")
    return FUNCTION_ITSELF.sub(node.name, named) if change.startswith("f'") else named

"""Formulas that a learner types: equal ones pass however they are written, and hostile ones are refused at once."""

from __future__ import annotations

import ast
import contextlib
import itertools
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from helpers.courses import AT_ONCE
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import ExpressionError
from grader.quiz.formula_equivalence import Variable, as_arrays, constant_ratio, draw_points, evaluate, same_values
from grader.quiz.formula_evaluation import arithmetic
from grader.quiz.formula_syntax import LONGEST, read_formula
from grader.quiz.operations import OPERATIONS

LAYER = {
    "inp": Variable(("bs", "n")), "w": Variable(("n", "m")), "b": Variable(("m",)), "out_g": Variable(("bs", "m")),
    "x": Variable(("n",)), "df": Variable(("m",)), "s": Variable(),
}  # fmt: skip
POINTS = draw_points(LAYER)


def values(formula: str) -> list[np.ndarray]:
    return as_arrays(evaluate(formula, POINTS))


def equal(first: str, second: str) -> bool:
    return same_values(values(first), values(second))


def refusal(formula: str) -> ExpressionError:
    """Why a formula is refused, which must not take a second."""
    started = time.process_time()
    with pytest.raises(ExpressionError) as refused:
        values(formula)
    assert time.process_time() - started < AT_ONCE
    assert str(refused.value)
    assert not str(refused.value).endswith(".")
    return refused.value


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("inp.T @ out.g", "inp.t() @ out_g"),
        ("inp.T @ out.g", "(out.g.T @ inp).T"),
        ("inp.T @ out.g", "(inp.unsqueeze(-1) * out.g.unsqueeze(1)).sum(0)"),
        ("inp.T @ out.g", "(inp[:, :, None] * out.g[:, None]).sum(dim=0)"),
        ("inp.T @ out.g", "torch.matmul(inp.transpose(0, 1), out.g)"),
        ("inp.T @ out.g", "inp.mT.mm(out.g)"),
        ("out.g.sum(0)", "sum(out.g, 0)"),
        ("out.g.sum(0)", "out.g.mean(axis=0) * bs"),
        ("out.g.sum(0)", "out.g.sum(0, keepdim=True).reshape(m)"),
        ("out.g.sum(0)", "len(inp) * np.mean(out.g, 0)"),
        ("out.g @ w.T", "(w @ out.g.T).T"),
        ("x[:, None] * df", "torch.outer(x, df)"),
        ("x[:, None] * df", "x.reshape(n, 1) @ df.view(1, m)"),
        ("w @ df", "df @ w.T"),
        ("w @ df", "(w * df).sum(1)"),
        ("eye(m) @ df", "diag(df).sum(0)"),
        ("s ** 2", "s^2"),
        ("-s ** 2", "-(s * s)"),
        ("2 ** -1 * s", "s / 2"),
        ("--s", "s"),
        ("exp(s).log()", "s"),
        ("(x > 0) * x", "relu(x)"),
        ("torch.where(x > 0, x, 0)", "relu(x)"),
        ("1 - sigmoid(s)", "1 / (1 + torch.exp(s))"),
        ("inp[0]", "inp.T[:, 0]"),
        ("s + \n 1e0", "1.0 + s"),
        ("2 s", "2 * s"),
        ("3(s + 1)", "3 * s + 3"),
        ("s s", "s**2"),
        ("1,5 * s", "3 * s / 2"),
        ("s − 1", "s - 1"),
        ("s²·2", "2 * s * s"),
        ("√2 * s", "sqrt(2) * s"),
        ("ln(2) * s", "log 2 * s"),
        ("½s", "s / 2"),
        ("inp' @ out.g", "inp.T @ out.g"),
        ("inp^T @ out.g", "inpᵀ @ out.g"),
        ("x ⊗ df", "x[:, None] * df"),
        ("a = x; sum(a)", "x.sum()"),
        ("p, q = inp.shape\np * s", "bs * s"),
        ("w.g = w", "w"),
        ("w.g += w", "w"),
        ("sum(r[0] * g for r, g in zip(inp, out.g))", "inp[:, 0] @ out.g"),
        ("inp[1:, -1]", "inp[1:][:, n - 1]"),
        ("[x for x in w]", "w"),
        ("where(x > 0,1,0.1)", "(x > 0) * 0.9 + 0,1"),
        ("x.max(0).values", "max(x)"),
        ("x^2 (1 + x)", "x * x + x**3"),
        ("x²(1 + x)", "x * x + x**3"),
        ("2(s + 1)^2", "2 * (s + 1)**2"),
        ("s(1 - s)^2", "s * (1 - s)**2"),
        ("out.g(1 - out.g)", "out.g - out.g**2"),
        ("out.g^T.sum(0)", "out.g.sum(1)"),
        ("(1 + log 2) / 2 * s", "s / 2 + log(2) s / 2"),
        ("2 log 2 * log 3^2 s", "4 s * ln(2) * ln(3)"),
        ("exp log s²", "s s"),
        ("-sqrt s²", "-abs(s)"),
        ("x½", "x / 2"),
        ("2½ s", "5 s / 2"),
        ("log s² * 0 + log nn.Sigmoid()(s)", "log(sigmoid(s))"),
        ("sum(i * r for i, (r, g) in enumerate(zip(x, x)))", "arange(n) @ x"),
        ("relu(x)", "x.clamp(min=0)"),
        ("inp.reshape(*inp.T.shape[::-1])", "inp"),
        ("x.sum(0, dtype=x)", "x.sum()"),
        ("einsum('bn,nm->m', inp, w)", "(inp @ w).sum(0)"),
        ("einsum('...n->...', inp)", "inp.sum(-1)"),
    ],
)
def test_however_it_is_written_the_same_formula_is_the_same(first: str, second: str) -> None:
    assert equal(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("inp.T @ out.g", "inp.T @ out.g / bs"),
        ("inp.T @ out.g", "inp.reshape(n, bs) @ out.g"),
        ("inp.T @ out.g", "out.g.T @ inp"),
        ("inp.T @ out.g", "inp.sum(0)[:, None] * out.g.sum(0)"),
        ("out.g.sum(0)", "out.g.sum(0, keepdim=True)"),
        ("out.g.sum(0)", "out.g.sum()"),
        ("s", "s + 1e-6"),
        ("s * s", "s"),
        ("0 * s", "1e-5 * s"),
    ],
)
def test_a_formula_with_another_shape_or_value_is_another(first: str, second: str) -> None:
    assert not equal(first, second)


def test_a_constant_factor_is_found_and_nothing_else_is_taken_for_one() -> None:
    w_g = values("inp.T @ out.g")
    assert constant_ratio(values("-3 * (inp.T @ out.g)"), w_g) == pytest.approx(-3)
    assert constant_ratio(values("inp.T @ out.g / bs"), w_g) is None
    assert constant_ratio(values("inp.T @ out.g + 1"), w_g) is None
    assert constant_ratio(values("0 * (inp.T @ out.g)"), w_g) is None


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("inp.__class__", "`.__class__` is not allowed"),
        ("().__class__.__bases__[0].__subclasses__()", "`.__class__` is not allowed"),
        ("inp.T.base", "there is no `base` here"),
        ("inp.tofile('x')", "there is no `tofile` here"),
        ("inp.dump(s)", "there is no `dump` here"),
        ("getattr(inp, w)", "there is no `getattr` here"),
        ("__import__(s)", "there is no `__import__` here"),
        ("eval(s)", "something is missing before `eval`"),
        ("exec", "something is missing before `exec`"),
        ("9**9**9**9", "not finite"),
        ("9**9**9**9**9**9", "not finite"),
        ("(9**64)**64", "not finite"),
        ("s ** (0/0)", "not finite"),
        ("s ** inp ** 99", "not finite"),
        ("1e999", "not finite"),
        ("x / 0", "not finite"),
        ("log(0 * s)", "not finite"),
        ("s" * 100_000, "it has 100000 characters"),
        ("s" * 300, "there is a name of 300 characters in it"),
        ("9" * 300 + " s", "there is a number of 300 characters in it"),
        ("1e-" + "9" * 300, "there is a number of 303 characters in it"),
        ("x.sum(1e300)", "cannot be used like this"),
        ("x.unsqueeze(1e30)", "cannot be used like this"),
        ("w.transpose(1e300, 0)", "cannot be used like this"),
        ("x[" + "9" * 39 + "]", "does not fit"),
        ("9! + s", "the sign ! has no meaning"),
        ("where(x > 0, inp, w)", "does not fit"),
        ("where(x > 0)", "cannot be used like this"),
        ("1+" * 100_000 + "1", "it has 200001 characters"),
        ("(" * 100_000, "it has 100000 characters"),
        ("(" * (LONGEST - 1) + "1", "more than 300 parts"),
        ("(" * 90 + "1" + ")" * 90, "nested more than 30 deep"),
        ("exp(" * 40 + "s" + ")" * 40, "nested more than 30 deep"),
        ("2**" * 60 + "2", "not finite"),
        ("f(" * 31 + "1" + ")" * 31, "nested more than 30 deep"),
        ("x.sum(dim=0, x)", "it cannot be read (positional argument follows keyword argument)"),
        ("(s", "the bracket `(` is never closed"),
        ("(s]", "the bracket `(` is never closed"),
        ("s)", "`)` closes a bracket that was never opened"),
        ("(a := s) * a", "something in it that only a program has"),
        ("0 < s < 1", "write one at a time"),
        ("s in x", "`in` has no place here"),
        ("s is x", "between `s` and `is` an operator is missing"),
        ("[r for r in x if r > 0]", "a loop with `if` cannot be read here"),
        ("x if s", "behind `if`, `else` is missing"),
        ("x.sum(**x)", "cannot be used like this"),
        ("s²2", "between `²` and `2` an operator is missing"),
        ("2 / 3 x", "what is `x` divided by"),
        ("log s / 2", "where does `log` end"),
        ("2 * log s.T / 2", "where does `log` end"),
        ("x + 3(s, s)", "brackets behind something that is no function"),
        ("-" * 400 + "s", "more than 300 parts"),
        ("inp" + ".T" * 240, "more than 300 parts"),
        ("еxp(s)", "CYRILLIC SMALL LETTER IE"),
        ("ｓ + 1", "FULLWIDTH LATIN SMALL LETTER S"),
        ("s\u200b", "ZERO WIDTH SPACE"),
        ("s\u202e", "RIGHT-TO-LEFT OVERRIDE"),
        ("s\x00", "U+0000"),
        ("s\x1b[31m", "U+001B"),
        ("lambda: 0", "something is missing before `lambda`"),
        ("x if x > 0 else w", "write `torch.where(condition, a, b)`"),
        ("x := 3", "an operator is missing"),
        ("{s}", "the sign { has no meaning"),
        ("f'{s}'", "the sign { has no meaning"),
        ("x.sum", "write `sum()`"),
        ("x.sum(0.5)", "cannot be used like this"),
        ("x.sum(out=x)", "cannot be used like this"),
        ("x.exp(x)", "cannot be used like this"),
        ("x.exp(out=x)", "cannot be used like this"),
        ("x.sum(0, where=x)", "cannot be used like this"),
        ("x.unsqueeze(0, out=x)", "cannot be used like this"),
        ("relu(x, x)", "cannot be used like this"),
        ("x.sum(axis=0", "never closed"),
        ("inp @ out.g", "`@` does not fit (bs, n) and (bs, m)"),
        ("inp + w", "`+` does not fit (bs, n) and (n, m)"),
        ("x + df", "`+` does not fit (n,) and (m,)"),
        ("x @ s", "`@` does not fit (n,) and a single number"),
        ("inp.sum(2)", "`sum` does not fit (bs, n)"),
        ("x[9]", "does not fit (n,)"),
        ("x[w]", "`[]` cannot be used like this"),
        ("eye(1e9)", "far larger than the answer"),
        ("eye(1e300)", "far larger than the answer"),
        ("eye(-1)", "does not fit"),
        ("eye(0).mean()", "does not fit"),
        ("@".join(["eye(300)"] * 30), "far larger than the answer"),
        ("inp" + "[None]" * 9, "far larger than the answer"),
        ("outer(outer(outer(x, x), outer(x, x)), outer(outer(x, x), outer(x, x)))", "`outer` does not fit"),
        ("x.reshape(1e9, 1)", "`reshape` does not fit"),
        ("inp . w", "a dot before `w` is no product: write `*`"),
        ("y + 1", "there is no `y` here; there is inp, w, b, out.g, x, df, s"),
        ("y.g + 1", "there is no `y.g` here; there is inp"),
        ("s +", "it ends too early"),
        ("", "it ends too early"),
        ("   ", "it ends too early"),
        ("s..T", "a name is missing behind a point"),
        ("* s", "`*` has no place here"),
    ],
)  # fmt: skip
def test_what_is_no_formula_is_refused_at_once_and_says_why(formula: str, says: str) -> None:
    assert says in str(refusal(formula))


def test_no_formula_changes_what_it_is_given() -> None:
    before = [{name: value + 0 for name, value in point.values.items()} for point in POINTS]
    for formula in [
        "inp.sum(0, out=x)",
        "inp.mean(0, out=x)",
        "x.cumsum(0, out=x)",
        "einsum('i->i', x, out=x)",
        "x.exp(x)",
        "exp(x, out=x)",
        "x.T",
        "x.reshape(n)",
        "x.float()",
        "-x",
        "outer(x, x, x)",
    ]:
        with contextlib.suppress(ExpressionError):
            values(formula)
    for point, kept in zip(POINTS, before, strict=True):
        assert all((point.values[name] == value).all() for name, value in kept.items() if name in LAYER)


ODD = [
    "",
    "x",
    "w, x",
    "1e9",
    "x, 1e9",
    "w, 1e9, 1e9",
    "(1e9, 1e9), 1",
    "()",
    "None",
    "...",
    "'ij->j', w",
    "x > 0, x, w",
    "w, dim=9",
]


NAMES = sorted({name.split(".")[-1] for name in OPERATIONS if name[-1].isalnum()})


@pytest.mark.parametrize("name", NAMES[::6])
def test_no_operation_can_be_used_to_stop_the_grader(name: str) -> None:
    """One in six of the operations; `thorough/test_every_hostile_answer.py` has all."""
    assert_bounded(name)


def assert_bounded(name: str) -> None:
    """Check that an operation has a value or is refused, without a warning, within the bounds of work."""
    for library, odd in itertools.product(("torch.", "np.", ""), ODD):
        with contextlib.suppress(ExpressionError):
            values(f"{library}{name}({odd})")
    for owner in ("x", "w", "(w, w)", "1", "'ij'", "None"):
        with contextlib.suppress(ExpressionError):
            values(f"{owner}.{name}(1e9, 0)")


@pytest.mark.parametrize(
    "formula",
    [
        "tril(ones(9999))", "triu(range(19999))", "s[zeros(9999, 1), zeros(1, 9999)]",
        "ones(1, 1)[zeros(9999, 1), zeros(1, 9999)]", "x[[ones(9999)] * 9999]", "x.sum([ones(9999)] * 9999)",
        "np.repeat(x, [ones(9999)] * 9999)", "x.norm(p=[ones(9999)] * 9999)", "x[:[ones(9999)] * 9999]",
        "ones(9999, 1).expand_as(ones(1, 9999))", "clamp(ones(9999, 1), min=ones(1, 9999))", "linspace(0, 1, -1e9)",
        "ones(9999, 1).where(ones(1, 9999), 1)", "diag(range(199))", "diag_embed(ones(99, 99))", "eye(19999, 19999)",
        "ones(0, 9999).diag_embed()", "tensordot(ones(9999, 0), ones(0, 9999), 1)", "ones(9999, 0) @ ones(0, 9999)",
        "linspace([[1] * 999] * 999, 1)", "x.unsqueeze(range(19999))",
    ],
)  # fmt: skip
def test_no_operation_makes_more_than_was_counted(formula: str) -> None:
    tracemalloc.start()
    refusal(formula)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_work_is_counted_and_not_timed() -> None:
    """Each of these is short and would take minutes."""
    for formula in (
        "sum(i * j for i in range(5000) for j in range(5000))",
        "a = ones(9, 9); " + "a = cat([a, a]); " * 24 + "a",
        "a = (s, s); " + "a = (a, a); " * 30 + "a",
        "einsum('a,b,c,d,e,f->', " + ", ".join(["range(99)"] * 6) + ")",
        "@".join(["ones(130, 130)"] * 20),
    ):
        assert "far" in str(refusal(formula)), formula


def test_the_longest_formula_of_all_is_worked_out_quickly() -> None:
    started = time.process_time()
    values("+".join(["exp(inp)"] * 40)[:LONGEST].rstrip("+(exinp"))
    values("inp.T@out.g+" * 20 + "w")
    assert time.process_time() - started < AT_ONCE


@given(st.text(max_size=600))
def test_any_text_is_a_formula_or_is_refused(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        values(text)


@given(st.text(alphabet="sxw12.()[]*@+-/^,:=<>T_ exp", max_size=80))
def test_any_heap_of_its_signs_is_a_formula_or_is_refused(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        values(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4.5", 4.5), ("9/2", 4.5), ("-1e-3", -1e-3), ("2**-2", 0.25), ("(1 + 2) * 3", 9), (".5", 0.5), ("2^3", 8)],
)
def test_a_number_may_be_worked_out(text: str, value: float) -> None:
    assert arithmetic(text) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1/0", "no finite value"),
        ("9**9**9**9", "no finite value"),
        ("((9**64)**64)**64", "no finite value"),
        ("(-8)**0.5", "no finite value"),
        ("four", "there is no `four` here: write a number"),
        ("inf", "no finite value"),
        ("nan", "no finite value"),
    ],
)
def test_what_is_no_number_is_refused(text: str, says: str) -> None:
    with pytest.raises(ExpressionError, match=says.replace("*", r"\*")):
        arithmetic(text)


def test_a_number_that_overflows_is_refused() -> None:
    with pytest.raises(ExpressionError, match="no finite value"):
        arithmetic("1e999")


Polynomial = Counter[tuple[int, int]]  # the coefficient of x**i * y**j by (i, j)
XY = draw_points({"x": Variable(), "y": Variable()})


def xy(formula: str) -> list[np.ndarray]:
    return as_arrays(evaluate(formula, XY))


class Formula:
    """A polynomial, with one of the many ways of writing it."""

    def __init__(self, text: str, terms: Polynomial) -> None:
        self.text, self.terms = text, terms

    def __repr__(self) -> str:
        return self.text


def cleaned(terms: Polynomial) -> Polynomial:
    return Counter({powers: factor for powers, factor in terms.items() if factor})


def product(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = Counter()
    for (first, p), (second, q) in itertools.product(a.items(), b.items()):
        result[first[0] + second[0], first[1] + second[1]] += p * q
    return cleaned(result)


def total(a: Polynomial, b: Polynomial, sign: int = 1) -> Polynomial:
    return cleaned(Counter({powers: a[powers] + sign * b[powers] for powers in {*a, *b}}))


def leaves() -> st.SearchStrategy[Formula]:
    names = st.sampled_from([("x", (1, 0)), ("y", (0, 1))]).map(lambda one: Formula(one[0], Counter({one[1]: 1})))
    return names | st.integers(1, 5).map(lambda n: Formula(str(n), Counter({(0, 0): n})))


def combined(parts: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    pair = st.tuples(parts, parts)
    return st.one_of(
        pair.map(lambda p: Formula(f"({p[0].text} + {p[1].text})", total(p[0].terms, p[1].terms))),
        pair.map(lambda p: Formula(f"({p[0].text} - {p[1].text})", total(p[0].terms, p[1].terms, -1))),
        pair.map(lambda p: Formula(f"({p[0].text} * {p[1].text})", product(p[0].terms, p[1].terms))),
        parts.map(lambda p: Formula(f"({p.text})**2", product(p.terms, p.terms))),
        parts.map(lambda p: Formula(f"(-{p.text})", total(Counter(), p.terms, -1))),
    )


formulas = st.recursive(leaves(), combined, max_leaves=5)


def expanded(terms: Polynomial) -> str:
    """A polynomial term by term."""
    return " + ".join([*_terms(terms), "0 * x"])


def _terms(terms: Polynomial) -> Iterator[str]:
    for (i, j), factor in sorted(terms.items(), reverse=True):
        yield "*".join([f"({factor})", *["x"] * i, *["y"] * j])


@given(formulas)
def test_an_expanded_formula_is_equal(formula: Formula) -> None:
    assert same_values(xy(expanded(formula.terms)), xy(f"{formula.text} + 0 * x"))


@given(formulas, formulas)
def test_two_formulas_are_equal_just_where_their_coefficients_are(first: Formula, second: Formula) -> None:
    agree = same_values(xy(f"{first.text} + 0*x"), xy(f"{second.text} + 0*x"))
    assert agree == (cleaned(first.terms) == cleaned(second.terms))


@given(formulas, st.sampled_from(["x", "y", "x*y", "x**2"]), st.sampled_from(["1", "-1", "0.001"]))
def test_one_more_term_makes_another_formula(formula: Formula, term: str, factor: str) -> None:
    assert not same_values(xy(f"{formula.text} + {factor} * {term}"), xy(f"{formula.text} + 0*x"))


@given(st.permutations(["inp.T @ out.g", "x[:, None] * df", "w", "3 * w"]), st.integers(0, 2))
def test_terms_may_stand_in_any_order_and_grouping(terms: list[str], cut: int) -> None:
    text = " + ".join(terms[: cut + 1]) + " + (" + " + ".join(terms[cut + 1 :]) + ")"
    assert equal(text, "inp.T @ out.g + torch.outer(x, df) + 4 * w")


def test_a_formula_is_read_as_python_reads_it() -> None:
    """Precedence and associativity, against Python's own on plain numbers."""
    for text in ["2 - 3 - 4", "2 / 3 / 4", "2 ** 3 ** 2", "-2 ** 2", "2 * -3", "2 + 3 * 4 ** 2 / 5", "-(-2) - -3"]:
        assert arithmetic(text) == eval(text)
    (first,), (second,) = read_formula("a.g"), read_formula("a_g")
    assert ast.dump(first.value) == ast.dump(second.value)

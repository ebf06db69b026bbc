"""Draws formulas from the grammar of quiz answers, with operations, options and constants that do not fit together."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from grader.quiz.formula_evaluation import LIBRARIES
from grader.quiz.operations import MODULES, OPERATIONS

VARIABLES = ("inp", "w", "b", "out.g", "x", "s", "bs", "n")
ODD_NUMBERS = (
    "0", "1", "2", "-1", "3", "1.5", "0.1", "1e999", "-1e999", "1e300", "9" * 39, "1e-320", "nan", "inf", "-inf",
    "20000", "1e18", "2**63", "2**64", "True", "False", "bs", "n",
)  # fmt: skip
ODD_VALUES = (
    "None", "...", "''", "'a'", "'5'", "'bi,ij->bj'", "'ii'", "'->'", "'...a'", "'b i, i j -> b j'", "[]", "()",
    "(1,2)", "[1.5]", "[[1,2],[3]]", "inp", "x", "s", "torch.float32", "sum", "[None]", "(1,)", "[2,3]", "[1e999]",
    "'a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb'", "inp.shape", "inp.max(0)", "range(3)", "range(-3)",
)  # fmt: skip
OPTIONS = (
    "dim", "axis", "keepdim", "keepdims", "dims", "axes", "p", "ord", "ddof", "correction", "unbiased", "size",
    "input", "dtype", "alpha", "beta", "value", "min", "max", "diagonal", "start_dim", "end_dim", "dim0", "dim1",
    "negative_slope", "a_min", "nosuch",
)  # fmt: skip
NAMES = tuple(sorted({name.rpartition(".")[2] for name in OPERATIONS if re.fullmatch(r"[.\w]+", name, re.ASCII)}))
ATTRIBUTES = tuple(sorted(name for name in OPERATIONS if name.startswith(".")))
OPERATORS = (
    "+", "-", "*", "/", "@", "//", "%", "**", "^", "&", "|", "<", "<=", ">", ">=", "==", "!=", "·", "⊗", " ",
)  # fmt: skip

_NUMBER = st.sampled_from(ODD_NUMBERS)
_ATOM = st.one_of(st.sampled_from(VARIABLES), _NUMBER, st.sampled_from(ODD_VALUES))


def _joined(parts: st.SearchStrategy[str], most: int, least: int = 0) -> st.SearchStrategy[str]:
    return st.lists(parts, min_size=least, max_size=most).map(", ".join)


def _within(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Formulas one level deeper."""
    bound = st.one_of(st.just(""), _NUMBER, st.sampled_from(ODD_VALUES), inner)
    slices = st.lists(bound, min_size=2, max_size=3).map(":".join)
    subscripts = _joined(st.one_of(slices, inner, _NUMBER, st.sampled_from(ODD_VALUES)), 4, 1)
    options = st.tuples(st.sampled_from(OPTIONS), st.one_of(_NUMBER, st.sampled_from(ODD_VALUES), inner)).map("=".join)
    arguments = _joined(st.one_of(inner, _NUMBER, options, st.sampled_from(ODD_VALUES)), 4)
    name = st.sampled_from(NAMES)
    library = st.sampled_from(["", *(f"{library}." for library in sorted(LIBRARIES))])
    return st.one_of(
        st.tuples(inner, subscripts).map(lambda drawn: f"{drawn[0]}[{drawn[1]}]"),
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda drawn: f"({drawn[0]}){drawn[1]}({drawn[2]})"),
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda drawn: f"{drawn[0]} {drawn[1]} {drawn[2]}"),
        st.tuples(inner, name, arguments).map(lambda drawn: f"({drawn[0]}).{drawn[1]}({drawn[2]})"),
        st.tuples(inner, name, arguments).map(lambda drawn: f"{drawn[0]}.{drawn[1]}({drawn[2]})"),
        st.tuples(library, name, arguments).map(lambda drawn: f"{drawn[0]}{drawn[1]}({drawn[2]})"),
        st.tuples(library, name, inner, arguments).map(lambda drawn: f"{drawn[0]}{drawn[1]}({drawn[2]}, {drawn[3]})"),
        st.tuples(inner, st.sampled_from(ATTRIBUTES)).map("".join),
        st.tuples(st.sampled_from(sorted(MODULES)), arguments, inner).map(
            lambda drawn: f"nn.{drawn[0]}({drawn[1]})({drawn[2]})"
        ),
        st.tuples(inner, inner).map(lambda drawn: f"[{drawn[0]} for i in {drawn[1]}]"),
        st.tuples(inner, inner).map(lambda drawn: f"sum({drawn[0]} for i, j in zip({drawn[1]}, {drawn[1]}))"),
        st.tuples(inner, inner, inner).map(lambda drawn: f"{drawn[0]} if {drawn[1]} else {drawn[2]}"),
        st.tuples(inner, inner).map(lambda drawn: f"y = {drawn[0]}; y + {drawn[1]}"),
        st.tuples(inner, inner).map(lambda drawn: f"i, j = {drawn[0]}; {drawn[1]} * i"),
        inner.map(lambda drawn: f"-{drawn}"), inner.map(lambda drawn: f"~{drawn}"),
        inner.map(lambda drawn: f"*{drawn}"),
        inner.map(lambda drawn: f"log {drawn}"), inner.map(lambda drawn: f"{drawn}'"),
        inner.map(lambda drawn: f"{drawn}^T"),
    )  # fmt: skip


FORMULAS = st.recursive(_ATOM, _within, max_leaves=6)

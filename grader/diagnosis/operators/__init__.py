"""Every mistake that can be named: one module for each family of operators."""

from collections.abc import Mapping
from types import ModuleType
from typing import Literal

from . import (
    branches,
    broadcasts,
    carries,
    constants,
    contractions,
    forward_pass,
    indexing,
    inputs,
    inverses,
    losses,
    normalisation,
    partners,
    paths,
    picking,
    pointwise,
    rearrangements,
    recurrences,
    reductions,
    results,
    softmax,
    spectral,
    upstream,
    windows,
)
from .contract import REGISTRY

View = Literal["scatter", "stamp", "steps", "sums"]
# Each family with its best figure. Importing a family fills the registry. Of two operators of one rank that explain an
# answer, that of the family listed first is named, whichever module imports the other.
FAMILIES: Mapping[ModuleType, View] = {
    recurrences: "steps",
    partners: "scatter",
    pointwise: "scatter",
    branches: "scatter",
    broadcasts: "stamp",
    carries: "steps",
    contractions: "stamp",
    inputs: "scatter",
    forward_pass: "scatter",
    constants: "scatter",
    indexing: "stamp",
    inverses: "scatter",
    losses: "sums",
    normalisation: "sums",
    paths: "scatter",
    picking: "stamp",
    rearrangements: "stamp",
    reductions: "stamp",
    results: "scatter",
    upstream: "scatter",
    softmax: "sums",
    spectral: "scatter",
    windows: "stamp",
}
OPERATORS = tuple(
    operator for family in FAMILIES for operator in REGISTRY.values() if operator.rewrite.__module__ == family.__name__
)


def view_of(name: str) -> View | None:
    """Return the kind of figure that shows the mistake of an operator best: "scatter", "stamp", "steps" or "sums".

    It is declared in `FAMILIES` for the module of the operator.

    Args:
        name: the name of the operator, such as `sign-flipped`; for any other name `None` is returned.
    """
    views = {family.__name__: view for family, view in FAMILIES.items()}
    return views[REGISTRY[name].rewrite.__module__] if name in REGISTRY else None

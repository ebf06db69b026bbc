"""Every mistake that can be named: one module for each family of operators."""

from collections.abc import Mapping
from types import ModuleType
from typing import Literal

from . import (
    branches,
    broadcasts,
    carries,
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
FAMILIES: Mapping[ModuleType, View] = {  # importing a family fills the registry; its best figure
    branches: "scatter",
    broadcasts: "stamp",
    carries: "steps",
    contractions: "stamp",
    forward_pass: "scatter",
    indexing: "stamp",
    inputs: "scatter",
    inverses: "scatter",
    losses: "sums",
    normalisation: "sums",
    partners: "scatter",
    paths: "scatter",
    picking: "stamp",
    pointwise: "scatter",
    rearrangements: "stamp",
    recurrences: "steps",
    reductions: "stamp",
    results: "scatter",
    softmax: "sums",
    spectral: "scatter",
    upstream: "scatter",
    windows: "stamp",
}
OPERATORS = tuple(REGISTRY.values())


def view_of(name: str) -> View | None:
    """Return the kind of figure that shows the mistake of an operator best: "scatter", "stamp", "steps" or "sums".

    It is declared in `FAMILIES` for the module of the operator.

    Args:
        name: the name of the operator, such as `sign-flipped`; for any other name `None` is returned.
    """
    views = {family.__name__: view for family, view in FAMILIES.items()}
    return views[REGISTRY[name].rewrite.__module__] if name in REGISTRY else None

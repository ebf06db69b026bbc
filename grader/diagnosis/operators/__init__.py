"""Every mistake that can be named: one module for each family of operators."""

from . import (
    branches,
    broadcasts,
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
    upstream,
    windows,
)
from .contract import REGISTRY

FAMILIES = (  # importing a family fills the registry
    branches,
    broadcasts,
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
    upstream,
    windows,
)
OPERATORS = tuple(REGISTRY.values())

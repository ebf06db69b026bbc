"""Every mistake that can be named: one module for each family of operators."""

from . import contractions, indexing, paths, pointwise, rearrangements, recurrences, reductions, windows
from .contract import REGISTRY

FAMILIES = (  # importing a family fills the registry
    contractions,
    indexing,
    paths,
    pointwise,
    rearrangements,
    recurrences,
    reductions,
    windows,
)
OPERATORS = tuple(REGISTRY.values())

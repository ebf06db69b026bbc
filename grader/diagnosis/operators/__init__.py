"""Every mistake that can be named: one module for each family of operators."""

from . import (
    contractions,
    indexing,
    partners,
    paths,
    pointwise,
    recurrences,
    upstream,
    windows,
)
from .contract import REGISTRY

# Importing a family fills the registry.
FAMILIES = (
    contractions,
    indexing,
    partners,
    paths,
    pointwise,
    recurrences,
    upstream,
    windows,
)
OPERATORS = tuple(REGISTRY.values())

"""Every mistake that can be named: one module for each family of operators."""

from . import contractions, indexing, paths, pointwise, recurrences, windows
from .contract import REGISTRY

FAMILIES = (contractions, indexing, paths, pointwise, recurrences, windows)  # importing a family fills the registry
OPERATORS = tuple(REGISTRY.values())

"""Every mistake that can be named: one module for each family of operators."""

from . import contractions, paths, pointwise, recurrences
from .contract import REGISTRY

FAMILIES = (contractions, paths, pointwise, recurrences)  # importing a family fills the registry
OPERATORS = tuple(REGISTRY.values())

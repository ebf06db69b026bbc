"""Every mistake that can be named: one module for each family of operators."""

from . import paths, pointwise, recurrences
from .contract import REGISTRY

FAMILIES = (paths, pointwise, recurrences)  # importing a family fills the registry
OPERATORS = tuple(REGISTRY.values())

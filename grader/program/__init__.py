"""A forward pass recorded as nodes, and its backward pass as a program that can be rewritten."""

from . import arithmetic, rearrangement, windows  # they fill the table of operations

__all__ = ["arithmetic", "rearrangement", "windows"]

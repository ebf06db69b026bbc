"""handgrad: exercises on writing gradients by hand, and the grader that names each mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .explanation.explain import explain as explain

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`from grader import explain`, without torch for those who do not."""
    if name == "explain":
        from .explanation.explain import explain

        return explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

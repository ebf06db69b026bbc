"""Every operation that a formula may hold, by name: torch's, numpy's and Python's own, with one meaning each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .contractions import CONTRACTIONS
from .entrywise_operations import ENTRYWISE
from .rearrangements import REARRANGEMENTS
from .reductions import REDUCTIONS

OPERATIONS: Mapping[str, Callable[..., Any]] = {**ENTRYWISE, **CONTRACTIONS, **REDUCTIONS, **REARRANGEMENTS}
MODULES: Mapping[str, str] = {
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "ReLU": "relu", "Tanh": "tanh",
    "SiLU": "silu", "GELU": "gelu", "Softplus": "softplus",
}  # fmt: skip

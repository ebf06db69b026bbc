"""Modules that differentiate, or that are needed to make torch differentiate, cannot be imported."""

from __future__ import annotations

import importlib.abc
import re
import sys
from collections.abc import Sequence
from types import ModuleType

BANNED = (
    "sympy mpmath symengine autograd jax jaxlib tensorflow keras theano aesara pytensor casadi mxnet paddle mindspore "
    "tinygrad chainer cupy mlx numdifftools algopy functorch torch._inductor torch.testing._internal.common_utils "
    "torch.testing._internal.custom_op_db torch.testing._internal.autograd_function_db "
    "torch._decomp.decompositions_for_jvp torch.distributed.autograd torch.export.experimental"
).split()
_BANNED = re.compile("(" + "|".join(re.escape(name) for name in BANNED) + r")(\.|\Z)")


def is_banned(name: str) -> bool:
    """A graded run refuses to import this module."""
    return _BANNED.match(name) is not None


class _Ban(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if is_banned(name):
            raise ImportError(f"{name} is not available in a graded run", name=name)


def ban_imports() -> None:
    """Ban the imports in this process. It is a word to who tries: their files cannot be opened either."""
    for name in [name for name in sys.modules if _BANNED.match(name)]:
        del sys.modules[name]
    for name in BANNED:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.meta_path.insert(0, _Ban())

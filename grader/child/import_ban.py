"""Modules that differentiate, or that are needed to make torch differentiate, cannot be imported."""

from __future__ import annotations

import importlib.abc
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from .no_autograd import AutogradUsed

BANNED = (
    "sympy mpmath symengine autograd jax jaxlib tensorflow keras theano aesara pytensor casadi mxnet paddle mindspore "
    "tinygrad chainer cupy mlx numdifftools algopy functorch torch._inductor torch.testing._internal.common_utils "
    "torch.testing._internal.custom_op_db torch.testing._internal.autograd_function_db "
    "torch._decomp.decompositions_for_jvp torch.distributed.autograd torch.export.experimental"
).split()
_BANNED = re.compile("(" + "|".join(re.escape(name) for name in BANNED) + r")(\.|\Z)")
_BANNED_FILE = re.compile(r"-packages[/\\](" + "|".join(name.replace(".", r"[/\\]") for name in BANNED) + r")[/\\.]")
_BELOW_PYTHON = re.compile(r"_Z|dl")  # names of C++, torch's formulas among them, and what finds such names
_INTROSPECTION = frozenset(("gc.get_objects", "gc.get_referrers", "gc.get_referents"))


class _Ban(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if _BANNED.match(name):
            raise _banned(name)


def impose() -> None:
    """Forbid the imports in this process. The audit hook stays, whatever is done to `sys.meta_path`."""
    for name in [name for name in sys.modules if _BANNED.match(name)]:
        del sys.modules[name]
    for name in BANNED:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.meta_path.insert(0, _Ban())
    sys.addaudithook(_watch)


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "import" and _BANNED.match(arguments[0]):
        raise _banned(arguments[0])
    if event == "open" and isinstance(arguments[0], str) and _BANNED_FILE.search(arguments[0]):
        raise AutogradUsed("a file that an exercise may not read")
    if event in _INTROSPECTION:
        raise PermissionError(f"an exercise may not do this ({event})")
    named = event == "ctypes.dlopen" and arguments[0] is not None
    if named or (event == "ctypes.dlsym" and _BELOW_PYTHON.match(str(arguments[1]))):
        raise PermissionError(f"an exercise may not do this ({event})")


def _banned(name: str) -> ImportError:
    return ImportError(f"{name} is not available in a graded run", name=name)

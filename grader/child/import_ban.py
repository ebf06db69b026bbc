"""Modules that differentiate, or that are needed to make torch differentiate, cannot be imported."""

from __future__ import annotations

import importlib.abc
import re
import sys
from collections.abc import Callable, Sequence
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

Ask = Callable[[str], object]


def is_banned(name: str) -> bool:
    """A graded run refuses to import this module."""
    return _BANNED.match(name) is not None


class _Ban(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if is_banned(name):
            raise ImportError(f"{name} is not available in a graded run", name=name)


def ban_imports() -> None:
    """Ban the imports in this process. The audit hook stays, whatever is done to `sys.meta_path`."""
    for name in [name for name in sys.modules if _BANNED.match(name)]:
        del sys.modules[name]
    for name in BANNED:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.meta_path.insert(0, _Ban())
    sys.addaudithook(_audit_hook())


def _audit_hook() -> Callable[[str, tuple[Any, ...]], None]:
    """The audit hook. What it asks are its own defaults: modules, builtins and cells are learner code's to exchange."""

    def watch(
        event: str, arguments: tuple[Any, ...], banned: Ask = _BANNED.match, banned_file: Ask = _BANNED_FILE.search,
        below_python: Ask = _BELOW_PYTHON.match, introspection: frozenset[str] = _INTROSPECTION,
        used: type = AutogradUsed, is_a: Callable[..., bool] = isinstance, text: type = str,
    ) -> None:  # fmt: skip
        if event == "import" and banned(arguments[0]):
            raise ImportError(f"{arguments[0]} is not available in a graded run", name=arguments[0])
        if event == "open" and is_a(arguments[0], text) and banned_file(arguments[0]):
            raise used("a file that an exercise may not read")
        if event in introspection:
            raise PermissionError(f"an exercise may not do this ({event})")
        named = event == "ctypes.dlopen" and arguments[0] is not None
        by_name = event in ("ctypes.dlsym", "ctypes.dlsym/handle")
        if named or (by_name and below_python(text(arguments[1]))):
            raise PermissionError(f"an exercise may not do this ({event})")

    return watch

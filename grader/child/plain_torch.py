"""Makes torch plain, in a check as in a graded run: one thread, no compiler, no device, no measured gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.jit

from .no_autograd import raising_function


def settle() -> None:
    """Replace the functions of torch that a graded run cannot have: threads, compilers, devices, measured gradients.

    Those for threads, compilers and devices do nothing from then on; `gradcheck` raises `AutogradUsed`.
    """
    torch.set_num_threads(1)
    for name in ("set_num_threads", "set_num_interop_threads", "use_deterministic_algorithms"):
        setattr(torch, name, _function_without_effect())
    for device in (torch.cuda, torch.xpu, torch.mtia):  # there is none, and each would note down who asked for it
        vars(device).update(manual_seed=_function_without_effect(), manual_seed_all=_function_without_effect())
    vars(torch).update(compile=_identity_decorator())
    vars(torch.jit).update(script=_identity_decorator(), trace=_identity_decorator())
    for name in ("gradcheck", "gradgradcheck"):
        setattr(torch.autograd, name, raising_function(f"torch.autograd.{name}"))


def reset() -> None:
    """Put back what code may have set for all of this process."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    np.seterr(all="warn")


def _function_without_effect() -> Callable[..., None]:
    """Return a function that does nothing: a new one for each call, as torch's compiler wants one name for each."""
    return lambda *_args, **_options: None


def _identity_decorator() -> Callable[..., Any]:
    """Return a decorator, usable with options too, that returns a function unchanged."""

    def leave(function: Any = None, *_args: object, **_options: object) -> Any:
        """Return `function`, or, called with options alone, a decorator that returns its function."""
        return (lambda later: later) if function is None else function

    return leave

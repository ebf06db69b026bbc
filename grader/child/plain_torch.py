"""Makes torch plain, in a check as in a graded run: one thread, no compiler, no device, no measured gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.jit

from .no_autograd import refusing


def settle() -> None:
    """What asks for threads, a compiler or a device does nothing from now on: a graded run can have none of them."""
    torch.set_num_threads(1)
    for name in ("set_num_threads", "set_num_interop_threads", "use_deterministic_algorithms"):
        setattr(torch, name, _ignoring())
    for device in (torch.cuda, torch.xpu, torch.mtia):  # there is none, and each would note down who asked for it
        vars(device).update(manual_seed=_ignoring(), manual_seed_all=_ignoring())
    vars(torch).update(compile=_leaving())
    vars(torch.jit).update(script=_leaving(), trace=_leaving())
    for name in ("gradcheck", "gradgradcheck"):
        setattr(torch.autograd, name, refusing(f"torch.autograd.{name}"))


def reset() -> None:
    """Put back what code may have set for all of this process."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    np.seterr(all="warn")


def _ignoring() -> Callable[..., None]:
    """Return a function that does nothing: another one each time, as torch's compiler wants one name for each."""
    return lambda *_args, **_options: None


def _leaving() -> Callable[..., Any]:
    """Return what gives back a function as it is; also where it is a decorator with options."""

    def leave(function: Any = None, *_args: object, **_options: object) -> Any:
        return (lambda later: later) if function is None else function

    return leave

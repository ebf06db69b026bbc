"""Makes torch plain, in a check as in a graded run: one thread, no compiler, no device, no measured gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.jit

from .no_autograd import refusing


def settle() -> None:
    """What asks for threads, a compiler or a device does nothing from now on: a graded run can have none of them."""
    torch.set_num_threads(1)
    torch.set_num_threads = torch.set_num_interop_threads = torch.use_deterministic_algorithms = _ignore
    for device in (torch.cuda, torch.xpu, torch.mtia):  # there is none, and each would note down who asked for it
        vars(device).update(manual_seed=_ignore, manual_seed_all=_ignore)
    vars(torch).update(compile=_leave)
    vars(torch.jit).update(script=_leave, trace=_leave)
    for name in ("gradcheck", "gradgradcheck"):
        setattr(torch.autograd, name, refusing(f"torch.autograd.{name}"))


def reset() -> None:
    """Put back what code may have set for all of this process."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    np.seterr(all="warn")


def _ignore(*_args: object, **_options: object) -> None: ...


def _leave(function: Any = None, *_args: object, **_options: object) -> Any:
    """The function as it is; also where this is a decorator with options."""
    return (lambda later: later) if function is None else function

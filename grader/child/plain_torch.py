"""Makes torch plain, in a check as in a graded run: one thread, no compiler, no device, no measured gradients."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
import torch.jit

from .no_autograd import refuse


def settle() -> None:
    """What asks for threads, a compiler or a device does nothing from now on: a graded run can have none of them."""
    torch.set_num_threads(1)
    for name in ("set_num_threads", "set_num_interop_threads", "use_deterministic_algorithms"):
        setattr(torch, name, _ignore)
    for device, name in product((torch.cuda, torch.xpu, torch.mtia), ("manual_seed", "manual_seed_all")):
        setattr(device, name, _ignore)  # there is none, and each would note down who asked for it
    for owner, name in ((torch, "compile"), (torch.jit, "script"), (torch.jit, "trace")):
        setattr(owner, name, _leave)
    torch.autograd.gradcheck = torch.autograd.gradgradcheck = refuse


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

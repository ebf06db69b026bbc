"""Make torch's differentiation raise while a graded function runs.

This catches the honest attempt and names the rule. It is feedback, not a security boundary.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
import torch._functorch.eager_transforms as func_transforms
import torch.autograd.forward_ad as forward_ad

ENTRANCES: tuple[tuple[Any, str], ...] = (
    (torch.autograd, "_engine_run_backward"),
    (torch.autograd.graph, "_engine_run_backward"),
    (func_transforms, "grad_increment_nesting"),
    (func_transforms, "jvp_increment_nesting"),
    (forward_ad, "enter_dual_level"),
    (torch.func, "linearize"),
    *((torch.autograd.functional, name) for name in ("jacobian", "hessian", "vjp", "jvp", "hvp", "vhp")),
)


class AutogradUsed(Exception):
    """Learner code asked torch to differentiate."""


def refuse(*_args: object, **_kwargs: object) -> NoReturn:
    """Stand in for whatever differentiates."""
    raise AutogradUsed("torch's autograd is switched off here")


def forbid() -> list[tuple[Any, str, Any]]:
    """Let every entrance to reverse and forward mode raise `AutogradUsed`; those that did not, as they were."""
    allowed = [(owner, name, found) for owner, name in ENTRANCES if (found := getattr(owner, name)) is not refuse]
    for owner, name, _ in allowed:
        setattr(owner, name, refuse)
    return allowed


@contextmanager
def autograd_forbidden() -> Iterator[None]:
    """Within this context every entrance to reverse and forward mode raises `AutogradUsed`."""
    allowed = forbid()
    try:
        yield
    finally:
        for owner, name, original in allowed:
            setattr(owner, name, original)

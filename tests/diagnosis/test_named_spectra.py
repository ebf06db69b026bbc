"""Slips in complex numbers: spectra, turned states, and the parts of a gradient that is complex."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.verdicts import Rule, assert_named

from grader.course.exercise import Exercise, stored
from grader.course.sampling import normal, output, sized
from handgrad import explain

MODES = 3


def filtered(x: torch.Tensor, wr: torch.Tensor, wi: torch.Tensor) -> torch.Tensor:
    spectrum = torch.fft.rfft(x)[..., :MODES]
    kept = torch.einsum("bim,iom->bom", spectrum, torch.complex(wr, wi))
    return torch.fft.irfft(kept, n=x.shape[-1]).tanh()


def gradients(
    inputs: dict[str, Any],
    out: torch.Tensor,
    out_g: torch.Tensor,
    weights: str = "conjugate",
    twice: float = 2.0,
    share: float = 1.0,
) -> dict[str, torch.Tensor]:
    """Return the gradients of `filtered`, written by hand, perhaps with a slip."""
    x, n = inputs["x"], inputs["x"].shape[-1]
    w, spectrum = torch.complex(inputs["wr"], inputs["wi"]), torch.fft.rfft(x)[..., :MODES]
    counts = torch.tensor([1.0] + [twice] * (MODES - 1), dtype=x.dtype)
    g = torch.fft.rfft(out_g * (1 - out**2))[..., :MODES] * counts * share / n
    full = torch.zeros(*x.shape, dtype=spectrum.dtype)
    full[..., :MODES] = torch.einsum("bom,iom->bim", g, w.conj() if weights == "conjugate" else w)
    dw = torch.einsum("bom,bim->iom", g, spectrum.conj())
    return {"x": torch.fft.ifft(full).real * n, "wr": dw.real, "wi": dw.imag}


SPECTRAL = Exercise(
    "", filtered,
    {"x": sized(normal("bs i t"), t=(8, 9, 12)), "wr": normal("i o 3"), "wi": normal("i o 3"), "out": output()},
    stored("x.g", "wr.g", "wi.g"),
)  # fmt: skip


def by_hand(target: str, **slips: Any) -> Rule:
    return lambda k: gradients(k, k["out"], k["out_g"], **slips)[target]


@pytest.mark.parametrize(
    ("answer", "rule", "name"),
    [
        ("x.g", by_hand("x", weights="themselves"), "transposed: must be conjugated"),
        ("x.g", by_hand("x", twice=1.0), "wrong-factor: count once; each must count twice"),
        ("wr.g", by_hand("wr", twice=1.0), "wrong-factor: count once; each must count twice"),
    ],
)
def test_each_slip_in_a_spectrum_is_named(answer: str, rule: Rule, name: str) -> None:
    assert_named(SPECTRAL, rule, name, answer)


def test_right_gradients_of_complex_values_pass() -> None:
    generator = torch.Generator().manual_seed(1)
    shapes = {"x": (3, 2, 8), "wr": (2, 4, 3), "wi": (2, 4, 3)}
    inputs = {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}
    said = explain(filtered, inputs, backward=lambda out, out_g, **known: gradients(known, out, out_g))
    assert not said.mistakes

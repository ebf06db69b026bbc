"""What a test is held to: the reference tells right backward passes from those that break their promise."""

from __future__ import annotations

import pytest

from grader.child.call_arguments import function_of
from grader.diagnosis.examination import BreaksPromise, source_of

PROMISE = BreaksPromise(lambda inp, scale: inp * scale, (("inp", "bs n"), ("scale", "n")))
RIGHT = "inp.g = out.g * scale\nscale.g = (out.g * inp).sum(0)"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (RIGHT, 0),
        ("inp.g = 3 * (out.g * scale) / 3\nscale.g = (out.g * inp).sum(0)", 0),
        (f"{RIGHT}\ninp.g = 1.01 * inp.g", 1),
        (f"{RIGHT}\nscale.g[3:] = 0", 1),
        (f"{RIGHT}\ninp.g = inp.g.double()", 1),
        (f"{RIGHT}\nscale.g = scale.g[None]", 1),
        (f"{RIGHT}\nout.g *= 2", 1),
        (f"{RIGHT}\nout.g = out.g.clone()", 1),
        (f"{RIGHT}\ninp += 1", 1),
        ("inp.g = out.g * scale", 1),
        ("inp.g = out.g @ scale", 1),
    ],
)
def test_a_backward_pass_is_right_or_breaks_its_promise(body: str, verdict: int) -> None:
    assert PROMISE(function_of(source_of("backward", "inp, scale, out", body))) == verdict

"""An answer in a notebook that never ends."""

from __future__ import annotations

from test_notebook_kernel import HURRY, LIMIT, RIGHT, Output, Run, folder, ok, run, shell

__all__ = ["folder", "run", "shell"]


def test_an_answer_that_hangs_is_stopped_and_the_notebook_goes_on(run: Run):
    run(HURRY.format(time_limit=2))
    run("def relu_grad(inp, out):\n    while True: pass")
    assert "was still running after 2 seconds" in " ".join(run('check("relu_grad")').plain.split())
    assert run('score("relu_grad", "inp.g")') == Output(plain="0.0")
    run(HURRY.format(time_limit=LIMIT))
    run(RIGHT)
    assert ok(run('check("lin_grad")'))

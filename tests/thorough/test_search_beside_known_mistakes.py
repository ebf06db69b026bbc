"""The search finds a second mistake, and what passes a screen gives the answer there."""

from __future__ import annotations

import torch
from test_search import RECURRENT, case_of, recurrence, recurrent_gradients
from torch import Tensor

from grader.diagnosis.candidates import edits
from grader.diagnosis.edits import Edit
from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.search import explain
from grader.program.operation import NoCandidate


def test_a_second_mistake_is_found_beside_one_that_explains_the_other_answers() -> None:
    """The state after the step in the gradient of u, in a pass whose derivative of tanh is left out everywhere."""

    def forward(x: Tensor, w: Tensor, u: Tensor, h: Tensor) -> Tensor:
        for step in x:
            h = torch.tanh(step @ w + h @ u)
        return h

    def wrong(x: Tensor, w: Tensor, u: Tensor, h: Tensor, g: Tensor) -> dict[str, Tensor]:
        states = [h]
        for step in x:
            states.append(torch.tanh(step @ w + states[-1] @ u))
        dw, du, dh = torch.zeros_like(w), torch.zeros_like(u), g
        for t in reversed(range(len(x))):
            dw, du = dw + x[t].T @ dh, du + states[t + 1].T @ dh
            dh = dh @ u.T
        return {"w": dw, "u": du, "h": dh}

    case = case_of(forward, wrong, x="t bs n", w="n m", u="m m", h="bs m")
    explanations = explain(case, OPERATORS)
    assert explanations["w"].code == explanations["h"].code == "missing-local"
    first, second = explanations["u"].facts
    assert first.operator == "derivative-missing"
    assert "in place of" in second.says


def test_what_a_screen_lets_pass_gives_the_answer_in_that_trial() -> None:
    case = case_of(recurrence, recurrent_gradients(lambda t, count: -1), **RECURRENT)
    (screen,) = case.screens
    passed = 0
    for operator in OPERATORS:
        for edit in edits(operator, case.listing):
            names = case._screen(edit)
            try:
                gradient = edit.apply(screen.sample.program).gradients()["w"]
            except NoCandidate:
                continue
            given = screen.sample.given["w"]
            same = gradient.shape == given.shape and screen.sample.matches_learner("w", gradient)
            assert isinstance(edit, Edit)
            if not edit.apply(screen.sample.program).results:
                assert same == bool(names), edit.message(case.listing)
                passed += same
    assert passed

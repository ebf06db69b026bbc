"""What an answer is computed from is read in the learner's source, without running it."""

from __future__ import annotations

import pytest

from grader.sandbox.answer_source import LONGEST_SOURCE, AnswerSource

READ = {  # bodies in which x.g is behind w.g
    "itself": "x.g = out.g\nw.g = x.g @ x",
    "another name": "x.g = out.g\nd = x.g\nw.g = d @ x",
    "assigned together": "x.g = d = out.g\nw.g = d @ x",
    "items of a tuple": "x.g, d = out.g, 2\nw.g, e = x.g @ x, d",
    "a tuple as a whole": "x.g = out.g\nw.g, e = layer_of(x.g)",
    "in a loop": "x.g = out.g\nfor row in x.g:\n    w.g = row @ x",
    "in place": "x.g = out.g\nw.g = x\nw.g *= x.g",
    "a row": "x.g = out.g\nw.g = x\nw.g[0] = x.g[0]",
    "a method": "x.g = out.g\nw.g = x\nw.g.add_(x.g)",
    "a function inside": "x.g = out.g\ndef d():\n    return x.g\nw.g = d()",
    "a function that may read it": "x.g = out.g\nw.g = helper(x)",
}
NOT_READ = {
    "the value of a name": "d = out.g\nx.g = d\nw.g = d @ x",
    "the same formula": "x.g = out.g * 2\nw.g = (out.g * 2) @ x",
    "another item": "x.g, d = out.g, 2\nw.g = d * x",
    "the other way round": "w.g = out.g @ x\nx.g = w.g",
    "a function of torch": "x.g = out.g\nw.g = norm(x)",
}
NOT_KNOWN = {
    "no such function": "def g(x, w, out):\n    w.g = x.g\n",
    "no such answer": "def f(x, w, out):\n    store(w)\n",
    "no Python": "def f(x, w, out:\n    w.g = x.g\n",
    "too long": "def f(x, w, out):\n    w.g = x.g\n" + "#" * LONGEST_SOURCE,
}


def source_of(body: str) -> AnswerSource:
    """Return the source of a function f with a body, beside a helper."""
    lines = body.replace("\n", "\n    ")
    return AnswerSource([f"def helper(v):\n    return v.g\n\n\ndef f(x, w, out):\n    {lines}\n"], "f")


@pytest.mark.parametrize("what", READ)
def test_a_gradient_is_behind_an_answer(what: str) -> None:
    assert "x.g" in (source_of(READ[what]).names_behind("w.g") or ())


@pytest.mark.parametrize("what", NOT_READ)
def test_a_gradient_is_not_behind_an_answer(what: str) -> None:
    names = source_of(NOT_READ[what]).names_behind("w.g")
    assert names is not None
    assert "x.g" not in names


@pytest.mark.parametrize("what", NOT_KNOWN)
def test_it_is_not_known_what_is_behind_an_answer(what: str) -> None:
    assert AnswerSource([NOT_KNOWN[what]], "f").names_behind("w.g") is None


def test_the_last_definition_counts() -> None:
    texts = ["def f(x, w):\n    w.g = x.g\n", "def f(x, w):\n    w.g = x\n"]
    assert "x.g" not in (AnswerSource(texts, "f").names_behind("w.g") or ())


@pytest.mark.parametrize(
    ("body", "is_read"),
    [
        ("x.g = out.g", False),
        ("x.g = (out > 0) * out.g", True),
        ("mask = helper(out)\nx.g = mask * out.g", True),
        ("out = x\nx.g = out.g", False),
    ],
)
def test_the_gradient_of_a_value_is_read_without_the_value(body: str, is_read: bool) -> None:
    assert source_of(body).may_read("out") is is_read


def test_a_source_that_is_no_python_may_read_anything() -> None:
    assert AnswerSource([NOT_KNOWN["no Python"]], "f").may_read("out")

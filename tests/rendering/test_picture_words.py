"""Pictures in words: what somebody who cannot see a heat map is told of it."""

from __future__ import annotations

import numpy as np

from grader.rendering.picture_data import ExercisePictures, Graph, GraphNode, Grid, Picture
from grader.rendering.picture_text import pictures_in_words
from grader.rendering.render_text import as_text

YOURS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def told(*off: float, note: str = "", graph: Graph | None = None) -> list[str]:
    grids = (
        Grid("yours", ("n", "m"), YOURS),
        Grid("right", ("n", "m"), YOURS - np.array(off).reshape(2, 3)),
        Grid("yours - right", ("n", "m"), np.array(off).reshape(2, 3), kind="difference", limit=4.0),
    )
    picture = Picture("w.g", "a square case, n=2, m=3", grids, note)
    return as_text(pictures_in_words(ExercisePictures("lin_grad", (picture,), graph), 200)).splitlines()


def test_the_entries_furthest_off_come_first_with_their_direction() -> None:
    assert told(0, 0.5, 0, -2, 0, 0) == [
        "w.g, a square case, n=2, m=3.",
        "Of 6 entries, 1 too high, 1 too low, 4 right.",
        "The furthest off first:",
        "w.g[1, 0]: yours is 4, right is 6, too low.",
        "w.g[0, 1]: yours is 2, right is 1.5, too high.",
    ]


def test_entries_that_are_not_numbers_come_first() -> None:
    assert told(0, 0.5, 0, np.nan, 0, 0)[1:4] == [
        "Of 6 entries, 1 too high, 4 right.",
        "The furthest off first:",
        "w.g[1, 0]: yours is 4, right is nan, no number to compare.",
    ]


def test_an_answer_without_arrays_is_its_note() -> None:
    shown = ExercisePictures("lin_grad", (Picture("w.g", note="it is not attempted yet"),))
    assert as_text(pictures_in_words(shown, 80)) == "w.g: it is not attempted yet."
    assert as_text(pictures_in_words(ExercisePictures("lin_grad"), 80)) == "lin_grad: everything is right."


def test_arrays_of_two_shapes_are_listed() -> None:
    grids = Grid("yours", ("n",), np.arange(10.0)), Grid("wanted", ("n", "m"), YOURS)
    shown = ExercisePictures("lin_grad", (Picture("w.g", "a trial", grids),))
    assert as_text(pictures_in_words(shown, 200)).splitlines() == [
        "w.g, a trial.",
        "yours, shape (n=10,): 0, 1, 2, 3, 4, 5, 6, 7, and 2 more.",
        "wanted, shape (n=2, m=3): 1, 2, 3; 4, 5, 6.",
    ]


def test_the_forward_pass_is_described_step_by_step_with_the_mistake() -> None:
    nodes = [
        GraphNode("inp", "inp", "(n=2)"), GraphNode("w", "w", "(n=2)"), GraphNode("b", "b", "(n=2)"),
        GraphNode("%3", "@", "(m=3,)", ("inp", "w"), marked=("w.g",), change="+= -> ="),
        GraphNode("%4", "+", "(m=3,)", ("%3", "b"), name="out"),
    ]  # fmt: skip
    graph = Graph({node.key: node for node in nodes}, "%4", unmarked=("b.g",))
    assert told(1, 0, 0, 0, 0, 0, graph=graph)[-5:] == [
        "The forward pass, from the inputs to the output:",
        "Step 1: @ of inp and w, shape (m=3,). Here it goes wrong, for w.g: += -> =.",
        "Step 2, out: + of step 1 and b, which is the output, shape (m=3,).",
        "a -> b: b is used where a must be.",
        "For b.g no operation is named.",
    ]


def test_every_mark_of_the_forward_pass_is_described() -> None:
    nodes = [
        GraphNode("inp", "inp", "(n=2)"), GraphNode("b", "b", "(n=2)", marked=("b.g",), change="not summed over bs"),
        GraphNode("%2", "*", "(n=2)", ("inp", "b"), marked=("inp.g",), edges=frozenset([0]), change="b -> inp"),
        GraphNode("%3", "sin", "(n=2)", ("%2",), marked=("inp.g",), edges=frozenset([0]), name="out"),
    ]  # fmt: skip
    graph = Graph({node.key: node for node in nodes}, "%3")
    assert told(1, 0, 0, 0, 0, 0, graph=graph)[-4:] == [
        "Step 1: * of inp and b, shape (n=2). Here it goes wrong, for inp.g, on the way back to inp: b -> inp.",
        "Step 2, out: sin of step 1, which is the output, shape (n=2). Here it goes wrong, for inp.g.",
        "b, shape (n=2). Here it goes wrong, for b.g: not summed over bs.",
        "a -> b: b is used where a must be.",
    ]

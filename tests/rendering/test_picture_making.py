"""What is drawn of a wrong answer: whose numbers, from which trial, and which operation is marked."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.corpus import SUBMISSIONS
from helpers.courses import SEED
from helpers.pictures import See, picture
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from grader.course.course import Course
from grader.diagnosis.words import all_of
from grader.judging.grading import Grader
from grader.judging.judge import Judge
from grader.learner.session import Session
from grader.rendering.exercise_summary import formula
from grader.rendering.heat_maps import Table, largest_magnitude
from grader.rendering.picture_data import (
    NOTHING,
    WHY,
    ExercisePictures,
    Grid,
    Picture,
    dumps_with_pictures,
    no_pictures,
)
from grader.rendering.picture_html import _corner as html_corner
from grader.rendering.picture_html import graph_svg, pictures_html
from grader.rendering.picture_labels import LONGEST_CHANGE, change_of
from grader.rendering.picture_making import (
    KEPT_BACK,
    MANY_RIGHT,
    RIGHT,
    RecordedMistakes,
    _describe_trial,
    make_pictures,
    shade,
)
from grader.rendering.picture_text import _corner as text_corner
from grader.rendering.picture_text import picture_lines, pictures_in_words
from grader.rendering.render_text import as_text
from grader.results.codes import VALUE_CODES
from grader.results.records import AnswerResult, ExerciseResult
from grader.sandbox.worker import Worker

LIN = "def lin_grad(inp, out, w, b):\n    inp.g = {}\n    w.g = {}\n    b.g = {}\n"
RIGHT_LIN = ("out.g @ w.t()", "inp.t() @ out.g", "out.g.sum(0)")
AVERAGED = LIN.format(RIGHT_LIN[0], "inp.t() @ out.g / len(inp)", RIGHT_LIN[2])
MSE = "def mse_grad(inp, targ):\n    inp.g = 2 * (inp - targ.unsqueeze(-1))\n"


def values(grid: Grid) -> np.ndarray:
    return grid.values


def marked(found: ExercisePictures) -> dict[str, tuple[str, ...]]:
    """Return the answers marked at each operation, by its label."""
    assert found.graph is not None
    return {node.label: node.marked for node in found.graph.nodes.values() if node.marked}


def test_three_grids_show_yours_the_measured_one_and_the_difference(see: See, course: Course, grader: Grader) -> None:
    drawn = picture(see("lin_grad", AVERAGED), "w.g")
    trial = grader.trials(course.find("lin_grad")).judged_trials[0]
    right, sizes = trial.expected["w.g"], trial.setting.sizes
    assert right is not None
    yours, measured, difference = drawn.grids
    assert [grid.title for grid in drawn.grids] == ["yours", "nudged", "yours - nudged"]
    assert {grid.axes for grid in drawn.grids} == {("n", "m")}
    np.testing.assert_allclose(values(measured), right, rtol=1e-6)
    np.testing.assert_allclose(values(yours), right / sizes["bs"], rtol=1e-4)
    np.testing.assert_allclose(values(difference), values(yours) - values(measured))
    assert {grid.limit for grid in drawn.grids} == {max(np.abs(values(grid)).max() for grid in drawn.grids)}
    assert drawn.where == f"pairwise different sizes, bs={sizes['bs']}, n={sizes['n']}, m={sizes['m']}"
    assert "finite differences" in drawn.note


def test_sizes_are_called_different_only_where_they_are(course: Course) -> None:
    """A kernel has so few sizes to choose from that it may be as wide as the batch is large."""
    (trial, *_) = Grader(6).trials(course.find("conv2d_grad")).judged_trials
    assert trial.setting.sizes["bs"] == trial.setting.sizes["kw"]
    assert _describe_trial(trial).startswith("bs=2, kh=3,")


def test_a_trial_of_plain_numbers_names_no_sizes(see: See) -> None:
    drawn = picture(see("slope", "def slope(f, x, h):\n    return f(x + h) - f(x) / h\n"), "return")
    assert (drawn.where, len(drawn.grids)) == ("", 3)


def test_only_wrong_answers_are_drawn(see: See) -> None:
    assert [each.answer for each in see("lin_grad", AVERAGED).pictures] == ["w.g"]
    passed = see("lin_grad", LIN.format(*RIGHT_LIN))
    assert (passed.pictures, passed.graph, passed.is_drawn) == ((), None, False)


def test_the_difference_is_exactly_zero_where_both_agree(see: See) -> None:
    source = "def relu_grad(inp, out):\n    inp.g = out.g * (inp > 0)\n    inp.g[inp > 1] *= 2\n"
    yours, measured, difference = (values(grid) for grid in picture(see("relu_grad", source), "inp.g").grids)
    assert set(difference[np.isclose(yours, measured, rtol=1e-5)]) == {0.0}
    assert np.any(difference != 0)


def test_a_zero_entry_is_measured_as_exactly_zero(see: See, course: Course, grader: Grader) -> None:
    """Show no rounding of the measurement, whatever the scale of the wrong answer."""
    source = "def relu_grad(inp, out):\n    inp.g = out.g * 1e6\n"
    measured = values(picture(see("relu_grad", source), "inp.g").grids[1])
    right = grader.trials(course.find("relu_grad")).judged_trials[0].expected["inp.g"]
    assert right is not None
    assert np.array_equal(measured == 0, right == 0)


def test_a_course_that_keeps_expected_values_back_draws_them_in_shades(
    see: See, course: Course, grader: Grader
) -> None:
    found = see("lin_grad", AVERAGED, expected=False)
    drawn = picture(found, "w.g")
    yours, measured, difference = drawn.grids
    assert [grid.shaded for grid in drawn.grids] == [True, True, True]
    assert {grid.limit for grid in drawn.grids} == {4}
    assert drawn.note.endswith(KEPT_BACK)
    right = grader.trials(course.find("lin_grad")).judged_trials[0].expected["w.g"]
    assert right is not None
    assert np.array_equal(np.sign(values(measured)), np.sign(right))
    assert np.array_equal(np.sign(values(yours)), np.sign(right))
    assert np.array_equal(np.sign(values(difference)), -np.sign(right))
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", dumps_with_pictures({}, [found]))]
    assert len(numbers) >= 3 * right.size
    assert {abs(number) for number in numbers} <= {0.0, 1.0, 2.0, 3.0, 4.0}  # steps, in grids and figures
    assert not any(np.isclose(number, right, rtol=1e-4).any() for number in numbers)


@given(arrays("float64", array_shapes(max_side=4), elements=st.floats(-1e6, 1e6)))
def test_a_shade_keeps_the_sign_and_the_order_and_a_quarter_of_the_size(array: np.ndarray) -> None:
    found = shade(Grid("nudged", ("n",) * array.ndim, array, limit=largest_magnitude(array)))
    steps = values(found)
    assert set(steps.flat) <= set(range(-4, 5))
    assert np.all(steps * array >= 0)
    assert np.all(np.abs(array) <= (np.abs(steps) + 1e-5) / 4 * largest_magnitude(array))
    assert np.all(np.abs(array) >= (np.abs(steps) - 1) / 4 * largest_magnitude(array))


@pytest.mark.parametrize("expected", [True, False])
def test_a_wrong_shape_is_shown_beside_the_right_one_without_a_difference(see: See, expected: bool) -> None:
    found = see("lin_grad", LIN.format(*RIGHT_LIN[:2], "out.g.sum(1)"), expected=expected)
    yours, other = picture(found, "b.g").grids
    assert (yours.axes, other.axes) == (("bs",), ("m",))
    sizes = dict(part.split("=") for part in picture(found, "b.g").where.split(", ") if "=" in part)
    assert (yours.shape, other.shape) == ((int(sizes["bs"]),), (int(sizes["m"]),))
    assert (other.title, other.shaded) == ("nudged", not expected)
    assert marked(found) == {"+": ("b.g",)}


def test_three_axes_keep_their_names(see: See) -> None:
    source = "def lin_grad_nd(inp, out, w, b):\n    inp.g = out.g @ w.t() * 2\n    w.g = ...\n    b.g = ...\n"
    found = see("lin_grad_nd", source)
    assert picture(found, "inp.g").grids[0].axes == ("bs", "t", "n")
    assert picture(found, "w.g").note == WHY["todo"]
    assert picture(found, "w.g").grids == ()


def test_nonfinite_entries_are_drawn_unchanged(see: See) -> None:
    source = "def relu_grad(inp, out):\n    inp.g = out.g / (inp > 0)\n"
    yours, _, difference = picture(see("relu_grad", source, expected=False), "inp.g").grids
    off = ~np.isfinite(values(yours))
    assert off.any()
    assert np.array_equal(~np.isfinite(values(difference)), off)
    assert np.isfinite(yours.limit)


@pytest.mark.parametrize(
    ("source", "note"),
    [
        ("def relu_grad(inp, out):\n    inp.g = ...\n", WHY["todo"]),
        ("def relu_grad(inp, out):\n    out.g * (inp > 0)\n", WHY["missing-answer"]),
        ("def relu_grad(inp, out):\n    return out.g * (inp > 0)\n", WHY["returned-not-stored"]),
        ("def relu_grad(inp, out):\n    inp.g = 'no'\n", WHY["wrong-type"]),
        ("def relu_grad(inp, out):\n    inp.g = out.g.double() * (inp > 0)\n", RIGHT),
        ("def relu_grad(inp, out):\n    nothing\n", NOTHING),
        ("def relu_grad(inp, out:\n", NOTHING),
    ],
)
def test_a_picture_without_arrays_has_one_line_that_says_why(see: See, source: str | None, note: str) -> None:
    found = see("relu_grad", source)
    (drawn,) = found.pictures
    assert (drawn.grids, drawn.note, found.graph) == ((), note, None)
    assert as_text(picture_lines(found, 80)) == f"  inp.g  {note}"


def test_numbers_are_not_called_right_where_a_call_gave_no_array(see: See) -> None:
    found = see("tensor_engine", SUBMISSIONS["13_engine/tensor_engine: None for a tensor that is not used"].source)
    assert [(drawn.grids, drawn.note) for drawn in found.pictures] == [((), WHY["missing-answer"])]


def test_a_file_that_is_not_there_is_not_drawn(see: See) -> None:
    assert see("lin_grad", None).pictures == (Picture("lin_grad", note=WHY["todo"]),)


def test_a_verdict_without_arrays_is_one_line(course: Course) -> None:
    """Check quizzes with some and with all questions wrong."""
    wrong = AnswerResult("a", "failed", 0, 1, "wrong-factor", "it is 2")
    answers = (
        AnswerResult("b", "passed", 1, 1),
        wrong,
        replace(wrong, name="c"),
        replace(wrong, name="d", code="todo"),
    )
    found = no_pictures(ExerciseResult("quiz_01", "01_slopes", answers))
    assert as_text(picture_lines(found, 80)) == f"  quiz_01  {NOTHING}"
    assert no_pictures(ExerciseResult("quiz_01", "01_slopes", answers[:1])).pictures == ()


def test_the_same_note_on_several_answers_is_one_line(see: See) -> None:
    found = see("lin_grad", LIN.format("out.g @ w.t() * 2", "...", "..."))
    assert as_text(picture_lines(found, 80)).count(WHY["todo"]) == 1
    assert f"  w.g, b.g  {WHY['todo']}" in as_text(picture_lines(found, 80))
    assert pictures_html(found).count(WHY["todo"]) == 1


ACCUMULATED = "def lin_grad_accumulate(inp, out, w, b):\n    inp.g += out.g @ w.t()\n    {}\n    b.g += out.g.sum(0)\n"


def test_a_gradient_stored_before_stands_beside_what_is_added_to_it_and_what_must_be(
    see: See, course: Course, grader: Grader
) -> None:
    found = see("lin_grad_accumulate", ACCUMULATED.format("w.g += inp.t() @ out.g / len(inp)"))
    drawn = picture(found, "w.g")
    trial = grader.trials(course.find("lin_grad_accumulate")).judged_trials[0]
    (answer,) = (each for each in course.find("lin_grad_accumulate").declaration.answers if each.name == "w.g")
    added, size = trial.new(answer), trial.setting.sizes["bs"]
    assert [grid.title for grid in drawn.grids] == ["before", "yours - before", "nudged", "yours - before - nudged"]
    for grid, right in zip(drawn.grids, (trial.prior(answer), added / size, added, added / size - added), strict=True):
        np.testing.assert_allclose(values(grid), right, rtol=1e-4, atol=1e-6)
    assert "before: the w.g that is added to" in drawn.note
    (scatter,) = drawn.figures
    assert scatter.series[2].name == "yours - before = nudged / bs"
    assert "yours - before is" in as_text(pictures_in_words(found, 100))


def test_a_gradient_that_is_overwritten_equals_the_right_one_less_what_was_there(see: See) -> None:
    found = picture(see("lin_grad_accumulate", ACCUMULATED.format("w.g = inp.t() @ out.g")), "w.g")
    lines = [line.name for each in found.figures if each.kind == "scatter" for line in each.series[2:]]
    assert lines == ["yours - before = nudged - before"]


def test_a_routine_is_compared_with_the_right_value_and_has_no_graph(see: See) -> None:
    found = see("slope", "def slope(f, x, h):\n    return (f(x + h) + f(x)) / h\n")
    assert [grid.title for grid in found.pictures[0].grids] == ["yours", "right", "yours - right"]
    assert found.graph is None


@pytest.mark.parametrize("expected", [True, False])
def test_only_the_learners_array_is_drawn_when_several_are_right(see: See, expected: bool) -> None:
    (drawn,) = see("pick_h", "def pick_h(dtype):\n    return 1.0\n", expected=expected).pictures
    assert ([grid.title for grid in drawn.grids], drawn.note) == (["yours"], MANY_RIGHT)


def test_a_jacobian_has_the_axes_of_the_output_and_of_the_input(see: See) -> None:
    found = see("df_dx", "def df_dx(x, w, b):\n    return 2 * w.t()\n")
    assert [grid.axes for grid in found.pictures[0].grids] == [("m", "n")] * 3


MARKS: dict[str, tuple[str, str, dict[str, tuple[str, ...]]]] = {
    "a forgotten mean": ("mse_grad", MSE, {"mean": ("inp.g",)}),
    "a path left out": (
        "two_paths_grad",
        "def two_paths_grad(inp, out):\n    inp.g = out.g * (inp.sin() + 2 * inp)\n",
        {"sin": ("inp.g",)},
    ),
    "a factor left out": (
        "pow_grad", "def pow_grad(inp, out, k):\n    inp.g = out.g * inp ** (k - 1)\n", {"pow": ("inp.g",)},
    ),
    "a reshape for a transpose": (
        "lin_grad", LIN.format("out.g @ w.reshape(w.t().shape)", *RIGHT_LIN[1:]), {"@": ("inp.g",)},
    ),
    "two answers at one place": (
        "lin_grad", LIN.format("out.g @ w.reshape(w.t().shape)", "inp.reshape(inp.t().shape) @ out.g",
                               RIGHT_LIN[2]), {"@": ("inp.g", "w.g")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("slip", MARKS)
def test_the_operation_that_the_diagnosis_names_is_marked(see: See, slip: str) -> None:
    exercise_id, source, expected = MARKS[slip]
    found = see(exercise_id, source)
    named = {label.split()[0].replace("**", "pow"): answers for label, answers in marked(found).items()}
    assert named == expected


def test_a_value_without_a_gradient_is_drawn_too(see: See) -> None:
    found = see("leaky_relu_grad", "def leaky_relu_grad(inp, out, slope):\n    inp.g = out.g\n")
    assert found.graph is not None
    nodes = found.graph.nodes
    assert {operand for node in nodes.values() for operand in node.operands} <= set(nodes)


def test_the_edge_to_the_operand_is_marked_too(see: See) -> None:
    graph = see("lin_grad", LIN.format("out.g @ w.reshape(w.t().shape)", *RIGHT_LIN[1:])).graph
    assert graph is not None
    assert {source for node in graph.nodes.values() for source in (node.operands[i] for i in node.edges)} == {"inp"}
    assert graph.nodes["inp"].answer == "inp.g"
    assert (graph.unmarked, graph.nodes["w"].shape[:3]) == ((), "(n=")


def test_a_diagnosis_without_an_operation_marks_none_and_has_a_note(see: See) -> None:
    found = see("mse_grad", "def mse_grad(inp, targ):\n    inp.g = (inp - targ.unsqueeze(-1)).cos() + inp.sin()\n")
    assert marked(found) == {}
    assert "Nothing is marked for inp.g: no operation is named." in as_text(picture_lines(found, 80))


@pytest.mark.parametrize("exercise", ["mend_linear", "mend_cross_entropy", "mend_rnn"])
def test_a_body_to_mend_that_is_unchanged_shows_its_numbers_and_no_mistake(
    see: See, course: Course, exercise: str
) -> None:
    """As its message does not say what is wrong, its pictures do not say it either."""
    found = see(exercise, course.find(exercise).path.read_text())
    assert all(each.grids and not each.figures and not each.cause for each in found.pictures)
    assert found.graph is not None
    assert not any(node.marked or node.edges or node.change for node in found.graph.nodes.values())
    assert "where it goes wrong" not in as_text(picture_lines(found, 80))


def test_the_shapes_in_the_graph_are_those_of_the_trial_drawn(see: See) -> None:
    source = "def relu_grad(inp, out):\n    inp.g = out.g * (inp > 0)\n    if inp.dim() == 1:\n        inp.g *= 2\n"
    found = see("relu_grad", source)
    (drawn,) = found.pictures
    assert found.graph is not None
    assert found.graph.nodes["inp"].shape == f"({drawn.grids[0].shape[0]},)"


def test_making_pictures_leaves_the_verdict_unchanged(course: Course, worker: Worker) -> None:
    exercise = course.find("lin_grad")
    seen: list[Judge] = []
    first = Grader(SEED).grade(exercise, AVERAGED.encode(), worker)
    second = Grader(SEED).grade(exercise, AVERAGED.encode(), worker, seen.append)
    assert first.record == second.record
    assert len(seen) == 1


def test_a_verdict_survives_a_picture_that_fails(
    course: Course, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> ExercisePictures:
        raise ValueError("no paint")

    monkeypatch.setattr("grader.rendering.picture_making.make_pictures", broken)
    with Session(course, worker=worker) as session:
        monkeypatch.setattr(session, "close", lambda: None)
        result, found = session.check_cells_with_pictures(course.find("lin_grad"), [AVERAGED], tmp_path)
    assert [answer.code for answer in result.answers] == [None, "mean-for-sum", None]
    assert "no paint" in found.pictures[0].note


def test_a_clamp_has_the_bounds_that_the_source_gives_it(see: See) -> None:
    open_above = see("shifted_relu_grad", "def shifted_relu_grad(inp, out):\n    inp.g = out.g\n").graph
    both = see("clamp_grad", "def clamp_grad(inp, out, lo, hi):\n    inp.g = out.g\n").graph
    assert open_above is not None
    assert both is not None
    assert "clamp_min 0" in {node.label for node in open_above.nodes.values()}
    assert not {"clamp_min", "clamp_max"} & {node.label.split()[0] for node in both.nodes.values()}


def test_a_constant_of_a_graph_is_written_as_in_the_source(see: See) -> None:
    graph = see("gelu_grad", "def gelu_grad(inp, out):\n    inp.g = out.g\n").graph
    assert graph is not None
    assert {"/ 2**0.5", "+ 1", "/ 2"} <= {node.label for node in graph.nodes.values()}


def test_a_graph_has_the_names_of_values_that_a_finding_may_say(see: See) -> None:
    source = SUBMISSIONS["07_network/forward_and_backward: w2.g used in place of w2"].source
    graph = see("forward_and_backward", source).graph
    assert graph is not None
    assert {node.title for node in graph.nodes.values() if node.name} == {
        "l1 = +", "l2 = clamp_min 0", "out = +", "loss = mean",
    }  # fmt: skip
    assert {node.name for node in graph.nodes.values() if not node.operands} == {""}


def test_json_has_exact_numbers_and_words_for_nonfinite_ones(see: See) -> None:
    found = see("relu_grad", "def relu_grad(inp, out):\n    inp.g = out.g / (inp > 0)\n")
    record = json.loads(dumps_with_pictures({"schema": "handgrad/result@2"}, [found]))
    assert (record["schema"], record["result"]["schema"]) == ("handgrad/shown@1", "handgrad/result@2")
    ((answer,),) = [each["answers"] for each in record["shown"]]
    yours = answer["grids"][0]
    flat = np.array(yours["values"], dtype=object).ravel()
    assert {type(entry) for entry in flat} == {float, str}
    assert {entry for entry in flat if isinstance(entry, str)} <= {"inf", "-inf", "nan"}
    assert list(np.array(yours["values"], dtype=object).shape) == yours["shape"]
    assert record["shown"][0]["graph"]["nodes"][0]["key"] == "inp"


@pytest.mark.parametrize(
    ("submission", "label"),
    [
        ("14_beyond/hvp_logistic: error kept as a factor", "* error"),
        ("06_losses/mse_grad_nd: relative error", "/ targ"),
        ("06_losses/cross_entropy_grad: targets smoothed", "a wrong derivative"),
        ("11_time/lstm_step_grad: output gate left out of the memory's gradient", "o.sigmoid() -> 1"),
        ("02_chain_rule/exp_grad: g in the exponent", "exp(inp) * g -> exp(inp * g)"),
        ("09_norm/batchnorm_eval_grad: gamma's gradient made with out", "(inp - mean)/std -> out"),
        ("07_network/forward_and_backward: w2.g used in place of w2", "w2 -> gradient of w2"),
        ("15_clinic/mend_rnn: wh is left out on the way back", "wh -> 1"),
        ("05_activations/shifted_relu_grad: upstream gradient missing", "out.g -> 1"),
        ("11_time/lstm_step_grad: forget gate and input gate exchanged", "the parts of i and f swapped"),
        ("15_clinic/mend_attention: softmax over everything", "sum over t -> over s and t"),
        ("06_losses/bce_grad: logarithms kept", "log' -> log"),
        ("02_chain_rule/dloss_dx: error squared instead of doubled", "f' -> f"),
        ("14_beyond/straight_through_grad: out.g clamped", "clamp' * g -> clamp(g)"),
        ("02_chain_rule/div_grad: the rule for a product", "a.g: g * f' -> g / f'\nb.g: as if it were a product"),
        ("06_losses/log_softmax_grad: equal shares in place of the softmax", "same probability everywhere"),
        ("08_shapes/max_grad: the gradient of a mean", "goes to every entry / count"),
        ("08_shapes/cumsum_grad: summed from the front once more", "running sum from the start"),
        ("09_norm/layernorm_grad: gamma multiplied at the very end", "gamma after the means"),
        ("05_activations/sigmoid_grad: out in place of its derivative", "sigmoid' -> out"),
        ("06_losses/cross_entropy_grad: 1 subtracted from every entry", "1 subtracted from every entry"),
        ("06_losses/bce_logits_grad: sigmoid of the targets too", "targ -> sigmoid(targ)"),
        ("06_losses/l2_penalty_grad: absolute value in place of the square", "f' -> that of absolute value"),
        ("10_convolution/conv2d_grad: kernel turned along one axis only", "kernel reversed, last axis"),
        ("04_linear/lin_grad: inputs in reverse order in w.g", "g reversed along bs"),
        ("05_activations/silu_grad: derivatives of the two factors multiplied", "product of both derivatives"),
        ("11_time/truncated_rnn_grad: the state that goes out as the partner of wh", "h -> h of another step"),
        ("02_chain_rule/pow_grad: exponent not lowered", "the exponent not reduced by 1"),
        ("06_losses/log_softmax_grad: exponentials of inp, not divided by their sum", "softmax -> the exponential"),
        (
            "06_losses/log_softmax_grad: products with the softmax summed, then not multiplied by it",
            "softmax inside the sum",
        ),
        ("06_losses/logsumexp_grad: 1 in place of the exponential in the numerator", "softmax -> 1 / sum(exp)"),
        ("06_losses/bce_logits_grad: only the target divided by the batch size", "only targ is divided by 2"),
        ("06_losses/l2_penalty_grad: root of lam", "lam -> lam**0.5"),
        ("09_norm/rmsnorm_grad: not divided by the root", "/ root mean square missing"),
        ("10_convolution/conv1d_grad: the bias averaged over places", "sum -> mean"),
        ("10_convolution/maxpool1d_grad: the first entry of each window", "goes to the first entry"),
        ("12_attention/masked_softmax_grad: out.g through the mask alone", "gradient -> out.g"),
        ("12_attention/masked_softmax_grad: masked scores set to 0 in place of minus infinity", "-inf -> 0"),
        ("12_attention/masked_softmax_grad: divided by the number of free entries", "result / number of entries"),
        ("06_losses/bce_grad: the mean error for everybody", "averaged over bs"),
        ("09_norm/layernorm_grad: gamma and beta summed over the batch only", "not summed over t"),
        ("09_norm/rmsnorm_grad: gamma's gradient made with inp", "/ rms missing"),
        ("08_shapes/cumsum_grad: differences, which undo a running sum", "differences of g"),
        ("10_convolution/conv1d_grad: last tap missing", "the last tap is left out"),
        ("12_attention/block_grad: attention's half fed with the block's upstream", "part of the gradient"),
        ("12_attention/causal_attention_grad: zeros for minus infinity", "-inf -> 0"),
        ("12_attention/multihead_grad: q and k exchanged in the joined gradient", "1st and 2nd parts swapped"),
        ("12_attention/rope_grad: pairs next to each other", "neighbouring entries paired"),
        ("14_beyond/solve_grad: solved with a itself", "a.inverse() must be transposed"),
        (
            "13_engine/value_engine: mul passes each operand its own value, and so sub and div do",
            "gradients swapped",
        ),
    ],
)
def test_a_label_names_in_the_words_of_the_source_what_is_done_or_is_left_out(
    see: See, submission: str, label: str
) -> None:
    exercise = submission.partition("/")[2].partition(":")[0]
    graph = see(exercise, SUBMISSIONS[submission].source).graph
    assert graph is not None
    assert {node.change for node in graph.nodes.values() if node.marked} == {label}


def test_every_place_of_a_mistake_is_named_in_its_sentence_and_has_its_label(
    see: See, course: Course, worker: Worker
) -> None:
    """The denominators are exchanged in both terms."""
    slip = SUBMISSIONS["06_losses/bce_grad: denominators exchanged"]
    graph = see("bce_grad", slip.source).graph
    assert graph is not None
    labels = [node.change for node in graph.nodes.values() if node.marked]
    assert labels == ["inp -> 1 - inp"] * 2
    (answer,) = Grader(SEED).grade(course.find("bce_grad"), slip.source.encode(), worker).answers
    assert "the function in `targ * inp.log()` and the function in `(1 - targ) * (1 - inp).log()`" in answer.message


@pytest.mark.parametrize(
    "submission",
    [
        "05_activations/relu_grad: integer mask without the upstream gradient",
        "04_linear/lin_grad: out.g divided by the batch size in place",
    ],
)
def test_nothing_is_marked_for_an_answer_whose_message_names_no_mistake(see: See, submission: str) -> None:
    """Such as one of another dtype: what else is wrong with its numbers is not told."""
    found = see(SUBMISSIONS[submission].exercise, SUBMISSIONS[submission].source)
    assert found.graph is not None
    assert not any(node.marked for node in found.graph.nodes.values())


@pytest.mark.parametrize(
    ("submission", "is_dashed"),
    [
        ("11_time/rnn_grad: gradient goes no further than the last moment", True),
        ("11_time/truncated_rnn_grad: two moments, whatever k is", True),
        ("11_time/rnn_states_grad: what later moments hand on is left out", True),
        ("11_time/rnn_states_grad: only the last moment's upstream gradient", False),
        ("11_time/rnn_grad: ones in place of the upstream gradient", False),
    ],
)
def test_the_edge_from_the_step_before_is_dashed_only_where_no_gradient_is_passed_along_it(
    see: See, submission: str, is_dashed: bool
) -> None:
    exercise = submission.partition("/")[2].partition(":")[0]
    graph = see(exercise, SUBMISSIONS[submission].source).graph
    assert graph is not None
    dropped = {graph.nodes[node.operands[i]].shape for node in graph.nodes.values() for i in node.dropped}
    assert dropped == ({"of the step before"} if is_dashed else set())


def test_a_graph_without_marks_has_the_sizes_of_the_arrays_above_it(see: See) -> None:
    slip = SUBMISSIONS["13_engine/checkpoint_grad: every piece begins with out.g"]
    found = see("checkpoint_grad", slip.source)
    assert found.graph is not None
    assert found.graph.unmarked == ("x.g", "w.g", "b.g")
    x, w = picture(found, "x.g").grids[0], picture(found, "w.g").grids[0]
    assert [found.graph.nodes[name].shape for name in ("x", "w")] == [
        f"(bs={x.shape[0]}, n={x.shape[1]})", f"(n={w.shape[0]}, n={w.shape[1]})"
    ]  # fmt: skip


@pytest.mark.parametrize("code", sorted(VALUE_CODES - {"unknown", "follows"}))
def test_a_mark_has_a_label_whatever_the_diagnosis_names(code: str) -> None:
    assert 0 < len(change_of(code)) <= LONGEST_CHANGE


def test_an_axis_of_another_shape_has_the_name_that_fits_in_every_trial(see: See) -> None:
    source = """import torch
def conv1d_grad(inp, w, b, out):
    inp.g, b.g = torch.zeros_like(inp), out.g.sum((0, 2))
    w.g = out.g.sum(0)
"""
    yours, right, *_ = picture(see("conv1d_grad", source), "w.g").grids
    assert [name.startswith("_") for name in yours.axes] == [False, True]
    assert right.axes == ("o", "c", "k")


def drawn_at(seed: int, name: str, course: Course, worker: Worker) -> ExercisePictures:
    """Return the pictures of a submission of the corpus, graded with this seed."""
    submission, judges = SUBMISSIONS[name], list[Judge]()
    exercise = course.find(submission.exercise)
    result = Grader(seed).grade(exercise, submission.source.encode(), worker, judges.append)
    return make_pictures(exercise, result, judges[-1])


CHANCE = 1301  # a seed by which sizes that have nothing to do with each other are equal in a trial


@pytest.mark.parametrize(
    ("seed", "submission", "shape"),
    [(CHANCE, "10_convolution/conv1d_grad: weights from the first place only", "(bs=4, o=6, 6)"),
     (CHANCE, "12_attention/rope_grad: turned forward once more", "(bs=2, t=6, 6)"),
     (77, "10_convolution/avgpool2d_grad: multiplied by inp", "(bs=4, c=2, 2, 4)"),
     (6, "10_convolution/conv2d_grad: columns of the kernel turned round", "(bs=2, o=5, 4, 5)")],
)  # fmt: skip
def test_an_axis_in_the_graph_has_no_name_that_fits_by_chance(
    course: Course, worker: Worker, seed: int, submission: str, shape: str
) -> None:
    source, judges = SUBMISSIONS[submission], list[Judge]()
    exercise = course.find(source.exercise)
    result = Grader(seed).grade(exercise, source.source.encode(), worker, judges.append)
    graphs = make_pictures(exercise, result, judges[-1]).graph, RecordedMistakes().graph(exercise, result, seed)
    assert [graph.nodes[graph.out].shape for graph in graphs if graph is not None] == [shape, shape]


@pytest.mark.parametrize(
    ("submission", "answer", "title"),
    [
        ("14_beyond/straight_through_grad: out.g clamped", "inp.g", "right"),
        ("11_time/truncated_rnn_grad: tanh not differentiated", "x.g", "right"),
        ("11_time/rnn_grad: tanh not differentiated", "x.g", "nudged"),
    ],
)
def test_what_nudging_does_not_give_is_not_called_nudged(
    course: Course, worker: Worker, submission: str, answer: str, title: str
) -> None:
    drawn = picture(drawn_at(3, submission, course, worker), answer)
    assert drawn.grids[1].title == title
    assert drawn.note.startswith(f"{title}: ")
    assert ("finite differences" in drawn.note) == (title == "nudged")


def test_a_factor_that_equals_a_size_by_chance_is_a_number(course: Course, worker: Worker) -> None:
    found = drawn_at(CHANCE, "04_linear/lin_grad_accumulate: old and new gradient averaged", course, worker)
    lines = {line.name for figure in picture(found, "w.g").figures for line in figure.series[2:]}
    assert lines == {"yours - before = 1/2 * (nudged - before)"}


@pytest.mark.parametrize("seed", range(4))
def test_a_factor_that_some_trials_have_by_chance_is_in_no_scatter(course: Course, worker: Worker, seed: int) -> None:
    found = drawn_at(seed, "13_engine/engine_twice: only the first call counts", course, worker)
    scatters = [each for picture in found.pictures for each in picture.figures if each.kind == "scatter"]
    assert scatters
    assert not any(" * right" in line.name for scatter in scatters for line in scatter.series[2:])


def test_a_factor_of_the_source_keeps_its_name_in_the_graph(see: See) -> None:
    graph = see("l2_penalty_grad", "def l2_penalty_grad(w, lam):\n    w.g = lam * w**2\n").graph
    assert graph is not None
    assert graph.nodes[graph.out].label == "* lam"


def test_the_trial_that_is_drawn_is_that_of_the_call_in_the_evidence(course: Course, worker: Worker) -> None:
    submission = SUBMISSIONS["15_clinic/smallest_failing_input: an upstream gradient of ones"]
    exercise, judges = course.find(submission.exercise), list[Judge]()
    result = Grader(CHANCE).grade(exercise, submission.source.encode(), worker, judges.append)
    for drawn, answer in zip(make_pictures(exercise, result, judges[-1]).pictures, result.answers, strict=True):
        yours, right, _ = (int(values(grid)) for grid in drawn.grids)
        assert re.search(rf"returns {yours} .* must return {right}$", answer.evidence)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "submission",
    [
        "08_shapes/slice_grad: values of inp around it",
        "01_slopes/numerical_vjp: mean of the outputs times the sum of v",
    ],
)
def test_the_entries_that_a_finding_counts_are_those_that_are_drawn(
    course: Course, worker: Worker, submission: str, seed: int
) -> None:
    exercise, judges = course.find(SUBMISSIONS[submission].exercise), list[Judge]()
    result = Grader(seed).grade(exercise, SUBMISSIONS[submission].source.encode(), worker, judges.append)
    (answer,), (drawn,) = result.answers, make_pictures(exercise, result, judges[-1]).pictures
    yours, right, difference = map(values, drawn.grids)
    zeros, wrong = int((right == 0).sum()), int((difference != 0).sum())
    share = all_of(wrong) if wrong == yours.size else f"{wrong} of {yours.size}"
    counts = f"all {zeros} entries that" if "must be 0" in answer.message else f"{share} entries"
    assert answer.message.startswith(counts)


def test_a_picture_of_another_trial_than_that_of_the_exception_says_so(see: See) -> None:
    body = "inp.g = torch.zeros_like(inp)\n    inp.g[: len(idx)] += out.g\n"
    drawn = picture(see("index_grad", f"import torch\ndef index_grad(inp, out, idx):\n    {body}"), "inp.g")
    assert drawn.where.startswith("a trial that ran to its end: ")
    drawn = picture(see("embedding_grad", "def embedding_grad(idx, w, out):\n    w.g = out.g[idx]\n"), "w.g")
    assert drawn.where.startswith("a trial that ran to its end, with a wrong shape: ")


def test_of_the_programs_that_an_engine_gets_wrong_the_shortest_is_drawn(course: Course, worker: Worker) -> None:
    graph = drawn_at(CHANCE, "13_engine/value_engine: relu lets everything through", course, worker).graph
    assert graph is not None
    assert len(graph.nodes) < 12


def test_the_corner_of_a_table_names_the_axes_that_have_a_name() -> None:
    corners = {
        axes: [corner(Table("", *(f"axis {i}" if name == "_" else name for i, name in enumerate(axes)), ((), ())))
               for corner in (html_corner, text_corner)]
        for axes in (("n", "m"), ("_", "m"), ("n", "_"), ("_", "_"))
    }  # fmt: skip
    assert corners == {
        ("n", "m"): ["n \\ m", "n\\m"],
        ("_", "m"): ["m", "m"],
        ("n", "_"): ["n \\", "n\\"],
        ("_", "_"): ["", ""],
    }


def test_both_of_two_exchanged_gradients_are_marked_in_boxes_that_differ(see: See) -> None:
    found = see("rope_grad", SUBMISSIONS["12_attention/rope_grad: sine and cosine exchanged"].source)
    graph = found.graph
    assert graph is not None
    changes = {(node.label, node.change) for node in graph.nodes.values() if node.marked}
    assert changes == {
        ("* angle.cos()", "gradient of first * sin"),
        ("* angle.sin()", "gradient of first * cos"),
        ("* angle.sin()", "gradient of second * cos"),
        ("* angle.cos()", "gradient of second * sin"),
    }
    assert graph.key_of_labels == "gradient of a: it is used in place of that of the box."


def test_a_wrong_gradient_of_a_value_is_marked_towards_what_uses_the_value(see: See) -> None:
    source = SUBMISSIONS["09_norm/batchnorm_steps_grad: the minus of the power forgotten"].source
    graph = see("batchnorm_steps_grad", source).graph
    assert graph is not None
    (marked,) = (node for node in graph.nodes.values() if node.marked)
    assert (marked.title, marked.is_value_with_wrong_gradient) == ("var = mean", True)
    assert graph_svg(graph).count('class="backward"') == 1


def test_answers_that_share_a_declared_mistake_are_marked_together_or_not_at_all(see: See) -> None:
    submission = "15_clinic/mend_rnn: the way back in the order of the way there"
    graph = see("mend_rnn", SUBMISSIONS[submission].source).graph
    assert graph is not None
    assert graph.unmarked == ("x.g", "h.g", "wx.g", "wh.g", "b.g")


def test_an_answer_that_is_one_number_everywhere_is_labelled_with_it(see: See) -> None:
    body = "inp.g, w.g, b.g = out.g @ w.t(), inp.t() @ out.g, 0 * b + 1"
    found = see("lin_grad", f"def lin_grad(inp, out, w, b):\n    {body}\n")
    assert found.graph is not None
    assert [node.change for node in found.graph.nodes.values() if node.marked] == ["always 1"]


def test_a_typed_in_number_is_not_called_right_for_any_input() -> None:
    assert change_of("hard-coded") == "a number is typed in"


def test_a_mistake_in_the_value_itself_marks_no_operation_on_the_way_to_it(see: See) -> None:
    """The operator edits the value as if it were a gradient: its places are of no operation of the forward pass."""
    source = SUBMISSIONS["07_network/forward_and_backward: root of the loss"].source
    graph = see("forward_and_backward", source).graph
    assert graph is not None
    assert not any(node.marked for node in graph.nodes.values())
    assert graph.unmarked == ("return",)


@pytest.mark.parametrize(
    ("submission", "label"),
    [
        ("12_attention/causal_attention_grad: q and k exchanged as partners", "q.g: k -> q\nk.g: q -> k"),
        ("08_shapes/mul_grad: the other factor missing in both", "a.g: b -> 1\nb.g: a -> 1"),
    ],
)
def test_an_operation_that_is_wrong_for_two_answers_has_a_label_for_each(see: See, submission: str, label: str) -> None:
    found = see(submission.partition("/")[2].partition(":")[0], SUBMISSIONS[submission].source)
    assert found.graph is not None
    assert [node.change for node in found.graph.nodes.values() if node.marked] == [label]
    html, text = graph_svg(found.graph), as_text(picture_lines(found, 100))
    assert all(line.replace(">", "&gt;") in html for line in label.splitlines())
    assert "; ".join(label.splitlines()) in text


def test_a_factor_of_a_product_that_is_applied_twice_is_named_in_the_label(see: See) -> None:
    graph = see("batchnorm_grad", SUBMISSIONS["09_norm/batchnorm_grad: gamma twice"].source).graph
    assert graph is not None
    assert [node.change for node in graph.nodes.values() if node.marked] == ["gamma -> gamma**2"]
    assert "'" not in graph.key_of_labels


def test_the_legend_names_the_function_whose_derivative_is_in_a_label(see: See) -> None:
    source = SUBMISSIONS["05_activations/sigmoid_grad: local derivative squared"].source
    graph = see("sigmoid_grad", source).graph
    assert graph is not None
    assert [node.change for node in graph.nodes.values() if node.marked] == ["sigmoid' -> sigmoid'**2"]
    assert graph.key_of_labels.endswith("sigmoid': the derivative of sigmoid.")


def test_a_trial_without_a_finite_entry_has_no_scatter(see: See) -> None:
    source = SUBMISSIONS["12_attention/causal_attention_grad: a row may not look at itself either"].source
    pictures = {each.answer: each.figures for each in see("causal_attention_grad", source).pictures}
    assert not any(figure.kind == "scatter" for name in ("k.g", "v.g") for figure in pictures[name])


def test_an_axis_of_a_value_is_named_by_its_size_in_every_trial(see: See) -> None:
    """The evidence is of a small call, in which two axes may have one size."""
    body = "2 * torch.stack([vjp(x, row) for row in torch.eye(m)])"
    source = f"import torch\ndef jacobian_by_rows(vjp, x, m):\n    return {body}\n"
    shown = picture(see("jacobian_by_rows", source), "return")
    assert {grid.axes for grid in shown.grids} == {("m", "n")}


def test_no_formula_names_an_axis_by_a_letter_where_an_argument_chooses_the_axis(course: Course) -> None:
    """In a trial with dim = -1, the n of a formula would be the m of the table below."""
    for exercise in (each for each in course.exercises if not each.is_quiz):
        inputs = exercise.function.inputs
        if "dim" in inputs:
            letters = set(
                re.findall(r"\b[a-z]\b", " ".join(str(getattr(each, "spec", "")) for each in inputs.values()))
            )
            assert letters.isdisjoint(re.findall(r"\b[a-z]\b", formula(exercise) or "")), exercise.id

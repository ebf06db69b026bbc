"""The shape of a mistake: which figure is drawn, what is on its axes, and the same in HTML, in a terminal and in words.

Figures are compared in structure: points, lines, tiles, bars and labels, not pixels.
"""

from __future__ import annotations

import json
import re
from html import escape
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.corpus import SUBMISSIONS
from helpers.pictures import See, figure, picture

from grader.diagnosis.mistake import Mistake
from grader.reference.trial import Sample
from grader.rendering.figure_html import figure_html, figures_html
from grader.rendering.figure_making import ComparedAnswer, _first_bars, _with_factor
from grader.rendering.order_making import visits_of_list
from grader.rendering.picture_data import ExercisePictures, Figure, GraphNode, Series, dumps_with_pictures
from grader.rendering.picture_html import graph_svg, layout, pictures_html
from grader.rendering.picture_making import _with_repeated_uses_marked
from grader.rendering.picture_text import figure_lines, figure_sentences, picture_lines
from grader.rendering.render_text import as_text

LIN = "import torch\ndef lin_grad(inp, out, w, b):\n    inp.g = {}\n    w.g = {}\n    b.g = {}\n"
RIGHT_LIN = ("out.g @ w.t()", "inp.t() @ out.g", "out.g.sum(0)")
AVERAGED = LIN.format(RIGHT_LIN[0], "inp.t() @ out.g / len(inp)", RIGHT_LIN[2])
MAXPOOL = """import torch
def maxpool1d_grad(inp, out, size, step):
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        window = inp[..., i * step : i * step + size]
        winner = window == window.max(-1, keepdim=True).values
        inp.g[..., i * step : i * step + size] += {} * out.g[..., i : i + 1]
"""


def kinds(found: ExercisePictures, answer: str) -> list[str]:
    return [each.kind for each in picture(found, answer).figures]


def lines_of(found: Figure) -> list[str]:
    """Return the equations of the lines in a scatter."""
    return [line.name for line in found.series[2:]]


def marks(html: str, style: str) -> int:
    """Return how many elements of a class an SVG drawing has."""
    return len(re.findall(rf'<(?:circle|rect|path)[^>]*class="{style}"', html))


def width_of(html: str, style: str) -> float:
    """Return how far a line in an SVG drawing leads from left to right."""
    drawn = re.search(rf'<path[^>]*class="{style}"[^>]*>', html)
    assert drawn is not None
    (path,) = re.findall(r' d="([^"]*)"', drawn[0])
    start, _, end, _ = map(float, re.findall(r"-?\d+(?:\.\d+)?", path))
    return abs(end - start)


def test_a_mean_for_a_sum_is_a_line_through_zero_with_its_equation(see: See) -> None:
    scatter = figure(see("lin_grad", AVERAGED), "w.g", "scatter")
    assert lines_of(scatter) == ["yours = nudged / bs"]
    nudged, yours, line = scatter.series
    np.testing.assert_allclose(yours.values, line.values[0] * nudged.values, rtol=1e-3)
    html = figure_html(scatter)
    assert marks(html, "dot") == nudged.values.size
    assert (marks(html, "agrees"), marks(html, "right-line"), marks(html, "wrong-line")) == (0, 1, 1)
    assert ">nudged<" in html
    assert ">yours = nudged / bs<" in html


@pytest.mark.parametrize(
    ("answer", "equation"),
    [("-(out.g @ w.t())", "yours = -nudged"), ("2 * (out.g @ w.t())", "yours = 2 * nudged"),
     ("out.g @ w.t() + 3", "yours = nudged + 3"), ("torch.ones_like(inp)", "yours = 1")],
)  # fmt: skip
def test_a_sign_a_factor_an_offset_and_a_constant_are_lines(see: See, answer: str, equation: str) -> None:
    scatter = figure(see("lin_grad", LIN.format(answer, *RIGHT_LIN[1:])), "inp.g", "scatter")
    assert lines_of(scatter) == [equation]


def test_a_factor_that_depends_on_the_column_is_a_fan_of_lines(see: See) -> None:
    factors = "out.g @ w.t() * torch.arange(1, w.shape[0] + 1)"
    scatter = figure(see("lin_grad", LIN.format(factors, *RIGHT_LIN[1:])), "inp.g", "scatter")
    (line,) = scatter.series[2:]
    assert line.name == "yours = nudged * a factor for each n"
    np.testing.assert_allclose(line.values[:, 0], range(1, len(line.values) + 1), rtol=1e-4)
    assert marks(figure_html(scatter), "wrong-line") == len(line.values)


def test_a_reshape_for_a_transpose_lies_on_the_diagonal_of_another_scatter(see: See) -> None:
    answer = "(inp.t() @ out.g).t().reshape(w.shape)"
    cloud, equal = (each for each in picture(see("lin_grad", LIN.format(RIGHT_LIN[0], answer, RIGHT_LIN[2])),
                                             "w.g").figures if each.kind == "scatter")  # fmt: skip
    assert lines_of(cloud) == []
    assert equal.series[0].name.startswith("nudged.t().reshape(")
    assert equal.series[2].values.tolist() == pytest.approx([1, 0])


def test_the_upstream_gradient_itself_is_named_beside_the_cloud(see: See) -> None:
    found = see("relu_grad", "def relu_grad(inp, out):\n    inp.g = out.g\n")
    cloud, equal = (each for each in picture(found, "inp.g").figures if each.kind == "scatter")
    assert (cloud.series[0].name, equal.series[0].name) == ("nudged", "out.g")
    off = np.abs(cloud.series[0].values - cloud.series[1].values) > 1e-4
    html = figure_html(cloud)
    assert (marks(html, "dot"), marks(html, "agrees")) == (off.sum(), (~off).sum())


@pytest.mark.parametrize(
    ("answer", "across"),
    [("out.g @ w.t() * inp", "nudged * inp"), ("out.g @ w.t() / inp / len(inp)", "nudged / inp")],
)
def test_an_extra_factor_lies_on_the_line_of_a_scatter_against_the_product(see: See, answer: str, across: str) -> None:
    scatters = [each for each in picture(see("lin_grad", LIN.format(answer, *RIGHT_LIN[1:])), "inp.g").figures
                if each.kind == "scatter"]  # fmt: skip
    assert [each.series[0].name for each in scatters] == ["nudged", across]
    assert lines_of(scatters[1])[0].startswith(f"yours = {across}")


@pytest.mark.parametrize(
    ("submission", "equation"),
    [
        ("01_slopes/numerical_vjp: divided by 2, and never by h", "yours = nudged * h"),
        ("01_slopes/numerical_vjp: v moved instead of x", "yours = f(x)"),
    ],
)
def test_a_scatter_names_the_step_or_the_function_of_a_quotient(see: See, submission: str, equation: str) -> None:
    figures = picture(see("numerical_vjp", SUBMISSIONS[submission].source), "return").figures
    assert [lines_of(figure) for figure in figures][-1] == [equation.replace("nudged", figures[0].series[0].name)]


def test_a_gradient_of_another_step_is_named_beside_the_cloud(see: See) -> None:
    source = "def softmax_grad(inp, out):\n    inp.g = out.g * 2\n"
    named = [each.series[0].name for each in picture(see("softmax_grad", source), "inp.g").figures]
    assert "out.g" in named


def test_scatters_beside_each_other_have_one_scale_and_a_key_says_what_is_open(see: See) -> None:
    answers = (RIGHT_LIN[0], "(inp.t() @ out.g).t().reshape(w.shape)", RIGHT_LIN[2])
    found = see("lin_grad", LIN.format(*answers))
    html = pictures_html(found)
    ends = re.findall(r'class="small faint">(-[^<]*)</text>|text-anchor="start" class="small faint">(-[^<]*)<', html)
    assert len({end for pair in ends for end in pair if end}) == 1
    assert html.count("an open circle on the dashed line where yours equals the other number") == 1


@pytest.mark.parametrize(
    ("submission", "answer", "equation"),
    [
        ("04_linear/bmm_grad: b.g summed over the batch, then expanded", "b.g", "yours = nudged summed over bs"),
        (
            "05_activations/gelu_grad: the path through the factor inp missing",
            "inp.g",
            "yours = 0.707 * gradient of (inp / 2**0.5)",
        ),
    ],
)
def test_the_other_array_of_a_scatter_has_a_name_that_is_read_in_one_way(
    see: See, submission: str, answer: str, equation: str
) -> None:
    exercise = SUBMISSIONS[submission].exercise
    figures = picture(see(exercise, SUBMISSIONS[submission].source), answer).figures
    assert [lines_of(figure) for figure in figures][-1] == [equation]


def test_the_first_figure_of_each_kind_has_its_key_below_it(see: See) -> None:
    submission = "06_losses/cross_entropy_grad: the place of the right class found by its value"
    html = pictures_html(see("cross_entropy_grad", SUBMISSIONS[submission].source))
    figures = re.findall(r'<div class="captioned"><div class="shape".*?</svg></div>(.*?)</div>', html)
    assert [key.partition(">")[2].split(":")[0].split(".")[0] for key in figures] == [
        "Each point is one entry", "Each bar is a sum of entries along the axis named first",
    ]  # fmt: skip


def test_axes_of_unlike_scales_are_named_as_such_and_the_line_of_equal_numbers_is_steep() -> None:
    """A wrong factor, which would look right on the diagonal, is beside that line."""
    law = Series("yours = 1/100 * nudged", np.array([0.01, 0.0]))
    unlike = Figure("scatter", SCATTER.title, (Series("nudged", 100 * POINTS), Series("yours", POINTS), law))
    html, text = figures_html([unlike]), as_text(figure_lines(unlike, WIDTH))
    assert (marks(html, "right-line"), marks(figures_html([SCATTER]), "right-line")) == (1, 1)
    assert width_of(html, "right-line") < 0.05 * width_of(html, "wrong-line")
    assert "The two axes have unlike scales." in html
    assert {line.index("/") for line in text.splitlines()[2:-2] if "/" in line} == {22}
    assert "on / both are equal (.), o is off it; the scales are unlike" in text


def test_a_trial_whose_numbers_are_far_larger_is_left_out_of_a_scatter(see: See) -> None:
    slip = SUBMISSIONS["13_engine/value_engine: mul passes each operand its own value, and so sub and div do"]
    shown = picture(see("value_engine", slip.source), "return")
    largest = max(np.abs(grid.values).max() for grid in shown.grids[:2])
    for scatter in (each for each in shown.figures if each.kind == "scatter"):
        assert all(np.abs(points.values).max() <= 30 * largest for points in scatter.series[:2])


@pytest.mark.parametrize(("slopes", "law"), [((2, 3), "2 * right"), ((2, 1), "right * sqrt(bs)")])
def test_a_factor_is_the_root_of_a_size_only_if_no_other_trial_contradicts(slopes: tuple[int, int], law: str) -> None:
    """Two of four examples are active: what is twice too large there is not so by the root of the batch size."""
    right = np.array([1.0, 2.0])
    trials: list[Any] = [SimpleNamespace(setting=SimpleNamespace(sizes={"bs": size}, kind="")) for size in (4, 5)]
    samples = [Sample(trial, slope * right, right) for trial, slope in zip(trials, slopes, strict=True)]
    mistake = Mistake("wrong-factor", "divided by the number of active examples, bs = 4 here")
    declared: Any = None
    compared = ComparedAnswer(declared, declared, trials[0], 2 * right, right, "right", ("bs",), samples, mistake)
    assert _with_factor(compared, 2.0, is_of_one_trial=True) == law
    assert _with_factor(compared, 1 / 15, is_of_one_trial=False) == "1/15 * right"


def test_the_caption_of_tiles_says_which_entry_of_the_upstream_gradient_is_1(see: See) -> None:
    source = SUBMISSIONS["03_one_example/weight_grad: only the diagonal"].source
    stamp = figure(see("weight_grad", source), "return", "stamp")
    assert re.search(r">The answer where df\[\d\] is 1 and all else of it 0\. Each tile", figures_html([stamp]))
    assert stamp.series[2].name == "right"


def test_where_nudging_is_wrong_at_a_kink_the_right_array_is_shown(see: See) -> None:
    source = SUBMISSIONS["05_activations/clamp_grad: the gradient twice at a bound that is met exactly"].source
    shown = picture(see("clamp_grad", source), "inp.g")
    _, right, off = (grid.values for grid in shown.grids)
    assert ((off == 0) | np.isclose(off, right) | (right == 0)).all()  # 0 at a bound, too, from torch 2.14 on
    assert (shown.grids[1].title, "kink" in shown.note) == ("right", True)


def test_a_scatter_with_much_smaller_numbers_keeps_its_own_scale() -> None:
    small, alike = (figure_html(SCATTER, scale) for scale in (100.0, 8.0))
    assert ">4.00<" in small
    assert ">8.00<" in alike


@pytest.mark.parametrize("answer", ["(out.g.log() - out).exp()", "out.g / inp * (1 + 1e-4 * inp.sin())"])
def test_a_scatter_that_would_say_that_all_is_right_is_not_drawn(see: See, answer: str) -> None:
    drawn = picture(see("log_grad", f"def log_grad(inp, out):\n    inp.g = {answer}\n"), "inp.g")
    assert len(drawn.grids) == 3
    assert "yours = nudged" not in [line for each in drawn.figures for line in lines_of(each)]


def test_where_numbers_are_kept_back_the_key_says_that_points_are_moved(see: See) -> None:
    keys = [pictures_html(see("lin_grad", AVERAGED, expected=shown)) for shown in (True, False)]
    assert ["in the same step, else filled" in key for key in keys] == [False, True]
    assert ["yours equals the other number" in key for key in keys] == [True, False]


def test_an_array_of_zeros_is_drawn_on_the_scale_of_the_other() -> None:
    series = Series("right", np.array([50.0, -97, 3])), Series("yours", np.zeros(3))
    assert figure_html(Figure("scatter", "yours against right", series)).count(">-97.0<") == 2


@pytest.mark.parametrize(
    ("exercise", "source"),
    [
        ("dy_dx", "def dy_dx(x):\n    return x + 2\n"),
        ("dz_dy", "def dz_dy(y):\n    return 3 * y**2\n"),
        ("df_db", SUBMISSIONS["03_one_example/df_db: only the diagonal, a vector of ones"].source),
    ],
)
def test_no_stamp_shows_an_upstream_gradient_to_an_exercise_without_one(see: See, exercise: str, source: str) -> None:
    found = see(exercise, source)
    assert "stamp" not in kinds(found, "return")
    text = as_text(picture_lines(found, 100))
    assert "out.g" not in text
    assert "upstream gradient" not in text


def test_the_same_slice_of_both_answers_stands_in_a_stamp(see: See) -> None:
    source = SUBMISSIONS["10_convolution/conv1d_grad: weights from the first place only"].source
    _, yours, right = figure(see("conv1d_grad", source), "w.g", "stamp").series
    assert yours.name.removeprefix("yours") == right.name.removeprefix("right")
    assert right.values.any()


def test_a_window_is_shown_by_the_answer_to_a_single_one(see: See) -> None:
    stamp = figure(see("maxpool1d_grad", MAXPOOL.format("~winner")), "inp.g", "stamp")
    upstream, yours, right = stamp.series
    assert np.sort(upstream.values.ravel())[-2:].tolist() == [0, 1]
    assert (right.values != 0).sum() == 1
    assert (yours.values != 0).sum() >= 1
    assert not ((yours.values != 0) & (right.values != 0)).any()
    html = figure_html(stamp)
    assert marks(html, "tile") == sum(series.values.size for series in stamp.series)
    assert html.count('fill="none"') == sum(int((series.values == 0).sum()) for series in stamp.series)


def test_a_recurrence_has_a_bar_for_each_step_and_its_loop_is_folded(see: See) -> None:
    source = """import torch
def rnn_grad(x, h0, wx, wh, b, out):
    states = [h0]
    for i in range(x.shape[1]):
        states.append((x[:, i] @ wx + states[-1] @ wh + b).tanh())
    x.g, h0.g = torch.zeros_like(x), torch.zeros_like(h0)
    wx.g, wh.g, b.g = torch.zeros_like(wx), torch.zeros_like(wh), torch.zeros_like(b)
    d = out.g * (1 - states[-1] ** 2)
    x.g[:, -1] = d @ wx.t()
    wx.g += x[:, -1].t() @ d
    wh.g += states[-2].t() @ d
    b.g += d.sum(0)
"""
    found = see("rnn_grad", source)
    bars = next(each for shown in found.pictures for each in shown.figures if each.kind == "steps")
    yours, right = bars.series
    assert yours.labels == tuple(map(str, range(len(right.values))))
    assert (yours.values < right.values).any()
    html = figure_html(bars)
    assert marks(html, "wrong-bar") == marks(html, "right-bar") == len(yours.values) + 1  # and the key
    assert found.graph is not None
    labels = [node.label for node in found.graph.nodes.values()]
    assert sum(label.startswith("tanh") for label in labels) == 1
    assert any("x)" in label for label in labels)
    assert {node.shape for node in found.graph.nodes.values()} >= {"of the step before"}
    assert 'class="dropped"' in graph_svg(found.graph)


def test_a_softmax_without_its_sum_shows_the_sums_that_must_be_0(see: See) -> None:
    found = see("softmax_grad", "def softmax_grad(inp, out):\n    inp.g = out.g * out\n")
    bars = figure(found, "inp.g", "sums")
    yours, right = bars.series
    assert set(right.values) == {0.0}
    assert np.abs(yours.values).max() > 0
    assert bars.title.startswith("the sums along ")


def test_the_graph_of_a_long_forward_pass_folds_what_repeats(see: See) -> None:
    slip = SUBMISSIONS["12_attention/block_grad: mean's path left out of the norms"]
    graph = see("block_grad", slip.source).graph
    assert graph is not None
    labels = {node.label: node for node in graph.nodes.values()}
    assert {"** 2 .. sqrt", "norm(h)"} <= labels.keys()
    assert len([node for node in graph.nodes.values() if node.marked]) == 2
    assert "x.g" in labels["norm(h)"].marked
    seen: set[str] = set()
    for node in graph.nodes.values():  # each stands behind all that it is computed from
        assert seen >= set(node.operands)
        seen.add(node.key)
    assert len(graph.nodes) < 30


def test_a_folded_call_has_no_name_that_no_learner_has_seen(see: See) -> None:
    source = SUBMISSIONS["11_time/truncated_rnn_grad: x.g has rows for the last k moments only"].source
    graph = see("truncated_rnn_grad", source).graph
    assert graph is not None
    labels = [node.title for node in graph.nodes.values()]
    assert not [label for label in labels if "_states" in label]
    assert any(re.match(r"h = getitem .* \.\. tanh", label) for label in labels)


def test_a_dropped_path_is_dashed_and_says_what_is_lost(see: See) -> None:
    found = see("two_paths_grad", "def two_paths_grad(inp, out):\n    inp.g = out.g * (inp.sin() + 2 * inp)\n")
    assert found.graph is not None
    (node,) = (node for node in found.graph.nodes.values() if node.marked)
    assert node.change
    html, text = pictures_html(found), as_text(picture_lines(found, 80))
    assert escape(node.change) in html
    assert node.change in text


def test_the_signs_in_the_labels_of_a_graph_have_one_key(see: See) -> None:
    found = see("relu_grad", "def relu_grad(inp, out):\n    inp.g = out.g\n")
    html, text = pictures_html(found), as_text(picture_lines(found, 80))
    assert found.graph is not None
    for shown in (html.replace("&gt;", ">").replace("&#x27;", "'"), text):
        assert shown.count(found.graph.key_of_labels) == 1
    assert found.graph.key_of_labels.startswith("a -> b: b is used where a must be.")


def test_nothing_is_said_of_marks_where_there_is_a_single_operation(see: See) -> None:
    source = "def sigmoid_grad(inp, out):\n    inp.g = out.g / 4\n"
    assert "Nothing is marked" not in pictures_html(see("sigmoid_grad", source))


def test_the_steps_of_a_chain_stand_below_each_other_whatever_joins_them(see: See) -> None:
    slip = SUBMISSIONS["07_network/forward_and_backward: w2 missing on the way back"]
    graph = see("forward_and_backward", slip.source).graph
    assert graph is not None
    placed = layout(graph)
    assert len({round(placed.places[key][0]) for key, node in graph.nodes.items() if node.operands}) == 1
    assert placed.width < 3 * (placed.node_width + 16)


def test_a_constant_is_named_as_in_the_source(see: See) -> None:
    source = """def mend_attention(q, k, v, out):
    s = (q @ k.t() / q.shape[-1] ** 0.5).softmax(-1)
    v.g = s.t() @ out.g
    d = out.g @ v.t()
    d = s * (d - (s * d).sum(-1, keepdim=True))
    q.g = d @ k
    k.g = d.t() @ q
"""
    graph = see("mend_attention", source).graph
    assert graph is not None
    labels = [node.label for node in graph.nodes.values()]
    assert "/ root" in labels
    assert not any(re.search(r"\d\.\d{3}", label) for label in labels)


def test_answers_with_the_same_mistake_are_folded_behind_the_first(see: See) -> None:
    source = """def swiglu_grad(inp, w1, w2, out):
    a, b = inp @ w1, inp @ w2
    s = b.sigmoid()
    ga, gb = out.g * b * s, out.g * a * (s + b * s * (1 - s))
    inp.g = ga @ w1.t() + gb @ w2.t()
    w1.g = inp.t() @ ga / len(inp)
    w2.g = inp.t() @ gb / len(inp)
"""
    found = see("swiglu_grad", source)
    shown = [(each.answer, bool(each.figures), each.cause) for each in found.pictures]
    assert shown == [("w1.g", True, ""), ("w2.g", False, "w1.g")]
    assert '<summary class="summary">w2.g: see w1.g</summary>' in pictures_html(found)


def test_kept_back_values_are_in_no_figure(see: See) -> None:
    shown, kept = (see("lin_grad", AVERAGED, expected=expected) for expected in (True, False))
    for of_shown, of_kept in zip(picture(shown, "w.g").figures, picture(kept, "w.g").figures, strict=False):
        assert of_kept.shaded
        assert of_kept.kind != "scatter" or not lines_of(of_kept)
        for exact, stepped in zip(of_shown.series, of_kept.series, strict=False):
            assert set(np.abs(stepped.values).ravel()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
            np.testing.assert_array_equal(np.sign(stepped.values), np.sign(exact.values))
    text = dumps_with_pictures({}, [kept]) + pictures_html(kept) + as_text(picture_lines(kept, 100))
    nudged = picture(shown, "w.g").grids[1].values
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d{2,}", text)]
    assert not any(np.isclose(number, nudged, rtol=1e-3).any() for number in numbers if "." in str(number))


def test_figures_are_in_the_json_document(see: See) -> None:
    found = see("lin_grad", AVERAGED)
    data = json.loads(dumps_with_pictures({}, [found]))["shown"][0]
    assert [each["kind"] for each in data["answers"][0]["figures"]] == kinds(found, "w.g")
    assert data["answers"][0]["figures"][-1]["series"][0]["name"] == "nudged"


WIDTH = 80
POINTS = np.array([1.0, -2.0, 4.0])
SCATTER = Figure("scatter", "yours against nudged", (Series("nudged", POINTS), Series("yours", -POINTS),
                                                      Series("yours = -nudged", np.array([-1.0, 0.0]))))  # fmt: skip
STAMP = Figure("stamp", "the answer where out.g[1] is 1 and all else of it 0", (
    Series("out.g", np.array([0.0, 1, 0]), ("n",)), Series("yours", np.array([2.0, 0, 0]), ("n",)),
    Series("nudged", np.array([0.0, 0, -2]), ("n",))))  # fmt: skip
STEPS = Figure("steps", "the size of h.g by step", (Series("yours", np.array([0.0, 1.0]), ("0", "1")),
                                                    Series("nudged", np.array([1.0, 1.0]), ("0", "1"))))  # fmt: skip
VERDICTS = Figure("verdicts", "what the test says", (Series("wrong", np.array([1.0, 0, 1])),
                                                     Series("right", np.array([1.0, 0.0]))))  # fmt: skip


def test_a_scatter_is_a_plot_of_characters_in_a_terminal() -> None:
    title, head, *rows, foot, key = as_text(figure_lines(SCATTER, WIDTH)).splitlines()
    assert (title, head) == ("  yours against nudged", "  yours  up to 4.00   yours = -nudged")
    assert "nudged" in foot
    assert key == "  on / both are equal (.), o is off it"
    assert sum(row.count("o") for row in rows) == 3
    assert rows[0].endswith("/")
    assert "o" in rows[-1]


def test_a_scatter_of_a_short_array_says_that_its_points_are_of_several_trials(see: See) -> None:
    found = see(
        "value_engine", SUBMISSIONS["13_engine/value_engine: contributions overwritten in every closure"].source
    )
    (scatter, *_), *_ = (picture.figures for picture in found.pictures)
    assert len(scatter.series[0].values) > found.pictures[0].grids[0].values.size
    assert scatter.is_of_several_trials
    assert "the points are those of several trials" in pictures_html(found)
    assert "\n  the points are those of several trials" in as_text(figure_lines(scatter, WIDTH))
    assert "yours against right in several trials" in " ".join(figure_sentences(scatter, "return"))
    assert "trials" not in as_text(figure_lines(SCATTER, WIDTH))


def test_a_stamp_is_a_row_of_signs_in_a_terminal() -> None:
    _, names, row = as_text(figure_lines(STAMP, WIDTH)).splitlines()
    assert names.split() == ["out.g", "yours", "nudged"]
    assert row.split() == [".", "++", ".", "++", ".", ".", ".", ".", "--"]


@pytest.mark.parametrize(("width", "rows"), [(100, 1), (70, 2), (60, 3)])
def test_the_arrays_of_a_wide_stamp_stand_below_each_other_in_a_narrow_terminal(width: int, rows: int) -> None:
    names = ("out.g", "yours", "nudged")
    wide = Figure("stamp", STAMP.title, tuple(Series(name, np.eye(10)[2:4], ("n", "m")) for name in names))
    lines = as_text(figure_lines(wide, width)).splitlines()
    assert max(map(len, lines)) <= width
    assert "".join(lines).count("++") == 6
    assert [line.split() for line in lines if "g" in line.split(" is ")[0]][-1][-1] == "nudged"
    assert len(lines) == 1 + 3 * rows + (rows - 1)


def test_steps_are_bars_with_the_right_end_marked() -> None:
    _, first, second, key = as_text(figure_lines(STEPS, WIDTH)).splitlines()
    assert (first.count("#"), second.count("#"), first.count("|")) == (0, 30, 1)
    assert key == "  # yours, | nudged, 1.00 at most"


def test_there_is_no_room_for_an_equation_where_there_is_none() -> None:
    alone = figure_html(Figure("scatter", SCATTER.title, SCATTER.series[:2]))
    heights = [int(re.search(r' height="(\d+)"', html)[1]) for html in (alone, figure_html(SCATTER))]  # type: ignore[index]
    assert heights[0] == heights[1] - 14


def test_bars_of_both_signs_fill_the_height_between_the_largest_and_the_smallest() -> None:
    sums = Figure("sums", "the sums along m", (Series("yours", np.array([3.0, -1.0]), ("0", "1")),
                                               Series("nudged", np.array([0.0, 0.0]), ("0", "1"))))  # fmt: skip
    bars = re.findall(r'y="([^"]*)" width="13" height="([^"]*)" rx="0" class="wrong-bar"', figure_html(sums))
    assert [(float(y), float(height)) for y, height in bars] == [(30, 90), (120, 30)]
    assert ">3.00<" in figure_html(sums)
    assert ">-1.00<" in figure_html(sums)


def test_a_figure_says_how_many_of_its_bars_are_drawn(see: See) -> None:
    found = see("softmax_grad", "def softmax_grad(inp, out):\n    inp.g = out.g * out\n")
    (sums,) = (each for each in picture(found, "inp.g").figures if each.kind == "sums")
    assert ", the first" not in sums.title
    assert [_first_bars(count) for count in (24, 35)] == ["", ", the first 24 of 35"]


def test_a_long_name_below_a_scatter_stays_in_its_drawing() -> None:
    name = "gradient of causal(n @ wq, n @ wk, n @ wv) @ wo"
    html = figure_html(Figure("scatter", "long", (Series(name, POINTS), Series("yours", -POINTS))))
    width = int(re.search(r' width="(\d+)"', html)[1])  # type: ignore[index]
    assert f'<text x="4" y="240" text-anchor="start" class="small">{name}<' in html
    assert width > 4 + 7 * len(name)


def test_a_drawing_shrinks_on_a_narrow_page_by_a_quarter_at_most() -> None:
    width = int(re.search(r' width="(\d+)"', figure_html(SCATTER))[1])  # type: ignore[index]
    assert f"max-width:max(100%,{0.75 * width:.0f}px);height:auto" in figure_html(SCATTER)


def test_verdicts_are_caught_and_escaped() -> None:
    assert as_text(figure_lines(VERDICTS, WIDTH)).splitlines()[1:] == [
        "  wrong  caught 2 ##  escaped 1 #", "  right  accepted 1 #  rejected 1 #",
        "  each # is a backward pass that your test was run on",
    ]  # fmt: skip
    html = figure_html(VERDICTS)
    assert html.count(">\N{BALLOT X}</text>") == 3
    assert html.count(">\N{CHECK MARK}</text>") == 2
    assert html.count('class="marked"') == 2


@pytest.mark.parametrize(
    ("drawn", "sentence"),
    [
        (SCATTER, "In a plot of yours against nudged, the points are on a line: yours = -nudged."),
        (STAMP, "If out.g[1] is 1 and all else of it 0, inp.g of yours has 1 entry other than 0, at [0] (2.00), and "
                "must have 1 entry other than 0, at [2] (-2.00)."),
        (STEPS, "Of the size of h.g by step, 1 of 2 are off: step 0 is 0.00, right is 1.00."),
        (VERDICTS, "Of 3 wrong backward passes 2 are caught and 1 escape; of 2 right ones 1 are accepted."),
    ],
)  # fmt: skip
def test_each_figure_is_told_in_plain_mode(drawn: Figure, sentence: str) -> None:
    assert list(figure_sentences(drawn, "inp.g")) == [sentence]


def test_a_learners_test_is_shown_by_what_it_catches_and_what_escapes(see: See) -> None:
    source = "def test_row_mean(backward):\n    assert False\n"
    (drawn,) = see("test_row_mean", source).pictures
    (verdicts,) = drawn.figures
    wrong, right = verdicts.series
    assert (verdicts.kind, wrong.values.all(), right.values.any()) == ("verdicts", True, False)
    assert "rejected" in pictures_html(see("test_row_mean", source))


def test_the_program_of_an_engine_is_drawn_with_the_wrong_rule_marked(see: See) -> None:
    slip = SUBMISSIONS["13_engine/tensor_engine: mul passes its own operand"]
    graph = see("tensor_engine", slip.source).graph
    assert graph is not None
    marked = {node.label for node in graph.nodes.values() if node.marked}
    assert marked == {"mul"}
    assert all(operand in graph.nodes for node in graph.nodes.values() for operand in node.operands)


def test_a_rule_of_an_engine_is_marked_for_all_answers_that_are_wrong_by_it(see: See) -> None:
    graph = see("tensor_engine", SUBMISSIONS["13_engine/tensor_engine: softmax without its row sum"].source).graph
    assert graph is not None
    (softmax,) = (node for node in graph.nodes.values() if node.marked)
    assert (softmax.label, softmax.change, graph.unmarked) == ("softmax", "a path is missing", ())
    assert softmax.marked == ("return.0", "return.1", "return.2", "return.3")


def test_values_used_several_times_are_marked_where_their_contributions_are_lost(see: See) -> None:
    slip = SUBMISSIONS["13_engine/value_engine: contributions overwritten in every closure"]
    graph = see("value_engine", slip.source).graph
    assert graph is not None
    uses = [source for node in graph.nodes.values() for source in node.operands]
    several = {key for key in graph.nodes if uses.count(key) > 1}
    assert several
    assert {key for key, node in graph.nodes.items() if node.marked} == several
    assert {node.operands[i] for node in graph.nodes.values() for i in node.edges} == several
    assert {node.change for node in graph.nodes.values() if node.marked} == {"+= -> ="}
    assert graph.unmarked == ()


def test_the_second_use_of_a_value_in_one_step_is_marked_where_it_is_lost() -> None:
    nodes = {"0": GraphNode("0", "x", "value 0"), "1": GraphNode("1", "mul", "value 1", ("0", "0"))}
    says = "where a step takes the same value twice, as v * v does, only one of the two uses contributes"
    steps = _with_repeated_uses_marked(nodes, "return", Mistake("missing-path", says))
    assert (steps["1"].marked, steps["1"].dropped, steps["0"].marked) == (("return",), {1}, ())
    assert steps["1"].change == "a path is missing"
    other = Mistake("missing-path", says.replace("a step", "add"))
    assert not any(node.marked for node in _with_repeated_uses_marked(nodes, "return", other).values())


def test_the_program_of_an_engine_has_no_input_that_no_step_uses(see: See) -> None:
    slip = SUBMISSIONS["13_engine/value_engine: the order is not turned round"]
    graph = see("value_engine", slip.source).graph
    assert graph is not None
    read = {operand for node in graph.nodes.values() for operand in node.operands}
    assert {key for key, node in graph.nodes.items() if not node.operands} <= read
    assert graph.out in graph.nodes


def test_a_number_that_is_given_is_named_in_the_scatter(see: See) -> None:
    found = see("slope", "def slope(f, x, h):\n    return f(x + h) - f(x)\n")
    scatters = [each for each in picture(found, "return").figures if each.kind == "scatter"]
    assert [lines_of(each) for each in scatters] == [[], ["yours = right * h"]]


def order_in(found: ExercisePictures, answer: str) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the values of the figure of an order, and its arrows from and to values."""
    values, _, arrows = figure(found, answer, "order").series
    numbers = values.values.astype(int).tolist()
    return numbers, [(numbers[source], numbers[target]) for source, target in arrows.values.astype(int).tolist()]


def test_a_tape_that_is_walked_forward_has_every_arrow_pointing_back(see: See) -> None:
    found = see("value_engine", SUBMISSIONS["13_engine/value_engine: the tape is walked forward"].source)
    visited, arrows = order_in(found, "return")
    first, names = visited[0], figure(found, "return", "order").series[0].labels
    assert (visited, arrows) == ([first, first + 1, first + 2], [(first + 1, first), (first + 2, first + 1)])
    (shown,) = found.pictures
    assert [each.kind for each in shown.figures] == ["order"]
    text, html = as_text(picture_lines(found, 80)), pictures_html(found)
    assert f"  1. value {first}  {names[0]:<{max(map(len, names))}}  <== before {first + 1}\n" in text
    assert f"  3. value {first + 2}  {names[2]}\n" in text
    assert marks(html, "backward") == 2
    assert "Nothing is marked" not in html + text


def test_a_value_that_is_visited_too_early_is_named_with_those_it_must_wait_for(see: See) -> None:
    found = see("tensor_engine", SUBMISSIONS["13_engine/tensor_engine: each tensor visited as it is met"].source)
    order, early = figure(found, "return.0", "order"), "value 4   matmul  <== before 5"
    assert order.title == "an order of the backward pass that gives your numbers"
    assert early in as_text(figure_lines(order, WIDTH))
    said = f"In {order.title}, value 4 comes before 5, which is computed from it."
    assert list(figure_sentences(order, "return.0")) == [said]
    assert as_text(figure_lines(order, WIDTH)).endswith("\n  <== is before a value which is computed from it")
    values, _, arrows = order.series
    back = [(source, target) for source, target in arrows.values if source > target]
    assert len(back) == 1
    assert [values.values[int(place)] for place in back[0]] == [5, 4]


def test_an_engine_that_makes_a_difference_of_other_steps_has_an_order_as_well(see: See) -> None:
    order = figure(
        see("value_engine", SUBMISSIONS["13_engine/value_engine: breadth first, each value once"].source),
        "return", "order",
    )  # fmt: skip
    assert order.title == "an order of the backward pass that gives your numbers, 12 of 17 places"
    assert "<== before" in as_text(figure_lines(order, WIDTH))


def test_a_list_that_is_no_topological_order_shows_what_is_missing_and_what_comes_again(see: See) -> None:
    slip = SUBMISSIONS["13_engine/topological_order: the depth of each value, not an order"]
    found = see("topological_order", slip.source, expected=False)
    (order,) = picture(found, "return").figures
    assert order.title == "your list"
    assert order.series[0].labels[-4:] == ("again", "again", "missing", "missing")
    assert picture(found, "return").grids == ()
    text, html = as_text(picture_lines(found, 60)), pictures_html(found)
    assert "     value 4  missing\n     value 5  missing" in text
    assert marks(html, "dropped") == 2
    assert max(map(len, text.splitlines())) <= 60


def test_a_list_with_a_value_twice_is_shown_in_the_trial_of_its_numbers(see: See) -> None:
    slip = SUBMISSIONS["13_engine/topological_order: nobody remembers who was visited"]
    (order,) = picture(see("topological_order", slip.source), "return").figures
    assert re.fullmatch(r"your list, 12 of \d\d places", order.title)
    assert "again" in order.series[0].labels
    (sentence,) = figure_sentences(order, "return")
    assert re.search(r"values that come again: \d+\.$", sentence)


def test_a_long_list_is_shown_around_the_first_value_that_comes_too_early() -> None:
    parents = [(), *((number - 1,) for number in range(1, 60))]
    order = [*range(30), 31, 32, 59, *range(33, 59), 30]
    shown = visits_of_list(order, parents).figure("your list")
    places = shown.series[1].values.astype(int).tolist()
    assert len(places) == 12
    assert {30, 32, 58, 59} >= {places[int(target)] for source, target in shown.series[2].values if source > target}
    assert 59 in places
    assert as_text(figure_lines(shown, WIDTH)).count("  ...\n") == 2
    assert figure_html(shown).count("\N{HORIZONTAL ELLIPSIS}") == 2

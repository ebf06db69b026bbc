"""Training with a learner's gradients: beside torch's, in the worker's child, and what is said of it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.dom import minidom

import numpy as np
import pytest
import torch
from helpers.trainings import ATTENTION, NETWORK, WRONG, trained, verdicts, write_solutions
from test_session import KeptWorker

from grader.child.protocol import Frame
from grader.cli import main as cli
from grader.course.course import Course
from grader.errors import ProtocolError, UsageError
from grader.learner import session, training, training_loop
from grader.learner.training import load_training, train
from grader.learner.training_view import (
    as_json,
    chart,
    height_of,
    learned_lines,
    live_lines,
    loss_at,
    shown_live,
    svg_of,
    verdict_lines,
)
from grader.rendering.render_text import as_text
from grader.results.records import AnswerResult
from grader.sandbox.worker import Unanswered, Worker


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    return new_workspace(tmp_path / "ws")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`short(n)`: every training has n steps, in three parts; `short(n, goal)` another goal as well."""

    def make(steps: int, goal: float = 0) -> None:
        def loaded(course: Course, unit: str) -> ModuleType:
            module = load_training(course, unit)
            module.steps, module.goal = steps, goal or module.goal  # type: ignore[attr-defined]
            return module

        monkeypatch.setattr(training, "PARTS", 3)
        monkeypatch.setattr(training, "load_training", loaded)

    return make


def _words(lines: object) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)  # type: ignore[attr-defined]


@pytest.mark.parametrize("unit", WRONG)
def test_the_curve_of_right_gradients_lies_on_torchs(
    unit: str, course: Course, worker: Worker, short: Callable[..., None]
) -> None:
    short(7)
    found = trained(course, unit, worker)
    assert (found.why, found.first_difference, len(found.yours.losses), len(found.torchs.losses)) == ("", None, 7, 7)
    assert not found.is_goal_reached
    assert minidom.parseString(svg_of(found)).documentElement.tagName == "svg"


@pytest.mark.parametrize(("unit", "wrong"), [(unit, wrongs[0]) for unit, wrongs in WRONG.items()])
def test_the_curve_of_a_wrong_gradient_leaves_torchs(
    unit: str, wrong: tuple[str, str, str], course: Course, worker: Worker, short: Callable[..., None]
) -> None:
    short(25)
    assert trained(course, unit, worker, wrong).first_difference is not None


def test_what_raises_ends_the_training_and_torchs_curve_is_shown_all_the_same(
    course: Course, worker: Worker, short: Callable[..., None]
) -> None:
    short(20)
    found = trained(course, NETWORK, worker, ("forward_and_backward", "return loss", "raise ValueError('no')"))
    assert found.why == "step 0: ValueError: no"
    assert (len(found.yours.losses), len(found.torchs.losses), found.first_difference) == (0, 20, 0)
    assert minidom.parseString(svg_of(found))


def test_a_gradient_that_is_not_stored_moves_nothing() -> None:
    weight = torch.ones(2)
    assert training_loop.stored(weight).tolist() == [0, 0]
    weight.g = torch.ones(3)  # type: ignore[attr-defined]
    assert training_loop.stored(weight).tolist() == [0, 0]
    weight.g = torch.tensor([1.0, 2.0]).numpy()  # type: ignore[attr-defined]
    assert training_loop.stored(weight).tolist() == [1, 2]


def test_the_code_of_a_learner_runs_in_the_child_alone(
    course: Course, worker: Worker, short: Callable[..., None]
) -> None:
    short(2)
    trained(
        course, NETWORK, worker, ("forward_and_backward", "### BEGIN", "import sys; sys.was_here = 1\n    ### BEGIN")
    )
    assert not hasattr(sys, "was_here")


def test_what_is_not_written_is_taken_from_the_solutions_and_named(
    course: Course, worker: Worker, short: Callable[..., None]
) -> None:
    short(5)
    names = write_solutions(course, ATTENTION)
    course.find("embedding_grad").path.write_text("def embedding_grad(idx, w, out):\n    w.g = ...\n")
    found = train(course, ATTENTION, verdicts(course, names, embedding_grad="todo"), worker)
    assert (found.solved, found.first_difference) == (["embedding_grad"], None)
    assert "the worked solution stood in: embedding_grad." in _words(verdict_lines(found))


def test_a_unit_of_which_nothing_is_written_trains_nothing(course: Course, worker: Worker) -> None:
    with pytest.raises(UsageError, match=r"write exercises/07_network/forward_and_backward\.py first"):
        train(course, NETWORK, verdicts(course, ["forward_and_backward"], forward_and_backward="todo"), worker)


def test_a_unit_without_a_training_names_those_that_have_one(course: Course) -> None:
    with pytest.raises(UsageError, match="07_network or handgrad train 12_attention or handgrad train 13_engine"):
        load_training(course, "04_linear")


def test_the_exercise_that_does_not_pass_is_named(course: Course, worker: Worker, short: Callable[..., None]) -> None:
    short(25)
    names = write_solutions(course, NETWORK, WRONG[NETWORK][2])
    passed, *_ = verdicts(course, names)
    cause = AnswerResult("b1.g", "failed", 0, 1, "missing-local", "the derivative of relu is missing")
    effect = replace(cause, name="inp.g", message="the same", mistake={"edits": [], "cause": "b1.g"})
    found = train(course, NETWORK, [replace(passed, answers=(effect, cause))], worker)
    words = " ".join(_words(verdict_lines(found)).split())
    assert "forward_and_backward does not pass: b1.g: the derivative of relu is missing [missing-local]" in words
    assert "next: handgrad check forward_and_backward" in words
    assert "leaves the curve of torch's gradients at step 1" in words


class Interrupted(KeptWorker):
    """A worker whose third job is stopped by Ctrl-C."""

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        if len(self.asked) == 2:
            raise KeyboardInterrupt
        return super().run(job, time_limit)


def test_ctrl_c_keeps_what_was_learned(course: Course, worker: Worker, short: Callable[..., None]) -> None:
    short(30)
    found = trained(course, NETWORK, Interrupted(worker))
    assert (found.is_stopped, len(found.yours.losses), found.first_difference, found.is_goal_reached) == (
        True,
        20,
        None,
        False,
    )
    assert not torch.equal(found.yours.state, training_loop.begin(found.model))
    assert "Stopped after step 20 of 30. What was learned until then is kept." in _words(verdict_lines(found))
    kept = np.load(io.BytesIO(found.weights_file()))
    assert {name: kept[name].shape for name in kept} == {"w1": (2, 64), "b1": (64,), "w2": (64, 1), "b2": (1,)}
    record = json.loads(as_json(found, Path("picture.svg")))
    assert (record["stopped"], len(record["loss"])) == (True, 20)
    assert (record["picture"], record["page"], record["weights"]) == ("picture.svg", "picture.html", "picture.npz")


class Lying(KeptWorker):
    """A worker that answers with a state of another size."""

    def run(self, _job: Frame, _time_limit: float) -> Frame | Unanswered:
        value = {"kind": "none"}
        call = {"returned": value, "stored": {}, "after": {}, "work": 0, "peak": 0, "from_huge": []}
        return Frame({"calls": [call], "printed": ""})


def test_a_reply_without_steps_is_refused(course: Course, worker: Worker) -> None:
    with pytest.raises(ProtocolError, match="no steps"):
        trained(course, NETWORK, Lying(worker))


def test_the_chart_shows_where_the_curves_part(course: Course, worker: Worker, short: Callable[..., None]) -> None:
    short(60)
    assert {"*", "o"} & set(_words(list(chart(trained(course, NETWORK, worker)))[1:13])) == {"*"}
    wrong = trained(course, NETWORK, worker, WRONG[NETWORK][1])
    assert {"o", "."} <= set(_words(list(chart(wrong))[1:13]))
    assert height_of(wrong, loss_at(wrong, 0.25)) == pytest.approx(0.25)
    assert (height_of(wrong, float("nan")), height_of(wrong, 0)) == (1, 0)


def test_the_chart_and_the_plane_fit_a_narrow_terminal(
    course: Course, worker: Worker, short: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    short(60)
    training = trained(course, NETWORK, worker)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("ACCESSIBLE", raising=False)
    lines = as_text([*chart(training), *learned_lines(training)]).splitlines()
    assert any(":::" in line for line in lines)
    assert max(map(len, lines)) <= 60


def test_no_loss_is_cut_at_the_edge_of_a_narrow_terminal(
    course: Course, worker: Worker, short: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    short(60)
    training = trained(course, NETWORK, worker)
    monkeypatch.setenv("COLUMNS", "55")
    lines = as_text(live_lines(training)).splitlines()
    assert max(map(len, lines)) <= 55
    assert " ".join(lines).endswith(f"with torch's gradients {training.torchs.last:.4g}")


def test_the_picture_names_the_loss_and_the_goal_and_draws_the_plane_in_runs(
    course: Course, worker: Worker, short: Callable[..., None]
) -> None:
    short(5)
    drawn = minidom.parseString(svg_of(trained(course, NETWORK, worker)))
    words = [node.firstChild.data for node in drawn.getElementsByTagName("text") if node.firstChild]  # type: ignore[union-attr]
    assert {"loss, on a logarithmic scale", "goal 0.005"} <= {*words}
    assert len(drawn.getElementsByTagName("rect")) < 1000


def test_where_nobody_watches_each_part_is_a_line(
    course: Course, worker: Worker, short: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    short(2)
    found = trained(course, NETWORK, worker)
    with shown_live(quiet=False) as on_part:
        on_part(found)
    assert capsys.readouterr().out.startswith("step 2 of 2: loss ")
    with shown_live(quiet=True) as on_part:
        on_part(found)
    assert capsys.readouterr().out == ""


def test_the_command_ends_with_0_where_the_goal_is_reached(
    course: Course,
    worker: Worker,
    short: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    short(20, goal=2)
    write_solutions(course, NETWORK)
    monkeypatch.chdir(course.root)
    monkeypatch.setattr(session, "start_worker", lambda _isolation: KeptWorker(worker))
    monkeypatch.setattr(sys, "argv", ["handgrad", "train", "7", "--format", "json", "--out", str(tmp_path / "a.svg")])
    with pytest.raises(SystemExit) as left:
        cli.main()
    record = json.loads(capsys.readouterr().out)
    assert (left.value.code, record["reached"], record["parted"]) == (0, True, None)
    assert minidom.parse(str(tmp_path / "a.svg"))
    page = (tmp_path / "a.html").read_text("ascii")
    assert "the goal is 2: reached." in page
    assert "<code>forward_and_backward</code></th><td>yours, which passes</td>" in page
    assert np.load(tmp_path / "a.npz")["w1"].shape == (2, 64)

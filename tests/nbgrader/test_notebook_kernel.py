"""`check` and `score` in an IPython shell, as a learner meets them: cells run, run again, and taken back."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from grader import INSTALL
from grader.course.course import COURSE_VARIABLE, CourseExercise
from grader.errors import UsageError
from grader.learner.session import Session
from grader.nbgrader import cells
from grader.nbgrader.cells import NO_NOTEBOOK, VERDICT_CALLS, KernelSession, _own_settings, check, score
from grader.nbgrader.source_notebook import SETUP
from grader.results.records import AnswerResult, ExerciseResult, Status

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
RIGHT = "def lin_grad(inp, out, w, b):\n    inp.g = out.g @ w.t()\n    w.g = inp.t() @ out.g\n    b.g = out.g.sum(0)"
MEAN = RIGHT.replace("@ out.g\n", "@ out.g / len(inp)\n")
STUB = "def lin_grad(inp, out, w, b):\n    inp.g = ...\n    w.g = ...\n    b.g = ..."
CLEAR = """
for name in ("lin_grad", "relu_grad", "two_paths_grad", "quiz_01_slopes"):
    globals().pop(name, None)
get_ipython().history_manager.input_hist_raw[1:] = []
"""
"""Forgets what was defined, and that any cell was run."""
LIMIT = 60
HURRY = """
import dataclasses
import grader.nbgrader.cells as cells
session = cells.kernel_session().session
policy = session.course.policy.model_copy(update=dict(time_limit={time_limit}))
config = session.course.config.model_copy(update=dict(policy=policy))
session.course = dataclasses.replace(session.course, config=config)
"""


@dataclass
class Output:
    """Hold the outputs of a cell."""

    plain: str = ""
    html: str = ""
    stdout: str = ""
    stderr: str = ""
    error: list[str] = field(default_factory=list)


Run = Callable[[str], Output]


class Shell:
    """An IPython shell in this process, as a kernel has one."""

    def __init__(self) -> None:
        self.shell = InteractiveShell.instance(config=Config({"HistoryManager": {"hist_file": ":memory:"}}))
        self.tracebacks: list[list[str]] = []
        self.shell._showtraceback = lambda kind, error, lines: self.tracebacks.append(lines)

    def run(self, code: str) -> Output:
        """Run a cell as a notebook does; return its outputs."""
        self.tracebacks.clear()
        with capture_output() as said:
            self.shell.display_trap.hook = sys.displayhook  # while a cell runs, its results go to the capture too
            self.shell.run_cell(code, store_history=True)
        shown = [output.data for output in said.outputs]
        return Output(
            "".join(data["text/plain"] for data in shown),
            "".join(data.get("text/html", "") for data in shown),
            said.stdout,
            said.stderr,
            self.tracebacks[-1] if self.tracebacks else [],
        )

    def close(self) -> None:
        """Leave no shell behind in this process."""
        cells.kernel_session().session.close()
        cells.kernel_session.cache_clear()
        self.shell.history_manager.end_session()
        InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course, with time enough for an honest answer on a busy machine; the environment names it to a notebook."""
    course = tmp_path_factory.mktemp("course")
    for part in ("exercises", "solutions"):
        (course / part).symlink_to(ROOT / part)
    text = (ROOT / "course.yaml").read_text(encoding="utf-8")
    assert "time_limit: 10 " in text
    (course / "course.yaml").write_text(text.replace("time_limit: 10 ", f"time_limit: {LIMIT} "))
    return course


@pytest.fixture(scope="module")
def shell(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """An IPython shell in a learner's notebook folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(COURSE_VARIABLE, str(folder))
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        cells.kernel_session.cache_clear()
        started = Shell()
        assert started.run(SETUP) == Output()
        yield started
        started.close()


@pytest.fixture
def run(shell: Shell) -> Run:
    """Run a cell in the shell, in which nothing was run yet."""
    shell.run(CLEAR)
    return shell.run


def ok(output: Output) -> bool:
    """Every answer is right, and what to do next is said last."""
    lines = output.plain.splitlines()
    return lines[1] == "  inp.g, w.g, b.g  ok" and lines[-1] == "All right. Go on with the next exercise."


def test_right_answers_are_shown_as_right_and_score_a_plain_float(run: Run):
    run(RIGHT)
    shown = run('check("lin_grad")')
    assert ok(shown)
    assert "<b>inp.g</b>, <b>w.g</b>, <b>b.g</b> ok" in shown.html
    assert (shown.stdout, shown.stderr) == ("", "")
    assert run('score("lin_grad", "w.g")') == Output(plain="1.0")
    assert run('type(score("lin_grad", "w.g"))').plain == "float"


def test_a_mistake_is_named_and_hints_come_one_at_a_time(run: Run):
    run(MEAN.replace("out.g.sum(0)", "..."))
    shown = run('check("lin_grad")')
    assert "  inp.g  ok\n  w.g    every entry is 1/" in shown.plain
    assert shown.plain.endswith('next hint: check("lin_grad", hints=2)\n  b.g    not attempted yet')
    assert ">hint 2/3</summary>" in shown.html
    assert ">see the mistake</summary>" in shown.html
    assert "yours - nudged" in shown.html
    assert "Marked: @ for w.g." in shown.html
    assert "hint 2/3: " in run('check("lin_grad", hints=2)').plain
    assert [run(f'score("lin_grad", "{name}")').plain for name in ("inp.g", "w.g", "b.g")] == ["1.0", "0.0", "0.0"]


def test_an_untouched_cell_is_to_do_and_one_that_never_ran_is_missed(run: Run):
    assert "Run the exercise's cell first, and check again." in run('check("lin_grad")').plain
    assert run('score("lin_grad", "w.g")') == Output(plain="0.0")
    for stub in (STUB, "def lin_grad(inp, out, w, b):\n    # YOUR CODE HERE\n    raise NotImplementedError()"):
        run(stub)
        shown = run('check("lin_grad")')
        assert shown.plain.splitlines() == [
            "lin_grad  not attempted yet", "Write your answer in the exercise's cell, run that cell, and check again."
        ]  # fmt: skip
        assert run('score("lin_grad", "w.g")') == Output(plain="0.0")


def test_an_error_is_shown_with_its_line_and_printed_text_is_escaped(run: Run):
    run(RIGHT.replace("w.g = inp.t()", 'print("<i>" + str(w.shape))\n    w.g = inp'))
    shown = run('check("lin_grad")')
    assert "RuntimeError: " in shown.plain
    assert "line 4: w.g = inp @ out.g" in " ".join(shown.plain.split())
    assert "  | <i>torch.Size([" in shown.plain
    assert "\n| &lt;i&gt;torch.Size([" in shown.html
    assert "<i>" not in shown.html


def test_the_definition_that_ran_last_counts(run: Run):
    run(RIGHT)
    assert ok(run('check("lin_grad")'))
    run(MEAN)
    assert "every entry is 1/" in run('check("lin_grad")').plain
    assert ok(run(RIGHT + '\n\ncheck("lin_grad")'))
    assert ok(run('check("lin_grad")'))


def test_a_failing_cell_stops_nothing_and_deleted_names_are_gone(run: Run):
    run(RIGHT)
    assert "ZeroDivisionError" in run("1 / 0").error[-1]
    assert "SyntaxError" in run("def broken(:").error[-1]
    run("%pwd\n!true")
    assert ok(run('check("lin_grad")'))
    run(MEAN)
    assert "line 1: %pwd" in run('check("lin_grad")').plain
    run("del lin_grad")
    assert "Run the exercise's cell first, and check again." in run('check("lin_grad")').plain


def test_a_name_without_quotes_is_one_sentence_and_no_traceback(run: Run):
    run(RIGHT)
    says = 'handgrad: Write the name of the exercise in quotes, such as "lin_grad".'
    for call in ("check(lin_grad)", "check(...)", 'score(lin_grad, "w.g")'):
        assert run(call).error == [says]


def test_a_wrong_name_is_one_sentence_and_no_traceback(run: Run):
    assert run('check("lin_gard")').error == [
        "handgrad: There is no exercise, unit or exercise file 'lin_gard' in this course. Did you mean lin_grad?"
    ]
    run(RIGHT)
    assert run('score("lin_grad", "w")').error == [
        "handgrad: lin_grad has no answer 'w'; it has inp.g, w.g, b.g."
    ]  # fmt: skip


def test_the_notebooks_own_torch_settings_change_no_verdict(run: Run):
    run("import warnings, numpy\nwarnings.simplefilter('error'); numpy.seterr(all='raise')")
    run("torch.set_grad_enabled(False); torch.set_default_dtype(torch.float64)")
    try:
        run("def relu_grad(inp, out):\n    inp.g = (inp > 0) * out.g")
        assert run('score("relu_grad", "inp.g")') == Output(plain="1.0")
        run("def two_paths_grad(inp, out):\n    inp.g = inp.cos() * out.g")
        assert run('check("two_paths_grad")').plain.count("inp.g") >= 1
        assert run("torch.is_grad_enabled(), torch.get_default_dtype()").plain == "(False, torch.float64)"
    finally:
        run("numpy.seterr(all='warn', under='ignore')")
        run("warnings.resetwarnings(); torch.set_grad_enabled(True); torch.set_default_dtype(torch.float32)")


def test_grading_uses_default_settings_and_restores_the_notebooks():
    before = torch.get_default_dtype(), np.geterr()
    torch.set_default_device("meta")
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), _own_settings():
            made = torch.ones(1)
            warnings.warn("not for the learner", stacklevel=1)
            assert (made.device.type, made.dtype, torch.is_grad_enabled()) == ("cpu", torch.float32, True)
            assert np.geterr()["divide"] == "ignore"
        assert (torch.ones(1).device.type, torch.get_default_dtype()) == ("meta", torch.float64)
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    assert (torch.get_default_dtype(), np.geterr()) == before


def test_scores_reuse_a_verdict_but_never_an_error(monkeypatch: pytest.MonkeyPatch):
    statuses: Iterator[Status] = iter(("error", "passed", "failed", "todo"))

    def grade(_session: Session, exercise: CourseExercise, _cells: list[str], *_more: object) -> ExerciseResult:
        answers = tuple(AnswerResult(answer.name, next(statuses), 0, 1) for answer in exercise.declaration.answers)
        return ExerciseResult(exercise.id, exercise.unit, answers)

    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    monkeypatch.setattr(Session, "check_cells", grade)
    monkeypatch.setattr(Session, "warm_up", lambda _session: None)
    kernel = KernelSession()
    given = [kernel.check("relu_grad", cells)[1].status for cells in (["a"], ["a"], ["a", ""], ["a", "b"])]
    assert given == ["error", "passed", "passed", "failed"]
    assert kernel.check_with_pictures("relu_grad", ["a", "b"])[1].status == "todo"
    assert kernel.check("relu_grad", ["a", "b"])[1].status == "todo"


def test_outside_a_notebook_one_sentence_says_what_to_use(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(InteractiveShell, "_instance", None)
    check("lin_grad")
    assert capsys.readouterr().out == f"{NO_NOTEBOOK}\n"
    with pytest.raises(UsageError, match="work in a notebook"):
        score("lin_grad", "w.g")


def test_only_a_cell_that_asks_for_nothing_but_verdicts_is_left_out():
    assert VERDICT_CALLS.fullmatch(' check("lin_grad", hints=2)\nscore("lin_grad", "w.g") \n')
    for cell in ("", SETUP, 'x = check("lin_grad")', 'check("lin_grad")\nx = 1', "checked(3)", "def check(x): pass"):
        assert not VERDICT_CALLS.fullmatch(cell)


def test_a_quiz_is_checked_and_scored_by_its_cell(run: Run):
    run('quiz_01_slopes = dict(\n    variant=0,\n    how_far=4,\n    grad_shape=("bs", "n"),\n    calls=...,\n)')
    shown = run('check("quiz_01_slopes")')
    said = " ".join(shown.plain.split())
    assert "`4` is not it. That is the rate, for a whole unit of x. The step was 0.001." in said
    assert "grad_shape" in shown.html
    assert [run(f'score("quiz_01_slopes", "{name}")').plain for name in ("how_far", "grad_shape", "calls")] == [
        "0.0", "0.25", "0.0"
    ]  # fmt: skip


def test_the_first_line_of_a_notebook_says_how_to_get_handgrad():
    """Without handgrad, torch is missing too: the error must show the line that names the command."""
    assert SETUP.splitlines()[0] == f"from handgrad import check, score  # {INSTALL}"

"""A sitting: the worker starts once and late, files are read as they are now, and what fails is told, not raised."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.authoring.build import worked_text
from grader.child.protocol import Frame
from grader.course.course import Course, bundled_folder, load_course
from grader.errors import InfrastructureError, SpecError
from grader.judging.grading import Grader
from grader.learner import session
from grader.learner.session import Session
from grader.sandbox.worker import Unanswered, Worker

RIGHT = """\
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = (inp.unsqueeze(-1) * out.g.unsqueeze(1)).sum(0)
    b.g = out.g.sum(0)
"""


class KeptWorker:
    """A warm worker that many sittings share: it outlives each, and remembers what it was asked.

    Args:
        worker: the one behind it.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.isolation = worker.isolation
        self.asked: list[str] = []
        self.starts = 0

    def start(self, _mode: str | None = None) -> KeptWorker:
        self.starts += 1
        return self

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        self.asked += [part["function"] for part in job.header.get("together", [job.header])]
        return self.worker.run(job, time_limit)

    def stop(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...

    def serve(self, grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have each sitting ask it, and keep this grader's references."""
        monkeypatch.setattr("grader.learner.session.start_worker", self.start)
        monkeypatch.setattr("grader.learner.session.new_grader", lambda seed: grader)


@pytest.fixture
def kept(worker: Worker) -> KeptWorker:
    return KeptWorker(worker)


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    return new_workspace(tmp_path / "ws", before="06_losses")


def test_opening_a_sitting_starts_no_worker_and_imports_no_torch(course: Course) -> None:
    script = (
        "import sys; from grader.course.course import load_course; from grader.learner import session\n"
        "session.start_worker = None\n"
        f"with session.Session(load_course(__import__('pathlib').Path({str(course.root)!r}))) as s: s.progress\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_worker_is_started_once_and_closed_once(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    fake = SimpleNamespace(close=lambda: calls.append("close"))
    monkeypatch.setattr(session, "start_worker", lambda isolation: calls.append(f"start {isolation}") or fake)
    with Session(course) as sitting:
        assert sitting.warm_up() is sitting.warm_up()
        sitting.close()
    assert calls == ["start none", "close"]


def test_each_check_reads_the_file_as_it_is_now(course: Course, kept: KeptWorker) -> None:
    sitting, exercise = Session(course, kept), course.find("lin_grad")
    assert sitting.check(exercise).status == "todo"
    exercise.path.write_text(RIGHT)
    assert sitting.check(exercise).status == "passed"
    assert kept.asked == ["lin_grad", "lin_grad"]


def test_a_missing_file_is_to_do_and_says_how_to_get_it_back(course: Course, kept: KeptWorker) -> None:
    exercise = course.find("lin_grad")
    exercise.path.unlink()
    result = Session(course, kept).check(exercise)
    assert result.status == "todo"
    assert "handgrad reset lin_grad" in result.answers[0].message
    assert kept.asked == []


def test_a_folder_in_place_of_a_file_is_an_error_that_names_it(course: Course, kept: KeptWorker) -> None:
    exercise = course.find("lin_grad")
    exercise.path.unlink()
    exercise.path.mkdir()
    result = Session(course, kept).check(exercise)
    assert result.status == "error"
    assert result.answers[0].message.startswith("exercises/04_linear/lin_grad.py cannot be read (Is a directory)")


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (b"", "missing-function", "lin_grad.py is empty"),
        ("# caf\u00e9\n".encode("latin-1"), "syntax-error", "save it as UTF-8"),
        (b"def lin_gard(inp, out, w, b): pass\n", "missing-function", "rename the function to `lin_grad`"),
        (b"def lin_grad(inp, out):\n    inp.g = out.g\n", "error", "it is called as lin_grad(inp, out, w, b)"),
        (b"def lin_grad(inp, out, w, b:\n", "syntax-error", "lin_grad.py, line 1"),
        (b"def lin_grad(inp, out, w, b):\n    inp.g = a = \x00\n", "syntax-error", ""),
    ],
    ids=["empty", "latin-1", "renamed", "arity", "syntax", "null-byte"],
)
def test_a_file_that_cannot_be_used_is_one_sentence(
    course: Course, kept: KeptWorker, content: bytes, code: str, says: str
) -> None:
    exercise = course.find("lin_grad")
    exercise.path.write_bytes(content)
    result = Session(course, kept).check(exercise)
    assert {answer.code for answer in result.answers} == {code}
    assert says in result.answers[0].message
    assert "\n" not in result.answers[0].message


def with_spec(course: Course, change: Callable[[str], str]) -> Course:
    """The workspace as an author's, with unit 04's spec changed."""

    shutil.copytree(
        bundled_folder() / "solutions", course.root / "solutions", ignore=shutil.ignore_patterns("__pycache__")
    )
    spec = course.root / "solutions/04_linear/spec.py"
    spec.write_text(change(spec.read_text()))
    return load_course(course.root)


def test_a_declaration_that_fails_when_run_names_its_spec_and_exercise(course: Course, kept: KeptWorker) -> None:
    broken = with_spec(course, lambda text: text.replace("inp @ w + b,", "inp @ w + nope,", 1))
    with pytest.raises(SpecError, match=r"04_linear/spec\.py: lin_grad: .*nope"):
        Session(broken, kept).check(broken.find("lin_grad"))


def test_without_torch_the_sentence_says_what_to_install(
    course: Course, kept: KeptWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "grader.judging.grading", None)
    with pytest.raises(InfrastructureError, match="run `pip install"):
        Session(course, kept).check(course.find("lin_grad"))


UNIT = ("sigmoid_grad", "tanh_grad", "relu_grad", "leaky_relu_grad", "softplus_grad")
SPOILER = "import torch\ntorch.Tensor.sum = torch.Tensor.sigmoid = lambda *_: torch.zeros(())\n"


def test_files_that_are_expected_get_the_verdicts_that_they_get_alone(
    course: Course, kept: KeptWorker, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a unit share a child, whatever one of them does: right, wrong, missing, not begun, or hostile."""
    right, wrong, missing, _, hostile = exercises = [course.find(name) for name in UNIT]
    lin_grad = course.find("lin_grad")
    right.path.write_text(worked_text(right))
    wrong.path.write_text(worked_text(wrong).replace("out.g", "out"))
    missing.path.unlink()
    hostile.path.write_text(SPOILER + worked_text(hostile))
    lin_grad.path.write_text(RIGHT)
    kept.serve(grader, monkeypatch)
    ahead, alone = Session(course), Session(course)
    asked = [*exercises, lin_grad]
    ahead.expect(asked)
    found = [ahead.check(exercise) for exercise in asked]
    assert [result.status for result in found] == ["passed", "failed", "todo", "todo", "failed", "passed"]
    assert found == [alone.check(exercise) for exercise in asked]


def test_a_file_that_failed_or_has_changed_is_run_once(
    course: Course, kept: KeptWorker, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A combined job holds only files that passed last or were not begun: no other result of it can be used."""
    right, wrong, *_ = exercises = [course.find(name) for name in UNIT]
    right.path.write_text(worked_text(right))
    wrong.path.write_text(worked_text(wrong).replace("out.g", "out"))
    kept.serve(grader, monkeypatch)
    for changed in (exercises[2], None):
        if changed is not None:
            before = Session(course)
            for exercise in exercises:
                before.progress.record(exercise, before.check(exercise))
            before.progress.save()
            changed.path.write_text(worked_text(changed))
        kept.asked.clear()
        again = Session(course)
        again.expect(exercises)
        statuses = [again.check(exercise).status for exercise in exercises]
        assert statuses == ["passed", "failed", "passed", "todo", "todo"]
        assert sorted(kept.asked) == sorted(UNIT)

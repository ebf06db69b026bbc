"""In a graded run a measurement fails, however exact it is; a formula passes, and so does a slow loop over entries."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from conftest import codes, make_job, solution, with_policy
from corpus import SUBMISSIONS, found_codes
from measurements import SOURCES

from grader.course import Course
from grader.exercise import Exercise, returned, stored
from grader.judging.grading import Grader
from grader.judging.large_trial_checks import UNSUSPICIOUS, grows_as_a_square
from grader.reference.large_trials import AT_FIRST, entries_are_coupled, large_trials, most_entries, tight_memory_trials
from grader.reference.references import make_trials
from grader.reference.trial import Trial
from grader.results import ExerciseResult
from grader.sampling import Array, normal, output
from grader.sandbox.worker import ForkingWorker, Worker
from grader.wording.words import STEPS

LIMIT = 1.0  # seconds: how large a case is follows from it
CAREFUL = ("lin_grad", "only one of them")
LONG_AXES = {
    "dout_dz": ("_0",),
    "dout_dx": ("_0",),
    "dloss_dx": ("_0",),
    "input_grad": ("n",),
    "weight_grad": ("n",),
    "lin_grad": ("n",),
    "linear_grad": ("n",),
    "lin_grad_nd": ("n",),
    "lin_grad_accumulate": ("n",),
    "lin_grad_needed": ("n",),
    "lin_grad_lean": ("n",),
    "bmm_grad": ("k",),
    "mse_grad": ("bs",),
    "forward_and_backward": ("h", "bs"),
    "tied_weights_grad": ("m",),
    "sum_grad": ("n",),
    "var_grad": ("n",),
    "rnn_grad": ("n",),
    "attention_grad": ("d", "t"),
}
WITHOUT = {
    "a routine": ["slope", "numerical_grad"],
    "a Jacobian": ["df_dx", "df_db"],
    "entry by entry": ["dy_dx", "exp_grad", "div_grad", "bias_grad", "relu_grad", "add_grad", "permute_grad"],
}


def warm(worker: ForkingWorker) -> ForkingWorker:
    """The worker, once it is ready: its start does not count."""
    assert worker.run(make_job("def probe(): pass", {}), 60).end == "answered"
    return worker


@pytest.fixture(scope="module")
def isolated() -> Iterator[ForkingWorker]:
    with ForkingWorker("box") as worker:
        yield warm(worker)


@pytest.fixture(scope="module")
def patient(course: Course) -> Course:
    """The same course with the time limit of these tests."""
    return with_policy(course, time_limit=LIMIT)


def draw(exercise: Exercise) -> tuple[Trial, ...]:
    first = make_trials(exercise, np.random.default_rng(0))[0]
    return large_trials(exercise, first, AT_FIRST, np.random.default_rng(1))


@pytest.mark.parametrize("name", LONG_AXES)
def test_an_axis_that_the_output_does_not_have_is_long(name: str, course: Course, grader: Grader) -> None:
    """And every other one has size one."""
    trials = grader.large_trials(course.find(name))
    assert len(trials) == len(LONG_AXES[name])
    for trial, axis in zip(trials, LONG_AXES[name], strict=True):
        assert [other for other, size in trial.setting.sizes.items() if size > 1] == [axis]
        arrays = [value.values.size for value in trial.arguments.values() if isinstance(value, Array)]
        assert max(arrays) <= AT_FIRST / 2
        assert AT_FIRST / 2 <= sum(arrays) < AT_FIRST + 100


@pytest.mark.parametrize("name", [name for names in WITHOUT.values() for name in names])
def test_what_a_large_case_cannot_tell_has_none(name: str, course: Course, grader: Grader) -> None:
    assert grader.large_trials(course.find(name)) == ()


def test_every_exercise_can_be_asked_for_its_large_case(course: Course, grader: Grader) -> None:
    found = {each.id for each in course.exercises if not each.is_quiz and grader.large_trials(each)}
    assert set(LONG_AXES) <= found


def test_a_table_of_a_long_axis_with_itself_has_no_room(course: Course, grader: Grader) -> None:
    """What is broadcast by accident fails at once, and takes no time from its diagnosis."""
    longest = [max(grader.large_trials(course.find(name))[0].setting.sizes.values()) for name in LONG_AXES]
    assert min(longest) ** 2 * 4 > course.policy.memory_limit << 20


@pytest.mark.parametrize(("name", "coupled"), [("var_grad", True), ("dloss_dx", True), ("lin_grad", False)])
def test_entries_of_an_answer_may_depend_on_each_other(
    name: str, coupled: bool, course: Course, grader: Grader
) -> None:
    exercise = course.find(name)
    assert isinstance(exercise.declaration, Exercise)
    assert entries_are_coupled(exercise.declaration, grader.trials(exercise)[0]) is coupled


def test_the_time_limit_is_as_far_from_loops_as_from_measurements() -> None:
    """A loop takes time as E, a measurement as E squared: the ratios to the limit are each other's inverse."""
    assert 340_000 < most_entries(10) < 350_000
    for limit in (1, 3, 60):
        loops = most_entries(limit) / most_entries(10) / (limit / 10)
        measurements = (most_entries(limit) / most_entries(10)) ** 2 / (limit / 10)
        assert loops * measurements == pytest.approx(1, rel=1e-3)


def test_the_same_seed_draws_the_same_large_trials(course: Course) -> None:
    first, second, other = (Grader(seed).large_trials(course.find("mse_grad"))[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.expected["inp.g"], second.expected["inp.g"])
    assert not np.array_equal(first.expected["inp.g"], other.expected["inp.g"])


def test_a_forward_pass_whose_work_grows_with_the_square_has_no_large_case() -> None:
    """Attention over 50,000 places would need 20 gigabytes here."""
    attention = Exercise(
        title="Attention",
        forward=lambda q, k: (q @ k.t()).softmax(-1).sum(),
        inputs={"q": normal("t d"), "k": normal("t d")},
        answers=stored("q.g", "k.g"),
    )
    assert draw(attention) == ()


def test_where_single_precision_is_not_enough_there_is_no_large_case() -> None:
    """Nobody can be judged by what float32 cannot compute."""
    cancelling = Exercise(
        title="Cancelling",
        forward=lambda x: ((x + 1000).pow(2).mean() - 1e6) ** 2,
        inputs={"x": normal("n")},
        answers=returned("x"),
    )
    assert draw(cancelling) == ()


def test_an_output_of_its_own_for_every_entry_needs_no_large_case() -> None:
    assert draw(Exercise("Sine", lambda x: x.sin(), {"x": normal("..."), "out": output()}, stored("x.g"))) == ()


def test_only_isolated_code_is_given_a_large_case(worker: Worker, isolated: ForkingWorker) -> None:
    assert worker.isolation == "none"
    assert isolated.isolation != "none"


def judged(source: tuple[str, str], course: Course, grader: Grader, worker: Worker) -> ExerciseResult:
    return grader.grade(course.find(source[0]), SOURCES[source].encode(), worker)


def test_a_measurement_is_told_kindly(patient: Course, grader: Grader, isolated: ForkingWorker) -> None:
    result = judged(("lin_grad", "torch"), patient, grader, isolated)
    answer = {answer.name: answer for answer in result.answers}["w.g"]
    assert answer.code == "timeout"
    assert re.fullmatch(
        "too slow on a large input: w has [0-9]+ entries, and this looks like a measurement, one nudge per entry, "
        "rather than a formula",
        answer.message,
    )
    assert len(answer.hints) == STEPS
    assert "forward pass" in answer.hints[0]


LOSS_BY_BROADCAST = """
def forward_and_backward(inp, targ, w1, b1, w2, b2):
    hidden = inp @ w1 + b1
    active = hidden.clamp_min(0)
    out = active @ w2 + b2
    loss = (out - targ).pow(2).mean()
    out_g = 2 * (out.squeeze(-1) - targ).unsqueeze(-1) / len(inp)
    active_g = out_g @ w2.t() * (hidden > 0)
    inp.g, w1.g, b1.g = active_g @ w1.t(), inp.t() @ active_g, active_g.sum(0)
    w2.g, b2.g = active.t() @ out_g, out_g.sum(0)
    return loss
"""


def test_a_wrong_answer_that_raises_at_large_takes_no_right_one_along(
    course: Course, grader: Grader, isolated: ForkingWorker
) -> None:
    """A loss of every prediction with every target has no room in a large batch: that is no gradient's fault."""
    found = codes(grader.grade(course.find("forward_and_backward"), LOSS_BY_BROADCAST.encode(), isolated))
    assert {name: code for name, code in found.items() if code} == {"return": "broadcast-accident"}


def test_a_table_is_a_right_way_where_entries_depend_on_each_other(
    course: Course, grader: Grader, isolated: ForkingWorker
) -> None:
    """It has no room in a large case, and a smaller one shows that it takes no time."""
    table = SUBMISSIONS["08_shapes/var_grad: a centring matrix"]
    assert found_codes(table, course, grader, isolated) == {"inp.g": None}


def test_only_an_array_that_must_never_be_held_is_left_without_room(course: Course, grader: Grader) -> None:
    first = grader.trials(course.find("lin_grad_lean"))[0]
    lean, plain = (course.find(name).function for name in ("lin_grad_lean", "lin_grad"))
    (trial,) = tight_memory_trials(lean, first, 64 << 20, np.random.default_rng(0))
    assert 64 << 20 < 4 * np.prod([trial.setting.sizes[axis] for axis in ("bs", "n", "m")]) < 80 << 20
    assert tight_memory_trials(lean, first, 1 << 40, np.random.default_rng(0)) == ()
    assert tight_memory_trials(plain, first, 64 << 20, np.random.default_rng(0)) == ()


@pytest.mark.parametrize(
    ("before", "after", "times", "square"),
    [
        (0.4, 13.0, 5.8, True),
        (0.17, 0.91, 5.8, False),
        (0.4, 5.0, 5.8, False),
        (0.4, 4.0, 3.2, True),
        (0.4, 2.0, 3.2, False),
        (0.4, 13.0, 2.9, False),
    ],
)
def test_two_times_tell_how_time_grows(before: float, after: float, times: float, square: bool) -> None:
    assert grows_as_a_square(before, after, times) is square


def test_processor_time_is_reported_and_cannot_be_slept_away(isolated: ForkingWorker) -> None:
    """What tells the two apart is measured outside the child."""
    spin = (
        "import time\ndef probe(x):\n    end = time.process_time() + 0.2\n    while time.process_time() < end: pass\n"
    )
    nap = "import time\ndef probe(x):\n    time.sleep(0.3)\n"
    assert isolated.run(make_job(spin, {"x": 1}), 5).cpu >= 0.2
    assert isolated.run(make_job(nap, {"x": 1}), 5).cpu < 0.2


def test_most_submissions_are_called_once(
    course: Course, grader: Grader, isolated: ForkingWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A formula's processor time shows at once that nothing was measured."""
    replies = []
    run = ForkingWorker.run

    def counted(self: ForkingWorker, job: bytes, limit: float) -> object:
        replies.append(run(self, job, limit))
        return replies[-1]

    monkeypatch.setattr(ForkingWorker, "run", counted)
    for _ in range(5):
        assert grader.grade(course.find("lin_grad"), solution(course, "lin_grad"), isolated).status == "passed"
    assert sum(reply.cpu <= UNSUSPICIOUS for reply in replies) >= 4
    assert len(replies) <= 6

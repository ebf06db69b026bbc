"""How many wrong answers are named rightly, and what that costs: `python benchmarks/naming.py [--seed N] [UNIT ...]`.

The submissions of the course are named twice: as the course is, and with every declared misconception removed, so that
only what is derived is left. Then what a diagnosis costs a file, in processor time and in multiples of what
`torch.autograd.gradcheck` takes for the same function in the same run: for the course, for the forward passes of
`explain`'s tests, which the course does not have, and for the recurrences among all these. Last, what a wrong attention
costs, and how much memory it takes (`--attention` for this alone).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from unittest.mock import patch

import dev_environment  # noqa: F401
import helpers.environment  # noqa: F401  one thread, as in the tests
import test_explain_foreign
import torch
from helpers import explain_corpus
from helpers.corpus import NAMED, WRONG, without_misconceptions
from helpers.courses import ROOT, SEED, TIME_LIMIT, with_policy

from grader.authoring.submission_pages import PageSubmission
from grader.course.course import Course, load_course
from grader.course.exercise import Exercise
from grader.diagnosis.diagnose import find_mistakes
from grader.diagnosis.recorded_programs import faithful_program_of
from grader.explain import verdicts
from grader.judging import judge
from grader.judging.grading import Grader
from grader.program.queries import loops
from grader.reference.trial import Trial
from grader.sandbox.worker import Worker, start_worker
from handgrad import explain


@dataclass
class Tally:
    """What became of one unit's wrong answers that deserve a name.

    Args:
        right: how many got a code that is expected of them.
        unnamed: how many got `unknown`.
        misnamed: the others, one line each.
    """

    right: int = 0
    unnamed: list[str] = field(default_factory=list)
    misnamed: list[str] = field(default_factory=list)

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return self.right + len(self.unnamed) + len(self.misnamed)


@dataclass
class Cost:
    """What the diagnosis of one file costs, in seconds of processor time.

    Args:
        diagnosis: all searches for a mistake in it.
        gradcheck: one `torch.autograd.gradcheck` of the function; 0 where it cannot be checked.
        is_recurrence: whether the function has a loop.
    """

    diagnosis: float = 0.0
    gradcheck: float = 0.0
    is_recurrence: bool = False


class Meter:
    """Stands in for the search, and notes what it costs, file by file."""

    def __init__(self) -> None:
        """Begin with no file."""
        self.costs: list[Cost] = []
        self.gradchecks: dict[object, float] = {}

    def begin(self) -> None:
        """Begin another file."""
        self.costs.append(Cost())

    def find_mistakes(self, exercise, wrong, right=(), cases=None):
        """Return the mistakes, as `find_mistakes` does."""
        cost, started = self.costs[-1], time.process_time()
        mistakes = find_mistakes(exercise, wrong, right, cases)
        cost.diagnosis += time.process_time() - started
        if isinstance(exercise, Exercise):
            first = next(iter(wrong.values()))[0].trial
            program = faithful_program_of(exercise, first)
            cost.is_recurrence |= program is not None and bool(loops(program))
            known = exercise.forward
            if known not in self.gradchecks:
                self.gradchecks[known] = gradcheck_seconds(exercise, first)
            cost.gradcheck = self.gradchecks[known]
        return mistakes


def gradcheck_seconds(exercise: Exercise, trial: Trial) -> float:
    """Return the processor time of a gradcheck of a function, at a trial's inputs; 0 where torch refuses it."""
    given = {
        name: value.detach().double().requires_grad_()
        for name, value in trial.inputs.items()
        if name in exercise.forward_names and isinstance(value, torch.Tensor) and value.is_floating_point()
    }

    def forward(*tensors: torch.Tensor) -> torch.Tensor:
        return exercise.run({**trial.inputs, **dict(zip(given, tensors, strict=True))})

    started = time.process_time()
    try:
        with torch.enable_grad():
            torch.autograd.gradcheck(forward, tuple(given.values()), raise_exception=False)
    except (RuntimeError, ValueError, TypeError):
        return 0.0
    return time.process_time() - started


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Return the values that each query attends to; shapes: (bs, heads, t, n) each."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return scores.softmax(-1) @ v


def attention_cost(shape: tuple[int, ...], known: bool, seed: int) -> str:
    """Return a line of a table: what it costs to explain a wrong backward pass of attention, beside torch's right one.

    The peak memory is that of the process.

    Args:
        shape: the shape of the queries, keys and values.
        known: whether the mistake has a name (the scale is forgotten); else the search ends in facts.
        seed: the seed of the inputs, and of `explain`.
    """

    def backward(out: torch.Tensor, out_g: torch.Tensor, **given: torch.Tensor) -> dict[str, torch.Tensor]:
        q, k, v = given.values()
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        probabilities = scores.softmax(-1)
        by_probabilities = out_g @ v.transpose(-1, -2)
        centred = by_probabilities - (probabilities * by_probabilities).sum(-1, keepdim=True)
        by_scores = probabilities * centred * (1 if known else torch.sin(3 * scores) / q.shape[-1] ** 0.5)
        return {
            "q": by_scores @ k,
            "k": by_scores.transpose(-1, -2) @ q,
            "v": probabilities.transpose(-1, -2) @ out_g,
        }

    generator = torch.Generator().manual_seed(seed)
    inputs = {name: torch.randn(shape, generator=generator).requires_grad_() for name in ("q", "k", "v")}
    double = {name: value.detach().double().requires_grad_() for name, value in inputs.items()}
    rights = []
    for _ in range(5):
        started = time.process_time()
        torch.autograd.grad(attention(**double).sum(), list(double.values()))
        rights.append(time.process_time() - started)
    started = time.process_time()
    codes = {mistake.code for mistake in explain(attention, inputs, backward=backward, seed=seed).mistakes}
    cost = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return f"| {shape} | {', '.join(sorted(codes))} | {cost:.2f} s | {cost / min(rights):.0f} | {peak:.2f} GB |"


def table_of_attention(seed: int) -> str:
    """Return what it costs to explain a wrong attention, each in a process of its own, in Markdown."""
    lines = [
        "| attention, shape of q, k and v | found | processor time | in right backward passes | peak memory |",
        "|---|---|---|---|---|",
    ]
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as processes:
        for shape in ((2, 8, 64, 32), (2, 8, 256, 64)):
            lines += processes.map(attention_cost, [shape] * 2, [True, False], [seed] * 2)
    return "\n".join(lines)


def deserved(submission: PageSubmission, answer: str) -> frozenset[str]:
    """Return the codes that an answer may get; none where it passes, or where its mistake has no name."""
    allowed = submission.allowed(answer)
    return allowed if allowed <= NAMED else frozenset()


def tallies(
    course: Course, seed: int, submissions: Sequence[PageSubmission], worker: Worker, meter: Meter
) -> dict[str, Tally]:
    """One tally for each unit, each submission graded as if it were the only one."""
    found: dict[str, Tally] = defaultdict(Tally)
    for submission in submissions:
        tally = found[submission.unit]
        meter.begin()
        with patch.object(judge, "find_mistakes", meter.find_mistakes):
            result = Grader(seed).grade(course.find(submission.exercise), submission.source.encode(), worker)
        for answer in result.answers:
            allowed = deserved(submission, answer.name)
            if not allowed:
                continue
            line = f"{submission.id} | {answer.name}: {answer.code}, not {' or '.join(sorted(allowed))}"
            tally.right += answer.code in allowed
            if answer.code not in allowed:
                (tally.unnamed if answer.code == "unknown" else tally.misnamed).append(line)
    return found


def explain_foreign_passes(seed: int, meter: Meter) -> None:
    """Explain the wrong backward passes of `explain`'s tests."""
    cases = [(forward, inputs, under_test) for forward, inputs, under_test in explain_corpus.WRONG.values()]
    cases += [
        (forward, inputs, {"backward": backward})
        for forward, inputs, backward, _ in test_explain_foreign.WRONG.values()
    ]
    for forward, inputs, under_test in cases:
        meter.begin()
        with patch.object(verdicts, "find_mistakes", meter.find_mistakes), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            explain(forward, inputs, **under_test, seed=seed)


def table(declared: Mapping[str, Tally], bare: Mapping[str, Tally]) -> str:
    """One line for each unit, in Markdown."""
    lines = [
        "| unit | wrong answers | named rightly | without declared misconceptions | of these unnamed | misnamed |",
        "|---|---|---|---|---|---|",
    ]
    for unit in sorted(bare):
        one, two = declared[unit], bare[unit]
        shares = " | ".join(f"{tally.right / max(tally.answers, 1):.1%}" for tally in (one, two))
        lines.append(f"| {unit} | {two.answers} | {shares} | {len(two.unnamed)} | {len(two.misnamed)} |")
    return "\n".join(lines)


def table_of_costs(costs: Mapping[str, Sequence[Cost]]) -> str:
    """One line for each kind of files, in Markdown: medians, 95th percentiles, and the worst."""
    lines = [
        "| files with a diagnosis | how many | processor time, p50 / p95 / worst | in gradchecks, p50 / p95 / worst |",
        "|---|---|---|---|",
    ]
    for kind, own in costs.items():
        diagnosed = [cost for cost in own if cost.diagnosis]
        seconds = spread([cost.diagnosis for cost in diagnosed], "{:.3f} s")
        ratios = spread([cost.diagnosis / cost.gradcheck for cost in diagnosed if cost.gradcheck], "{:.1f}")
        lines.append(f"| {kind} | {len(diagnosed)} | {seconds} | {ratios} |")
    return "\n".join(lines)


def spread(values: Sequence[float], form: str) -> str:
    """Return the median, the 95th percentile and the greatest of some values, in words."""
    if not values:
        return "none"
    ordered = sorted(values)
    chosen: list[Callable[[list[float]], float]] = [
        statistics.median,
        lambda all_: all_[int(0.95 * (len(all_) - 1))],
        max,
    ]
    return " / ".join(form.format(of(ordered)) for of in chosen)


def main() -> None:
    """Measure, and print lines and tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("units", nargs="*", metavar="UNIT", help="such as 05_activations; by default all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--costs", action="store_true", help="only what a diagnosis costs, without declared mistakes")
    parser.add_argument("--attention", action="store_true", help="only what a wrong attention costs")
    options = parser.parse_args()
    if options.attention:
        print(table_of_attention(options.seed))
        return
    wrong = [submission for submission in WRONG.values() if not options.units or submission.unit in options.units]
    course = with_policy(load_course(ROOT), time_limit=TIME_LIMIT)
    known, foreign = Meter(), Meter()
    with start_worker("none") as worker:
        declared = {} if options.costs else tallies(course, options.seed, wrong, worker, Meter())
        bare = tallies(without_misconceptions(course), options.seed, wrong, worker, known)
    explain_foreign_passes(options.seed, foreign)
    if not options.costs:
        for title, found in (("as the course is", declared), ("without declared misconceptions", bare)):
            lines = [line for unit in sorted(found) for line in (*found[unit].unnamed, *found[unit].misnamed)]
            print(f"{title}, not named rightly:", *lines or ["none"], sep="\n  ")
        print(table(declared, bare), end="\n\n")
    costs = {
        "known units": known.costs,
        "forward passes that the course does not have": foreign.costs,
        "recurrences among all": [cost for cost in (*known.costs, *foreign.costs) if cost.is_recurrence],
    }
    print(table_of_costs(costs), table_of_attention(options.seed), sep="\n\n")


if __name__ == "__main__":
    main()

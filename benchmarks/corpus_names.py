"""Measure the diagnosis on the corpus: `python benchmarks/corpus_names.py [--declared] [--lines] [UNIT ...]`.

Printed are how often a wrong answer gets a code that the corpus allows, by which operators, the processor time, and how
many candidates a second are tried.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from dataclasses import dataclass
from unittest.mock import patch

import dev_environment  # noqa: F401
import helpers.environment  # noqa: F401  one thread, as in the tests
from helpers.corpus import NAMED, WRONG, without_misconceptions
from helpers.courses import ROOT, SEED, TIME_LIMIT, with_policy

from grader.course.course import load_course
from grader.diagnosis.case import Case
from grader.diagnosis.diagnose import find_mistakes
from grader.judging import judge
from grader.judging.grading import Grader
from grader.sandbox.worker import start_worker


@dataclass
class Call:
    """Hold the wrong answers of a submission: by answer the code and the operators; processor time, candidates."""

    named: dict[str, tuple[str, str]]
    seconds: float
    candidates: int


def measured(calls: list[Call]):
    """Return what is called in place of the search: the search, with its cost noted."""

    def call(exercise, wrong, right=()):
        started, counted = time.process_time(), Counter()
        with patch.object(Case, "_screen", counting(Case._screen, counted)):
            mistakes = find_mistakes(exercise, wrong, right)
        calls.append(Call(summed_up(mistakes), time.process_time() - started, counted["candidates"]))
        return mistakes

    return call


def counting(function, counted: Counter):
    """Return the function with its calls counted."""

    def call(*args):
        counted["candidates"] += 1
        return function(*args)

    return call


def summed_up(mistakes) -> dict[str, tuple[str, str]]:
    """Return the code of each mistake, and its operators with what they say."""
    return {
        name: (
            mistake.code,
            " + ".join(f"{fact.operator}: {fact.says}" for fact in mistake.facts),
        )
        for name, mistake in mistakes.items()
    }


def main() -> None:
    """Run the corpus, or some units of it, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("units", nargs="*")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="")
    parser.add_argument("--lines", action="store_true", help="print every answer that differs")
    parser.add_argument("--declared", action="store_true", help="with the misconceptions that exercises declare")
    chosen = parser.parse_args()
    course = with_policy(load_course(ROOT), time_limit=TIME_LIMIT)
    course = course if chosen.declared else without_misconceptions(course)
    outcomes, by_operator, candidates = Counter(), Counter(), 0
    times: list[float] = []
    lines: list[str] = []
    with start_worker("none") as worker:
        for submission in WRONG.values():
            if (chosen.units and submission.unit not in chosen.units) or chosen.only not in submission.id:
                continue
            calls: list[Call] = []
            with patch.object(judge, "find_mistakes", measured(calls)):
                Grader(chosen.seed).grade(course.find(submission.exercise), submission.source.encode(), worker)
            for call in calls:
                times.append(call.seconds)
                candidates += call.candidates
                for name, (code, operators) in call.named.items():
                    allowed = submission.allowed(name)
                    if not allowed or not allowed <= NAMED:
                        continue
                    kind = "allowed" if code in allowed else "unnamed" if code == "unknown" else "other"
                    outcomes[kind] += 1
                    by_operator[operators.partition(":")[0], kind] += 1
                    answer = f"{submission.id} | {name}: {code}, not {' or '.join(sorted(allowed))}"
                    lines.append(f"{kind:8}{answer} | {operators}")
    if chosen.lines:
        print("\n".join(sorted(lines)))
    for kind in ("allowed", "unnamed", "other"):
        print(f"{kind}: {outcomes[kind]}")
    print("operators:", ", ".join(f"{name} {kind} {n}" for (name, kind), n in by_operator.most_common(60)))
    if times:
        seconds = sorted(times)
        p95 = seconds[int(0.95 * (len(seconds) - 1))]
        print(f"processor time: p50 {statistics.median(seconds):.3f} s, p95 {p95:.3f} s, worst {seconds[-1]:.2f} s")
    print(f"{candidates} candidates, {candidates / max(sum(times), 1e-9):.0f} a second")


if __name__ == "__main__":
    main()

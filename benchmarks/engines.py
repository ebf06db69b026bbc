"""Both engines on the corpus: `python benchmarks/engines.py [--fast] [--declared] [--lines] [UNIT ...]`.

Each wrong answer is named by the old search and by the new one, from the same arrays. Printed are how often the new one
gives a code that the corpus allows, by which operators, the processor time of both, and how many candidates it tries.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from conftest import ROOT, SEED, TIME_LIMIT, with_policy
from corpus import NAMED, WRONG, without_misconceptions

from grader.course import load_course
from grader.diagnosis import search
from grader.diagnosis.case import Case
from grader.diagnosis.diagnose import find_mistakes
from grader.exercise import Exercise
from grader.judging import judge
from grader.judging.grading import Grader
from grader.sandbox.worker import start_worker


@dataclass
class Call:
    """The wrong answers of a submission, by answer the code and operators of both engines, and the seconds of each."""

    old: dict[str, tuple[str, str]]
    new: dict[str, tuple[str, str]]
    seconds: tuple[float, float]
    candidates: int


def compared(calls: list[Call], fast: bool):
    """What is called in place of the search: both engines, one after the other."""

    def call(exercise, first, wrong, *more):
        if not isinstance(exercise, Exercise):
            return search.find_mistakes(exercise, first, wrong, *more)
        started = time.process_time()
        old = search.plain_facts(exercise, wrong) if fast else search.find_mistakes(exercise, first, wrong, *more)
        between, counted = time.process_time(), Counter()
        right = [answer.name for answer in exercise.answers if answer.name not in wrong]
        with patch.object(Case, "_screened", counting(Case._screened, counted)):
            new = find_mistakes(exercise, first, wrong, right)
        seconds = (between - started, time.process_time() - between)
        calls.append(Call(summed_up(old), summed_up(new), seconds, counted["candidates"]))
        return old

    return call


def counting(function, counted: Counter):
    """The function, with its calls counted."""

    def call(*args):
        counted["candidates"] += 1
        return function(*args)

    return call


def summed_up(mistakes) -> dict[str, tuple[str, str]]:
    return {
        name: (
            mistake.code,
            " + ".join(f"{fact.operator}: {fact.says}" for fact in mistake.facts),
        )
        for name, mistake in mistakes.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("units", nargs="*")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="")
    parser.add_argument("--lines", action="store_true", help="print every answer that differs")
    parser.add_argument("--fast", action="store_true", help="leave the old search out")
    parser.add_argument("--declared", action="store_true", help="with the misconceptions that exercises declare")
    chosen = parser.parse_args()
    course = with_policy(load_course(ROOT), time_limit=TIME_LIMIT)
    course = course if chosen.declared else without_misconceptions(course)
    outcomes, by_operator, candidates = Counter(), Counter(), 0
    times: list[tuple[float, float]] = []
    lines: list[str] = []
    with start_worker("none") as worker:
        for submission in WRONG.values():
            if (chosen.units and submission.unit not in chosen.units) or chosen.only not in submission.id:
                continue
            calls: list[Call] = []
            with patch.object(judge, "find_mistakes", compared(calls, chosen.fast)):
                Grader(chosen.seed).grade(course.find(submission.exercise), submission.source.encode(), worker)
            for call in calls:
                times.append(call.seconds)
                candidates += call.candidates
                for name, (code, operators) in call.new.items():
                    allowed = submission.allowed(name)
                    if not allowed or not allowed <= NAMED:
                        continue
                    old = call.old[name][0]
                    kind = "allowed" if code in allowed else "unnamed" if code == "unknown" else "other"
                    outcomes[kind, old in allowed] += 1
                    by_operator[operators.partition(":")[0], kind] += 1
                    answer = f"{submission.id} | {name}: {code}, not {' or '.join(sorted(allowed))}"
                    if kind != "allowed" or chosen.fast:
                        lines.append(f"{kind:8}{answer} | {operators} | old {call.old[name]}")
    if chosen.lines:
        print("\n".join(sorted(lines)))
    for kind in ("allowed", "unnamed", "other"):
        both, new = outcomes[kind, True], outcomes[kind, False]
        print(f"{kind}: {both + new}, of these {both} that the old search names rightly")
    print("operators:", ", ".join(f"{name} {kind} {n}" for (name, kind), n in by_operator.most_common(60)))
    for i, engine in enumerate(("old", "new")):
        seconds = sorted(each[i] for each in times)
        if seconds:
            p95 = seconds[int(0.95 * (len(seconds) - 1))]
            print(f"{engine}: p50 {statistics.median(seconds):.3f} s, p95 {p95:.3f} s, worst {seconds[-1]:.2f} s")
    print(f"{candidates} candidates, {candidates / max(sum(each[1] for each in times), 1e-9):.0f} a second")


if __name__ == "__main__":
    main()

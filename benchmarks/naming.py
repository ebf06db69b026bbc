"""How many wrong submissions are named rightly: `python benchmarks/naming.py [--seed N] [--write] [UNIT ...]`.

Twice: as the course is, and with every declared misconception removed, so that only what is derived is left. With
`--write`, how often each operator is the mistake is kept for the search, which tries the likelier ones first.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from conftest import ROOT, SEED, TIME_LIMIT, with_policy
from corpus import NAMED, WRONG, Submission, without_misconceptions
from grader.diagnosis.candidates import COUNTS_FILE

from grader.course import Course, load_course
from grader.judging import judge
from grader.judging.grading import Grader
from grader.sandbox.worker import Worker, start_worker


@dataclass
class Tally:
    """What became of one unit's wrong answers that deserve a name.

    Args:
        right: how many got a code that is expected of them.
        unnamed: how many got `unknown`.
        misnamed: the others, one line each.
        seconds: CPU time of each search for a name.
        operators: how often each operator was the mistake.
    """

    right: int = 0
    unnamed: list[str] = field(default_factory=list)
    misnamed: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    operators: Counter[str] = field(default_factory=Counter)

    @property
    def answers(self) -> int:
        return self.right + len(self.unnamed) + len(self.misnamed)


def deserved(submission: Submission, answer: str) -> frozenset[str]:
    """The codes that an answer may get; none where it passes, or where its mistake has no name."""
    allowed = submission.allowed(answer)
    return allowed if allowed <= NAMED else frozenset()


def tallies(course: Course, seed: int, submissions: Sequence[Submission], worker: Worker) -> dict[str, Tally]:
    """One tally for each unit, each submission graded as if it were the only one."""
    found: dict[str, Tally] = defaultdict(Tally)
    for submission in submissions:
        tally = found[submission.unit]
        with patch.object(judge, "find_mistakes", timed(judge.find_mistakes, tally.seconds)):
            result = Grader(seed).grade(course.find(submission.exercise), submission.source.encode(), worker)
        for answer in result.answers:
            allowed = deserved(submission, answer.name)
            if not allowed:
                continue
            line = f"{submission.id} | {answer.name}: {answer.code}, not {' or '.join(sorted(allowed))}"
            tally.right += answer.code in allowed
            if answer.code in allowed and answer.mistake:
                tally.operators.update(edit["operator"] for edit in answer.mistake["edits"])
            if answer.code not in allowed:
                (tally.unnamed if answer.code == "unknown" else tally.misnamed).append(line)
    return found


def timed(function, seconds: list[float]):
    """The function, with the CPU time of each call noted."""

    def call(*args, **kwargs):
        started = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            seconds.append(time.process_time() - started)

    return call


def table(declared: Mapping[str, Tally], bare: Mapping[str, Tally]) -> str:
    """One line for each unit, in Markdown."""
    lines = [
        "| unit | wrong answers | named rightly | without declared misconceptions | of these unnamed | misnamed "
        "| CPU per search, median and most |",
        "|---|---|---|---|---|---|---|",
    ]
    for unit in sorted(bare):
        one, two = declared[unit], bare[unit]
        shares = " | ".join(f"{tally.right / max(tally.answers, 1):.1%}" for tally in (one, two))
        times = f"{1e3 * statistics.median(two.seconds):.0f} ms, {1e3 * max(two.seconds):.0f} ms"
        lines.append(f"| {unit} | {two.answers} | {shares} | {len(two.unnamed)} | {len(two.misnamed)} | {times} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("units", nargs="*", metavar="UNIT", help="such as 05_activations; by default all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--write", action="store_true", help="keep how often each operator is the mistake")
    options = parser.parse_args()
    if options.write and options.units:
        parser.error("--write counts the whole course: leave the units out")
    wrong = [submission for submission in WRONG.values() if not options.units or submission.unit in options.units]
    course = with_policy(load_course(ROOT), time_limit=TIME_LIMIT)
    with start_worker("none") as worker:
        declared = tallies(course, options.seed, wrong, worker)
        bare = tallies(without_misconceptions(course), options.seed, wrong, worker)
    if options.write:
        counts = sum((tally.operators for tally in bare.values()), Counter[str]())
        likeliest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        COUNTS_FILE.write_text(json.dumps(dict(likeliest), indent=1) + "\n", encoding="utf-8")
    for title, found in (("as the course is", declared), ("without declared misconceptions", bare)):
        lines = [line for unit in sorted(found) for line in (*found[unit].unnamed, *found[unit].misnamed)]
        print(f"{title}, not named rightly:", *lines or ["none"], sep="\n  ")
    print(table(declared, bare))


if __name__ == "__main__":
    main()

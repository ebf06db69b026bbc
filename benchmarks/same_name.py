"""Is a wrong answer told the same whatever the seed? `python benchmarks/same_name.py [--seeds 20] [--answers 200]`.

Submissions of the corpus are drawn at random and graded with many seeds. Printed is every wrong answer that gets
another code, or another operator, with another seed, and how many these are.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from unittest.mock import patch

import dev_environment  # noqa: F401
import helpers.environment  # noqa: F401  one thread, as in the tests
from helpers.corpus import NAMED, WRONG
from helpers.courses import ROOT, TIME_LIMIT, with_policy

from grader.course.course import load_course
from grader.diagnosis.diagnose import find_mistakes
from grader.judging import judge
from grader.judging.grading import Grader
from grader.sandbox.worker import start_worker


def main() -> None:
    """Grade the drawn submissions with every seed, and print which names differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--draw", type=int, default=0, help="the seed of the choice of submissions")
    chosen = parser.parse_args()
    course, named = with_policy(load_course(ROOT), time_limit=TIME_LIMIT), Counter[tuple[str, str, str, str]]()
    submissions = list(WRONG.values())
    random.Random(chosen.draw).shuffle(submissions)
    count = 0
    with start_worker("none") as worker:
        for submission in submissions:
            wrong = [name for name, codes in submission.expected.items() if codes and codes <= NAMED]
            if not wrong or count >= chosen.answers:
                continue
            count += len(wrong)
            for seed in range(chosen.seeds):
                mistakes = {}

                def keep(*arguments, mistakes=mistakes):
                    mistakes |= find_mistakes(*arguments)
                    return mistakes

                with patch.object(judge, "find_mistakes", keep):
                    Grader(seed).grade(course.find(submission.exercise), submission.source.encode(), worker)
                for name, mistake in mistakes.items():
                    operators = " + ".join(fact.operator for fact in mistake.facts)
                    named[submission.id, name, mistake.code, operators] += 1
    answers = {(submission, name) for submission, name, _, _ in named}
    codes = Counter((submission, name) for submission, name, _ in {key[:3] for key in named})
    operators = Counter((submission, name) for submission, name, _, _ in named)
    for submission, name in sorted(each for each in answers if operators[each] > 1):
        told = {key[2:]: times for key, times in named.items() if key[:2] == (submission, name)}
        print(f"{submission} | {name}: " + ", ".join(f"{code} ({op}) {n} x" for (code, op), n in told.items()))
    print(f"{len(answers)} answers, {chosen.seeds} seeds: "
          f"{sum(n > 1 for n in codes.values())} with another code, {sum(n > 1 for n in operators.values())} with "
          "another operator in some seed")  # fmt: skip


if __name__ == "__main__":
    main()

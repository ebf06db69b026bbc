"""Grade right answers under many seeds, and print each that is flagged, fails or ends in an error.

Run `python benchmarks/right_answers.py --seeds 40` for 20,000 gradings, with `--busy 6` beside six loops that do
nothing but take processor time, and with `--part 1/2` and `--part 2/2` at once on two cores. The exit code is 0 where
nothing is printed but the totals, otherwise 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import dev_environment  # noqa: F401
import helpers.environment  # noqa: F401  one thread, as in the tests
from helpers.courses import ROOT
from helpers.right_answers import deviations, right_answers

from grader.course.course import load_course
from grader.sandbox.worker import start_worker

BUSY_LOOP = "while True: pass"


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Take the processors' time with this many processes."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> int:
    """Grade as the options say, and print what was not simply passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40, help="how many seeds (40)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--busy", type=int, default=0, help="how many busy loops beside (0)")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="only the K-th of N parts of the answers")
    parser.add_argument("--named", default="", help="only answers whose name contains this")
    parser.add_argument("--isolation", default="none", choices=["none", "seccomp", "kernel", "box"])
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    everything = right_answers(load_course(ROOT))
    answers = {name: answer for name, answer in everything.items() if options.named in name}
    answers = dict(list(answers.items())[part - 1 :: parts])
    deviating, began = 0, time.monotonic()
    with ExitStack() as stack:
        worker = stack.enter_context(start_worker(options.isolation))
        stack.enter_context(busy_loops(options.busy))
        for seed in range(options.first, options.first + options.seeds):
            for deviation in deviations(answers, [seed], worker):
                deviating += 1
                print(deviation, flush=True)
            done, seconds = (seed - options.first + 1) * len(answers), time.monotonic() - began
            print(f"{done} gradings, {deviating} deviations, {seconds:.0f} s", file=sys.stderr, flush=True)
    print(f"{len(answers)} right answers, {options.seeds * len(answers)} gradings: {deviating} were not simply passed")
    return 1 if deviating else 0


if __name__ == "__main__":
    sys.exit(main())

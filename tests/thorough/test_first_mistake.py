"""The first mistake that a process names comes as fast as any other."""

from __future__ import annotations

import subprocess
import sys

from grader.authoring.build import worked_text
from grader.course.course import Course

SCRIPT = """
import sys
from pathlib import Path
from grader.course.course import load_course
from grader.judging import new_grader
from grader.sandbox.worker import start_worker

with start_worker("none") as worker:
    result = new_grader(1).grade(load_course(Path(sys.argv[1])).find("lin_grad"), sys.stdin.buffer.read(), worker)
print(*(answer.code for answer in result.answers), "sympy" in sys.modules)
"""


def test_naming_a_mistake_imports_no_compiler(course: Course) -> None:
    """With it, and sympy, torch takes a third of a second once an upstream gradient is handed to it."""
    wrong = worked_text(course.find("lin_grad")).replace("out.g.sum(0)", "out.g.mean(0)")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(course.root)], input=wrong, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", "None", "mean-for-sum", "False"]

"""A fork is cheap: it leaves no garbage behind that Python would have to collect."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

from grader.child import linux_calls


def forks_leave_no_garbage() -> None:
    """Check it by counting: a warm process never collects garbage, and each of its children would have to."""
    gc.collect()
    gc.disable()
    before = gc.get_count()[0]
    for _ in range(20):
        pid = linux_calls.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    assert gc.get_count()[0] - before < 20


def test_forks_leave_no_garbage() -> None:
    """This runs in a process of one thread, like a warm process, as the fork takes no care of others."""
    code = f"from {Path(__file__).stem} import forks_leave_no_garbage as claim; claim()"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, check=True)

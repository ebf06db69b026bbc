"""What makes a fork cheap: it leaves nothing behind that would have to be collected."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

from grader.child import linux_calls


def forks_leave_no_garbage() -> None:
    """A warm process never collects any, and each of its children would have to."""
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
    """In a process of one thread, as a warm process is: this fork knows of no other."""
    code = f"from {Path(__file__).stem} import forks_leave_no_garbage as claim; claim()"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, check=True)

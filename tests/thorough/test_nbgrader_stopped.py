"""`nbgrader autograde` stopped in the middle of a submission."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from helpers.nbgrader_class import UNIT, answered, environment, hand_in, released, released_folder


def test_stopped_by_ctrl_c_it_says_so_in_one_sentence(tmp_path: Path):
    folder = released_folder(tmp_path)
    hand_in(folder, "loops", answered(released(folder), lin_grad="while True: pass"))
    command = [sys.executable, "-m", "nbgrader", "autograde", UNIT, "--student=loops"]
    with subprocess.Popen(command, cwd=folder, env=environment(folder), stderr=subprocess.PIPE, text=True) as running:
        said = ""
        while "Autograding" not in said:
            said += running.stderr.readline()  # type: ignore[union-attr]
        running.send_signal(signal.SIGINT)
        said += running.communicate(timeout=300)[1]
    assert running.returncode not in (0, 1)
    assert said.endswith("Stopped. What was finished is kept; the same command goes on.\n")
    assert "Traceback" not in said
    assert not (folder / "autograded" / "loops" / UNIT).exists()

"""Longer sittings with `handgrad` alone in a real terminal: a quiz, a window of another size, a suspended program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import ROOT
from test_watch import CENTRAL, LEGEND, RIGHT, SLOPE, Terminal, folder, save, terminal


def test_a_units_quiz_is_taken_in_between(terminal: Terminal, folder: Path) -> None:
    """After the exercises comes the quiz: one key leads there, and Enter back to what was answered."""
    for done, name in enumerate(("central_difference", "numerical_grad", "numerical_vjp", "slope"), 1):
        shutil.copyfile(ROOT / f"solutions/01_slopes/{name}.py", folder / f"exercises/01_slopes/{name}.py")
        terminal.wait_for(f"{name}.py", "Solved.", f"{done} of 5")
    terminal.wait_for("next: t, the quiz of this unit", LEGEND)
    terminal.press("n")
    terminal.wait_for("exercises/01_slopes/quiz.yaml  not answered yet", "t: answer it here", LEGEND)
    terminal.press("t")
    terminal.wait_for("1 of 12  falls_by_4", "answer>")
    terminal.press("about_4h", "Enter")
    terminal.wait_for("Right.", "2 of 12  how_far")
    terminal.press("40", "Enter")
    terminal.wait_for("Not yet.", "3 of 12")
    terminal.press("C-c")
    terminal.wait_for("1 of 12", "go on: handgrad quiz 01_slopes", "Enter: back to the exercises")
    terminal.press("Enter")
    terminal.wait_for("falls_by_4  ok", "40 is not it", "t: answer it here", LEGEND)
    assert "how_far: 40" in (folder / "exercises/01_slopes/quiz.yaml").read_text()
    terminal.press("t")
    terminal.wait_for("1 of 12 are right already", "It was not right: 40")
    terminal.press("q", "Enter")
    terminal.wait_for("Enter: back to the exercises")
    terminal.press("Enter")
    terminal.wait_for("40 is not it", LEGEND)
    terminal.press("q")
    assert "Traceback" not in terminal.wait_for("ended with 0")


def test_files_come_and_go_and_the_window_changes(terminal: Terminal, folder: Path) -> None:
    """A deleted file, one that is no Python, a stray file, a narrow window: always a verdict, never a traceback."""
    (folder / SLOPE).unlink()
    assert "Read the lesson" not in terminal.wait_for("is not there", "handgrad reset slope")
    (folder / "exercises/01_slopes/notes.txt").write_text("mine")
    (folder / SLOPE).write_text("def slope(f, x, h:\n")
    terminal.wait_for("Python cannot read the file", "line 1")
    terminal.resize(50, 20)
    terminal.wait_for("Python cannot read", LEGEND[0])
    save(folder / SLOPE, RIGHT)
    terminal.wait_for("Solved.")
    terminal.press("C-c")
    screen = terminal.wait_for("ended with 0")
    assert "Traceback" not in screen


def test_it_goes_on_after_it_was_suspended(terminal: Terminal, folder: Path) -> None:
    """As by a laptop's sleep or Ctrl-Z: what was saved meanwhile is checked, and keys are heard again."""
    (worker,) = [
        int(pid)
        for pid in subprocess.run(
            ["pgrep", "-f", f"^{sys.executable} -m grader$"], capture_output=True, text=True, check=True
        ).stdout.split()
        if os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(folder)
    ]
    subprocess.run(["kill", "-STOP", str(worker)], check=True)
    save(folder / SLOPE, RIGHT)
    subprocess.run(["kill", "-CONT", str(worker)], check=True)
    terminal.wait_for("Solved.")
    terminal.press("n")
    terminal.wait_for(CENTRAL)


def test_progress_is_remembered_and_a_broken_state_is_set_aside(folder: Path) -> None:
    state = folder / ".handgrad/progress.json"
    state.parent.mkdir()
    state.write_text("{nonsense")
    first = Terminal(folder)
    try:
        first.wait_for(SLOPE, "progress.broken.json")
        save(folder / SLOPE, RIGHT)
        first.wait_for("Solved.")
        first.press("q")
        first.wait_for("ended with 0")
    finally:
        first.close()
    assert json.loads(state.read_text())["exercises"]["slope"]["result"]["status"] == "passed"
    second = Terminal(folder)
    try:
        second.wait_for(CENTRAL, "1 of 5  quiz 0 of 12")
    finally:
        second.close()

"""Whole sittings with `handgrad` alone in a real terminal: a quiz, a window of another size, a suspended program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.courses import ROOT
from test_watch import (
    CENTRAL,
    COMMAND,
    ENDLESS,
    HANDGRAD,
    LEGEND,
    RIGHT,
    SLOPE,
    WRONG,
    Terminal,
    folder,
    give_time,
    save,
    terminal,
)

pytestmark = pytest.mark.needs("tmux")

LINEAR = "exercises/04_linear/lin_grad.py"
ALL_WRONG = """\
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t() * 2
    w.g = inp.t() @ out.g / len(inp)
    b.g = -out.g.sum(0)
"""


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
    terminal.wait_for("falls_by_4  ok", "`40` is not it", "t: answer it here", LEGEND)
    assert "how_far: 40" in (folder / "exercises/01_slopes/quiz.yaml").read_text()
    terminal.press("t")
    terminal.wait_for("1 of 12 are right already", "It was not right: 40")
    terminal.press("q", "Enter")
    terminal.wait_for("Enter: back to the exercises")
    terminal.press("Enter")
    terminal.wait_for("`40` is not it", LEGEND)
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
            ["pgrep", "-f", f"^{sys.executable} -m handgrad$"], capture_output=True, text=True, check=True
        ).stdout.split()
        if os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(folder)
    ]
    subprocess.run(["kill", "-STOP", str(worker)], check=True)
    save(folder / SLOPE, RIGHT)
    subprocess.run(["kill", "-CONT", str(worker)], check=True)
    terminal.wait_for("Solved.")
    terminal.press("n")
    terminal.wait_for(CENTRAL)


@pytest.mark.parametrize("size", [(100, 40), (80, 24), (60, 20)])
def test_a_day_in_a_window_of_each_size(folder: Path, size: tuple[int, int]) -> None:
    """An endless loop, suspended by a shell and resumed, deleted and made again, resized: the first line is there."""
    give_time(folder)
    terminal = Terminal(folder, size, "bash --norc --noprofile -i", PS1="ready$ ")
    try:
        terminal.wait_for("ready$")
        terminal.press(HANDGRAD, "Enter")
        terminal.wait_for(SLOPE, "not attempted yet", LEGEND)
        save(folder / SLOPE, ENDLESS)
        terminal.wait_for("is being checked")
        terminal.press("C-z")
        terminal.wait_for("Stopped")
        terminal.press(*"echo se", *"en", "Enter")
        terminal.wait_for("\nseen\n")
        save(folder / SLOPE, WRONG)
        terminal.press(*"bg", "Enter")  # where it may not touch the terminal
        terminal.wait_for("bg\n")
        terminal.press("until jobs -s | grep -q .; do sleep 0.1; done; echo stopped", "Enter")
        terminal.wait_for("\nstopped\n")  # a job that bash takes to be running is not continued by `fg`
        terminal.press(*"fg", "Enter")
        terminal.wait_for(SLOPE, "hint 1/3", LEGEND)
        terminal.press("h")
        terminal.wait_for("hint 2/3", "Enter back")
        (folder / SLOPE).unlink()
        terminal.wait_for("is not there", "handgrad reset slope")
        save(folder / SLOPE, RIGHT + "print('again')\n")
        terminal.wait_for("Solved.", "| again")
        terminal.press("g", *"lin_grad", "Enter")
        terminal.wait_for("exercises/04_linear/lin_grad.py", "not attempted yet")
        save(folder / LINEAR, ALL_WRONG)
        screen = terminal.wait_for("exercises/04_linear/lin_grad.py ", "out = inp @ w + b", "hint 1/3", LEGEND)
        assert screen.startswith("exercises/04_linear/lin_grad.py ")
        terminal.press("p")
        screen = terminal.wait_for("exercises/04_linear/lin_grad.py\n", "inp.g  ", "yours", "q close the picture")
        assert screen.startswith("exercises/04_linear/lin_grad.py\n")
        while "more below" in screen:
            last = screen
            terminal.press("Space")
            terminal.wait_for("more above", "q close the picture")
            screen = terminal.wait_until_not(last)
        assert "forward pass" in screen
        terminal.resize(50, 16)
        terminal.wait_for("-- lines", "q close the picture")
        terminal.press("Enter")
        assert terminal.wait_for("-- lines 1-", LEGEND).startswith("exercises/04_linear/lin_grad.py")
        terminal.press("q")
        terminal.wait_for("ready$")
        terminal.press(*"stty -a", "Enter")
        terminal.wait_for(" icanon", " echo ")
    finally:
        terminal.close()


def test_where_nobody_could_resume_it_it_goes_on(terminal: Terminal, folder: Path) -> None:
    """A shell without job control: Ctrl-Z stops nothing, and keys are heard."""
    terminal.press("C-z", "n")
    terminal.wait_for(CENTRAL, LEGEND)
    terminal.press("q")
    terminal.wait_for("ended with 0")


@pytest.mark.parametrize("how", ["--plain", "ACCESSIBLE=1", "TERM=dumb"])
def test_in_plain_mode_everything_is_text_and_nothing_is_drawn_over(folder: Path, how: str) -> None:
    command = {"--plain": f"{HANDGRAD} --plain"}.get(how, f"{how} {HANDGRAD}")
    terminal = Terminal(folder, (80, 200), COMMAND.replace(HANDGRAD, command))
    try:
        terminal.wait_for(SLOPE, "not attempted yet", "Type a letter, and Enter.", "quiz 0 of 12 questions")
        save(folder / SLOPE, WRONG)
        terminal.wait_for("hint 1/3")
        terminal.press("?", "Enter")
        terminal.wait_for("h hint", LEGEND)
        terminal.press("p", "Enter")
        terminal.wait_for("return: yours is", "too ")
        terminal.press(*"g 4", "Enter")
        terminal.wait_for("exercises/04_linear/lin_grad.py", "Read the lesson")
        save(folder / LINEAR, ALL_WRONG)
        terminal.wait_for("hint 1/3", "04_linear: 0 of 20 answers")
        terminal.press("p", "Enter")
        terminal.wait_for("The furthest off first:", "w.g[", "Step 1: @ of inp and w", "Step 2, out: + of step 1 and b")
        terminal.press("t", "Enter")
        terminal.wait_for("1 of 19", "answer>")
        terminal.press("q", "Enter")
        terminal.wait_for("Enter: back to the exercises")
        terminal.press("Enter")
        terminal.wait_for("exercises/04_linear/lin_grad.py")
        terminal.press("q", "Enter")
        screen = terminal.wait_for("ended with 0")
        assert "##.." not in screen
        assert "Traceback" not in screen
        assert "1. Leave this terminal open" in screen, "what was said first is still there"
    finally:
        terminal.close()


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


def test_keys_and_saves_are_heard_while_an_endless_loop_is_checked(folder: Path) -> None:
    """In a small window: the newer save ends the check, Ctrl-C does, and what is printed is seen."""
    give_time(folder)
    terminal = Terminal(folder, (60, 20))
    try:
        terminal.wait_for(SLOPE, "not attempted yet", LEGEND)
        save(folder / SLOPE, RIGHT)
        terminal.wait_for("Solved.", LEGEND)
        save(folder / SLOPE, ENDLESS)
        assert "Solved." not in terminal.wait_for(f"{SLOPE}  is being checked ...", "Ctrl-C: end it", LEGEND)
        terminal.press("n")
        terminal.wait_for(CENTRAL, f"checking {SLOPE}")
        terminal.press("b")
        terminal.wait_for("is being checked")
        terminal.press("h")
        terminal.wait_for("is not checked yet")
        save(folder / SLOPE, WRONG + "print('seen', 6 * 7)\n")
        terminal.wait_for("hint 1/3", "your code printed:", "| seen 42", LEGEND)
        save(folder / SLOPE, ENDLESS)
        terminal.wait_for("is being checked")
        terminal.press("C-c")
        terminal.wait_for("is not checked; Enter checks", "The check was ended.", LEGEND)
        terminal.press("Enter")
        terminal.wait_for("is being checked")
        terminal.press("C-c")
        terminal.wait_for("The check was ended.")
        terminal.press("C-c")
        terminal.wait_for("ended with 0")
    finally:
        terminal.close()


def test_one_goes_to_an_exercise_by_name_and_reads_the_lesson(terminal: Terminal) -> None:
    terminal.press("b")
    terminal.wait_for("This is the first exercise.")
    terminal.press("g")
    terminal.wait_for("Go to which exercise or unit?")
    terminal.press(*"lin_gradd", "BSpace", "BSpace", "Enter")
    terminal.wait_for("mean lin_grad?")
    terminal.press("g", *"lin_grad", "Enter")
    terminal.wait_for("exercises/04_linear/lin_grad.py", "not attempted yet")
    terminal.press("b")
    terminal.wait_for("exercises/03_one_example/quiz.yaml")
    terminal.press("o")
    terminal.wait_for("3. One example through a layer", "-- lines 1-", "Space: more below", "w lesson in the browser")
    terminal.press("Space")
    terminal.wait_for("u: more above")
    terminal.press("Enter")
    terminal.wait_for("exercises/03_one_example/quiz.yaml", "not answered yet")
    terminal.press("g", *"1", "Enter")
    terminal.wait_for(SLOPE)

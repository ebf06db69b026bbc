"""`handgrad` alone, in a real terminal: what a learner sees after each save and each key; and its prompts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.courses import ROOT

from grader.course.course import Course
from grader.learner.watch import Prompt
from grader.learner.watch_terminal import BACKSPACE, ENTER, ESCAPE, UP

PATIENCE = 180.0
SLOPE, CENTRAL = "exercises/01_slopes/slope.py", "exercises/01_slopes/central_difference.py"
RIGHT = (ROOT / "solutions/01_slopes/slope.py").read_text()
WRONG = RIGHT.replace("- f(x)", "+ f(x)")
ENDLESS = "def slope(f, x, h):\n    while True:\n        pass\n"
LEGEND = "q quit"
HANDGRAD = f"{sys.executable} -m handgrad"
COMMAND = f"trap : INT; {HANDGRAD}; echo ended with $?; sleep 1000"


class Terminal:
    """A tmux session of its own, with a command running in it."""

    def __init__(
        self, folder: Path, size: tuple[int, int] = (80, 30), command: str = COMMAND, **environment: str
    ) -> None:
        self.socket = f"handgrad-{uuid.uuid4().hex[:8]}"
        for_all = {"TERM": "screen-256color", "PYTHONPATH": str(ROOT), "SHELL": "/bin/sh"}
        ours = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        environment = {**ours, **for_all, **environment}
        width, height = map(str, size)
        words = ["new-session", "-d", "-x", width, "-y", height, "-c", str(folder), command]
        subprocess.run(["tmux", "-L", self.socket, *words], check=True, env=environment)

    def _tmux(self, *words: str) -> str:
        return subprocess.run(["tmux", "-L", self.socket, *words], check=True, capture_output=True, text=True).stdout

    def screen(self) -> str:
        """What can be read now."""
        return self._tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        """Type keys, by tmux's names for them."""
        self._tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        """Make the window another size."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def wait_for(self, *texts: str) -> str:
        """The screen as soon as it shows all of these texts."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            screen = self.screen()
            if all(text in screen for text in texts):
                return screen
            time.sleep(0.05)
        raise AssertionError(f"never saw {texts} but:\n{self.screen()}")

    def wait_until_gone(self, text: str) -> None:
        """Until the screen does not show this text any more."""
        deadline = time.monotonic() + PATIENCE
        while text in self.screen():
            assert time.monotonic() < deadline, f"still there: {text}"
            time.sleep(0.05)

    def wait_until_not(self, screen: str) -> str:
        """The first screen that is another one."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.screen()) == screen:
            assert time.monotonic() < deadline, f"nothing ever changed in:\n{screen}"
            time.sleep(0.05)
        return found

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self.socket, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path, new_workspace: Callable[..., Course]) -> Path:
    """A learner's new folder."""
    return new_workspace(tmp_path / "course", before="08_shapes").root


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    started = Terminal(folder)
    try:
        started.wait_for(SLOPE, "not attempted yet", LEGEND)
        yield started
    finally:
        started.close()


def save(path: Path, text: str) -> None:
    """As most editors do it: a temporary file beside it, renamed."""
    beside = path.with_name(f".{path.name}.swp~")
    beside.write_text(text)
    os.replace(beside, path)


@pytest.mark.slow
@pytest.mark.needs("tmux")
def test_a_sitting(terminal: Terminal, folder: Path) -> None:
    """Read what to do, edit, see the verdict, hint, back, picture, solve, compare, next, list, reset, quit."""
    terminal.wait_for("open this folder in your editor", "2. Read the lesson: exercises/01_slopes/README.md")
    terminal.wait_for(f"3. Open {SLOPE}", "4. Save the file")
    save(folder / SLOPE, WRONG)
    assert "Enter back" not in terminal.wait_for(SLOPE, "hint 1/3", "next hint: h", LEGEND)
    terminal.press("h")
    terminal.wait_for("hint 2/3", "next hint: h", "Enter back")
    terminal.press("Enter")
    terminal.wait_for("0 of 5  quiz 0 of 12", "hint 2/3")
    terminal.press("p")
    terminal.wait_for("yours - right", "right", "  return\n", "q close the picture")
    terminal.press("q")
    terminal.wait_for("0 of 5  quiz 0 of 12", "hint 2/3", LEGEND)
    terminal.press("p")
    terminal.wait_for("yours - right", "q close the picture")
    save(folder / SLOPE, RIGHT.replace("f(x + h)", "f(h + x)"))
    terminal.wait_for("Solved.", "1 of 5  quiz 0 of 12", "whole course", f"next: n, {CENTRAL}")
    terminal.press("s")
    if "more below" in terminal.wait_for("+ the worked solution"):  # that depends on how long the folder's name is
        terminal.press("Space")
    terminal.wait_for("f(h + x)", "f(x + h)")
    terminal.press("n")
    terminal.wait_for(CENTRAL, "not attempted yet")
    terminal.press("s")
    terminal.wait_for("does not pass yet")
    terminal.press("l")
    terminal.wait_for("1 of 5  quiz 0 of 12", "07_network", "1/1", "pick_h", LEGEND)
    terminal.press("n")
    save(folder / SLOPE, WRONG)
    terminal.wait_for(SLOPE, "hint 1/3")
    terminal.press("r")
    terminal.wait_for("y/n")
    terminal.press("x")
    terminal.wait_until_gone("y/n")
    assert (folder / SLOPE).read_text() == WRONG
    terminal.press("r")
    terminal.wait_for("y/n")
    terminal.press("y")
    terminal.wait_for("not attempted yet", ".handgrad/backups/01_slopes/slope-1.py")
    assert (folder / ".handgrad/backups/01_slopes/slope-1.py").read_text() == WRONG
    terminal.press("q")
    terminal.wait_for("ended with 0")


def give_time(folder: Path) -> None:
    """So much that no check which is to be ended ends by itself."""
    course = folder / "course.yaml"
    course.write_text(course.read_text().replace("time_limit: 10 ", "time_limit: 600 "))


@pytest.mark.slow
def test_without_a_terminal_it_says_what_to_use(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "handgrad"], cwd=folder, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 2
    assert "handgrad check" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.needs("tmux")
def test_a_course_without_exercises_is_one_sentence(folder: Path) -> None:
    shutil.rmtree(folder / "exercises")
    terminal = Terminal(folder, (200, 30))  # the path is long: nothing is to be wrapped
    try:
        assert "Traceback" not in terminal.wait_for("has no exercises/ folder", "ended with 2")
    finally:
        terminal.close()


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["l", "i", "n", BACKSPACE, "x", UP, ENTER], "lix"),
        ([ENTER], ""),
        (["l", ESCAPE], ""),
        ([BACKSPACE, "a", ENTER], "a"),
    ],
)
def test_a_word_is_typed_until_enter_or_left(keys: list[str], answer: str) -> None:
    prompt = Prompt("Where?", lambda _: None, is_word=True)
    assert [prompt.press(key, whole_lines=False) for key in keys] == [False] * (len(keys) - 1) + [True]
    assert prompt.typed == answer


def test_one_key_is_an_answer_and_so_is_a_line() -> None:
    prompt = Prompt("Sure?", lambda _: None)
    assert prompt.press("y", whole_lines=False)
    assert prompt.typed == "y"
    prompt = Prompt("Where?", lambda _: None, is_word=True)
    assert prompt.press("lin_grad", whole_lines=True)
    assert prompt.typed == "lin_grad"

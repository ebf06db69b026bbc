"""Taking a quiz in the terminal: asked one question at a time, saved at once, left at any time and taken up again."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_cli import HANDGRAD

from grader.cli import main as cli
from grader.course.course import Course
from grader.learner import workspace
from grader.learner.progress import Progress
from grader.learner.quiz_session import LETTERS, QuizSession
from grader.quiz.answer_sheet import decode_sheet, read_sheet, right_answer
from grader.results.records import exit_code

UNIT = "01_slopes"
ID = f"quiz_{UNIT}"
Take = Callable[..., tuple[int, str]]


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    """A workspace whose first quiz is variant 0."""
    course = new_workspace(tmp_path / "ws", before="05_activations")
    workspace.reset(course.find(ID), 0)
    return course


@pytest.fixture
def taking(course: Course) -> QuizSession:
    return QuizSession(course.find(ID), 0)


@pytest.fixture
def take(course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Take:
    """`take("b", "hint")`: the exit code and what is shown when these lines are typed."""
    monkeypatch.chdir(course.root)
    monkeypatch.setenv("NO_COLOR", "1")

    def taken(*lines: str, unit: str = UNIT, columns: int = 80, options: tuple[str, ...] = ()) -> tuple[int, str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        monkeypatch.setattr(sys, "argv", ["handgrad", "quiz", *([unit] if unit else []), *options])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        shown, errors = capsys.readouterr()
        return int(ended.value.code or 0), shown + errors

    return taken


def answers(course: Course, name: str = ID) -> dict[str, str]:
    """What the sheet holds."""
    exercise = course.find(name)
    return dict(read_sheet(decode_sheet(exercise.path.read_bytes()), exercise.quiz).answers)


def letter(taking: QuizSession, name: str, label: str) -> str:
    """The letter of a choice."""
    by_letter = taking.choices_by_letter(name, taking.question(name))  # type: ignore[arg-type]
    return next(letter for letter, word in by_letter.items() if word == label)


def right(taking: QuizSession) -> list[str]:
    """A right answer to every question that is still open."""
    return [right_answer(taking.question(name)) for name in taking.open()]


def test_a_wrong_answer_is_explained_saved_and_asked_again_later(
    take: Take, course: Course, taking: QuizSession
) -> None:
    code, shown = take(letter(taking, "falls_by_4", "by_4"))
    assert code == 1
    assert "1 of 12  falls_by_4" in shown
    assert f"answer> Not yet. {letter(taking, 'falls_by_4', 'by_4')}: A slope is a rate" in shown
    assert "2 of 12  how_far" in shown, "the next question follows"
    assert "go on: handgrad quiz 01_slopes" in shown
    assert answers(course) == {"falls_by_4": "by_4"}
    assert "1 of 12  falls_by_4" in take()[1], "and is asked again"


def test_a_right_answer_says_why_and_is_not_asked_again(take: Take, course: Course) -> None:
    code, shown = take("", "0.004")
    assert code == 1
    assert "Right. Rate times step, 4 times 0.001." in shown
    assert answers(course) == {"how_far": "0.004"}
    code, shown = take("", "")
    assert "1 of 12 are right already." in shown
    assert "how_far" not in shown
    assert "quiz 01_slopes  #.............  1 of 12" in shown


def test_all_right_in_one_go(take: Take, course: Course, taking: QuizSession) -> None:
    code, shown = take(*right(taking))
    assert code == 0
    assert shown.count("Right. ") == 12
    assert "All of them are right.\nnext: exercises/01_slopes/slope.py" in shown
    progress = Progress.load(course.root)
    result = progress.result(course.find(ID))
    assert result is not None
    assert exit_code([result]) == 0
    assert take()[0] == 0, "and taken up again there is nothing to ask"


def test_hints_come_one_at_a_time_and_end_at_the_lesson(take: Take) -> None:
    code, shown = take("h", "HINT", "hint", "q")
    assert code == 1
    assert shown.count("hint 1/2: Let x rise from 3 to 3.001") == 1
    assert shown.count("hint 2/2: A slope is a ratio.") == 1
    assert "No more hints; the lesson: exercises/01_slopes/README.md" in shown
    assert "2 of 12" not in shown, "and the question stays"


def test_what_cannot_be_read_is_said_and_asked_again_at_once(take: Take, course: Course) -> None:
    code, shown = take("maybe", "", "quite a lot", "", "", "", "2x + y", "x.__class__", "h", "hint", "2*x + h", "q")
    assert code == 1
    assert "There is no choice `maybe`: choose from a, b, c, d. It does not count. Answer with a letter." in " ".join(
        shown.split()
    )
    assert "Write the number alone, with its sign" in shown
    assert "It does not count." in shown
    assert "There is no `y` here; there is x, h." in shown
    assert "`.__class__` is not allowed" in shown
    assert "It gives other values." in shown, "h is a variable there, and no command"
    assert answers(course) == {"forward_of_square": "h"}


def test_what_cannot_be_read_counts_as_no_mistake_and_uses_no_hint(take: Take, course: Course) -> None:
    exercise = course.find(ID)
    exercise.path.write_text("variant: 0\nhow_far: far, far away\ncalls: 1\n")
    take("q")
    progress = Progress.load(course.root)
    result = progress.result(exercise)
    assert result is not None
    found = {answer.name: answer for answer in result.answers}
    assert (found["how_far"].code, found["calls"].code) == ("not-read", "used-autograd")
    assert progress.met == {"used-autograd": {ID: 1}}
    assert found["how_far"].hints == ("Answer with a number.", *exercise.quiz.questions["how_far"].hints)


def test_a_wrong_choice_is_shown_with_its_letter_when_it_is_asked_again(take: Take, taking: QuizSession) -> None:
    picked = letter(taking, "falls_by_4", "by_4")
    assert f"Not yet. {picked}: A slope is a rate" in take(picked)[1]
    assert f"It was not right: {picked}\n" in take("q")[1]


def test_choices_are_named_by_letters_in_any_spelling(taking: QuizSession) -> None:
    other = QuizSession(taking.exercise.course.find("quiz_02_chain_rule"), 0)
    a, b = (letter(other, "true_of_backward", label) for label in ("adds", "scalar"))
    for typed in (
        f"{a} {b}",
        f"{a},{b}",
        f"{a}{b}",
        f"{a}, {b}.",
        f"{a.upper()}) {b})",
        f"{a} and {b}",
        f"both {a} & {b}",
        "adds scalar",
        f"adds, {b}",
    ):
        assert other.with_choice_names("true_of_backward", typed).split(", ") == ["adds", "scalar"]
    assert other.answer("true_of_backward", f"{a}{b}") is None
    assert other.answer("true_of_backward", a) is not None
    assert not set("hqs") & set(LETTERS)


def test_an_earlier_answer_that_could_not_be_read_is_not_called_wrong(take: Take, course: Course) -> None:
    course.find(ID).path.write_text("variant: 0\nfalls_by_4: something else\nhow_far: far away\n")
    shown = take("", "", "q")[1]
    assert "It could not be read: something else\n" in shown
    assert "It could not be read: far away\n" in shown
    assert "It was not right" not in shown


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_nothing_is_wider_than_the_terminal(take: Take, columns: int) -> None:
    _, shown = take(*[""] * 12, columns=columns)
    assert "12 of 12  put_back" in shown
    assert max(len(line) for line in shown.splitlines()) <= columns


def test_without_a_unit_the_first_open_quiz_is_taken(take: Take, course: Course, taking: QuizSession) -> None:
    assert "1 of 12  falls_by_4" in take("q", unit="")[1]
    take(*right(taking))
    assert "1 of 14  x_grad" in take("q", unit="")[1]


def test_a_unit_may_be_named_by_its_quiz_or_its_file(take: Take) -> None:
    assert "1 of 12  falls_by_4" in take("q", unit=ID)[1]
    assert "1 of 12  falls_by_4" in take("q", unit="exercises/01_slopes/quiz.yaml")[1]


def test_fresh_begins_again_with_other_numbers_and_keeps_the_old_sheet(take: Take, course: Course) -> None:
    take("", "0.004")
    _, shown = take("q", options=("--fresh",))
    assert "1 of 12  falls_by_4" in shown
    assert "The old one is kept in .handgrad/backups/01_slopes/quiz-2.yaml." in shown
    assert answers(course) == {}
    assert "how_far: 0.004" in (course.root / ".handgrad/backups/01_slopes/quiz-2.yaml").read_text()


def test_a_sheet_edited_meanwhile_keeps_what_was_edited(course: Course, taking: QuizSession) -> None:
    path = course.find(ID).path
    path.write_text(path.read_text().replace("calls: null", "calls: 78400   # by hand\n# a remark"))
    taking.answer("how_far", "0.004")
    assert answers(course) == {"how_far": "0.004", "calls": "78400"}
    assert "calls: 78400   # by hand\n# a remark\n" in path.read_text()


def test_a_missing_sheet_is_made_anew(take: Take, course: Course) -> None:
    course.find(ID).path.unlink()
    assert take("q")[0] == 1
    assert answers(course) == {}


def test_a_quiz_without_keys_for_its_predictions_needs_no_torch(course: Course) -> None:
    script = (
        "import sys; from grader.cli.main import main\ntry: main()\nexcept SystemExit: print('torch' in sys.modules)\n"
    )
    command = [sys.executable, "-c", script, "quiz", "02_chain_rule"]
    done = subprocess.run(command, cwd=course.root, input="4.5\n", capture_output=True, text=True, timeout=300)
    assert "Right. " in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize(
    ("unit", "text", "says"),
    [
        ("03_one_example", None, "03_one_example has no quiz. Units with one: 01_slopes, 02_chain_rule, 04_linear"),
        ("01_slope", None, "Did you mean 01_slopes?"),
        (UNIT, "variant: 0\nhow_far: [", "exercises/01_slopes/quiz.yaml, line 2: this is not valid YAML"),
        (UNIT, "how_far: 4", "the line `variant: N` is missing"),
        (UNIT, "variant: 0\nhow_far: 1\nhow_far: 2", "line 3: how_far is there a second time"),
    ],
)
def test_what_cannot_be_taken_is_one_sentence(
    course: Course, take: Take, unit: str, text: str | None, says: str
) -> None:
    file = course.root / "course.yaml"
    file.write_text(file.read_text().replace("    quiz: 3.25\n", ""))
    if text is not None:
        course.find(ID).path.write_text(text)
    code, told = take(unit=unit)
    assert code == 2
    (line,) = told.splitlines()
    assert says in line


def test_a_sheet_that_cannot_be_written_is_one_sentence_and_stays(
    take: Take, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = course.find(ID).path.read_text()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grader.learner.quiz_session.write_atomically", full)
    code, shown = take("a")
    assert code == 3
    assert "cannot be written (No space left on device)" in shown.splitlines()[-1]
    assert course.find(ID).path.read_text() == before


class Terminal:
    """The command in a real terminal, 70 columns wide, with its keys typed one line at a time."""

    def __init__(self, course: Course, *arguments: str, **environment: str) -> None:
        self.screen, theirs = pty.openpty()
        environment = {**os.environ, "COLUMNS": "70", "TERM": "xterm-256color", **environment}
        self.process = subprocess.Popen(
            [*HANDGRAD, "quiz", *arguments], cwd=course.root, env=environment,
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.raw = self.seen = ""

    def until(self, text: str, seconds: float = 180) -> str:
        """What has been shown since the last call, up to and with this text, without colours."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            if select.select([self.screen], [], [], 0.1)[0] and not self._read():
                break
        shown, found, self.seen = self.seen.partition(text)
        assert found, shown
        return shown + found

    def _read(self) -> bool:
        try:
            data = os.read(self.screen, 65536)
        except OSError:  # Linux says so once the other end is closed
            return False
        self.raw += data.decode("utf-8", "replace").replace("\r\n", "\n")
        self.seen += re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", data.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(data)

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def code(self) -> int:
        while select.select([self.screen], [], [], 0.1)[0] and self._read():
            pass
        return self.process.wait(120)


@pytest.fixture
def terminal(course: Course) -> Iterator[Callable[..., Terminal]]:
    """`terminal("01_slopes")`: the quiz in a real terminal."""
    opened: list[Terminal] = []

    def opening(*arguments: str, **environment: str) -> Terminal:
        opened.append(Terminal(course, *arguments, **environment))
        return opened[-1]

    yield opening
    for one in opened:
        one.process.kill()
        one.process.wait()
        os.close(one.screen)


def test_in_a_real_terminal_a_quiz_is_taken_left_and_taken_up_again(
    terminal: Callable[..., Terminal], course: Course, taking: QuizSession
) -> None:
    one = terminal(UNIT)
    one.until("answer> ")
    one.type(letter(taking, "falls_by_4", "about_4h") + "\n")
    assert "Right. " in one.until("2 of 12  how_far")
    one.until("answer> ")
    one.type("4\n")
    assert "Not yet. That is the rate" in one.until("3 of 12  shows_0")
    one.until("answer> ")
    assert answers(course) == {"falls_by_4": "about_4h", "how_far": "4"}, "saved at once"
    one.type("q\n")
    one.until("go on: handgrad quiz 01_slopes")
    assert one.code() == 1
    again = terminal(UNIT)
    assert "1 of 12 are right already." in again.until("2 of 12  how_far")

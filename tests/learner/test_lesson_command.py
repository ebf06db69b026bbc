"""`handgrad lesson`: the unit that comes next or one that is named, in the terminal or as a page with its pictures."""

from __future__ import annotations

import base64
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.course.course import Course
from grader.errors import UsageError
from grader.learner import lesson
from grader.rendering.console import is_plain, terminal

Read = Callable[..., str]


@pytest.fixture
def course(request: pytest.FixtureRequest, tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    """Return a learner's folder of the first units, or of those before the test's parameter."""
    return new_workspace(tmp_path / "ws", before=getattr(request, "param", "07_network"))


@pytest.fixture
def read(course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Read:
    """`read("4")`: what `handgrad lesson 4` prints."""
    monkeypatch.chdir(course.root)
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "ACCESSIBLE"):
        monkeypatch.delenv(name, raising=False)

    def command(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["handgrad", "lesson", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code == 0
        return capsys.readouterr().out

    return command


def test_without_a_unit_it_is_the_lesson_of_what_comes_next(read: Read, course: Course) -> None:
    assert read() == (course.root / "exercises/01_slopes/README.md").read_text()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_sign_that_cannot_be_written_is_replaced(read: Read, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    read("5")
    sys.stdout.flush()
    assert b"1/?(2" in written.getvalue()


@pytest.mark.parametrize("name", ["4", "04", "04_linear", "lin_grad", "exercises/04_linear"])
def test_a_unit_has_many_names(course: Course, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course.root)
    assert lesson.unit_named(course, name) == "04_linear"


def test_a_name_that_is_none_is_told_the_nearest(course: Course) -> None:
    with pytest.raises(UsageError, match="Did you mean 06_losses"):
        lesson.unit_named(course, "losse")


@pytest.mark.parametrize("course", [""], ids=["all units"], indirect=True)
def test_every_lesson_is_a_page_whose_pictures_and_neighbours_are_there(read: Read, course: Course) -> None:
    said = read("5", "--browser")
    assert said.startswith("There is no browser to open here.")
    assert "05_activations.html" in said.replace("\n", "")
    for unit in course.config.units:
        page = (course.root / f".handgrad/lessons/{unit.id}.html").read_text("ascii")
        lesson = (course.root / f"exercises/{unit.id}/README.md").read_text()
        drawn = [
            base64.b64decode(data).decode() for data in re.findall('src="data:image/svg.xml;base64,([^"]*)"', page)
        ]
        names = re.findall(r"^!\[.*\]\((.*)\)$", lesson, re.MULTILINE)
        assert drawn == [(course.root / "exercises" / unit.id / name).read_text() for name in names]
        for other in re.findall('href="([^"#]+)"', page):
            assert other.startswith("https://") or (course.root / ".handgrad/lessons" / other).is_file(), other


@pytest.mark.parametrize("course", ["04_linear"], indirect=True)
def test_a_page_names_the_next_lesson_once_and_keeps_a_minus_with_what_it_negates(course: Course) -> None:
    pages = {unit: path.read_text("ascii") for unit, path in lesson.write_pages(course).items() if path.is_file()}
    assert "Next: " in lesson.lesson_text(course, "02_chain_rule")
    assert pages["02_chain_rule"].count('href="03_one_example.html"') == 2  # the text speaks of unit 3 as well
    assert "Next: " not in pages["02_chain_rule"]
    assert '<span class="whole">-u^(-2)</span>' in pages["02_chain_rule"]


def test_a_browser_is_handed_the_page(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setenv("BROWSER", "some-browser")
    monkeypatch.setattr("webbrowser.open", lambda page: opened.append(page) or True)
    assert read("5", "--browser") == "The lesson of 05_activations is open in your browser.\n"
    assert opened[0].endswith("/.handgrad/lessons/05_activations.html")


def test_in_the_terminal_a_picture_is_told_in_words(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCESSIBLE", "1")
    lines = lesson.in_terminal(lesson.lesson_text(course, "05_activations"))
    told = [line[0][0] for line in lines if isinstance(line, tuple) and line[0][0].startswith("Picture: ")]
    assert told
    assert "slopes.svg" not in told[0]


@pytest.mark.parametrize("words", [("--plain", "lesson"), ("lesson", "--plain"), ("lesson", "4", "--plain")])
def test_plain_may_stand_anywhere(read: Read, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCESSIBLE", "0")
    assert not is_plain()
    monkeypatch.setattr(sys, "argv", ["handgrad", *words])
    with pytest.raises(SystemExit):
        cli.main()
    assert is_plain()


def test_paragraphs_are_broken_between_words(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("ACCESSIBLE", raising=False)
    console = terminal()
    with console.capture() as shown:
        lesson.print_in(console, "# Head\n\n" + "gradient " * 20)
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= 60
    assert all(line.split() == ["gradient"] * 6 for line in lines if line.count("gradient") > 2)


def test_a_table_is_folded_in_one_column_and_code_between_words() -> None:
    table = "  value 4 = v3 * v2      v3: 1  =  6   v2: 1  =  8\n  value 3 = v2 + v0      v2:       14  v0:      14"
    assert lesson.folded(table, 80, is_table=True) == table
    assert lesson.folded(table, 40, is_table=True).splitlines() == [
        "  value 4 = v3 * v2      v3: 1  =  6",
        "  value 3 = v2 + v0      v2:       14",
        "      v2: 1  =  8",
        "      v0:      14",
    ]
    remark = "centred  = inp - mean        copies mean to every row\nvar      = (centred²).mean\nhat"
    assert lesson.folded(remark, 40, is_table=True).splitlines() == [
        "centred  = inp - mean",
        "    copies mean to every row",
        "var      = (centred²).mean",
        "hat",
    ]
    code = '>>> program = [("mul", 0, 1), ("add", 2, 0)]'
    assert lesson.folded(code, 30, is_table=False) == '>>> program = [("mul", 0, 1),\n    ("add", 2, 0)]'


@pytest.mark.parametrize("course", [""], ids=["all units"], indirect=True)
def test_a_lesson_in_a_narrow_terminal_has_no_longer_line_and_no_path(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("ACCESSIBLE", raising=False)
    console = terminal()
    for unit in course.config.units:
        with console.capture() as shown:
            lesson.print_in(console, lesson.lesson_text(course, unit.id))
        assert max(map(len, shown.get().splitlines())) <= 60
        assert "README.md" not in shown.get()

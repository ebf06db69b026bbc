"""Colours of the terminal: readable on black and on white, in terminals of 16 colours and of more."""

from __future__ import annotations

import io
import re

import pytest
from rich.color import Color
from rich.console import Console
from rich.style import Style
from test_notebook_report import luminance

from grader.cli.main import main
from grader.learner.lesson import print_in
from grader.rendering.console import (
    FEW_COLOURS,
    STYLES,
    markdown_theme,
    print_lines,
    print_paged,
    print_source,
    progress_theme,
    styled_text,
    styles,
)

# The colours that terminals give to these names: xterm, GNOME, macOS, Visual Studio Code, Windows.
PALETTES = {
    "black": "#000000 #2e3436 #000000 #000000 #0c0c0c",
    "red": "#cd0000 #cc0000 #c23621 #cd3131 #c50f1f",
    "bright_cyan": "#00ffff #34e2e2 #14f0f0 #29b8db #61d6d6",
    "bright_yellow": "#ffff00 #fce94f #eaec23 #f5f543 #f9f1a5",
}
LESSON = (
    "# Head\n\n## Part\n\n`code` and [a link](x.md)\n\n- a point\n\n```pycon\n>>> 1 if True else 2  # note\n1\n```\n"
)


def shades(colour: Color) -> list[str]:
    """Return a colour as each terminal paints it."""
    if colour.name in PALETTES:
        return PALETTES[colour.name].split()
    assert colour.number is not None
    assert colour.number >= 16
    return [colour.get_truecolor().hex] * 5


def contrast(one: str, other: str) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("known", [STYLES, FEW_COLOURS], ids=["many", "few"])
def test_each_colour_is_read_on_black_and_on_white_and_on_its_own_ground(known: dict[str, str]) -> None:
    for style in map(Style.parse, known.values()):
        if style.color is None:
            assert style.bgcolor is None
        elif style.bgcolor is not None:
            pairs = zip(shades(style.color), shades(style.bgcolor), strict=True)
            assert all(contrast(text, ground) >= 4.5 for text, ground in pairs), style
        else:
            least = 3 if style.color.name in PALETTES else 4.45  # each terminal paints the first 16 in its own way
            ratios = [contrast(shade, paper) for shade in shades(style.color) for paper in ("#000000", "#ffffff")]
            assert min(ratios) >= least, style


@pytest.mark.parametrize("term", ["xterm", "xterm-256color"])
def test_spinners_and_bars_have_no_other_colours(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("COLORTERM", raising=False)
    console = Console(theme=progress_theme())
    known = {Style.parse(style) for style in styles().values()} | {Style.null()}
    for part in ("status.spinner", "progress.download", "bar.complete", "bar.finished", "bar.pulse", "bar.back"):
        assert console.get_style(part) in known


def test_large_and_small_of_either_sign_differ_with_few_colours() -> None:
    assert len({FEW_COLOURS[name] for name in ("cold1", "cold4", "hot1", "hot4")}) == 4


@pytest.mark.parametrize(
    ("term", "colours", "expected"),
    [("xterm", "", FEW_COLOURS), ("xterm-256color", "", STYLES), ("alacritty", "truecolor", STYLES)],
)
def test_the_styles_are_those_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, term: str, colours: str, expected: dict[str, str]
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colours)
    assert styles() == expected


def test_a_lesson_has_no_colour_that_is_for_one_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACCESSIBLE", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    written = io.StringIO()
    print_in(Console(file=written, force_terminal=True, color_system="256", theme=markdown_theme()), LESSON)
    codes = {code for codes in re.findall(r"\x1b\[([0-9;]*)m", written.getvalue()) for code in codes.split(";")}
    assert codes <= {"", "0", "1", "2", "3", "4"}, codes


def test_blanks_before_a_marked_word_are_not_underlined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM", raising=False)
    text = styled_text((("  |- ", "dim"), ("@", "bold"), ("  <== w.g  sum / bs", "mark")))
    assert text.plain == "  |- @  <== w.g  sum / bs"
    assert [(span.start, span.style) for span in text.spans][-1] == (8, FEW_COLOURS["mark"])


@pytest.mark.parametrize(("lines", "is_paged"), [(5, False), (100, True)])
def test_more_lines_than_a_screen_has_go_through_a_pager(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lines: int, is_paged: bool
) -> None:
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setattr("grader.rendering.console.has_pager", lambda: True)
    paged: list[str] = []
    monkeypatch.setattr("pydoc.pager", paged.append)
    print_paged([((f"line {number}", ""),) for number in range(lines)])
    assert (len(paged) == 1) == is_paged
    assert f"line {lines - 1}" in (paged[0] if is_paged else capsys.readouterr().out)


LONG = "    Averaged instead of summed: too small by the number of examples or entries."
PATH = "picture: /a/very/long/path/that/does/not/fit/on/the/screen/card_04_linear.svg"


def test_lines_are_broken_between_words_on_a_narrow_terminal_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_lines([((LONG, "dim"),), ((PATH, ""),)])
    assert capsys.readouterr().out == f"{LONG}\n{PATH}\n"
    written = io.StringIO()
    narrow = Console(file=written, force_terminal=True, no_color=True, width=40, soft_wrap=True, highlight=False)
    monkeypatch.setattr("grader.rendering.console.terminal", lambda: narrow)
    print_lines([((LONG[:30], ""), (LONG[30:], "")), ((PATH, ""),), ()])
    assert written.getvalue().splitlines() == [
        "    Averaged instead of summed: too", "    small by the number of examples or", "    entries.",
        *PATH.split(" "), "",
    ]  # fmt: skip


SOURCE = '''"""The slope of a curve. The lesson is README.md in this folder."""


def slope(f, x, h):
    """Return the forward difference of `f` at `x`.

    f: a function that takes a float and returns a float
    """
    # The rise divided by the step: how far f moves for each unit.
    return (f(x + h) - f(x)) / h if h > 0 else (f(x) - f(x + h)) / h'''


def test_prose_in_source_is_broken_between_words_on_a_narrow_terminal_and_code_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_source(SOURCE)
    assert capsys.readouterr().out == f"{SOURCE}\n"
    narrow = Console(file=io.StringIO(), force_terminal=True, width=40)
    monkeypatch.setattr("grader.rendering.console.terminal", lambda: narrow)
    print_source(SOURCE)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 40] == [SOURCE.splitlines()[-1]]
    assert lines[:2] == ['"""The slope of a curve. The lesson is', 'README.md in this folder."""']
    assert lines[-3:-1] == ["    # The rise divided by the step: how", "    # far f moves for each unit."]
    assert " ".join(lines).replace(" # far", " far").split() == SOURCE.split()


def test_an_error_is_broken_between_words_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for is_terminal in (False, True):
        monkeypatch.setattr("sys.stderr.isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setattr("sys.argv", ["handgrad", "check", "no_such_exercise_of_this_course"])
        with pytest.raises(SystemExit):
            main()
        lines = capsys.readouterr().err.splitlines()
        assert (len(lines) > 1) == is_terminal
        assert not is_terminal or max(map(len, lines)) <= 40

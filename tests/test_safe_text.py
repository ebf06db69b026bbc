"""No text in a name or a message is a command for a terminal, a formula in a spreadsheet, or broken JSON."""

from __future__ import annotations

import io
import json

import pytest

from grader.safe_text import escaped, no_formula, one_line, plain, print_message

HOSTILE = "\x1b[2J\x07\x7f\x9b31m\u202e\ud800\U000e0001\r\n\t\u2028é漢🙂"


def test_only_line_ends_and_tabs_control_anything() -> None:
    assert [c for c in plain(HOSTILE) if not c.isprintable()] == ["\n", "\t"]
    assert plain(HOSTILE).endswith("é漢🙂")


def test_one_line_is_one_line() -> None:
    assert len(one_line("a\nb\r\x0b\x85c\u2028d").splitlines()) == 1


@pytest.mark.parametrize("indent", [None, 1])
def test_json_is_the_same_and_can_be_shown_and_stored(indent: int | None) -> None:
    document = escaped(json.dumps({HOSTILE: [HOSTILE]}, ensure_ascii=False, indent=indent))
    assert json.loads(document) == {HOSTILE: [HOSTILE]}
    assert document.replace("\n", "").isprintable()
    assert document.encode()
    assert "é漢🙂" in document


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_a_cell_is_text(start: str) -> None:
    assert no_formula(f"{start}1+1") == f"'{start}1+1"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
def test_a_part_of_a_cell_is_text_for_any_separator(start: str) -> None:
    assert no_formula(f"1{start}1, {start}1") == f"1{start}1, {start}1"
    for between in (";", "; ", "\t", "\n", "|", ';"', "; '"):
        assert no_formula(f"ann{between}{start}1+1") == f"ann{between}'{start}1+1"


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_message_is_broken_between_words_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    text = "in: two sections with four students\n  grades/ada/week-1/lin_grad.py\n"
    for file, lines in (
        (io.StringIO(), text.split("\n")),
        (Terminal(), ["in: two sections", "with four students", "  grades/ada/week-1/lin_grad.py", ""]),
    ):
        print_message(text, file)
        assert file.getvalue() == "\n".join([*lines, ""])

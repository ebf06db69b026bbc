"""Formulas of lessons as MathML: what is a formula is set and loses nothing, what is a table stays text."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from helpers.courses import ROOT

from grader.rendering.formulas import formulas_html

BLOCKS = [
    (lesson.parent.name, block)
    for lesson in sorted(ROOT.glob("exercises/*/README.md"))
    for block in re.findall(r"^```text\n(.*?)^```", lesson.read_text("utf-8"), re.MULTILINE | re.DOTALL)
]
SET = [(unit, block) for unit, block in BLOCKS if formulas_html(block)]
WORDS = re.compile(r"[A-Za-z_]+|\d+(?:\.\d+)?|\u2026|\.\.\.")
IN_SIGNS = re.compile(r"\bsum over (.*?) of\b", re.DOTALL)


def _set(text: str) -> str:
    """Return the MathML of a formula without the table around it, without attributes, and with short names."""
    rows = re.sub(r" \w+=([\"']).*?\1", "", formulas_html(text))
    found = re.search(r"<mtr>(.*)</mtr>", rows)
    return re.sub("</?(mtd|mrow)>", "", found[1]).replace("<m", "<").replace("</m", "</") if found else ""


@pytest.mark.parametrize(
    ("text", "mathml"),
    [
        ("y = x", "<i>y</i><o>=</o><i>x</i>"),
        ("r = a / b", "<i>r</i><o>=</o><frac><i>a</i><i>b</i></frac>"),
        ("r = (a + b) / 2", "<i>r</i><o>=</o><frac><i>a</i><o>+</o><i>b</i><n>2</n></frac>"),
        ("r = -x[i,j]", "<i>r</i><o>=</o><o>\u2212</o><sub><i>x</i><i>i</i><o>,</o><i>j</i></sub>"),
        ("r = e^(-x)", "<i>r</i><o>=</o><sup><i>e</i><o>\u2212</o><i>x</i></sup>"),
        ("r = sum over i of  a", "<i>r</i><o>=</o><under><o>\u2211</o><i>i</i></under><i>a</i>"),
        ("r = sqrt(d)", "<i>r</i><o>=</o><sqrt><i>d</i></sqrt>"),
        ("r = mean of x", "<i>r</i><o>=</o><text>mean\u00a0</text><text>of\u00a0</text><i>x</i>"),
    ],
)
def test_a_formula_is_set(text: str, mathml: str) -> None:
    assert _set(text) == mathml


def test_a_fraction_that_is_drawn_is_one() -> None:
    drawn = "       f(b) - f(a)\n   r = -----------\n          b - a\n"
    assert _set(drawn) == _set("r = (f(b) - f(a)) / (b - a)")


def test_a_matrix_keeps_its_rows() -> None:
    shown = formulas_html("   a = [1  2]     b = [-3]\n       [0  4]         [ 5]\n")
    matrices = [re.findall("<mtr>(.*?)</mtr>", m) for m in re.findall('<mtable class="matrix">(.*?)</mtable>', shown)]
    assert [[len(re.findall("<mtd>", row)) for row in rows] for rows in matrices] == [[2, 2], [1, 1]]


def test_entries_of_rows_stand_below_each_other() -> None:
    shown = formulas_html("   a = [-1.25  2]\n   b = [3  4]\n")
    widths = [re.findall("min-width:(.*?)em", row) for row in re.findall('"matrix row">(.*?)</mtable>', shown)]
    assert widths[0] == widths[1]
    assert float(widths[0][0]) > float(widths[0][1])


def test_the_second_matrices_of_rows_do_not_take_the_widths_of_the_first() -> None:
    shown = formulas_html("   a = [-1.25  2]     c = [1  2]\n   b = [3  4]\n   d = [5  6]     e = [7  8]\n")
    widths = [re.findall("min-width:(.*?)em", row) for row in re.findall('"matrix row">(.*?)</mtable>', shown)]
    wide, narrow = widths[0], widths[1]
    assert widths == [wide, narrow, wide, wide, narrow]
    assert wide[0] > narrow[0] == narrow[1]


def test_rows_below_each_other_are_no_matrix() -> None:
    shown = formulas_html("   a  = [1  2]\n   bc = [0  4]\n")
    assert shown.count('class="matrix row"') == 2


@pytest.mark.parametrize(
    "text",
    [
        "", "   inp   1   2\n   out   3   4\n", "   a = 1    2    3\n", "   new c's g  =  1\n", "   of three:  a = 1\n",
        "   forward:   inp ---> linear\n", "   u = -2         factor  -1\n", "   a = (1\n", "   a = b c d)\n",
        "   a = 1 2\n", "   a = DRAWN\n", f"   a = {'(' * 5000}\n",
        "   a = <b>\n", "   a = 'x'\n", "   a = [[1], [2]]\n", "   a = 1   b = 2\n           c = 3\n",
    ],
)  # fmt: skip
def test_what_is_no_formula_stays_text(text: str) -> None:
    assert formulas_html(text) == ""


def test_most_lessons_have_formulas() -> None:
    assert len({unit for unit, _ in SET}) >= 13
    assert len(SET) >= 80


@pytest.mark.parametrize(("unit", "block"), SET, ids=[f"{unit}-{number}" for number, (unit, _) in enumerate(SET)])
def test_a_formula_of_a_lesson_loses_no_name_and_no_number(unit: str, block: str) -> None:
    math = ElementTree.fromstring(formulas_html(block))
    source = math.find("semantics/annotation")
    assert source is not None
    assert source.text == block.rstrip()
    source.text = ""
    words = IN_SIGNS.sub(lambda sign: sign[1].replace(" and ", " "), block.replace("sqrt(", "("))
    words = re.sub("[\u00b2\u00b3]", lambda power: " 2" if power[0] == "\u00b2" else " 3", words)
    expected = Counter(WORDS.findall(words.replace("...", "\u2026")))
    assert Counter(WORDS.findall(" ".join(math.itertext()))) == expected, unit

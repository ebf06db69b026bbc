"""What a check cell shows: the words of `handgrad check`, as text and as HTML, and never without the next step."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from grader.course.course import load_course
from grader.rendering.page import stylesheet
from grader.rendering.picture_data import ExercisePictures as Seen
from grader.rendering.picture_data import Grid, Picture
from grader.rendering.render_html import COLOUR, ResultDisplay
from grader.results.records import AnswerResult, ExerciseResult, Status

ROOT = Path(__file__).resolve().parents[2]
LIN_GRAD = load_course(ROOT).find("lin_grad")
HINTS = ("Does the layer average, or does the loss?", "Whoever averages divides.", "It is in `out.g`.")
PASSED = AnswerResult("inp.g", "passed", 1.0, 1.0)
MEAN = AnswerResult(
    "w.g", "failed", 0.0, 1.0, "mean-for-sum", "every entry is 1/7 of what it should be, and bs = 7 here",
    "nudge w[0,1] by 1e-4: the loss moves by -2.113e-04, your gradient says -3.019e-05", HINTS,
)  # fmt: skip
TODO = AnswerResult("b.g", "todo", 0.0, 1.0, "todo", "not attempted yet", "", HINTS)


def report(*answers: AnswerResult, printed: str = "", hints: int = 1) -> ResultDisplay:
    return ResultDisplay(LIN_GRAD, ExerciseResult("lin_grad", "04_linear", answers, printed), hints)


class Shown(HTMLParser):
    """Collect the visible text of a page, without folded parts, and check that every tag is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        if tag in ("div", "p", "pre", "summary") and "".join(self.texts).strip():
            self.texts.append(" | ")
        assert {name for name, _ in attrs} <= {"style", "role", "aria-label"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open.count("details") == 0 or (self.open.count("details") == 1 and "summary" in self.open):
            self.texts.append(data)

    @property
    def text(self) -> str:
        """Return the visible text, each line behind a bar."""
        return re.sub(r"( [|])+ ", " | ", " ".join("".join(self.texts).split()))


def shown(found: ResultDisplay) -> str:
    return Shown(found._repr_html_()).text


def test_its_text_is_that_of_handgrad_check_with_the_next_steps_of_a_notebook():
    assert repr(report(PASSED, MEAN, TODO)).splitlines() == [
        "lin_grad                                                       out = inp @ w + b",
        "  inp.g  ok",
        "  w.g    every entry is 1/7 of what it should be, and bs = 7 here",
        "         [mean-for-sum]",
        "         nudge w[0,1] by 1e-4: the loss moves by -2.113e-04, your gradient says",
        "         -3.019e-05",
        "         hint 1/3: Does the layer average, or does the loss?",
        '         next hint: check("lin_grad", hints=2)',
        "  b.g    not attempted yet",
    ]
    assert repr(report(PASSED, MEAN, TODO, hints=3)).splitlines()[-4:-1] == [
        "         hint 2/3: Whoever averages divides.",
        "         hint 3/3: It is in `out.g`.",
        "         no more hints; the lesson is at the top of this notebook",
    ]


def test_the_learners_own_line_stands_beside_what_was_found():
    code = ("def lin_grad(inp, out, w, b):\n    w.g = inp.t() @ out.g / len(inp)  # <mean>\n",)
    html = replace(report(MEAN), code=code)._repr_html_()
    assert "line 2, where w.g is stored</span>\nw.g = inp.t() @ out.g / len(inp)  # &lt;mean&gt;</pre>" in html
    assert "cell 1, line 2, where w.g" in replace(report(MEAN), code=(*code, "x = 1"))._repr_html_()
    assert html.index("every entry is 1/7") < html.index("line 2") < html.index("nudge w[0,1]")
    assert "line 2" not in replace(report(TODO), code=code)._repr_html_()


def test_pictures_are_folded_away_under_the_verdict():
    grid = Grid("yours", ("n", "m"), np.array([[1.0, -2.0]]), "values", 2.0)
    seen = Seen("lin_grad", (Picture("w.g", "a square case", (grid,)),))
    plain, drawn = report(MEAN), replace(report(MEAN), shown=seen)
    html = drawn._repr_html_()
    assert ">see the mistake</summary>" in html
    assert html.index("hint 2/3") < html.index("see the mistake") < html.index("yours (n=1, m=2)")
    assert "see the mistake" not in plain._repr_html_()
    assert repr(drawn) == repr(plain)


def test_where_nothing_is_drawn_nothing_is_folded_away():
    seen = Seen("lin_grad", (Picture("b.g", note="it is not attempted yet"),))
    assert replace(report(MEAN, TODO), shown=seen)._repr_html_().count("<details>") == 2
    assert "see the mistake" not in replace(report(PASSED), shown=Seen("lin_grad"))._repr_html_()


def test_its_html_has_the_same_text_and_nests_further_hints_folded():
    assert shown(report(PASSED, MEAN, TODO)).split(" | ") == [
        "lin_grad out = inp @ w + b",
        "\u2713 inp.g ok",
        "\u2717 w.g every entry is 1/7 of what it should be, and bs = 7 here [mean-for-sum]",
        "nudge w[0,1] by 1e-4: the loss moves by -2.113e-04, your gradient says -3.019e-05",
        "hint 1/3: Does the layer average, or does the loss?",
        "hint 2/3",
        "\u25cb b.g not attempted yet",
    ]
    html = report(MEAN)._repr_html_()
    assert html.index(">hint 2/3</summary>") < html.index(">hint 3/3</summary>")
    assert html.endswith("</details></details></div></article>")
    assert "<code>out.g</code>" in html
    assert "<details>" not in report(MEAN, hints=3)._repr_html_()


@pytest.mark.parametrize(
    ("answers", "step"),
    [
        ((PASSED,), "All right. Go on with the next exercise."),
        ((PASSED, TODO), "Write your answer in the exercise's cell, run that cell, and check again."),
        ((AnswerResult("w.g", "failed", 0, 1, "missing-function", "no cell defines it", "", HINTS),),
         "Run the exercise's cell first, and check again."),
    ],
)  # fmt: skip
def test_it_ends_with_the_next_step_when_no_hint_follows(answers: tuple[AnswerResult, ...], step: str):
    assert repr(report(*answers)).splitlines()[-1] == step
    assert shown(report(*answers)).endswith(step)


def test_a_learners_text_is_escaped():
    evil = "<script>alert(1)</script>`<b>`\x1b[31m&"
    found = report(AnswerResult("w.g", "failed", 0, 1, "error", evil, evil, (evil,)), printed=evil)
    html = found._repr_html_()
    assert Shown(html).tags == {"article", "header", "h3", "div", "span", "p", "b", "code", "pre"}
    assert "<script" not in html
    assert "\x1b" not in html + repr(found)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;<code>&lt;b&gt;</code>" in html
    assert "your code printed:\n| &lt;script&gt;" in html


def test_an_ignored_magic_is_noted_only_when_something_is_wrong():
    note = "skipped, because it is not Python (cell 3, line 1: %matplotlib inline)"
    for answers, told in (((PASSED,), False), ((PASSED, MEAN), True), ((TODO,), True)):
        found = ResultDisplay(LIN_GRAD, ExerciseResult("lin_grad", "04_linear", answers, "7", (note,)))
        assert (note in repr(found), note in found._repr_html_()) == (told, told)
        assert "  | 7" in repr(found)


def test_a_note_is_no_output_and_stands_above_the_pictures():
    note, grids = "what was stored before the exception counts", (Grid("yours", ("n",), np.ones(2), limit=1.0),)
    result = ExerciseResult("lin_grad", "04_linear", (MEAN,), "7", (note,))
    html = ResultDisplay(LIN_GRAD, result, shown=Seen("lin_grad", (Picture("w.g", grids=grids),))).html()
    assert f'<p class="next dim">{note}</p><pre class="printed">your code printed:\n| 7</pre>' in html
    assert html.index(note) < html.index('class="picture"')


def test_no_number_is_broken_at_its_exponent():
    code = ("def lin_grad(inp, out, w, b):\n    w.g = inp.t() @ out.g / (7 + 1e-5)\n",)
    html = replace(report(MEAN), code=code).html()
    for number in ("2.113e-04", "3.019e-05", "1e-5"):
        assert f'<span class="whole">{number}</span>' in html


def test_it_loads_nothing_and_colours_no_text():
    html = "".join(report(AnswerResult("w.g", status, 0, 1))._repr_html_() for status in COLOUR)
    assert not re.search(r"https?:|url\(|src=|href=|@import", html)
    colour = r"color-mix\(in srgb,currentColor 40%,#[0-9a-f]{6}\)"
    coloured_marks = re.findall(
        rf'<b style="flex:none;width:1em;color:{colour}" role="img" aria-label="[a-z ]+">.</b>', html
    )
    assert len(coloured_marks) == len(re.findall('[ ;"]color:', html)) == len(COLOUR)
    assert "background" not in html


@pytest.mark.parametrize("status", COLOUR)
def test_its_marks_are_seen_in_light_and_in_dark_notebooks(status: Status):
    mark = luminance(COLOUR[status])
    assert (luminance("#ffffff") + 0.05) / (mark + 0.05) >= 3
    assert (mark + 0.05) / (luminance("#1e1e1e") + 0.05) >= 3


def test_a_page_has_the_colours_of_notebooks():
    style = stylesheet()
    for name, status in (("right", "passed"), ("failed", "failed"), ("todo", "todo"), ("error", "error")):
        assert f"--{name}: {COLOUR[status]};" in style  # type: ignore[index]


def test_notebooks_have_a_style_for_each_class_and_keep_those_of_a_cell():
    grid = Grid("yours", ("n", "m"), np.array([[1.0, -2.0]]), "values", 2.0)
    drawn = replace(report(PASSED, MEAN, TODO), shown=Seen("lin_grad", (Picture("w.g", "a square case", (grid,)),)))
    assert "class=" not in drawn._repr_html_()
    assert re.search(r'<td style="padding:0 .4em;background:#[0-9a-f]{8}">', drawn._repr_html_())
    assert 'class="result failed"' in drawn.html()


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, by WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

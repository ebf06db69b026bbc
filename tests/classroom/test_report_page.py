"""The page of a class: what it says, that hostile text stays text, and that it needs nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from helpers.class_results import (
    CLASS,
    LIN,
    MEAN,
    RATIO,
    counted,
    handed,
    result,
    todo,
    ungraded,
    wrong,
)

from grader.classroom.class_report import NOT_IT, Counts, Tally
from grader.classroom.report_files import PageLimits, PageSource, breakable, columns, html, percent, segments
from grader.results.codes import MEANINGS
from grader.results.records import Adjustment, ExerciseResult

MADE = PageSource("grades", "report.csv", datetime(2025, 3, 2, 2, 14, tzinfo=UTC))
ALLOWED = set(
    "html head meta title style body svg defs pattern rect circle line text header h1 h2 h3 p time bdi a nav main dl "
    "div dt dd section details summary ul li table thead tbody tr th td code br span b small figure blockquote "
    "figcaption footer wbr".split()
)
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}</style>\u202e\x1b[31m\ud800"


VOID = {"meta", "br", "wbr"}
INLINE = {"bdi", "code", "b", "span", "a", "small", "wbr"}


class Page(HTMLParser):
    """What a browser makes of a page: its elements, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        self.open += [tag] if tag not in VOID else []
        self.text.append("" if tag in INLINE else " ")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())


def test_a_line_without_right_and_wrong_answers_says_what_could_not_be_read() -> None:
    unread = [wrong(name, "syntax-error", "lin_grad.py is not UTF-8 text") for name in LIN]
    words = Page(html(counted([result("hal", todo("inp.g"), *unread, slope=todo())]), MADE)).words
    assert "hal 0 0 0 1 not readable" in words


def test_the_page_says_what_an_instructor_wants_to_know() -> None:
    words = Page(html(counted(CLASS), MADE)).words
    for says in (
        "Gradients by hand", "Students 7 1 has not begun", "Median score 2.5 of 5 points, 50%",
        "Finished 1", "Stuck 0", "1 exercise of 1 student is not graded, through no fault of theirs",
        "eve, relu_grad: the worker is gone", "17% 1 of 6", "mean-for-sum 2 students in b.g, w.g",
        MEANINGS["mean-for-sum"], RATIO, "what ben was told of b.g", "finn 2 of 5", "3 wrong, 0 passed",
        "error: unknown name",
        "1 student has answered no exercise", "2025-03-02, 02:14", "eve ≥ 2",
    ):  # fmt: skip
        assert " ".join(says.split()) in words, says


def test_what_a_student_was_told_has_its_code_set_off() -> None:
    told = wrong("inp.g", "missing-local", "in the derivative of `inp.tanh()`, <1> is missing", "it moves by -1.2e-05")
    text = html(counted([result("hal", told)]), MADE)
    assert "in the derivative of <code>inp.tanh()</code>, &lt;1&gt; is missing" in text
    assert 'by -<span class="whole">1.2e-05</span>' in text
    assert "all have begun" in text


def test_no_mistake_is_the_commonest_of_several_that_one_student_each_made() -> None:
    made = [result(name, wrong("inp.g", code, code)) for name, code in (("hal", "wrong-sign"), ("ida", "transposed"))]
    alone, several, twice = (
        "".join(re.findall(r'<span class="top">(.*?)</summary>', html(counted(results), MADE), re.S))
        for results in (made[:1], made, [*made, replace(made[1], student="jo")])
    )
    unread = [result(name, wrong("inp.g", "not-read", "no answer")) for name in ("kim", "lee")]
    with_unread = "".join(re.findall(r'<span class="top">(.*?)</summary>', html(counted([*made, *unread]), MADE), re.S))
    assert "wrong-sign" in alone
    assert with_unread == several, "what could not be read is no mistake"
    assert "2 mistakes, 1 each" in several
    assert "transposed" in twice


def test_a_wrong_answer_of_a_quiz_is_followed_by_the_number_of_students_who_gave_it() -> None:
    answers = tuple(wrong(name, "wrong-value", f"`3`{NOT_IT}.") for name in LIN)
    quiz = ExerciseResult("quiz_04_linear", "04_linear", answers)
    class_of_two = [replace(CLASS[0], student=name, exercises=(quiz,)) for name in ("hal", "ida")]
    text = html(counted(class_of_two), MADE)
    assert "3 (2 students)" in Page(text).words
    assert '<td data-label="wrong"><code>3</code>' in text, "said again where a phone has no head of the table"


def test_a_long_name_is_broken_behind_its_underscores() -> None:
    assert breakable("<b>_of_it") == "&lt;b&gt;_<wbr>of_<wbr>it"
    assert "lin_<wbr>grad" in html(counted(CLASS), MADE)


def test_who_handed_in_nothing_is_not_among_those_whose_exercises_are_not_graded() -> None:
    idle = replace(CLASS[1], student="idle", exercises=(ExerciseResult("lin_grad", "04_linear", (todo(),)),))
    tally = Tally()
    for results in (*CLASS, replace(idle, reason="nothing was handed in")):
        tally.add(handed(results))
    words = Page(html(tally.report(), MADE)).words
    assert "1 exercise of 1 student is not graded, through no fault of theirs" in words
    assert "1 student has no score" in words


def test_exercises_that_are_not_graded_for_one_reason_are_one_line() -> None:
    why = "jo may be of jo1 or jo2"
    jo = result("jo", ungraded("inp.g", why), *(ungraded(name, why) for name in LIN), slope=ungraded(message=why))
    words = Page(html(counted([*CLASS, jo]), MADE)).words
    assert "4 exercises of 2 students are not graded, through no fault of theirs" in words
    assert f"jo, slope, lin_grad, relu_grad: {why}" in words
    assert words.count(why) == 1


def test_who_has_not_begun_is_listed_with_all_that_is_known_of_the_files() -> None:
    cleo = replace(CLASS[2], notes=("a.py was ignored", "b.py was ignored"))
    idle = replace(CLASS[2], student="idle", reason="nothing was handed in")
    words = Page(html(counted([cleo, idle]), MADE)).words
    assert "2 students have answered no exercise" in words
    assert "cleo (a.py was ignored; b.py was ignored) idle (nothing was handed in)" in words


def test_hostile_text_stays_text() -> None:
    answers = (wrong(HOSTILE, HOSTILE, HOSTILE, HOSTILE), ungraded("b.g", HOSTILE), todo("w.g"))
    hostile = replace(CLASS[1], student=HOSTILE, course=HOSTILE, notes=(HOSTILE,))
    hostile = replace(hostile, exercises=(ExerciseResult(HOSTILE, HOSTILE, answers), ExerciseResult("x", "y", MEAN)))
    idle = replace(hostile, student=HOSTILE + "2", exercises=(ExerciseResult("x", "y", (todo(),)),))
    tally = Tally()
    tally.add(handed(hostile))
    tally.add(handed(idle))
    text = html(tally.report(), PageSource(HOSTILE, HOSTILE, MADE.made_at))
    found = Page(text)
    assert {tag for tag, _ in found.elements} <= ALLOWED
    for tag, attributes in found.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "xlink:href")], tag
        assert not (attributes.get("href") or "").lower().startswith(("javascript:", "data:", "http", "//"))
    assert "<script>alert(1)</script>" in found.words
    assert "{{ 7 * 7 }}" in found.words
    assert not set(text) & {"\u202e", "\x1b", "\ud800"}


def test_nothing_is_loaded_and_no_script_may_run() -> None:
    text = html(counted(CLASS), MADE)
    policy = next(a["content"] for tag, a in Page(text).elements if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r"https?:|@import|\bsrc=", text)


def test_every_link_on_the_page_leads_somewhere() -> None:
    found = Page(html(counted(CLASS), MADE)).elements
    names = [attributes["id"] for _, attributes in found if "id" in attributes]
    links = {attributes["href"] for tag, attributes in found if tag == "a"}
    assert len(set(names)) == len(names)
    assert {link[1:] for link in links if link and link.startswith("#")} <= set(names)
    assert {link for link in links if link and not link.startswith("#")} == {"report.csv"}


def test_a_page_of_a_very_large_class_stays_small() -> None:
    many = (replace(CLASS[i % 7], student=f"s{i:05d}") for i in range(5_000))
    text = html(counted(many), MADE)
    assert len(text) < 500_000
    assert f"And {5000 - PageLimits().students:,} more with higher scores, in the CSV file." in text
    assert f"And {714 - PageLimits().stuck} more in the CSV file, in the column stuck." in text
    assert f"And {714 - PageLimits().not_begun} more in the CSV file, in the column stuck." in text


def test_a_bar_is_the_whole_class() -> None:
    parts = list(segments(Counts(passed=1, wrong=2, ungraded=4)))
    assert [(part.standing, part.x, part.width) for part in parts] == [
        ("passed", 0, 14.29), ("wrong", 14.29, 28.57), ("ungraded", 42.86, 57.14),
    ]  # fmt: skip
    assert list(segments(Counts())) == []


def test_those_who_have_not_begun_are_a_part_of_the_first_column() -> None:
    first, *others = columns(counted(CLASS))
    assert (first.begins, first.count, first.blank) == (0, 1, 1)
    assert 0 < first.blank_height == first.height
    assert [column.count for column in others] == [0, 0, 0, 2, 0, 1, 0, 1, 1]


def test_the_striped_part_of_the_chart_is_explained_where_there_is_one() -> None:
    lazy = replace(CLASS[2], reason="nothing was handed in")
    striped = ["The striped part" in html(counted([*CLASS[:2], idle]), MADE) for idle in (CLASS[2], lazy)]
    assert striped == [True, False]


def test_a_bar_has_a_rectangle_for_each_standing_but_for_what_is_not_tried() -> None:
    bars = re.findall(r'<svg class="bar".*?</svg>', html(counted(CLASS), MADE), re.DOTALL)
    parts = {bar.count("<rect") - sum(f" {name}" in bar for name in ("passed", "wrong", "part done", "not graded"))
             for bar in bars}  # fmt: skip
    assert parts == {0}
    assert any("not tried" in bar for bar in bars)


def test_who_has_not_begun_and_was_given_points_is_not_a_part_of_the_first_column() -> None:
    given = replace(CLASS[2], student="ill", adjustments=(Adjustment("", 2.0, "was ill"),))
    first, *_ = columns(counted([CLASS[2], given]))
    assert (first.count, first.blank) == (1, 1)
    first, *others = columns(counted([given]))
    assert (first.count, first.blank, others[3].count) == (0, 0, 1)


def test_the_same_class_gives_the_same_page() -> None:
    assert html(counted(CLASS), MADE) == html(counted(CLASS), MADE)


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 3, "0"), (3, 3, "100"), (1, 3, "33"), (1, 1000, "1"), (999, 1000, "99"), (0, 0, "0")],
)
def test_none_and_all_are_never_rounded_to(part: int, whole: int, shown: str) -> None:
    assert percent(part, whole) == f"{shown}%"

"""Every kind of page as Chromium draws it, light and dark, narrow, wide and printed: axe-core finds nothing, no element
is wider than the page, no text covers another, and none is cut.

`HANDGRAD_PAGES=folder` keeps the pages there, to look at them.
"""

from __future__ import annotations

import base64
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.class_results import CLASS, counted
from helpers.corpus import IN_NO_ORDER, SUBMISSIONS, WRONG
from helpers.courses import ROOT
from helpers.trainings import NETWORK, trained

from grader.classroom.report_files import PageSource
from grader.classroom.report_files import html as report_html
from grader.classroom.student_results import ChangeRow
from grader.course.course import Course, CourseExercise, load_course
from grader.course.questions import NOT_READ
from grader.explain.explain import explain
from grader.export.feedback import feedback
from grader.export.graded_work import ExportOptions
from grader.judging.grading import Grader
from grader.judging.judge import Judge
from grader.learner.card import card_of, certificate_page
from grader.learner.lesson import write_pages
from grader.learner.progress import Progress
from grader.learner.training import units_with_training
from grader.learner.training_view import svg_of, training_page
from grader.rendering.page import page as html_page
from grader.rendering.picture_data import ExercisePictures, Graph, GraphNode, no_pictures
from grader.rendering.picture_html import forward_pass_html, pictures_html
from grader.rendering.picture_making import RecordedMistakes, make_pictures
from grader.rendering.render_html import ResultDisplay, check_page
from grader.results.records import Adjustment, AnswerResult, ExerciseResult, Lateness, Status, StudentResults
from grader.sandbox.worker import Worker

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("Debian's chromium is not installed: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install .[browser]")
axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed: pip install .[browser]")

AXE = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
DRAWN = Path(__file__).with_name("drawn.js").read_text(encoding="utf-8")
FIGURE = Path(__file__).with_name("figure.js").read_text(encoding="utf-8")
FIGURES = sorted([*ROOT.glob("exercises/*/*.svg"), *ROOT.glob("docs/*.svg")])
CROSSED_OUT = ("14_beyond/hvp.svg", "(n, n)")  # a matrix that is never made
AXE_RUN = """async () => (await axe.run()).violations.flatMap(
  v => v.nodes.map(n => `axe ${v.id}: ${n.target} ${n.html.slice(0, 120)}`))"""
SEED = 7
MISTAKES, TOGETHER = 100, 10
LESSONS = sorted(path.parent.name for path in ROOT.glob("exercises/*/README.md"))
KINDS = [
    "report", "certificate", "training", "explain", "notebook",
    *(f"{kind}_{number}" for kind in ("check", "feedback") for number in range(MISTAKES // TOGETHER)),
    *(f"lesson_{unit}" for unit in LESSONS),
]  # fmt: skip
OF_NOTEBOOKS = ("explain", "notebook")  # which have no policy and no style sheet of ours
SCREENS = [(scheme, width) for scheme in ("light", "dark") for width in (360, 768, 1280)]
PAPER = 718  # the width of A4 between Chromium's margins, in CSS pixels
HEAVIEST = 400_000


CHANGED_POINTS: dict[str, Any] = {
    "adjustments": (Adjustment("lin_grad", 1.5, "explained the transposed weight in office hours, at the board"),),
    "late": Lateness("2026-11-30T18:00", "2026-12-02T09:13", 2, -4.25, "2 days late: 10 % a day, at most 50 %"),
}
HISTORY = [ChangeRow("Ada Lovelace", "lin_grad", "1", "2.5", "the submission changed; the course changed")]


def drawn_mistakes() -> list[list[str]]:
    """Return groups of mistakes of the corpus, each of different exercises."""
    groups: list[list[str]] = [[] for _ in range(MISTAKES // TOGETHER)]
    for name in (name for name in IN_NO_ORDER if name in WRONG and "timeout" not in str(WRONG[name].expected)):
        exercise = SUBMISSIONS[name].exercise
        free = (g for g in groups if len(g) < TOGETHER and exercise not in (SUBMISSIONS[other].exercise for other in g))
        if (group := next(free, None)) is not None:
            group.append(name)
    assert [len(group) for group in groups] == [TOGETHER] * (MISTAKES // TOGETHER)
    return groups


def graded(
    course: Course, names: Sequence[str], grader: Grader, worker: Worker
) -> Iterator[tuple[CourseExercise, ExerciseResult, ExercisePictures]]:
    """Grade mistakes of the corpus with their pictures."""
    for name in names:
        exercise, source = course.find(SUBMISSIONS[name].exercise), SUBMISSIONS[name].source.encode()
        judges: list[Judge] = []
        result = grader.grade(exercise, source, worker, judges.append).with_hash_of(source)
        exercise.path.write_bytes(source)  # a page shows the lines of the file that was checked
        yield exercise, result, make_pictures(exercise, result, judges[-1]) if judges else no_pictures(result)


def record_of(course: Course, results: Sequence[ExerciseResult]) -> StudentResults:
    """Return the record of a student who has handed in these exercises of the course."""
    handed = {result.id: result for result in results}
    todo = {
        exercise.id: ExerciseResult(
            exercise.id, exercise.unit,
            tuple(AnswerResult(a.name, "todo", 0, 1, "todo", "not begun") for a in exercise.declaration.answers),
        )
        for exercise in course.exercises
    }  # fmt: skip
    return StudentResults(
        course.config.title,
        "Ada Lovelace",
        tuple(handed.get(name, result) for name, result in todo.items()),
        SEED,
        "box",
    )


def answered_quizzes(course: Course) -> list[ExerciseResult]:
    """Return a result of each quiz, in which every third answer is right, one wrong and one not readable."""
    says = {"wrong-sign": "`-(out.g * w).sum()` is not it. Look at the sign.", NOT_READ: "`what((` cannot be read."}
    kinds: list[tuple[Status, str | None]] = [("passed", None), ("failed", "wrong-sign"), ("failed", NOT_READ)]
    found = []
    for exercise in (each for each in course.exercises if each.is_quiz):
        answers = [
            AnswerResult(answer.name, status, float(status == "passed"), 1, code, says.get(code or "", ""))
            for answer, (status, code) in zip(exercise.declaration.answers, itertools.cycle(kinds), strict=False)
        ]
        found.append(ExerciseResult(exercise.id, exercise.unit, tuple(answers)))
    return found


def _wrapped(body: str) -> str:
    """Return what a notebook displays within a page like the notebook's own: light, or dark where that is asked for."""
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A notebook</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.5 system-ui, sans-serif; margin: 1rem; background: Canvas; color: CanvasText; }}
</style></head><body><main><h1>A notebook</h1><h2>An exercise</h2>{body}</main></body></html>"""


def _explanation() -> str:
    inp, w = torch.randn(7, 4), torch.randn(4, 3)
    wrong = explain(
        lambda inp, w: (inp @ w).softmax(-1), {"inp": inp, "w": w},
        backward=lambda out, out_g, inp, w: {"inp": out_g @ w.t(), "w": inp.t() @ out_g / 7},
    )  # fmt: skip
    return wrong._repr_html_()


@pytest.fixture(scope="module")
def pages(
    tmp_path_factory: pytest.TempPathFactory, new_workspace_of_module: Course, grader: Grader, worker: Worker
) -> Path:
    """Return a folder with each kind of page as a file."""
    folder = Path(os.environ.get("HANDGRAD_PAGES") or tmp_path_factory.mktemp("pages"))
    folder.mkdir(parents=True, exist_ok=True)
    course = new_workspace_of_module
    made: dict[str, str] = {}
    drawer = RecordedMistakes()

    def picture(exercise: CourseExercise, result: ExerciseResult, seed: int) -> str:
        shown = drawer.pictures(exercise, result, seed)
        return pictures_html(shown) if shown.pictures or shown.graph is not None else ""

    students, quizzes = [], answered_quizzes(course)
    for number, names in enumerate(drawn_mistakes()):
        found = list(graded(course, names, grader, worker))
        exercises, results, albums = zip(*found, strict=True)
        made[f"check_{number}"] = check_page(course, exercises, results, albums)
        record = replace(record_of(course, results), student=f"Student {number}")
        students.append(replace(record_of(course, [*results, *quizzes]), student=record.student, **CHANGED_POINTS))
        made[f"feedback_{number}"] = feedback(course, record, ExportOptions(picture=picture))["feedback.html"].decode()
        if number == 0:
            code = [(SUBMISSIONS[name].source,) for name in names]
            cells = [ResultDisplay(e, r, shown=s, code=c) for (e, r, s), c in zip(found, code, strict=True)]
            shown = [cell._repr_html_() for cell in cells]
            made["notebook"] = _wrapped("".join(shown))
    source = PageSource("grades", "report.csv", datetime(2026, 1, 31, 2, 14, tzinfo=UTC))
    report = replace(counted([*CLASS, *(students * 5)[:53]]), history=tuple(HISTORY))
    made["report"] = report_html(report, source)
    made["explain"] = _wrapped(_explanation())
    training = trained(course, NETWORK, worker)
    made["training"] = training_page(training)
    made["certificate"] = _certificate(course, svg_of(training))
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    for unit, path in write_pages(course).items():
        shutil.copyfile(path, folder / f"lesson_{unit}.html")
    return folder


@pytest.fixture(scope="module")
def new_workspace_of_module(tmp_path_factory: pytest.TempPathFactory, template: Callable[[str], Path]) -> Course:
    """Return a learner's folder for all tests of the module."""
    return load_course(Path(shutil.copytree(template(""), tmp_path_factory.mktemp("learner") / "ws")))


def _certificate(course: Course, curve: str) -> str:
    """Return the certificate of somebody who has trained all networks, met mistakes and solved all but one exercise."""
    progress = Progress.load(course.root)
    met = {
        "lin_grad": ("mean-for-sum", "transposed", None), "relu_grad": ("missing-local",),
        "smooth_cross_entropy_grad": ("missing-local",),  # the longest name
    }  # fmt: skip
    tried = [(course.find(exercise), codes) for exercise, codes in met.items()]
    solved = [(exercise, itertools.repeat(None)) for exercise in course.exercises if exercise.id != "lin_grad"]
    for exercise, codes in [*tried, *solved]:
        answers = [
            AnswerResult(answer.name, "failed" if code else "passed", 0, 1, code)
            for answer, code in zip(exercise.declaration.answers, codes, strict=False)
        ]
        result = ExerciseResult(exercise.id, exercise.unit, tuple(answers))
        progress.record(exercise, result.with_hash_of(exercise.path.read_bytes()))
    cards = [card_of(course, progress, unit.id) for unit in course.config.units]
    curves = dict.fromkeys(units_with_training(course), curve)
    return certificate_page(cards, curves, date(2026, 1, 31), "Ada Lovelace")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return Debian's Chromium, started once."""
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def defects(browser: Any, pages: Path) -> Callable[..., list[str]]:
    """Return a function that lists the defects of a kind of page: on a screen, or `printed`."""

    def listed(kind: str, scheme: str = "light", width: int = PAPER, *, printed: bool = False) -> list[str]:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True, offline=True
        )
        page = context.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((pages / f"{kind}.html").as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        if printed:
            page.emulate_media(media="print")
        found = page.evaluate(DRAWN, printed)
        if not printed:
            page.evaluate(AXE)
            found += page.evaluate(AXE_RUN)
        found += [f"request: {url[:80]}" for url in requests[1:] if not url.startswith("data:")]
        context.close()
        return found

    return listed


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_seen_whole_on_every_screen(defects: Callable[..., list[str]], kind: str) -> None:
    found = {(scheme, width): defects(kind, scheme, width) for scheme, width in SCREENS}
    assert not any(found.values()), _listed(found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_loses_nothing_when_it_is_printed(defects: Callable[..., list[str]], kind: str) -> None:
    found = {("print", PAPER): defects(kind, printed=True)}
    assert not any(found.values()), _listed(found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_one_light_file_that_runs_nothing(pages: Path, kind: str) -> None:
    text = (pages / f"{kind}.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert len(text.encode()) <= HEAVIEST
    if kind not in OF_NOTEBOOKS:
        assert "default-src 'none'" in text


def _listed(found: dict[tuple[str, int], list[str]]) -> str:
    """Return the defects on each screen as lines, the first ones of each kind in full."""
    lines = []
    for (scheme, width), defects in found.items():
        for kind in dict.fromkeys(defect.split(":")[0] for defect in defects):
            alike = [defect for defect in defects if defect.split(":")[0] == kind]
            lines += [f"{scheme} {width}: {len(alike)} of {kind}", *(f"    {defect}" for defect in alike[:4])]
    return "\n".join(lines)


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_nothing_is_drawn_over_the_words_of_a_figure(browser: Any, path: Path) -> None:
    found = drawn_over(browser, path.read_text(encoding="utf-8"))
    figure, words = CROSSED_OUT
    if f"{path.parent.name}/{path.name}" == figure:
        found = [each for each in found if words not in each]
    assert found == []


@pytest.mark.parametrize("kind", ["training", "certificate"])
def test_nothing_is_drawn_over_the_words_of_a_picture_in_a_page(browser: Any, pages: Path, kind: str) -> None:
    page = (pages / f"{kind}.html").read_text(encoding="utf-8")
    drawings = re.findall('src="data:image/svg.xml;base64,([^"]*)"', page)
    assert drawings
    assert [drawn_over(browser, base64.b64decode(data).decode()) for data in drawings] == [[]] * len(drawings)


def drawn_over(browser: Any, svg: str) -> list[str]:
    """Return what crosses the words of a drawing, in words."""
    page = browser.new_page(viewport={"width": 1400, "height": 900}, offline=True)
    page.set_content(f"<body>{svg[svg.index('<svg') :]}</body>")
    found: list[str] = page.evaluate(FIGURE)
    page.close()
    return found


def test_a_figure_has_no_white_corners_in_the_dark(browser: Any, pages: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="dark", bypass_csp=True, offline=True)
    page.goto((pages / "lesson_04_linear.html").as_uri())
    figure = page.locator(".figure img").first
    figure.scroll_into_view_if_needed()
    box = figure.bounding_box()
    corner, beside = (
        page.screenshot(clip={"x": box["x"] + by, "y": box["y"], "width": 2, "height": 2}) for by in (0, -8)
    )
    assert corner == beside
    page.close()


ENDS = """(all) => all.map((matrix) => [...matrix.querySelectorAll("mtr")].map((row) => [...row.children].map(
  (entry) => Math.round(entry.lastElementChild.getBoundingClientRect().right))))"""
BROKEN = """(all) => all.filter((cell) => cell.textContent.length <= 8).filter((cell) => {
  const words = document.createRange();
  words.selectNodeContents(cell);
  return new Set([...words.getClientRects()].map((box) => Math.round(box.bottom))).size > 1;
}).map((cell) => cell.textContent)"""


def test_a_lesson_is_set_like_a_text(browser: Any, pages: Path) -> None:
    """Entries of a matrix end below each other, no short cell of a table is broken, and a quotation is no code."""
    page = browser.new_page(viewport={"width": 360, "height": 900}, bypass_csp=True, offline=True)
    page.goto((pages / "lesson_05_activations.html").as_uri())
    matrices = [rows for rows in page.eval_on_selector_all(".matrix", ENDS) if len(rows) > 1]
    assert matrices
    assert all(row == rows[0] for rows in matrices for row in rows)
    page.goto((pages / "lesson_02_chain_rule.html").as_uri())
    assert page.eval_on_selector_all("td", BROKEN) == []
    quoted = page.locator("blockquote").first
    assert quoted.evaluate("(one) => getComputedStyle(one).whiteSpace") == "normal"
    page.close()


def test_a_fraction_in_a_fraction_is_as_large_as_other_fractions(browser: Any, pages: Path) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 900}, bypass_csp=True, offline=True)
    page.goto((pages / "lesson_14_beyond.html").as_uri())
    sizes = "(all) => all.map((one) => getComputedStyle(one).fontSize)"
    inner = page.eval_on_selector_all("mfrac mfrac > mrow", sizes)
    assert inner
    assert {*inner} == {*page.eval_on_selector_all("mfrac > mrow", sizes)}
    page.close()


FADED = "(one) => getComputedStyle(one).getPropertyValue('--faded')"
SCROLL_TO_END = """(one) => new Promise((done) => {
  one.scrollLeft = one.scrollWidth;
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""
SCROLL_TO_START = SCROLL_TO_END.replace("one.scrollWidth", "0")  # a graph may begin at its mark, at the other end


@pytest.mark.parametrize("kind", ["lesson_04_linear", "check_1"])
def test_what_goes_on_behind_an_edge_fades_out_there(browser: Any, pages: Path, kind: str) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 900}, bypass_csp=True, offline=True)
    page.goto((pages / f"{kind}.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    seen = set()
    for part in page.locator("pre, .formula, .figure, .scroll, .maps").all():
        goes_on = part.evaluate("(one) => one.scrollWidth > one.clientWidth")
        part.evaluate(SCROLL_TO_START)
        assert part.evaluate(FADED) == ("32px" if goes_on else "0px")
        part.evaluate(SCROLL_TO_END)
        assert part.evaluate(FADED) == "0px"
        assert part.evaluate(FADED.replace("faded", "faded-left")) == ("32px" if goes_on else "0px")
        seen.add(goes_on)
    assert seen == {True, False}
    page.emulate_media(media="print")
    masks = page.eval_on_selector_all(
        "pre, .scroll, .maps", "(all) => all.map((one) => getComputedStyle(one).maskImage)"
    )
    assert {*masks} == {"none"}
    page.close()


SEEN = """(one) => {
  const box = one.getBoundingClientRect(), mark = one.querySelector(".marked").getBoundingClientRect();
  return one.scrollWidth <= one.clientWidth || (box.left <= mark.left && mark.right <= box.right);
}"""


@pytest.mark.parametrize("kind", ["check_0", "notebook"])
def test_the_first_mark_of_a_graph_is_seen_on_a_phone_without_scrolling(browser: Any, pages: Path, kind: str) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 900}, bypass_csp=True, offline=True)
    page.goto((pages / f"{kind}.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    page.wait_for_timeout(500)
    graphs = [each for each in page.locator("[aria-label='The forward pass']").all() if each.locator(".marked").count()]
    assert any(each.evaluate("(one) => one.scrollLeft") for each in graphs)
    assert all(each.evaluate(SEEN) for each in graphs)
    moved = max(graphs, key=lambda each: each.evaluate("(one) => one.scrollLeft"))
    moved.evaluate("(one) => { one.scrollLeft = 7; }")
    page.wait_for_timeout(200)
    assert moved.evaluate("(one) => one.scrollLeft") == 7  # it stays where the reader scrolls it
    page.close()


COLUMNS = """(all) => all.filter(
  (band) => band.children.length > 1 && !/columns from/.test(band.textContent)
).map((band) => [...band.children].map((map) => {
  const head = [...map.querySelectorAll("tr:first-of-type th[scope=col]")], left = head[0].getBoundingClientRect().left;
  return head.slice(1).map((cell) => Math.round(cell.getBoundingClientRect().right - left));
}))"""


def test_the_maps_of_a_picture_have_equally_wide_columns(browser: Any, pages: Path) -> None:
    page = browser.new_page(viewport={"width": 768, "height": 900}, bypass_csp=True, offline=True)
    bands = []
    for kind in ("check_1", "check_2", "check_3"):
        page.goto((pages / f"{kind}.html").as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        bands += page.eval_on_selector_all('.maps:has(th[scope="col"])', COLUMNS)
    alike = [maps for maps in bands if len({len(columns) for columns in maps}) == 1]
    alike = [maps for maps in alike if len(maps[0]) > 2]  # others are as wide as their captions
    assert alike
    off = [abs(a - b) for maps in alike for other in maps[1:] for a, b in zip(maps[0], other, strict=True)]
    assert max(off) <= 2
    page.close()


def test_the_graph_of_a_narrow_page_has_the_room_beside_the_text(browser: Any, pages: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True, offline=True)
    page.goto((pages / "feedback_1.html").as_uri())
    right = "(all) => all.map((one) => one.getBoundingClientRect().right)"
    body, drawings = (max(page.eval_on_selector_all(kind, right)) for kind in ("main", ".drawing"))
    assert body + 200 < drawings < 1280
    page.emulate_media(media="print")
    assert max(page.eval_on_selector_all(".drawing", right)) <= max(page.eval_on_selector_all("main", right))
    page.close()


def test_wide_maps_are_printed_in_letters_of_six_points_and_captions_are_no_larger_than_the_text(
    browser: Any, pages: Path
) -> None:
    page = browser.new_page(viewport={"width": PAPER, "height": 900}, bypass_csp=True, offline=True)
    widths, letters = list[float](), list[float]()
    for kind in (f"check_{number}" for number in range(MISTAKES // TOGETHER)):
        page.goto((pages / f"{kind}.html").as_uri())
        page.emulate_media(media="print")
        sizes = "(all) => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
        text = page.eval_on_selector("body", sizes.replace("all.map((one) =>", "[all].map((one) =>"))[0]
        assert max(page.eval_on_selector_all("figcaption, .key, .map", sizes)) <= text
        widths += page.eval_on_selector_all(".map", "(all) => all.map((one) => one.getBoundingClientRect().width)")
        letters += page.eval_on_selector_all(".map", sizes)
    assert widths
    assert max(widths) < PAPER
    assert min(letters) >= 8  # pixels, which are six points
    page.close()


def test_a_printed_page_keeps_its_colours_and_its_titles_stay_with_what_they_name(browser: Any, pages: Path) -> None:
    page = browser.new_page(viewport={"width": PAPER, "height": 900}, bypass_csp=True, offline=True)
    page.goto((pages / "check_0.html").as_uri())
    page.emulate_media(media="print")
    assert page.eval_on_selector("body", "(one) => getComputedStyle(one).printColorAdjust") == "exact"
    for selector, rule in (("caption", "breakAfter"), (".picture:not(.tall), .drawing", "breakInside")):
        found = page.eval_on_selector_all(selector, f"(all) => all.map((one) => getComputedStyle(one).{rule})")
        assert {*found} == {"avoid"}
    displayed = page.eval_on_selector_all(".map", "(all) => all.map((one) => getComputedStyle(one).display)")
    assert {*displayed} == {"inline-table"}  # which is never cut, also where a tall picture is parted
    page.close()


def test_a_wide_graph_does_not_shrink_the_whole_printed_page(browser: Any) -> None:
    names = [f"input_{i}" for i in range(12)]
    inputs = {name: GraphNode(name, name, "(bs=4, n=5)", marked=(name,) * (name == names[-1])) for name in names}
    out = GraphNode("out", "cat", "(bs=4, 60)", tuple(inputs))
    page = browser.new_page(viewport={"width": PAPER, "height": 900}, offline=True)
    page.set_content(html_page("A graph", [forward_pass_html(Graph({**inputs, "out": out}, "out"))], kind="wide"))
    page.emulate_media(media="print")
    assert page.eval_on_selector("svg", "(one) => one.viewBox.baseVal.width") > PAPER
    assert page.evaluate("document.documentElement.scrollWidth") == PAPER
    page.close()


def test_a_printed_bar_is_on_the_sheet_of_the_name_that_it_belongs_to(browser: Any, pages: Path) -> None:
    page = browser.new_page(viewport={"width": PAPER, "height": 900}, bypass_csp=True, offline=True)
    page.emulate_media(media="print")
    inside = "(all) => all.map((one) => getComputedStyle(one.closest('tr, summary, li, figure')).breakInside)"
    for kind in ("report", "certificate"):
        page.goto((pages / f"{kind}.html").as_uri())
        assert {*page.eval_on_selector_all(".bar", inside)} == {"avoid"}
    page.close()


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_a_certificate_is_one_sheet_of_paper_before_its_details(browser: Any, pages: Path, paper: str) -> None:
    page = browser.new_page(bypass_csp=True, offline=True)
    page.goto((pages / "certificate.html").as_uri())
    details = page.locator(".details").evaluate("(one) => getComputedStyle(one).breakBefore")
    page.add_style_tag(content=".details ~ * { display: none; }")  # which may be longer than a sheet
    margins = dict.fromkeys(("top", "bottom", "left", "right"), "0.4in")
    sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper, margin=margins))
    page.set_viewport_size({"width": 1280, "height": 900})
    tops = page.eval_on_selector_all(".trained figure", "(all) => all.map((one) => one.getBoundingClientRect().top)")
    assert len(tops) == 3
    assert len(set(tops)) == 1  # curves stand beside each other
    assert (len(sheets), details) == (2, "page")
    page.close()


@pytest.mark.parametrize("kind", ["certificate", "report"])
def test_a_cell_without_its_column_says_what_is_in_it(browser: Any, pages: Path, kind: str) -> None:
    page = browser.new_page(viewport={"width": 320, "height": 900}, bypass_csp=True, offline=True)
    page.goto((pages / f"{kind}.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    cells = "td[data-label]:not(:empty)"
    said = page.eval_on_selector_all(cells, "(all) => all.map((one) => getComputedStyle(one, '::before').content)")
    labels = page.eval_on_selector_all(cells, "(all) => all.map((one) => one.dataset.label)")
    assert len(set(labels)) > 1
    assert all(text.startswith(f'"{label}') for text, label in zip(said, labels, strict=True)), said
    page.close()


def test_no_word_of_a_tile_or_a_name_is_broken(browser: Any, pages: Path) -> None:
    lines = """(all) => all.flatMap((one) => {
      const broken = [], walk = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) for (const word of walk.currentNode.data.matchAll(/[A-Za-z]+/g)) {
        const range = document.createRange();
        range.setStart(walk.currentNode, word.index);
        range.setEnd(walk.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
      }
      return broken;
    })"""
    for width in (320, 360, 768, 1280):
        page = browser.new_page(viewport={"width": width, "height": 900}, bypass_csp=True, offline=True)
        page.goto((pages / "report.html").as_uri())
        assert page.eval_on_selector_all(".figures div, .exercise .name", lines) == []
        page.close()


def test_a_printed_hint_stands_beside_its_number(browser: Any, pages: Path) -> None:
    page = browser.new_page(viewport={"width": PAPER, "height": 900}, bypass_csp=True, offline=True)
    page.goto((pages / "check_0.html").as_uri())
    page.emulate_media(media="print")
    top = "one.getClientRects()[0].top"
    apart = f"(all) => all.map((one) => Math.abs({top} - {top.replace('one', 'one.nextElementSibling')}))"
    found = page.eval_on_selector_all(".helps summary", apart)
    assert found
    assert max(found) < 5
    page.close()

"""A student's feedback page: points, findings, evidence, hints and a picture, whatever text is in them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from helpers.class_results import CLASS, handed, passed, result, todo, wrong
from helpers.courses import SEED, with_policy
from helpers.pictures import picture
from test_export import HOSTILE, hostile
from typer.testing import CliRunner

from grader.cli.main import app
from grader.course.course import PACKAGE, Course, load_course
from grader.errors import UsageError
from grader.export.feedback import feedback
from grader.export.graded_work import NOT_GRADED, ExportOptions, notes
from grader.judging.grading import Grader
from grader.judging.judge import Judge
from grader.rendering.picture_html import pictures_html
from grader.rendering.picture_making import RecordedMistakes, make_pictures
from grader.results.records import Adjustment, ExerciseResult, StudentResults, dumps, exercise_from_json
from grader.sandbox.worker import Worker

BEN, EVE = (next(each for each in CLASS if each.student == name) for name in ("ben", "eve"))
STEP = {
    "edits": [{"operator": "averaged", "parameters": {"step": "`inp @ w`", "axes": "bs"}}],
    "cause": "",
    "at": [[3, 1]],
}


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(PACKAGE.parent)


class _Page(HTMLParser):
    """The text of a page, and its tags with all that they have."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "style":  # the style sheet is no text
            return
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(course: Course, record: StudentResults) -> _Page:
    return _Page(feedback(course, record, ExportOptions())["feedback.html"].decode("ascii"))


def test_a_note_without_a_subject_is_a_sentence_on_the_submission() -> None:
    record = replace(BEN, notes=("it holds notes.txt, and no file that is named after an exercise",))
    assert notes(record)[-1].startswith("The submission holds notes.txt, and")
    assert notes(record)[-1].endswith("named after an exercise.")
    assert notes(replace(BEN, notes=("a.py defines relu: should it be relu.py?",)))[-1].endswith("relu.py?")


def test_it_says_points_findings_evidence_and_hints(course: Course) -> None:
    mistake = replace(wrong("w.g", "mean-for-sum", "1/7 of `x`"), hints=("why?", "where?"), evidence="nudged")
    page = read(course, handed(result("Ada", todo("inp.g"), passed("b.g"), mistake)))
    for words in ("Feedback for Ada", "2 of 4 points", "lin_grad 1 of 2", "1/7 of x", "nudged", "hint 1/2: why?"):
        assert words in page.text
    assert "1 exercise is right" in page.text
    assert "Not attempted Activations and their local derivatives: relu_grad" in page.text


def test_a_unit_of_which_nothing_was_tried_is_a_line_at_the_end(course: Course) -> None:
    page = read(course, handed(CLASS[2]))
    assert page.text.endswith(
        "0 of 5 points Not attempted Slopes, measured with a nudge: slope "
        "A linear layer on a mini-batch: lin_grad "
        "Activations and their local derivatives: relu_grad"
    ), page.text


def test_the_points_of_the_units_add_up_to_the_total(course: Course) -> None:
    record = result("Ada", todo("inp.g"), wrong("w.g", "transposed"), *[passed(name) for name in ("b.g", "inp.g")])
    page = read(course, handed(record))
    assert "3 of 5 points" in page.text
    assert "3 of 5 points Slopes, measured with a nudge 1 of 1 A linear layer on a mini-batch 2 of 3" in page.text
    assert "2 of 3 not attempted 0 of 1" in page.text


def test_whoever_handed_in_nothing_reads_why_there_is_no_score(course: Course) -> None:
    page = read(course, replace(CLASS[2], reason="nothing was handed in"))
    assert "There is no score: nothing was handed in. Not attempted" in page.text
    assert "0 of" not in page.text


def test_what_could_not_be_graded_is_no_zero_and_no_word_of_the_graders(course: Course) -> None:
    page = read(course, handed(EVE))
    assert page.text.count(NOT_GRADED) == 2
    assert "not graded" in page.text
    assert "the worker is gone" not in page.text
    assert not re.search(r"\d of \d+ points", page.text)


def test_an_error_with_points_from_a_person_sends_nobody_to_ask(course: Course) -> None:
    page = read(course, replace(handed(EVE), adjustments=(Adjustment("relu_grad", 1.0, "read by hand"),)))
    assert "3 of 5 points" in page.text
    assert "relu_grad graded by a person" in page.text
    assert "A person has graded this exercise: its points are in its adjustment." in page.text
    assert "adjustment relu_grad (+1 points): read by hand" in page.text
    assert NOT_GRADED not in page.text
    assert "not graded" not in page.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_nothing_more(course: Course, text: str) -> None:
    page, usual = read(course, hostile(text)), read(course, hostile("wrong"))
    known = {name for name, _ in usual.tags} | {"code"}
    assert {name for name, _ in page.tags} <= known
    for _, attributes in page.tags:
        assert set(attributes) <= {
            "charset",
            "name",
            "content",
            "http-equiv",
            "style",
            "lang",
            "class",
            "open",
            "scope",
            "role",
            "aria-label",
        }
    assert not any(word in page.words for word in ("\x00", "\x1b"))
    assert len(page.text) < 6000


def test_it_can_be_read_on_a_phone_and_asks_for_nothing(course: Course) -> None:
    page = feedback(course, handed(BEN), ExportOptions())["feedback.html"].decode()
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=|url\(|@import", page)


def test_a_record_of_another_course_is_told(course: Course) -> None:
    other = replace(CLASS[0].exercises[0], id="no_such_thing")
    with pytest.raises(UsageError, match="no_such_thing is no exercise of"):
        feedback(course, StudentResults("x", "ada", (other,)), ExportOptions())


# --- pictures


def lin_grad(mistake: object) -> StudentResults:
    wrong_answer = replace(wrong("w.g", "mean-for-sum", "1/6, and bs = 6 here"), mistake=mistake)  # type: ignore[arg-type]
    return result("x", passed(), wrong_answer, passed("b.g"), passed("inp.g"))


def test_a_picture_marks_the_operation_that_the_record_names(course: Course) -> None:
    exercise, found = course.find("lin_grad"), lin_grad(STEP).exercises[1]
    graph = RecordedMistakes().graph(exercise, found, 7)
    assert graph is not None
    assert {node.label: node.marked for node in graph.nodes.values() if node.marked} == {"@": ("w.g",)}
    same, other = (RecordedMistakes().graph(exercise, found, seed) for seed in (7, 8))
    assert same == graph
    assert other != graph


def test_a_picture_has_the_sizes_that_the_words_speak_of(course: Course) -> None:
    from grader.judging.grading import Grader

    graph = RecordedMistakes().graph(course.find("lin_grad"), lin_grad(STEP).exercises[1], 7)
    sizes = Grader(7).trials(course.find("lin_grad")).judged_trials[0].setting.sizes
    assert graph is not None
    assert f"bs={sizes['bs']}, n={sizes['n']}" in next(node.shape for node in graph.nodes.values() if node.key == "inp")


@pytest.mark.parametrize("at", [[], [[3]]])
def test_what_names_no_operation_is_not_drawn(course: Course, at: object) -> None:
    named = {"edits": [{"operator": "x", "parameters": {}}], "cause": "", "at": at}
    assert RecordedMistakes().graph(course.find("lin_grad"), lin_grad(named).exercises[1], 7) is None
    assert RecordedMistakes().graph(course.find("lin_grad"), lin_grad(None).exercises[1], 7) is None


def test_a_mistake_in_every_iteration_of_a_loop_is_marked_in_the_folded_loop(course: Course) -> None:
    exercise = course.find("rnn_grad")
    named = {"edits": [{"operator": "x", "parameters": {}}], "cause": "", "at": [[i, 0] for i in range(6, 30)]}
    found = replace(lin_grad(named).exercises[1], id=exercise.id, unit=exercise.unit)
    graph = RecordedMistakes().graph(exercise, found, 7)
    assert graph is not None
    labels = [node.label for node in graph.nodes.values() if node.marked]
    assert [label for label in labels if label.startswith("tanh")] == ["tanh (3x)"]


SCALED = "import torch\ndef lin_grad(inp, out, w, b):\n    inp.g = {}\n    w.g = {}\n    b.g = out.g.sum(0)\n"
FLIPPED = """import torch
def conv1d_grad(inp, w, b, out):
    k = w.shape[-1]
    windows = inp.unfold(-1, k, 1)
    inp.g = torch.zeros_like(inp)
    for i in range(out.shape[-1]):
        inp.g[..., i : i + k] += torch.einsum("bo,oik->bik", out.g[..., i], w.flip(-1))
    w.g = torch.einsum("bol,bilk->oik", out.g, windows)
    b.g = out.g.sum((0, 2))
"""


def graded(course: Course, name: str, source: str, grader: Grader, worker: Worker) -> tuple[ExerciseResult, Judge]:
    judges: list[Judge] = []
    found = grader.grade(course.find(name), source.encode(), worker, judges.append)
    return exercise_from_json(json.loads(found.line)), judges[-1]


@pytest.mark.parametrize(
    ("name", "source", "answer", "kind"),
    [("lin_grad", SCALED.format("out.g @ w.t()", "inp.t() @ out.g / len(inp)"), "w.g", "scatter"),
     ("lin_grad", SCALED.format("-3 * out.g @ w.t()", "inp.t() @ out.g"), "inp.g", "scatter"),
     ("conv1d_grad", FLIPPED, "inp.g", "stamp")],
)  # fmt: skip
def test_a_record_gives_the_figures_of_the_check_page_again(
    course: Course, worker: Worker, name: str, source: str, answer: str, kind: str
) -> None:
    found, judge = graded(course, name, source, Grader(SEED), worker)
    checked = picture(make_pictures(course.find(name), found, judge), answer).figures
    again = picture(RecordedMistakes().pictures(course.find(name), found, SEED), answer).figures
    assert [each.kind for each in again] == [each.kind for each in checked]
    assert again[0].kind == kind
    for of_record, of_check in zip(again, checked, strict=True):
        assert [each.name for each in of_record.series] == [each.name for each in of_check.series]
        for ours, theirs in zip(of_record.series, of_check.series, strict=True):
            np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("answer", ["out.g @ w.t() / len(inp)", "out.g @ w.t() * inp"])
def test_where_expected_values_are_kept_back_a_feedback_page_has_shades_alone(
    course: Course, worker: Worker, answer: str
) -> None:
    kept = with_policy(course, show_expected=False)
    found, _ = graded(kept, "lin_grad", SCALED.format(answer, "inp.t() @ out.g"), Grader(SEED), worker)
    drawer = RecordedMistakes()
    figures = picture(drawer.pictures(kept.find("lin_grad"), found, SEED), "inp.g").figures
    assert figures
    for each in figures:
        assert each.shaded
        assert each.kind != "scatter" or len(each.series) == 2
        assert all(set(np.abs(series.values).ravel()) <= {0.0, 1.0, 2.0, 3.0, 4.0} for series in each.series)
    shown = picture(RecordedMistakes().pictures(course.find("lin_grad"), found, SEED), "inp.g").figures
    right = shown[0].series[0].values
    html = pictures_html(drawer.pictures(kept.find("lin_grad"), found, SEED))
    words = re.sub(r"<style.*?</style>|<[^>]*>", " ", html)
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+", words)]
    assert not any(np.isclose(number, right, rtol=1e-2).any() for number in numbers)
    assert "yours =" not in words


def test_a_record_whose_numbers_cannot_be_given_again_has_its_graph_alone(course: Course) -> None:
    shown = RecordedMistakes().pictures(course.find("lin_grad"), lin_grad(STEP).exercises[1], 8)
    assert shown.graph is not None
    two = {**STEP, "edits": [*STEP["edits"], {"operator": "factor-sign", "parameters": {}}]}
    assert RecordedMistakes().pictures(course.find("lin_grad"), lin_grad(two).exercises[1], 8).pictures == ()


def test_the_command_writes_a_page_for_each_student_with_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grades").mkdir()
    for found in (*CLASS, replace(lin_grad(STEP), student="zoe")):
        Path("grades", f"{found.student}.json").write_text(dumps(found))
    done = CliRunner().invoke(app, ["export", "grades", "--to", "feedback"])
    assert done.exit_code == 3  # eve's relu_grad
    pages = {path.name: path.read_text("ascii") for path in Path("exported/feedback").glob("*.html")}
    assert [name for name, page in pages.items() if "<svg" in page] == ["zoe.feedback.html"]
    assert len(pages) == len(CLASS) + 1
    assert json.loads(Path("grades/zoe.json").read_text())["seed"] == 7

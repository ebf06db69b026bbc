"""Quizzes for other systems: the files have the documented structure, and read back they ask the same questions.

The official QTI schema may not be redistributed, and Moodle publishes none: `xml_structure` holds both formats' rules.
"""

from __future__ import annotations

import html
import io
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from helpers.xml_structure import MOODLE, PACKAGE, QTI, problems
from test_cli import Run, one_sentence

from grader.authoring.quiz_export import PACKAGE as PACKAGE_SPACE
from grader.authoring.quiz_export import QTI as QTI_SPACE
from grader.authoring.quiz_export import Item, ItemAnswer, as_html, items, moodle_xml, qti_package
from grader.course.course import Course, load_course
from grader.quiz.answer_mistakes import mistake_in
from grader.quiz.variants import question_with_key

ROOT = Path(__file__).resolve().parents[2]
Known = dict[str, tuple[str, str, frozenset[str], frozenset[tuple[str, str]]]]
"""By id: the kind, the question, the right answers, and the wrong ones with what they reveal."""


@pytest.fixture(scope="module")
def real() -> Course:
    return load_course(ROOT)


def questions(course: Course, variant: int = 0) -> list[Item]:
    return items([exercise for exercise in course.exercises if exercise.is_quiz], variant)


def flat(text: str) -> str:
    """Words without markup, and with single spaces."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def known(found: Iterable[Item]) -> Known:
    return {
        item.id: (
            "choices" if item.kind == "choices" else item.kind,
            flat(as_html(item.ask, item.listing)),
            frozenset(flat(as_html(answer.text)) for answer in item.answers if answer.right),
            frozenset((flat(as_html(a.text)), flat(as_html(a.feedback))) for a in item.answers if not a.right),
        )
        for item in found
    }


def from_moodle(data: bytes) -> Known:
    """What a Moodle question bank would take from the file."""
    found: Known = {}
    for question in ET.fromstring(data):
        if question.get("type") == "category":
            continue
        kind = {"multichoice": "choice", "numerical": "number", "shortanswer": "word"}[question.get("type", "")]
        if kind == "choice" and question.findtext("single") == "false":
            kind = "choices"
        answers = [
            (flat(a.findtext("text", "")), flat(a.findtext("feedback/text", "")), float(a.get("fraction", "")) > 0)
            for a in question.iter("answer")
        ]
        found[question.findtext("idnumber", "")] = (
            kind,
            flat(question.findtext("questiontext/text", "")),
            frozenset(text for text, _, right in answers if right),
            frozenset((text, feedback) for text, feedback, right in answers if not right),
        )
    return found


def words(element: ET.Element) -> str:
    return flat(ET.tostring(element, encoding="unicode"))


def from_qti(data: bytes) -> Known:
    """What another system would take from the package, found by way of the manifest."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    read = {name: ET.fromstring(archive.read(name)) for name in archive.namelist()}
    resources = read["imsmanifest.xml"].iter(f"{{{PACKAGE_SPACE}}}resource")
    wanted = [resource.attrib["href"] for resource in resources if "item" in resource.attrib["type"]]
    return {read[name].attrib["identifier"]: _from_item(read[name]) for name in wanted}


def _from_item(root: ET.Element) -> tuple[str, str, frozenset[str], frozenset[tuple[str, str]]]:
    space = {"q": QTI_SPACE}
    response = root.find("q:responseDeclaration", space)
    body = root.find("q:itemBody", space)
    assert response is not None
    assert body is not None
    right = {value.text or "" for value in response.iterfind("q:correctResponse/q:value", space)}
    right |= {entry.attrib["mapKey"] for entry in response.iterfind("q:mapping/q:mapEntry", space)}
    told = {one.attrib["identifier"]: words(one) for one in root.iterfind("q:modalFeedback", space)}
    choices = {choice.attrib["identifier"]: words(choice) for choice in body.iter(f"{{{QTI_SPACE}}}simpleChoice")}
    ask = " ".join(words(part) for part in body if "Interaction" not in part.tag).strip()
    if choices:
        kind = "choices" if response.get("cardinality") == "multiple" else "choice"
        wrong = frozenset((text, told[id]) for id, text in choices.items() if id not in right)
        return kind, ask, frozenset(choices[id] for id in right), wrong
    kind = "number" if response.get("baseType") == "float" else "word"
    pairs = {}
    for when in (*root.iter(f"{{{QTI_SPACE}}}responseIf"), *root.iter(f"{{{QTI_SPACE}}}responseElseIf")):
        compared, outcome = when[0], when[1]
        if outcome.get("identifier") == "FEEDBACK":
            pairs[compared[1].text or ""] = told[outcome[0].text or ""]
    return kind, ask, frozenset(right), frozenset(pairs.items())


@pytest.mark.parametrize("variant", [0, 7])
def test_moodle_xml_has_the_documented_structure_and_reads_back_as_the_same_questions(
    real: Course, variant: int
) -> None:
    found = questions(real, variant)
    data = moodle_xml("handgrad", found)
    assert data.startswith(b"<?xml"), "Moodle refuses a file that begins with anything else"
    assert problems(ET.fromstring(data), MOODLE) == []
    assert from_moodle(data) == known(found)
    categories = [text.text for text in ET.fromstring(data).iterfind("question/category/text")]
    assert categories[0] == "$course$/top/handgrad/01_slopes"
    assert len(categories) == len({item.unit for item in found})


@pytest.mark.parametrize("variant", [0, 7])
def test_a_qti_package_has_the_documented_structure_and_reads_back_as_the_same_questions(
    real: Course, variant: int
) -> None:
    found = questions(real, variant)
    data = qti_package("handgrad", found)
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.namelist()[0] == "imsmanifest.xml", "some systems look at the first file only"
    for name in archive.namelist():
        root = ET.fromstring(archive.read(name))
        rules, space = (PACKAGE, PACKAGE_SPACE) if name == "imsmanifest.xml" else (QTI, QTI_SPACE)
        assert problems(root, rules, space) == [], name
    assert from_qti(data) == known(found)
    assert qti_package("handgrad", found) == data, "the same questions give the same bytes"


def test_what_counts_as_right_elsewhere_is_right_here_and_what_is_wrong_is_wrong(real: Course) -> None:
    for exercise in (exercise for exercise in real.exercises if exercise.is_quiz):
        for item in items([exercise], 3):
            name = item.id.partition("-")[2]
            question = question_with_key(exercise.quiz, name, 3)
            for answer in item.answers:
                given = answer.text if item.kind in ("number", "word") or question.kind == "expression" else answer.id
                if item.kind == "choices" and answer.right:
                    given = ", ".join(one.id for one in item.answers if one.right)
                found = mistake_in(question, given)
                assert (found is None) == answer.right, (item.id, given)
                if found is not None and item.kind != "choices":
                    assert found.says == answer.feedback


ODD = Item(
    "quiz_00-odd", "00_unit", "choice", 'Is `a < b && c` "x"?\n\nSecond & last.', "if a < b:\n    print('&')",
    (ItemAnswer("yes", "a <b> & `c`", True, "<Right>"), ItemAnswer("no", "`]]>`", False, "It's & \"so\"")),
    ("a > b",), "1 < 2",
)  # fmt: skip


def test_signs_that_mean_something_in_xml_or_html_arrive_as_they_are() -> None:
    assert from_moodle(moodle_xml("c", [ODD])) == known([ODD])
    assert from_qti(qti_package("c", [ODD])) == known([ODD])
    _, ask, right, wrong = known([ODD])["quiz_00-odd"]
    assert ask == "Is a < b && c \"x\"? Second & last. if a < b: print('&')"
    assert right == {"a <b> & c"}
    assert wrong == {("]]>", 'It\'s & "so"')}


def test_units_of_a_number_are_worth_in_moodle_what_they_are_worth_here(real: Course) -> None:
    root = ET.fromstring(moodle_xml("handgrad", questions(real)))
    question = next(one for one in root if one.findtext("idnumber") == "quiz_04_linear-size_of_stack")
    units = {one.findtext("unit_name"): float(one.findtext("multiplier", "")) for one in question.iter("unit")}
    known = {"MB": 1, "kB": 1000, "GB": 0.001, "bytes": 1e6, "B": 1e6, "megabytes": 1, "MiB": 0.9536743164}
    assert known.items() <= units.items()
    assert next(iter(units)) == "MB"


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("<quiz><question type='essay'/></quiz>", "type='essay'"),
        ("<quiz/>", "holds ''"),
        ("<quiz>text<question type='category'><category><text/></category></question></quiz>", "says"),
        ("<quiz><question type='category'><category/></question></quiz>", "/quiz/question/category: holds ''"),
        ("<quiz><other/></quiz>", "no such element"),
    ],
)
def test_the_structural_check_finds_what_is_wrong(broken: str, says: str) -> None:
    assert any(says in problem for problem in problems(ET.fromstring(broken), MOODLE))


@pytest.fixture
def author(tmp_path: Path, new_workspace: Callable[..., Course]) -> Path:
    """A course folder with solutions of its own."""
    root = new_workspace(tmp_path / "ws").root
    shutil.copytree(ROOT / "solutions", root / "solutions", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_the_command_writes_a_file_of_the_kind_that_its_ending_names(real: Course, author: Path, typed: Run) -> None:
    root = author
    done = typed("quiz", "04_linear", "--export", "linear.xml", cwd=root)
    assert done.returncode == 0, done.stderr
    count = len(real.find("quiz_04_linear").quiz.questions)
    assert done.stdout.splitlines() == [
        f"{count} questions written to linear.xml, as Moodle XML.",
        "4 of them ask for a formula, which nobody can judge there: they became multiple choice.",
    ]
    assert len(from_moodle((root / "linear.xml").read_bytes())) == count
    assert typed("quiz", "--export", "all.zip", "--variant", "7", cwd=root).returncode == 0
    assert from_qti((root / "all.zip").read_bytes()) == known(questions(real, 7))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--export", "quiz.txt"], "quiz.txt has no known ending: name FILE.xml for Moodle XML, or FILE.zip for QTI."),
        (["03_one_example", "--export", "quiz.xml"], "03_one_example has no quiz."),
    ],
)
def test_an_export_that_cannot_be_is_one_sentence(author: Path, typed: Run, arguments: list[str], says: str) -> None:
    file = author / "course.yaml"
    file.write_text(file.read_text().replace("    quiz: 3.25\n", ""))
    assert says in one_sentence(typed("quiz", *arguments, cwd=author), 2)


def test_a_learner_exports_nothing(tmp_path: Path, new_workspace: Callable[..., Course], typed: Run) -> None:
    root = new_workspace(tmp_path / "ws").root
    assert "has no solutions/" in one_sentence(typed("quiz", "--export", "quiz.xml", cwd=root), 2)

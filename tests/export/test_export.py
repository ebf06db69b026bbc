"""Every export is what its platform reads, whatever is in names and messages, and no grader's failure is a zero."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from helpers.class_results import CLASS, handed, passed, result, todo, wrong
from helpers.platform_formats import (
    CLASSROOM50,
    GRADESCOPE,
    PRAIRIELEARN,
    RUNNER,
    STUDENT_PLATFORMS,
    SUBMITTY,
    junit_tests,
    vpl_grade,
    workflow_commands,
)
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from grader.classroom.results_folder import result_file
from grader.cli.results import Platform
from grader.course.course import PACKAGE, Course, load_course
from grader.export.graded_work import LONGEST, NOT_GRADED, Exported, ExportOptions
from grader.export.platforms import PLATFORMS, whole_factor
from grader.files import write_atomically
from grader.results.records import Adjustment, AnswerResult, StudentResults

HOSTILE = (
    "::error file=x::owned", "::set-output name=score::100", "##[set-env name=PATH]x", "fine%0A::stop-commands::x",
    "a\n::add-mask::b", "a\rGrade :=>> 100", "\nGrade :=>> 100\n", "--|>\nGrade :=>>100\n<|--",
    "Comment :=>> well done",
    "]]></failure><testcase name='x'/>", "<!DOCTYPE x [<!ENTITY y 'z'>]>&y;", "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", "=HYPERLINK(\"http://x\")", "a\n=1+1", "[x](javascript:alert(1))", "![x](http://x/y)",
    "```\n# Full marks\n", "- [x] right", "# Full marks", "[a]: evil.html", "@everyone #1 :tada: www.x.com",
    "\x1b]0;title\x07\x1b[2J", "nul\0nul", "\ud800 lone \udfff", "\u202egnorts", "\ufffe\uffff\x0b\x0c\x85\u2028",
    "$\\href{javascript:x}{y}$", "`" * 5, "x" * 100_000, "", " ", "{{7*7}}{% raw %}", "%25%0A%3A",
)  # fmt: skip
JSON_FORMATS = {
    "gradescope": GRADESCOPE,
    "prairielearn": PRAIRIELEARN,
    "submitty": SUBMITTY,
    "classroom50": CLASSROOM50,
}
BEN, EVE = (handed(next(each for each in CLASS if each.student == name)) for name in ("ben", "eve"))
ADA, CLEO = handed(CLASS[0]), handed(CLASS[2])


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(PACKAGE.parent)


def hostile(text: str) -> StudentResults:
    """Return a record with this text wherever a learner's can be."""
    bad = replace(wrong("w.g", "error", text, text), hints=(text,))
    found = handed(result(text or "nobody", wrong("inp.g", "unknown", text), bad, todo("b.g")))
    return replace(found, notes=(text,))


def exported(course: Course, platform: str, record: StudentResults, **wanted: Any) -> dict[str, bytes]:
    return dict(PLATFORMS[platform](course, [record], ExportOptions(runner=RUNNER, is_single=True, **wanted)).files)


def document(course: Course, platform: str, record: StudentResults) -> Any:
    (content,) = exported(course, platform, record).values()
    found = json.loads(content)
    Draft202012Validator(JSON_FORMATS[platform]).validate(found)
    return found


def test_the_command_names_every_platform() -> None:
    assert set(get_args(Platform)) == set(PLATFORMS)


@pytest.mark.parametrize("platform", sorted(JSON_FORMATS))
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_keeps_a_document_valid_for_its_platform(course: Course, platform: str, text: str) -> None:
    plain, found = (document(course, platform, hostile(each)) for each in ("wrong", text))
    (content,) = exported(course, platform, hostile(text)).values()
    assert all(c == "\n" or c.isprintable() for c in content.decode())
    assert len(content) < 20 * LONGEST
    assert _scores(found) == _scores(plain)
    strings = list(_strings(found))
    assert not any(re.search(r"<[A-Za-z/!?]", each) for each in strings if platform != "gradescope")


def _scores(found: Any) -> Any:
    return [
        (each.get("score"), each.get("points"))
        for each in [found, found.get("data", {}), *found.get("tests", [])]
    ]  # fmt: skip


def _strings(found: Any) -> Any:
    if isinstance(found, str):
        yield found
    elif isinstance(found, (dict, list)):
        for each in found.values() if isinstance(found, dict) else found:
            yield from _strings(each)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_one_test_of_junit_and_no_more(course: Course, text: str) -> None:
    found = junit_tests(exported(course, "junit", hostile(text))["junit.xml"])
    assert {name: tag for name, (tag, _) in found.items()} == {
        "slope return": "passed", "lin_grad w.g": "failure", "lin_grad b.g": "skipped", "relu_grad inp.g": "failure",
    }  # fmt: skip
    assert all(c.isprintable() for _, message in found.values() for c in message)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_issues_no_workflow_command(course: Course, text: str) -> None:
    log = exported(course, "github", hostile(text))["annotations.txt"].decode()
    found = workflow_commands(log)
    assert [(name, said["file"], said["title"]) for name, said, _ in found] == [
        ("error", "exercises/04_linear/lin_grad.py", "lin_grad w.g: error"),
        ("error", "exercises/05_activations/relu_grad.py", "relu_grad inp.g: unknown"),
    ]
    assert len(log.splitlines()) == len(found)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_it_is_in_markdown(course: Course, text: str) -> None:
    """No heading, picture, link, list or HTML but those that are ours; what is not a word may be code."""
    pages = [exported(course, "github", hostile(text))["summary.md"].decode()]
    pages += [each["output"] for each in document(course, "gradescope", hostile(text))["tests"]]
    for number, page in enumerate(pages):
        tokens = [
            token
            for block in MarkdownIt("gfm-like", {"linkify": False}).parse(page)
            for token in (block, *(block.children or ()))
        ]
        kinds = {token.type for token in tokens}
        assert not kinds & {
            "html_block",
            "html_inline",
            "link_open",
            "image",
            "fence",
            "code_block",
            "hr",
            "table_open",
        }
        assert [token.tag for token in tokens if token.type == "heading_open"] == (["h2"] if number == 0 else [])
        assert sum(token.type == "list_item_open" for token in tokens) == (4 + 6 - _missing(text) if number == 0 else 0)
        shown = [token.content for token in tokens if token.type == "text"]
        assert not any(re.search(r"@\w|#\d|:\w+:", each) for each in shown)


def _missing(text: str) -> int:
    """The sentences that an empty text does not make: evidence and hint of one answer; of the other there are none."""
    return 4 if text == "" else 2


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_proposes_no_grade_to_vpl(course: Course, text: str) -> None:
    output = exported(course, "vpl", hostile(text))["vpl.txt"].decode()
    grades, titles = vpl_grade(output)
    assert grades == ["1"]
    assert titles == [
        "slope return (1 of 1)",
        "lin_grad w.g (0 of 1)",
        "lin_grad b.g (0 of 1)",
        "relu_grad inp.g (0 of 1)",
    ]
    assert output.count("--|>") == output.count("<|--") == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_the_files_of_a_class_are_called_as_its_records(course: Course, text: str) -> None:
    """By the rule for records, whoever else is in the class; those of a class of one as well."""
    records = [replace(BEN, student=name) for name in (text or "x", f"{text}/../x", "BEN", "ben", "ben-2", "..", "con")]
    exported = PLATFORMS["vpl"](course, records, ExportOptions())
    for record in records:
        (alone,) = PLATFORMS["vpl"](course, [record], ExportOptions()).files
        assert alone == f"{result_file(Path(), record.student).name.removesuffix('.json')}.vpl.txt"
        assert exported.students[alone] == record.student
    assert list(exported.students) == list(exported.files)
    assert len(exported.files) == len(records)
    assert all("/" not in name and not name.startswith(".") for name in exported.files)


# --- a grader's failure


def test_an_error_gives_no_score_on_gradescope(course: Course) -> None:
    found = document(course, "gradescope", EVE)
    assert "score" not in found
    assert not any("score" in test or "max_score" in test for test in found["tests"])
    assert NOT_GRADED in found["output"]
    assert [test.get("status") for test in found["tests"]] == ["passed", "failed", "passed", "failed", None]


def test_an_error_costs_no_attempt_on_prairielearn(course: Course) -> None:
    assert document(course, "prairielearn", EVE) == {"gradable": False, "format_errors": [NOT_GRADED]}


def test_a_syntax_error_costs_no_attempt_on_prairielearn(course: Course) -> None:
    unread = wrong("b.g", "syntax-error", "line 3: '(' was never closed")
    record = handed(result("x", todo("inp.g"), unread, slope=todo()))
    assert document(course, "prairielearn", record) == {
        "gradable": False,
        "format_errors": ["line 3: '(' was never closed [syntax-error]"],
    }
    assert document(course, "prairielearn", handed(result("x", passed("inp.g"), unread)))["gradable"] is True


def test_points_of_a_person_for_files_that_cannot_be_read_count_on_prairielearn(course: Course) -> None:
    """A 0 that --yes entered, or a line of adjustments.csv, was lost: the work was not gradable."""
    unread = wrong("b.g", "syntax-error", "it is a link")
    record = handed(result("x", todo("inp.g"), unread, slope=todo()))
    zero = document(course, "prairielearn", replace(record, seed=None, notes=("lin_grad.py: it is a link",)))
    assert (zero["gradable"], zero["score"]) == (True, 0)
    by_hand = replace(record, adjustments=(Adjustment("lin_grad", 0.6, "read by hand"),))
    given = document(course, "prairielearn", by_hand)
    assert (given["gradable"], given["score"]) == (True, 0.2)


def test_an_error_is_a_failure_of_submittys_validator(course: Course) -> None:
    assert document(course, "submitty", EVE)["status"] == "failure"


@pytest.mark.parametrize("platform", ["junit", "github"])
def test_an_error_differs_from_a_wrong_answer(course: Course, platform: str) -> None:
    files = exported(course, platform, EVE)
    if platform == "junit":
        assert junit_tests(files["junit.xml"])["relu_grad inp.g"] == ("error", NOT_GRADED)
    else:
        assert workflow_commands(files["annotations.txt"].decode())[-1][1]["title"] == "relu_grad inp.g: not graded"
        assert files["summary.md"].startswith(b"## Not everything could be graded")


def test_an_error_gives_no_file_for_classroom50_and_no_grade_for_vpl(course: Course) -> None:
    assert exported(course, "classroom50", EVE) == {}
    assert vpl_grade(exported(course, "vpl", EVE)["vpl.txt"].decode())[0] == []


@pytest.mark.parametrize("platform", STUDENT_PLATFORMS)
def test_students_do_not_read_the_graders_own_errors(course: Course, platform: str) -> None:
    assert all(b"the worker is gone" not in content for content in exported(course, platform, EVE).values())


BY_HAND = replace(EVE, adjustments=(Adjustment("relu_grad", 1.0, "read by hand"),))


@pytest.mark.parametrize(
    "platform", ["gradescope", "junit", "github", "vpl", "submitty", "prairielearn", "classroom50"]
)
def test_an_error_with_points_from_a_person_is_shown_as_that(course: Course, platform: str) -> None:
    files = exported(course, platform, BY_HAND)
    said = b"".join(files.values()).decode()
    assert "A person has graded this exercise" in said
    assert "not graded" not in said
    assert '"error"' not in said, "neither a status nor a code"
    if platform in ("gradescope", "github", "classroom50"):
        assert "graded by a person" in said
    if platform == "junit":
        assert junit_tests(files["junit.xml"])["relu_grad inp.g"][0] == "skipped"
    if platform == "github":
        assert workflow_commands(files["annotations.txt"].decode())[-1][0] == "notice"
    if platform == "vpl":
        assert vpl_grade(said)[0] == ["3"]
        assert "-relu_grad inp.g (0 of 1)" in said


# --- points, codes, hints


def test_every_answer_has_its_points_its_code_and_one_hint(course: Course) -> None:
    mistake = replace(wrong("w.g", "mean-for-sum", "1/7 of it"), hints=("why?", "where?", "how?"), evidence="nudged")
    record = handed(result("x", passed("inp.g"), mistake))
    for platform in sorted({*STUDENT_PLATFORMS} - {"feedback"}):  # a page, which has its own tests
        said = b"".join(exported(course, platform, record).values()).decode()
        for words in ("lin_grad w.g", "1/7 of it", "mean-for-sum", "measured: nudged", "hint: why?"):
            assert words in said, platform
        assert "where?" not in said


def test_the_score_is_a_share_of_all_possible_points(course: Course) -> None:
    """Of what was not handed in as well, for which the record has exercises that are still to do."""
    missing = tuple(replace(exercise, id=f"{exercise.id}_{n}", answers=tuple(map(_todo, exercise.answers)))
                    for n in range(3) for exercise in BEN.exercises)  # fmt: skip
    record = replace(BEN, exercises=(*BEN.exercises, *missing))
    assert document(course, "prairielearn", record)["score"] == 0.1
    assert document(course, "submitty", record)["data"]["score"] == 0.1
    found = document(course, "classroom50", record)
    assert found["score"] / found["max-score"] == 0.1
    assert vpl_grade(exported(course, "vpl", record)["vpl.txt"].decode())[0] == ["2"]
    assert vpl_grade(exported(course, "vpl", record, out_of=100.0)["vpl.txt"].decode())[0] == ["10"]


def _todo(answer: AnswerResult) -> AnswerResult:
    return todo(answer.name, answer.max_score)


def test_whole_numbers_add_up(course: Course) -> None:
    """All of them come from what was asked: a student who handed in nothing has the same maximum as the others."""
    halves = tuple(replace(exercise, max_score=0.0, answers=tuple(
        replace(answer, score=answer.score / 6, max_score=answer.max_score / 6) for answer in exercise.answers
    )) for exercise in ADA.exercises)  # fmt: skip
    assert whole_factor(ADA) == 1
    assert whole_factor(replace(ADA, exercises=halves)) == 6
    full, none = document(course, "classroom50", ADA), document(course, "classroom50", CLEO)
    assert full["score"] == full["max-score"] == none["max-score"] == sum(each["score"] for each in full["tests"])
    assert none["score"] == 0


def test_classroom50_reviews_the_commit_when_its_runner_names_no_review(course: Course) -> None:
    found = document(course, "classroom50", BEN)
    assert found["review"] == found["commit"] == "c"
    assert [each["code"] for each in found["tests"] if not each["passed"]] == ["mean-for-sum"] * 2 + [
        "missing-upstream"
    ]


def test_github_shows_ten_annotations_and_says_that_there_are_more(course: Course) -> None:
    wrongs = tuple(wrong(f"x{number}.g", "unknown", f"wrong {number}") for number in range(30))
    files = exported(course, "github", handed(result("x", passed(), *wrongs)))
    found = workflow_commands(files["annotations.txt"].decode())
    assert len(found) == 10
    assert found[-1][2] == "21 more are in the summary of this run."
    assert files["summary.md"].count(b"wrong 2") == 11


def test_github_knows_the_line_of_the_function(course: Course) -> None:
    found = exported(course, "github", BEN, lines={"lin_grad": 12})["annotations.txt"].decode()
    assert workflow_commands(found)[0][1] == {
        "file": "exercises/04_linear/lin_grad.py", "line": "12", "title": "lin_grad b.g: mean-for-sum",
    }  # fmt: skip


@pytest.mark.parametrize(("platform", "most"), [("prairielearn", 1_000_000), ("github", 1 << 20)])
def test_no_file_is_larger_than_its_platform_takes(course: Course, platform: str, most: int) -> None:
    wrongs = tuple(
        replace(wrong(f"x{number}.g", "unknown", "\U0001f600" * 3000), hints=("x" * 9999,)) for number in range(900)
    )
    files = exported(course, platform, handed(result("x", passed(), *wrongs)))
    assert max(map(len, files.values())) < most


def test_an_empty_record_has_the_score_zero(course: Course) -> None:
    record = StudentResults("handgrad", "x", ())
    assert document(course, "gradescope", record)["score"] == 0
    assert document(course, "prairielearn", record)["score"] == 0
    assert junit_tests(exported(course, "junit", record)["junit.xml"]) == {}


def test_an_export_without_records_is_empty(course: Course) -> None:
    assert PLATFORMS["junit"](course, [], ExportOptions()) == Exported({})


FORGED = ("\x00", "\x1b[2J", "\ufffe\uffff", "\x0b\x85", "a\nb", "x" * 300, "<&>\"'", "\u202egnorts")


@pytest.mark.parametrize("text", FORGED)
@pytest.mark.parametrize("platform", sorted({*STUDENT_PLATFORMS} - {"feedback"}))
def test_a_forged_record_leaves_a_file_that_can_be_read(course: Course, platform: str, text: str) -> None:
    """Its codes, units, ids and names are no words of ours; JUnit's is XML all the same."""
    answer = replace(wrong("w.g", "error", text, text), name=text or "x", code=text)
    found = replace(handed(result(text, answer)), course=text, notes=(text,))
    found = replace(found, exercises=tuple(replace(each, id=text, unit=text) for each in found.exercises))
    for name, content in exported(course, platform, found).items():
        shown = content.decode()
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", shown), name
        if name.endswith(".xml"):
            assert "failure" in {tag for tag, _ in junit_tests(content).values()}


@pytest.mark.parametrize(
    "name", ["x" * 240, "é" * 120, "\U0001f600" * 60, "../../etc", "\x00", "a/b", ".", "..", " ", ""]
)
def test_every_students_file_names_fit_the_file_system(course: Course, tmp_path: Path, name: str) -> None:
    """With the ending of a file that is not finished yet, which is written beside it."""
    records = [
        replace(handed(each), student=student) for each, student in zip(CLASS[:2], (name, f"{name}2"), strict=True)
    ]
    for platform in STUDENT_PLATFORMS:
        files = PLATFORMS[platform](course, records, ExportOptions(runner=RUNNER)).files
        for file in files:
            assert Path(file).name == file
            write_atomically(tmp_path / platform / file, b"")
        assert len(list((tmp_path / platform).iterdir())) == len(files) >= 2

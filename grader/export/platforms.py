"""The platforms of `handgrad export --to`, and the formats of those that take a student at a time.

They are PrairieLearn, Submitty and Classroom 50 (JSON), GitHub, JUnit and VPL. GitHub's annotations are workflow
commands, one a line. Everything in them is escaped as the runner undoes it, so that no text can end a command or begin
another.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from grader.classroom.results_folder import result_file
from grader.classroom.student_results import SUFFIX
from grader.course.course import Course
from grader.rendering.render_text import group_alike
from grader.results.points import exact
from grader.results.records import BY_PERSON, StudentResults

from .feedback import feedback
from .grade_sheets import canvas, moodle
from .graded_work import (
    Exported,
    Exporter,
    ExportOptions,
    GradedAnswer,
    answers,
    as_json,
    changes,
    markdown,
    no_score,
    notes,
    number,
    of_points,
    points_reached,
    share,
    tagless,
    text,
)
from .gradescope import results_json

StudentExporter = Callable[[Course, StudentResults, ExportOptions], Mapping[str, bytes]]
MOST_ANNOTATIONS = 10  # the number of a kind that GitHub shows of a step
SUMMARY_BYTES = 1_000_000  # a summary may have 1 MiB
STATUS = {
    "passed": "right", "failed": "wrong", "todo": "not attempted", "error": "**not graded**", BY_PERSON: BY_PERSON,
}  # fmt: skip
TAGS = {"failed": "failure", "error": "error", "todo": "skipped", BY_PERSON: "skipped"}
PRAIRIELEARN_BYTES = 1_000_000  # the most that it accepts
FINEST = 1000  # whole points are at most this often as many as the course's
CLASSROOM50 = "classroom50/result/v1"
OF_RUNNER = {  # field: the runner's environment variable
    "classroom": "CLASSROOM", "assignment": "ASSIGNMENT", "assignment_type": "ASSIGNMENT_TYPE", "owner": "OWNER",
    "submission": "SUBMISSION_TAG", "commit": "COMMIT_URL", "release": "RELEASE_URL", "review": "REVIEW_URL",
    "datetime": "DATETIME",
}  # fmt: skip


def for_each_student(export_one: StudentExporter) -> Exporter:
    """Return an exporter of a class that calls `export_one` for every student.

    The name of each file begins with that of the student's record, whoever else is in the class. The files of a record
    that is exported alone keep the names that the platform prescribes.
    """

    def export(course: Course, records: Sequence[StudentResults], options: ExportOptions) -> Exported:
        if options.is_single:
            return Exported(export_one(course, records[0], options))
        files: dict[str, bytes] = {}
        students: dict[str, str] = {}
        for record in records:
            begin = result_file(Path(), record.student).name.removesuffix(SUFFIX)
            for name, content in export_one(course, record, options).items():
                files[f"{begin}.{name}"] = content
                students[f"{begin}.{name}"] = record.student
        return Exported(files, students)

    return export


def github(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `annotations.txt`, for a step to print, and `summary.md`, to be appended to `$GITHUB_STEP_SUMMARY`.

    Of over `MOST_ANNOTATIONS` annotations, the last ones are replaced by one that says how many more there are.

    Args:
        course: names the file of each exercise.
        record: the student's results.
        options: `lines` holds the line of each exercise's function.
    """
    lines = list(_annotations(course, record, options))
    if len(lines) > MOST_ANNOTATIONS:
        more = len(lines) - MOST_ANNOTATIONS + 1
        lines[MOST_ANNOTATIONS - 1 :] = [
            workflow_command("error", f"{more} more are in the summary of this run.", title="more")
        ]
    annotations = "".join(f"{line}\n" for line in lines)
    return {"annotations.txt": annotations.encode(), "summary.md": _summary(record).encode()}


def _annotations(course: Course, record: StudentResults, options: ExportOptions) -> Iterator[str]:
    """Yield a workflow command for each group of answers that are wrong, or were not graded, in the same way.

    It is a notice where a person gave the exercise points, else an error.
    """
    for exercise in record.exercises:
        for group in group_alike(exercise):
            first = GradedAnswer(exercise, group[0], exercise.id in record.adjusted_ids)
            if first.answer.status not in ("failed", "error"):
                continue
            names = ", ".join(answer.name for answer in group)
            code = first.code if first.is_graded else BY_PERSON if first.is_by_person else "not graded"
            place = {
                "file": _file_path(course, exercise.id, exercise.unit),
                "line": str(options.lines.get(exercise.id, 1)),
            }
            command, title = "notice" if first.is_by_person else "error", text(f"{exercise.id} {names}: {code}")
            yield workflow_command(command, "\n".join(first.sentences), **place, title=title)


def _file_path(course: Course, exercise: str, unit: str) -> str:
    """Return the path of an exercise's file in the course.

    `exercises/<unit>/<id>.py` if the course lacks the exercise.
    """
    files = (declared.file for declared in course.exercises if declared.id == exercise)
    return next(files, text(f"exercises/{unit}/{exercise}.py"))  # where it was graded by another course


def workflow_command(name: str, message: str, **properties: str) -> str:
    """Return a workflow command of GitHub Actions, `::error file=a.py,line=3::message`, escaped as its toolkit does."""
    listed = ",".join(f"{key}={_escaped_property(value)}" for key, value in properties.items())
    return f"::{name} {listed}::{_escaped_message(message)}"


def _escaped_message(words: str) -> str:
    """Return text in which no character ends a workflow command of GitHub Actions or begins another one."""
    words = words.replace("##[", "# #[")  # the older form of a command, which may stand anywhere in a line
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(words: str) -> str:
    """Return text as the value of a workflow command's property: escaped like a message, its `:` and `,` too."""
    return _escaped_message(words).replace(":", "%3A").replace(",", "%2C")


def _summary(record: StudentResults) -> str:
    """Return a student's points, answers and notes as Markdown, cut between answers at about `SUMMARY_BYTES` bytes.

    At most 20 notes are shown.
    """
    if record.score is None:
        parts = [f"## {'Not everything could be graded' if record.ungraded else markdown(no_score(record))}\n\n"]
    else:
        parts = [f"## {number(record.score)} of {number(record.max_score)} points\n\n"]
        parts += [f"{points_reached(record)}\n\n"] if record.score != record.raw_score else []
    items = [*map(_answer_item, answers(record)), *(f"- {markdown(change.sentence)}\n" for change in changes(record))]
    size = 0
    for item in items:
        size += len(item.encode())
        if size > SUMMARY_BYTES:
            parts.append("\nThere is more than a summary can hold.\n")
            break
        parts.append(item)
    parts += [f"\n{markdown(note)}\n" for note in notes(record)[:20]]
    return "".join(parts)


def _answer_item(answer: GradedAnswer) -> str:
    """Return an answer as an item of a Markdown list, with its sentences below it if it is wrong."""
    line = f"- {markdown(answer.name)}: {of_points(answer)}, {STATUS[answer.status]}\n"
    if answer.answer.status in ("passed", "todo"):
        return line
    return line + "".join(f"  - {markdown(words)}\n" for words in answer.sentences)


def junit(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `junit.xml`, with a test for each answer, for Artemis, CodeGrade and any CI.

    What is not attempted is skipped, and so is what a person gave points; what could not be graded is an error and not
    a failure. JUnit has no points: the score after lateness, the raw score and each change of the points are lines of
    `system-out`. The elements are those that Artemis reads (ls1intum/Artemis, TestResultXmlParser.java in
    buildagent/service, at commit 1393b0d).

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: not read.
    """
    cases = [_test_case(answer) for answer in answers(record)]
    counts = Counter(child.tag for case in cases for child in case)
    numbers = {"failures": counts["failure"], "errors": counts["error"], "skipped": counts["skipped"]}
    suite = ET.Element(
        "testsuite",
        {"name": text(record.course), "tests": str(len(cases)), **{name: str(n) for name, n in numbers.items()}},
        time="0",
    )
    suite.extend(cases)
    lines = [points_reached(record), *(change.sentence for change in changes(record)), *notes(record)]
    ET.SubElement(suite, "system-out").text = "\n".join(lines)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return {"junit.xml": ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"}


def _test_case(answer: GradedAnswer) -> ET.Element:
    """Return an answer as a `<testcase>` element of a JUnit report."""
    case = ET.Element("testcase", classname=text(answer.exercise.unit), name=answer.name, time="0")
    if tag := TAGS.get(answer.status):
        outcome = ET.SubElement(case, tag, message=answer.verdict)
        if tag != "skipped":
            outcome.set("type", answer.code or "error")
            outcome.text = "\n".join(answer.sentences)
    return case


def vpl(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `vpl.txt`, which `vpl_evaluate.sh` prints for VPL in Moodle: a block of comments, and the grade.

    In the block, a line that begins with `-` is a title and one that begins with `>` is shown literally. The grade is
    the score after lateness; without a score there is none, so that VPL proposes none. The marks are those that
    jcrodriguez-dis/moodle-mod_vpl reads, vpl_submission.class.php at commit 871102e.

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: `out_of` is the maximum grade.
    """
    lines = []
    for answer in answers(record):
        lines.append(f"-{_inert(answer.name)} ({of_points(answer)})")
        lines += [f">{_inert(line)}" for line in answer.sentences if answer.answer.status != "passed"]
    for change in changes(record):
        lines += [f"-{_inert(change.name)} ({change.signed})", f">{_inert(change.reason)}"]
    is_total_told = record.score is None or record.score != record.raw_score
    lines += [f">{_inert(line)}" for line in (*([points_reached(record)] if is_total_told else []), *notes(record))]
    block = "\n".join(["<|--", *lines, "--|>"])
    most = record.max_score if options.out_of is None else options.out_of
    grade = "\n" if record.score is None else f"\nGrade :=>>{number(share(record) * most)}\n"
    return {"vpl.txt": (block + grade).encode()}


def _inert(words: str) -> str:
    """Return a text in which VPL does not recognise any of its own marks."""
    return tagless(words).replace(":=>>", ": = > >").replace("--|>", "- - | >").replace("<|--", "< | - -")


def prairielearn(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `results.json` of an external grader for PrairieLearn.

    What has no score, or cannot be read as Python, is not gradable: it costs neither points nor an attempt. Where a
    person has entered 0 points or has given some, the score is those. The form is that of PrairieLearn/PrairieLearn,
    docs/externalGrading.md, "Grading results", at commit 06a6d59. The score is the share of the points after lateness;
    a change of the points is a test out of 0. Where they would be over `PRAIRIELEARN_BYTES`, the tests have no
    messages.

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: not read.
    """
    listed = list(answers(record))
    unread = [answer.verdict for answer in listed if answer.code == "syntax-error"]
    tried = [answer for answer in listed if answer.answer.status != "todo"]
    if record.score is None:
        return {"results.json": as_json({"gradable": False, "format_errors": [tagless(no_score(record))]})}
    is_by_person = record.seed is None or bool(record.adjustments)  # who entered 0 points, or gave some
    if unread and len(unread) == len(tried) and not is_by_person:
        errors = [tagless(line) for line in dict.fromkeys(unread)]
        return {"results.json": as_json({"gradable": False, "format_errors": errors})}
    message = tagless(" ".join([points_reached(record), *notes(record)]))
    head = {"gradable": True, "score": round(share(record), 6), "message": message}
    tests = [_prairielearn_test_entry(answer) for answer in listed]
    tests += [
        {
            "name": change.name, "description": "", "points": change.points, "max_points": 0,
            "message": tagless(change.reason), "output": "",
        }
        for change in changes(record)
    ]  # fmt: skip
    content = as_json({**head, "tests": tests})
    if len(content) > PRAIRIELEARN_BYTES:
        content = as_json({**head, "tests": [{**test, "message": "", "output": ""} for test in tests]})
    return {"results.json": content}


def _prairielearn_test_entry(answer: GradedAnswer) -> dict[str, Any]:
    """Return an answer as an entry of `tests` in PrairieLearn's results, with its points and messages."""
    return {
        "name": answer.name,
        "description": answer.exercise.unit,
        "points": answer.answer.score,
        "max_points": answer.answer.max_score,
        "message": tagless(answer.verdict),
        "output": tagless("\n".join(f"{label}: {words}" for label, words in answer.helps)),
    }


def submitty(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `validation_results.json` of a custom validator for Submitty.

    What has no score is a failure of the validator, whose reason the instructor sees. The form is that of
    Submitty/submitty.github.io, _docs/instructor/autograding/validation.md, "Python Custom Validator Output", at commit
    3df7839. The score is the share of the points after lateness.

    Args:
        course: not read; every exporter takes it.
        record: the student's results.
        options: not read.
    """
    if record.score is None:
        failed = ", ".join(answer.name for answer in answers(record) if answer.has_no_points)
        why = f"not graded: {failed}; grade the submission again" if record.ungraded else no_score(record)
        document: dict[str, Any] = {"status": "failure", "message": tagless(why)}
        return {"validation_results.json": as_json(document)}
    colours = {"passed": "success", "failed": "failure", BY_PERSON: "information"}
    messages = [
        {
            "message": tagless(f"{answer.name} ({of_points(answer)}): {'; '.join(answer.sentences)}"),
            "status": colours.get(answer.status, "warning"),
        }
        for answer in answers(record)
    ]
    lines = [*(change.sentence for change in changes(record)), points_reached(record), *notes(record)]
    messages += [{"message": tagless(line), "status": "information"} for line in lines]
    document = {"status": "success", "data": {"score": round(share(record), 6), "message": messages}}
    return {"validation_results.json": as_json(document)}


def classroom50(course: Course, record: StudentResults, options: ExportOptions) -> dict[str, bytes]:
    """Return `result.json` as `classroom50/result/v1`, in whole numbers of points.

    There is no file without a score, so that the runner reports an error and no score. The score is that after
    lateness. Classroom 50's collector accepts no negative points of a test (foundation50/classroom50, wiki page
    "Advanced Autograding", "The result.json contract", and `validate_result` of its collect_scores.py), so a change of
    the points is a test of 0 out of 0, which has the change in a field of its own.

    Args:
        course: not read; every exporter takes it.
        record: the student's results, whose possible points decide the factor that makes points whole.
        options: `runner` names the submission.
    """
    if record.score is None:
        return {}
    factor = whole_factor(record)
    listed_answers, listed_changes = list(answers(record)), changes(record)
    worth = whole_points([answer.answer.max_score for answer in listed_answers], factor)
    tests = [
        _classroom50_test_entry(answer, max_points) for answer, max_points in zip(listed_answers, worth, strict=True)
    ]
    most, points = sum(worth), sum(test["score"] for test in tests)
    if listed_changes:  # rounded so that all of them together make the score
        score = round(exact(record.score) * factor)
        rounded = whole_points([change.points for change in listed_changes], factor)
        rounded[-1] += score - points - sum(rounded)
        tests += [
            {
                "test-name": change.name, "passed": True, "score": 0, "max-score": 0, "status": "changed", "code": None,
                "message": tagless(f"{change.signed} points: {change.reason}"), "change": whole,
            }
            for change, whole in zip(listed_changes, rounded, strict=True)
        ]  # fmt: skip
    else:
        score = points
    document = {
        "schema": CLASSROOM50,
        **_runner_fields(options.runner),
        "score": min(score, most),  # the tests keep all points, as those for PrairieLearn do
        "max-score": most,
        "tests": tests,
    }
    return {"result.json": as_json(document)}


def _runner_fields(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of `OF_RUNNER` that identify a submission, by name, without empty ones.

    Args:
        variables: the environment of the runner, such as `os.environ`.
    """
    fields = {name: variables.get(variable, "") for name, variable in OF_RUNNER.items()}
    fields["review"] = fields["review"] or fields["commit"]
    return {name: value for name, value in fields.items() if value}


def _classroom50_test_entry(answer: GradedAnswer, max_points: int) -> dict[str, Any]:
    """Return Classroom 50's test entry of an answer.

    Args:
        answer: the answer's result.
        max_points: the points that are possible, as a whole number.
    """
    reached = exact(answer.answer.score) / exact(answer.answer.max_score) if answer.answer.max_score else Fraction(0)
    return {
        "test-name": answer.name,
        "passed": answer.answer.status == "passed",
        "score": min(round(reached * max_points), max_points),
        "max-score": max_points,
        "status": answer.status,
        "code": answer.code or None,
        "message": tagless("\n".join(answer.sentences)),
    }


def whole_factor(record: StudentResults) -> int:
    """Return the least factor that makes the possible points of every answer whole, or `FINEST` if that is larger.

    It does not depend on what was handed in: all records of a class give the same.
    """
    return min(math.lcm(*(exact(answer.answer.max_score).denominator for answer in answers(record))), FINEST)


def whole_points(points: Sequence[float], factor: int) -> list[int]:
    """Return points times a factor, rounded up or down to whole numbers whose sum is the rounded exact sum.

    Each of them is the rounded sum up to it less the rounded sum before it: [0.5, 0.5, 0.5] times 1 gives [0, 1, 1].
    """
    sums = [round(partial_sum * factor) for partial_sum in accumulate(map(exact, points), initial=Fraction(0))]
    return [after - before for before, after in pairwise(sums)]


CAPPED = frozenset({"prairielearn", "classroom50", "moodle", "submitty", "vpl"})  # platforms that take no points above
OPTION_READERS: Mapping[str, tuple[str, ...]] = {  # those that read an option of the command; others refuse it
    "--fill": ("canvas", "moodle"),
    "--column": ("canvas", "moodle"),
    "--out-of": ("canvas", "moodle", "vpl"),
}
RECORD_FILES: Mapping[str, tuple[str, ...]] = {  # that the platform reads, where one record is exported
    "gradescope": ("results.json",),
    "prairielearn": ("results.json",),
    "junit": ("junit.xml",),
    "classroom50": ("result.json",),
    "github": ("annotations.txt", "summary.md"),
    "submitty": ("validation_results.json",),
    "vpl": ("vpl.txt",),
    "feedback": ("feedback.html",),
}
PLATFORMS: Mapping[str, Exporter] = {
    "gradescope": for_each_student(results_json),
    "prairielearn": for_each_student(prairielearn),
    "junit": for_each_student(junit),
    "classroom50": for_each_student(classroom50),
    "github": for_each_student(github),
    "canvas": canvas,
    "moodle": moodle,
    "submitty": for_each_student(submitty),
    "vpl": for_each_student(vpl),
    "feedback": for_each_student(feedback),
}

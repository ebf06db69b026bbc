"""JUnit's XML, for Artemis, CodeGrade and any CI: a test for each answer, known by its name alone."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter

from grader.classroom.student_results import StudentResults
from grader.course.course import Course
from grader.results.records import Status

from .exporter import Wanted
from .graded_work import GradedAnswer, answers, notes, text

TAGS: dict[Status, str] = {"failed": "failure", "error": "error", "todo": "skipped"}


def junit(course: Course, record: StudentResults, wanted: Wanted) -> dict[str, bytes]:
    """Return `junit.xml`: what is not attempted is skipped, and what could not be graded is an error and no failure."""
    cases = [_test_case(answer) for answer in answers(record)]
    counts = Counter(child.tag for case in cases for child in case)
    numbers = {"failures": counts["failure"], "errors": counts["error"], "skipped": counts["skipped"]}
    suite = ET.Element(
        "testsuite",
        {"name": text(record.course), "tests": str(len(cases)), **{name: str(n) for name, n in numbers.items()}},
        time="0",
    )
    suite.extend(cases)
    if lines := notes(record):
        ET.SubElement(suite, "system-out").text = "\n".join(lines)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return {"junit.xml": ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"}


def _test_case(answer: GradedAnswer) -> ET.Element:
    """Return the test case of one answer."""
    case = ET.Element("testcase", classname=text(answer.exercise.unit), name=answer.name, time="0")
    if tag := TAGS.get(answer.answer.status):
        outcome = ET.SubElement(case, tag, message=answer.found)
        if tag != "skipped":
            outcome.set("type", answer.code or "error")
            outcome.text = "\n".join(answer.sentences)
    return case

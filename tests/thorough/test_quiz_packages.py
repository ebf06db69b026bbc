"""Packages of quizzes: every reference leads to a file, and points and feedback belong together."""

from __future__ import annotations

import html
import io
import zipfile
from xml.etree import ElementTree as ET

import pytest
from test_quiz_export import questions, real

from grader.authoring.quiz_export import PACKAGE as PACKAGE_SPACE
from grader.authoring.quiz_export import QTI as QTI_SPACE
from grader.authoring.quiz_export import moodle_xml, qti_package
from grader.course.course import Course


def test_every_reference_in_a_package_leads_to_a_file_and_every_file_is_listed(real: Course) -> None:
    archive = zipfile.ZipFile(io.BytesIO(qti_package("handgrad", questions(real))))
    manifest = ET.fromstring(archive.read("imsmanifest.xml"))
    resources = {one.attrib["identifier"]: one for one in manifest.iter(f"{{{PACKAGE_SPACE}}}resource")}
    hrefs = [one.attrib["href"] for one in manifest.iter(f"{{{PACKAGE_SPACE}}}file")]
    assert sorted(hrefs) == sorted(set(archive.namelist()) - {"imsmanifest.xml"})
    for one in manifest.iter(f"{{{PACKAGE_SPACE}}}dependency"):
        assert one.attrib["identifierref"] in resources
    for name in archive.namelist():
        root = ET.fromstring(archive.read(name))
        for reference in root.iter(f"{{{QTI_SPACE}}}assessmentItemRef"):
            assert reference.attrib["href"] == f"../{resources[reference.attrib['identifier']].attrib['href']}"


def test_feedback_and_outcomes_of_an_item_belong_together(real: Course) -> None:
    archive = zipfile.ZipFile(io.BytesIO(qti_package("handgrad", questions(real))))
    for name in archive.namelist():
        root = ET.fromstring(archive.read(name))
        declared = {one.attrib["identifier"] for one in root.iter(f"{{{QTI_SPACE}}}outcomeDeclaration")}
        for one in root.iter(f"{{{QTI_SPACE}}}setOutcomeValue"):
            assert one.attrib["identifier"] in declared
        choices = {one.attrib["identifier"] for one in root.iter(f"{{{QTI_SPACE}}}simpleChoice")}
        for one in root.iter(f"{{{QTI_SPACE}}}modalFeedback"):
            assert not choices or one.attrib["identifier"] in choices


def test_points_of_several_choices_add_up_and_wrong_ones_take_them_away(real: Course) -> None:
    root = ET.fromstring(moodle_xml("handgrad", questions(real)))
    for question in (one for one in root if one.findtext("single") == "false"):
        fractions = [float(answer.get("fraction", "")) for answer in question.iter("answer")]
        assert sum(one for one in fractions if one > 0) == pytest.approx(100, abs=1e-3)
        assert {one for one in fractions if one < 0} == {-100}


def test_a_listing_keeps_its_lines(real: Course) -> None:
    listing = next(item for item in questions(real) if item.id == "quiz_02_chain_rule-x_grad").listing
    root = ET.fromstring(moodle_xml("handgrad", questions(real)))
    texts = [one.findtext("questiontext/text", "") for one in root]
    assert any(f"<pre>{html.escape(listing, quote=False)}</pre>" in text for text in texts)
    archive = zipfile.ZipFile(io.BytesIO(qti_package("handgrad", questions(real))))
    pre = ET.fromstring(archive.read("items/quiz_02_chain_rule-x_grad.xml")).find(f".//{{{QTI_SPACE}}}pre")
    assert pre is not None
    assert pre.text == listing

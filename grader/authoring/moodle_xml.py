"""Quizzes as Moodle XML, the format that a Moodle question bank imports: docs.moodle.org, "Moodle XML format"."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from xml.etree import ElementTree as ET

from .exported_questions import Answer, Item, as_html

TYPES = {"choice": "multichoice", "choices": "multichoice", "number": "numerical", "word": "shortanswer"}


def moodle_xml(course: str, items: Iterable[Item]) -> bytes:
    """One file with a category for each unit.

    Args:
        course: the name of the category above them.
    """
    root = ET.Element("quiz")
    for unit, group in groupby(items, key=lambda item: item.unit):
        category = ET.SubElement(ET.SubElement(root, "question", type="category"), "category")
        ET.SubElement(category, "text").text = f"$course$/top/{course}/{unit}"
        for item in group:
            _question(root, item)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="UTF-8", xml_declaration=True)) + b"\n"


def _question(root: ET.Element, item: Item) -> None:
    question = ET.SubElement(root, "question", type=TYPES[item.kind])
    _text(question, "name", item.id.partition("-")[2])
    _text(question, "questiontext", as_html(item.ask, item.listing), format="html")
    _text(question, "generalfeedback", as_html(item.because), format="html")
    for name, value in (("defaultgrade", "1"), ("penalty", "0.3333333"), ("hidden", "0"), ("idnumber", item.id)):
        ET.SubElement(question, name).text = value
    if TYPES[item.kind] == "multichoice":
        ET.SubElement(question, "single").text = "true" if item.kind == "choice" else "false"
        ET.SubElement(question, "shuffleanswers").text = "true"
        ET.SubElement(question, "answernumbering").text = "abc"
    elif item.kind == "word":
        ET.SubElement(question, "usecase").text = "0"
    for answer in item.answers:
        _answer(question, item, answer)
    if item.kind == "number":
        _units(question, item)
    for hint in item.hints:
        _text(question, "hint", as_html(hint), format="html")


def _answer(question: ET.Element, item: Item, answer: Answer) -> None:
    shown = TYPES[item.kind] == "multichoice"
    found = ET.SubElement(question, "answer", fraction=_fraction(item, answer), format="html" if shown else "moodle_auto_format")  # fmt: skip  # noqa: E501
    ET.SubElement(found, "text").text = as_html(answer.text) if shown else answer.text
    _text(found, "feedback", as_html(answer.feedback) if answer.feedback else "", format="html")
    if item.kind == "number":
        ET.SubElement(found, "tolerance").text = f"{item.tolerance:.10g}"


def _fraction(item: Item, answer: Answer) -> str:
    """Per cent of the grade; several choices share it, and each wrong one takes it away."""
    if not answer.right:
        return "-100" if item.kind == "choices" else "0"
    return f"{100 / sum(one.right for one in item.answers):.7g}" if item.kind == "choices" else "100"


def _units(question: ET.Element, item: Item) -> None:
    """Units that may be typed behind the number, and need not be."""
    if item.units:
        units = ET.SubElement(question, "units")
        for name, worth in item.units.items():
            unit = ET.SubElement(units, "unit")
            ET.SubElement(unit, "multiplier").text = f"{1 / worth:.10g}"
            ET.SubElement(unit, "unit_name").text = name
    for name, value in (("unitgradingtype", "0"), ("unitpenalty", "0.1"), ("showunits", "3"), ("unitsleft", "0")):
        ET.SubElement(question, name).text = value


def _text(parent: ET.Element, name: str, text: str, **attributes: str) -> None:
    ET.SubElement(ET.SubElement(parent, name, attributes), "text").text = text

"""Quizzes in the formats that other systems import: Moodle XML, and IMS QTI 2.1.

Every question becomes an item: a choice, several choices, a number, or a word of which some spellings are right. A
formula becomes a choice, as nobody can judge one there.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree as ET

from grader.course.course import Course, CourseExercise
from grader.course.questions import AnswerableQuestion, Choice, Choices, Expression, Number, QuizMistake, Shape
from grader.errors import UsageError
from grader.files import write_atomically
from grader.quiz.answer_reading import worth_of_units
from grader.quiz.formula_evaluation import arithmetic
from grader.quiz.variants import options, question_with_key, shuffled

CODE = re.compile(r"`([^`]+)`")
Kind = Literal["choice", "choices", "number", "word"]


@dataclass(frozen=True)
class ItemAnswer:
    """An answer to an item that is known in advance.

    Args:
        id: its name within the item.
        text: the text of the choice, or the text that is typed.
        right: whether it is right.
        feedback: the feedback to whoever gives it; may be empty.
    """

    id: str
    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Item:
    """A quiz question for export.

    Args:
        id: unique among all questions of a course: `quiz_04_linear-why_sum_0`.
        unit: the id of its unit.
        kind: whether one choice, several choices, a number or a word is asked for.
        ask: the question, paragraphs of text with code in backticks.
        listing: the code that the question is about; may be empty.
        answers: all choices in order; or the numbers and words that are known, the right ones first.
        hints: the hints, in order.
        because: the reason why the right answer is right.
        tolerance: the greatest difference of a right number from the answer.
        units: by each unit of measurement in which a number may be given, its worth in the first one; `None` if the
            number has no unit.
    """

    id: str
    unit: str
    kind: Kind
    ask: str
    listing: str
    answers: tuple[ItemAnswer, ...]
    hints: tuple[str, ...]
    because: str
    tolerance: float = 0.0
    units: Mapping[str, float] | None = None


def export_quizzes(course: Course, quizzes: Sequence[CourseExercise], target: Path, variant: int) -> list[str]:
    """Write quizzes to a file, in the format that its ending names, and return lines on what was written.

    Args:
        course: the course.
        quizzes: the quizzes, all with solutions.
        target: the file: FILE.xml for Moodle XML, or FILE.zip for QTI.
        variant: the number of the variant of the questions, which decides on the numbers in them.

    Raises:
        UsageError: the file has another ending.
        SpecError: the right answer of a prediction was never computed.
    """
    formats = {".xml": ("Moodle XML", moodle_xml), ".zip": ("a QTI 2.1 package", qti_package)}
    if target.suffix not in formats:
        raise UsageError(f"{target} has no known ending: name FILE.xml for Moodle XML, or FILE.zip for QTI.")
    name, write = formats[target.suffix]
    questions = items(quizzes, variant)
    write_atomically(target, write(course.config.course, questions))
    lines = [f"{len(questions)} questions written to {target}, as {name}."]
    all_questions = [question for quiz in quizzes for question in quiz.quiz.questions.values()]
    formulas = sum(isinstance(question, Expression) for question in all_questions)
    if formulas:
        ask, they = ("asks", "it") if formulas == 1 else ("ask", "they")
        why = f"{ask} for a formula, which nobody can judge there"
        lines.append(f"{formulas} of them {why}: {they} became multiple choice.")
    return lines


def items(quizzes: Iterable[CourseExercise], variant: int = 0) -> list[Item]:
    """Return every question of these quizzes as an item.

    Args:
        quizzes: the quizzes.
        variant: the number of the variant of the questions.

    Raises:
        SpecError: the right answer of a prediction was never computed.
    """
    return [
        _item(f"{quiz.id}-{name}", quiz.unit, name, question_with_key(quiz.quiz, name, variant), variant)
        for quiz in quizzes
        for name in quiz.quiz.questions
    ]


def _item(id: str, unit: str, name: str, question: AnswerableQuestion, variant: int) -> Item:
    """Return one question as an item.

    Args:
        id: the id of the item.
        unit: the id of the question's unit.
        name: the name of the question in its quiz.
        question: the question, with the numbers of the variant in it.
        variant: the number of the variant, which also decides on the order of choices.
    """
    ask, tolerance, units = question.ask, 0.0, None
    if isinstance(question, (Choice, Choices)):
        kind: Kind = question.kind
        answers = tuple(_choices(question, options(name, question, variant)))
    elif isinstance(question, Expression):
        kind, answers = "choice", tuple(_formulas(name, question, variant))
        ask += " Which of these formulas is right?"
    elif isinstance(question, Number):
        kind, tolerance = "number", question.tolerance
        units = worth_of_units(question) if question.unit else None
        wrong = {_decimal(number): mistake for number, mistake in question.wrong.items()}
        answers = tuple(_typed_answers([_decimal(question.right)], wrong))
        ask += f" Answer in {question.unit}." if question.unit else ""
    else:
        kind, answers = "word", tuple(_words(question))
        ask += " Answer with a shape, such as (k, 3)." if isinstance(question, Shape) else ""
    return Item(
        id=id,
        unit=unit,
        kind=kind,
        ask=ask,
        listing=question.listing.rstrip(),
        answers=answers,
        hints=question.hints,
        because=question.because,
        tolerance=tolerance,
        units=units,
    )


def _choices(question: Choice | Choices, texts: Mapping[str, str]) -> Iterator[ItemAnswer]:
    """Yield the choices of a question; `texts` has the text of each by its label, in order."""
    for label, text in texts.items():
        right = label in question.right
        feedback = question.because if right else question.wrong[label].says
        yield ItemAnswer(label, text, right, feedback)


def _formulas(name: str, question: Expression, variant: int) -> Iterator[ItemAnswer]:
    """Yield the right formula and each known wrong one as a choice, in an order that name and variant determine.

    Args:
        name: the question's name.
        question: the question, which asks for a formula.
        variant: the number of the variant.
    """
    texts = {f"formula_{i}": text for i, text in enumerate((question.right, *question.wrong))}
    for id in shuffled(name, texts, variant):
        mistake = question.wrong.get(texts[id])
        yield ItemAnswer(id, texts[id], mistake is None, question.because if mistake is None else mistake.says)


def _words(question: AnswerableQuestion) -> Iterator[ItemAnswer]:
    """Yield the words that answer a question; of a shape every right spelling, and one spelling of each wrong shape."""
    assert not isinstance(question, (Choice, Choices, Number, Expression))
    if not isinstance(question, Shape):
        return _typed_answers([question.right], question.wrong)
    return _typed_answers(
        _spellings(question.right), {_spellings(shape)[0]: mistake for shape, mistake in question.wrong.items()}
    )


def _typed_answers(right: Sequence[str], wrong: Mapping[str, QuizMistake]) -> Iterator[ItemAnswer]:
    """Yield answers that are typed, the right ones first; `wrong` has the mistake by the text of each wrong one."""
    for number, text in enumerate(right):
        yield ItemAnswer(f"right_{number}", text, True, "")
    for number, (text, mistake) in enumerate(wrong.items()):
        yield ItemAnswer(f"wrong_{number}", text, False, mistake.says)


def _decimal(number: str) -> str:
    """Return the value of arithmetic as a decimal number: "0.75" for "3/4"."""
    return f"{arithmetic(number):.10g}"


def _spellings(shape: str) -> list[str]:
    """Return the spellings of a shape that count as right, the usual one first."""
    axes = re.findall(r"\w+", shape)
    joined = ", ".join(axes)
    if not axes:
        return ["()", "scalar"]
    if len(axes) == 1:
        return [f"({joined},)", f"({joined})", joined, f"[{joined}]"]
    return [f"({joined})", joined, f"[{joined}]", f"({','.join(axes)})", f"[{','.join(axes)}]", ",".join(axes)]


def as_html(text: str, listing: str = "") -> str:
    """Return a text as HTML, with its paragraphs, code in backticks, and a listing below, if there is one.

    Args:
        text: paragraphs with empty lines between them.
        listing: the listing; may be empty.
    """
    paragraphs = (html.escape(paragraph, quote=False) for paragraph in re.split(r"\n\s*\n", text.strip()))
    marked = (CODE.sub(r"<code>\1</code>", paragraph) for paragraph in paragraphs)
    parts = [f"<p>{paragraph}</p>" for paragraph in marked]
    if listing:
        parts.append(f"<pre>{html.escape(listing, quote=False)}</pre>")
    return "".join(parts)


# --- Moodle XML: docs.moodle.org, "Moodle XML format" --------------------------------------------------------------

TYPES = {"choice": "multichoice", "choices": "multichoice", "number": "numerical", "word": "shortanswer"}


def moodle_xml(course: str, items: Iterable[Item]) -> bytes:
    """Return the content of a Moodle XML file, with a category for each unit.

    Args:
        course: the name of the category above those of the units.
        items: the questions, those of one unit together.
    """
    root = ET.Element("quiz")
    for unit, group in groupby(items, key=lambda item: item.unit):
        category = ET.SubElement(ET.SubElement(root, "question", type="category"), "category")
        ET.SubElement(category, "text").text = f"$course$/top/{course}/{unit}"
        for item in group:
            _moodle_question(root, item)
    ET.indent(root)
    return _xml_bytes(root)


def _xml_bytes(root: ET.Element) -> bytes:
    """Return an element as a whole XML file in UTF-8, with its declaration and a final line break."""
    return bytes(ET.tostring(root, encoding="UTF-8", xml_declaration=True)) + b"\n"


def _moodle_question(root: ET.Element, item: Item) -> None:
    """Append a question to the root of a Moodle file: its text, answers, units of measurement and hints."""
    question = ET.SubElement(root, "question", type=TYPES[item.kind])
    _moodle_text(question, "name", item.id.partition("-")[2])
    _moodle_text(question, "questiontext", as_html(item.ask, item.listing), format="html")
    _moodle_text(question, "generalfeedback", as_html(item.because), format="html")
    for name, value in (("defaultgrade", "1"), ("penalty", "0.3333333"), ("hidden", "0"), ("idnumber", item.id)):
        ET.SubElement(question, name).text = value
    if TYPES[item.kind] == "multichoice":
        ET.SubElement(question, "single").text = "true" if item.kind == "choice" else "false"
        ET.SubElement(question, "shuffleanswers").text = "true"
        ET.SubElement(question, "answernumbering").text = "abc"
    elif item.kind == "word":
        ET.SubElement(question, "usecase").text = "0"
    for answer in item.answers:
        _moodle_answer(question, item, answer)
    if item.kind == "number":
        _moodle_units(question, item)
    for hint in item.hints:
        _moodle_text(question, "hint", as_html(hint), format="html")


def _moodle_answer(question: ET.Element, item: Item, answer: ItemAnswer) -> None:
    """Append an answer to a question: as HTML where it is a choice, as plain text where it is typed."""
    is_choice = TYPES[item.kind] == "multichoice"
    text_format = "html" if is_choice else "moodle_auto_format"
    element = ET.SubElement(question, "answer", fraction=_moodle_fraction(item, answer), format=text_format)
    ET.SubElement(element, "text").text = as_html(answer.text) if is_choice else answer.text
    _moodle_text(element, "feedback", as_html(answer.feedback) if answer.feedback else "", format="html")
    if item.kind == "number":
        ET.SubElement(element, "tolerance").text = f"{item.tolerance:.10g}"


def _moodle_fraction(item: Item, answer: ItemAnswer) -> str:
    """Return the per cent of the grade that an answer adds: "100" if it is right, else "0".

    Where several choices are asked for, the right ones share 100, and a wrong one adds -100.
    """
    if not answer.right:
        return "-100" if item.kind == "choices" else "0"
    return f"{100 / sum(other.right for other in item.answers):.7g}" if item.kind == "choices" else "100"


def _moodle_units(question: ET.Element, item: Item) -> None:
    """Append Moodle's elements for the units of measurement, such as bytes, which may be typed after a number."""
    if item.units:
        units = ET.SubElement(question, "units")
        for name, worth in item.units.items():
            unit = ET.SubElement(units, "unit")
            ET.SubElement(unit, "multiplier").text = f"{1 / worth:.10g}"
            ET.SubElement(unit, "unit_name").text = name
    for name, value in (("unitgradingtype", "0"), ("unitpenalty", "0.1"), ("showunits", "3"), ("unitsleft", "0")):
        ET.SubElement(question, name).text = value


def _moodle_text(parent: ET.Element, name: str, text: str, **attributes: str) -> None:
    """Append an element of this name to `parent`, with the text in an element <text> inside it."""
    ET.SubElement(ET.SubElement(parent, name, attributes), "text").text = text


# --- QTI: one item for each question, one test for each unit, and a manifest ---------------------------------------

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
SCHEMA = "http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd"
PACKAGE_SCHEMA = "http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd"
RESPONSE, SCORE, FEEDBACK = "RESPONSE", "SCORE", "FEEDBACK"
ROUNDING = 1e-9


def qti_package(course: str, items: Iterable[Item]) -> bytes:
    """Return a zip file of QTI 2.1, the same bytes for the same questions: items, tests, and a manifest.

    Args:
        course: the name of the course.
        items: the questions, those of one unit together.
    """
    units = {unit: list(group) for unit, group in groupby(items, key=lambda item: item.unit)}
    files = {f"items/{item.id}.xml": _qti_item(item) for group in units.values() for item in group}
    files |= {f"tests/{unit}.xml": _qti_test(unit, group) for unit, group in units.items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, root in {"imsmanifest.xml": _qti_manifest(course, units), **files}.items():
            ET.indent(root)
            archive.writestr(zipfile.ZipInfo(name), _xml_bytes(root), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _qti_root(name: str, space: str, schema: str, **attributes: str) -> ET.Element:
    """Return the root element of a file: of this name, in the XML namespace `space`, with the address of its schema."""
    location = {"xmlns": space, "xmlns:xsi": XSI, "xsi:schemaLocation": f"{space} {schema}"}
    return ET.Element(name, {**location, **attributes})


def _add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> ET.Element:
    """Append an element of this name, with a text and attributes, to `parent`, and return the element."""
    element = ET.SubElement(parent, name, attributes)
    element.text = text or None
    return element


def _qti_item(item: Item) -> ET.Element:
    """Return the root element of a QTI file of a question: right responses, its body, the scoring and the feedback."""
    fixed = {"adaptive": "false", "timeDependent": "false"}
    root = _qti_root("assessmentItem", QTI, SCHEMA, identifier=item.id, title=item.id.partition("-")[2], **fixed)
    _qti_declarations(root, item)
    _qti_body(root, item)
    _qti_processing(root, item)
    for answer in item.answers:
        if answer.feedback:
            feedback = _add(root, "modalFeedback", outcomeIdentifier=FEEDBACK, identifier=answer.id, showHide="show")
            feedback.extend(_qti_blocks(answer.feedback))
    return root


def _qti_declarations(root: ET.Element, item: Item) -> None:
    """Append the declarations of the response, with the right ones, and of the outcomes, score and feedback."""
    base = {"choice": "identifier", "choices": "identifier", "number": "float", "word": "string"}[item.kind]
    several = "multiple" if item.kind == "choices" else "single"
    response = _add(root, "responseDeclaration", identifier=RESPONSE, cardinality=several, baseType=base)
    correct = _add(response, "correctResponse")
    right = [answer for answer in item.answers if answer.right]
    for answer in right if item.kind == "choices" else right[:1]:
        _add(correct, "value", answer.id if base == "identifier" else answer.text)
    if item.kind == "word":
        mapping = _add(response, "mapping", defaultValue="0")
        for answer in right:
            _add(mapping, "mapEntry", mapKey=answer.text, mappedValue="1", caseSensitive="false")
    score = _add(root, "outcomeDeclaration", identifier=SCORE, cardinality="single", baseType="float")
    _add(_add(score, "defaultValue"), "value", "0")
    _add(root, "outcomeDeclaration", identifier=FEEDBACK, cardinality=several, baseType="identifier")


def _qti_body(root: ET.Element, item: Item) -> None:
    """Append the question as it is shown, with its choices or a field to type in."""
    body = _add(root, "itemBody")
    body.extend(_qti_blocks(item.ask, item.listing))
    if item.kind in ("choice", "choices"):
        most = "1" if item.kind == "choice" else "0"
        interaction = _add(body, "choiceInteraction", responseIdentifier=RESPONSE, shuffle="true", maxChoices=most)
        for answer in item.answers:
            interaction.append(_qti_inline("simpleChoice", answer.text, identifier=answer.id))
    else:
        _add(_add(body, "p"), "textEntryInteraction", responseIdentifier=RESPONSE, expectedLength="20")


def _qti_blocks(text: str, listing: str = "") -> list[ET.Element]:
    """Return a text, with a listing below, as XML elements: a paragraph each."""
    return list(ET.fromstring(f"<div>{as_html(text, listing)}</div>"))


def _qti_inline(name: str, text: str, **attributes: str) -> ET.Element:
    """Return an element of this name with the content of a paragraph, in which backticks enclose code."""
    element = ET.fromstring(as_html(" ".join(text.split())))
    element.tag = name
    element.attrib.update(attributes)
    return element


def _qti_processing(root: ET.Element, item: Item) -> None:
    """Append the rules that set the score of a response, and which feedback is shown."""
    processing = _add(root, "responseProcessing")
    if item.kind in ("choice", "choices"):
        _add(_add(processing, "setOutcomeValue", identifier=FEEDBACK), "variable", identifier=RESPONSE)
        when = _add(_add(processing, "responseCondition"), "responseIf")
        match = _add(when, "match")
        _add(match, "variable", identifier=RESPONSE)
        _add(match, "correct", identifier=RESPONSE)
        _qti_set(when, SCORE, "1", "float")
        return
    if item.kind == "word":
        _add(_add(processing, "setOutcomeValue", identifier=SCORE), "mapResponse", identifier=RESPONSE)
    compared = [answer for answer in item.answers if not (answer.right and item.kind == "word")]
    condition = _add(processing, "responseCondition") if compared else processing
    for number, answer in enumerate(compared):
        when = _add(condition, "responseElseIf" if number else "responseIf")
        _qti_compared(when, item, answer)
        _qti_set(when, *((SCORE, "1", "float") if answer.right else (FEEDBACK, answer.id, "identifier")))


def _qti_set(parent: ET.Element, outcome: str, value: str, base: str) -> None:
    """Append a rule that sets the outcome of this name to a value, whose QTI type is `base`, such as "float"."""
    _add(_add(parent, "setOutcomeValue", identifier=outcome), "baseValue", value, baseType=base)


def _qti_compared(parent: ET.Element, item: Item, answer: ItemAnswer) -> None:
    """Append the test that the response is this number, within the tolerance, or this word."""
    if item.kind == "word":
        test, base = _add(parent, "stringMatch", caseSensitive="false", substring="false"), "string"
    else:
        allowed, base = f"{item.tolerance + ROUNDING * abs(float(answer.text)):.12f}", "float"
        test = _add(parent, "equal", toleranceMode="absolute", tolerance=f"{allowed} {allowed}")
    _add(test, "variable", identifier=RESPONSE)
    _add(test, "baseValue", answer.text, baseType=base)


def _qti_test(unit: str, items: Iterable[Item]) -> ET.Element:
    """Return the root element of a QTI file that lists all questions of a unit as a test."""
    root = _qti_root("assessmentTest", QTI, SCHEMA, identifier=f"quiz_{unit}", title=f"Quiz {unit}")
    part = _add(root, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="individual")
    section = _add(part, "assessmentSection", identifier="section", title=f"Quiz {unit}", visible="true")
    for item in items:
        _add(section, "assessmentItemRef", identifier=item.id, href=f"../items/{item.id}.xml")
    return root


def _qti_manifest(course: str, units: dict[str, list[Item]]) -> ET.Element:
    """Return the XML of a QTI package's manifest: every file of it, and for each test the questions that it needs.

    Args:
        course: the name of the course, from which the identifier is made.
        units: the questions of each unit's quiz, by the unit's id.
    """
    root = _qti_root("manifest", PACKAGE, PACKAGE_SCHEMA, identifier=f"{course}_quizzes")
    metadata = _add(root, "metadata")
    _add(metadata, "schema", "QTIv2.1 Package")
    _add(metadata, "schemaversion", "1.0.0")
    _add(root, "organizations")
    resources = _add(root, "resources")
    for unit, items in units.items():
        test = _qti_resource(resources, f"quiz_{unit}", "imsqti_test_xmlv2p1", f"tests/{unit}.xml")
        for item in items:
            _add(test, "dependency", identifierref=item.id)
    for item in (item for items in units.values() for item in items):
        _qti_resource(resources, item.id, "imsqti_item_xmlv2p1", f"items/{item.id}.xml")
    return root


def _qti_resource(resources: ET.Element, identifier: str, kind: str, href: str) -> ET.Element:
    """Append a file to the `resources` element of the manifest, and return its element.

    Args:
        resources: the element.
        identifier: the id of the file in the manifest.
        kind: the QTI type of the file.
        href: the path of the file in the package.
    """
    resource = ET.SubElement(resources, "resource", {"identifier": identifier, "type": kind, "href": href})
    _add(resource, "file", href=href)
    return resource

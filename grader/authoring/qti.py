"""Quizzes as an IMS QTI 2.1 content package: one item for each question, one test for each unit, and a manifest."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from itertools import groupby
from xml.etree import ElementTree as ET

from .exported_questions import Answer, Item, as_html

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
SCHEMA = "http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd"
PACKAGE_SCHEMA = "http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd"
RESPONSE, SCORE, FEEDBACK = "RESPONSE", "SCORE", "FEEDBACK"
ROUNDING = 1e-9


def qti_package(course: str, items: Iterable[Item]) -> bytes:
    """The zip file; always the same for the same questions."""
    units = {unit: list(group) for unit, group in groupby(items, key=lambda item: item.unit)}
    files = {f"items/{item.id}.xml": _item(item) for group in units.values() for item in group}
    files |= {f"tests/{unit}.xml": _test(unit, group) for unit, group in units.items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, root in {"imsmanifest.xml": _manifest(course, units), **files}.items():
            ET.indent(root)
            archive.writestr(zipfile.ZipInfo(name), _bytes(root), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _bytes(root: ET.Element) -> bytes:
    return bytes(ET.tostring(root, encoding="UTF-8", xml_declaration=True)) + b"\n"


def _root(name: str, space: str, schema: str, **attributes: str) -> ET.Element:
    location = {"xmlns": space, "xmlns:xsi": XSI, "xsi:schemaLocation": f"{space} {schema}"}
    return ET.Element(name, {**location, **attributes})


def _add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> ET.Element:
    found = ET.SubElement(parent, name, attributes)
    found.text = text or None
    return found


def _item(item: Item) -> ET.Element:
    title = item.id.partition("-")[2]
    root = _root("assessmentItem", QTI, SCHEMA, identifier=item.id, title=title, adaptive="false", timeDependent="false")  # fmt: skip  # noqa: E501
    _declarations(root, item)
    _body(root, item)
    _processing(root, item)
    for answer in item.answers:
        if answer.feedback:
            told = _add(root, "modalFeedback", outcomeIdentifier=FEEDBACK, identifier=answer.id, showHide="show")
            told.extend(_blocks(answer.feedback))
    return root


def _declarations(root: ET.Element, item: Item) -> None:
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


def _body(root: ET.Element, item: Item) -> None:
    body = _add(root, "itemBody")
    body.extend(_blocks(item.ask, item.listing))
    if item.kind in ("choice", "choices"):
        most = "1" if item.kind == "choice" else "0"
        interaction = _add(body, "choiceInteraction", responseIdentifier=RESPONSE, shuffle="true", maxChoices=most)
        for answer in item.answers:
            interaction.append(_inline("simpleChoice", answer.text, identifier=answer.id))
    else:
        _add(_add(body, "p"), "textEntryInteraction", responseIdentifier=RESPONSE, expectedLength="20")


def _blocks(text: str, listing: str = "") -> list[ET.Element]:
    """Paragraphs as elements."""
    return list(ET.fromstring(f"<div>{as_html(text, listing)}</div>"))


def _inline(name: str, text: str, **attributes: str) -> ET.Element:
    """An element with the content of one paragraph."""
    found = ET.fromstring(as_html(" ".join(text.split())))
    found.tag = name
    found.attrib.update(attributes)
    return found


def _processing(root: ET.Element, item: Item) -> None:
    """The score of a response, and which words it calls for."""
    processing = _add(root, "responseProcessing")
    if item.kind in ("choice", "choices"):
        _add(_add(processing, "setOutcomeValue", identifier=FEEDBACK), "variable", identifier=RESPONSE)
        when = _add(_add(processing, "responseCondition"), "responseIf")
        match = _add(when, "match")
        _add(match, "variable", identifier=RESPONSE)
        _add(match, "correct", identifier=RESPONSE)
        _set(when, SCORE, "1", "float")
        return
    if item.kind == "word":
        _add(_add(processing, "setOutcomeValue", identifier=SCORE), "mapResponse", identifier=RESPONSE)
    compared = [answer for answer in item.answers if not (answer.right and item.kind == "word")]
    condition = _add(processing, "responseCondition") if compared else processing
    for number, answer in enumerate(compared):
        when = _add(condition, "responseElseIf" if number else "responseIf")
        _compared(when, item, answer)
        _set(when, *((SCORE, "1", "float") if answer.right else (FEEDBACK, answer.id, "identifier")))


def _set(parent: ET.Element, outcome: str, value: str, base: str) -> None:
    _add(_add(parent, "setOutcomeValue", identifier=outcome), "baseValue", value, baseType=base)


def _compared(parent: ET.Element, item: Item, answer: Answer) -> None:
    """The response is this number or word."""
    if item.kind == "word":
        test, base = _add(parent, "stringMatch", caseSensitive="false", substring="false"), "string"
    else:
        allowed, base = f"{item.tolerance + ROUNDING * abs(float(answer.text)):.12f}", "float"
        test = _add(parent, "equal", toleranceMode="absolute", tolerance=f"{allowed} {allowed}")
    _add(test, "variable", identifier=RESPONSE)
    _add(test, "baseValue", answer.text, baseType=base)


def _test(unit: str, items: Iterable[Item]) -> ET.Element:
    root = _root("assessmentTest", QTI, SCHEMA, identifier=f"quiz_{unit}", title=f"Quiz {unit}")
    part = _add(root, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="individual")
    section = _add(part, "assessmentSection", identifier="section", title=f"Quiz {unit}", visible="true")
    for item in items:
        _add(section, "assessmentItemRef", identifier=item.id, href=f"../items/{item.id}.xml")
    return root


def _manifest(course: str, units: dict[str, list[Item]]) -> ET.Element:
    root = _root("manifest", PACKAGE, PACKAGE_SCHEMA, identifier=f"{course}_quizzes")
    metadata = _add(root, "metadata")
    _add(metadata, "schema", "QTIv2.1 Package")
    _add(metadata, "schemaversion", "1.0.0")
    _add(root, "organizations")
    resources = _add(root, "resources")
    for unit, items in units.items():
        test = _resource(resources, f"quiz_{unit}", "imsqti_test_xmlv2p1", f"tests/{unit}.xml")
        for item in items:
            _add(test, "dependency", identifierref=item.id)
    for item in (item for items in units.values() for item in items):
        _resource(resources, item.id, "imsqti_item_xmlv2p1", f"items/{item.id}.xml")
    return root


def _resource(resources: ET.Element, identifier: str, kind: str, href: str) -> ET.Element:
    found = ET.SubElement(resources, "resource", {"identifier": identifier, "type": kind, "href": href})
    _add(found, "file", href=href)
    return found

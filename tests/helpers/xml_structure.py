"""A strict structural check of XML against a table: which elements, in which order, with which attributes and text.

The tables are written from the published descriptions: the XML binding of IMS QTI 2.1 and of IMS Content Packaging
1.1, and Moodle's own "Moodle XML format". They hold what the exports use, and allow nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

ID = r"[A-Za-z_][\w.-]*"
TEXT = r"(?s).+"
BOOL = "true|false"
NUMBER = r"-?\d+(\.\d+)?(e[-+]?\d+)?"
FILE = r"(\.\./)?[\w./-]+\.xml"


@dataclass(frozen=True)
class Rule:
    """What an element may hold.

    Args:
        children: a regular expression over the names of its children, each followed by a space.
        attributes: the pattern of each required attribute.
        optional: the pattern of each other one.
        text: the pattern of its own text; `None` for none.
        mixed: text may stand between its children.
    """

    children: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    optional: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    mixed: bool = False


LOCATION = {"{http://www.w3.org/2001/XMLSchema-instance}schemaLocation": r"\S+ \S+"}
BLOCKS = "((p|pre) )+"
EXPRESSIONS = "(equal|stringMatch|match|variable|correct|baseValue|mapResponse)"
QTI: Mapping[str, Rule] = {
    "assessmentItem": Rule(
        "(responseDeclaration )*(outcomeDeclaration )*(itemBody )?(responseProcessing )?(modalFeedback )*",
        {"identifier": ID, "title": TEXT, "adaptive": BOOL, "timeDependent": BOOL}, LOCATION,
    ),
    "responseDeclaration": Rule(
        "(correctResponse )?(mapping )?",
        {"identifier": ID, "cardinality": "single|multiple", "baseType": "identifier|float|string"},
    ),
    "correctResponse": Rule("(value )+"),
    "value": Rule(text=TEXT),
    "mapping": Rule("(mapEntry )+", {}, {"defaultValue": NUMBER}),
    "mapEntry": Rule("", {"mapKey": TEXT, "mappedValue": NUMBER}, {"caseSensitive": BOOL}),
    "outcomeDeclaration": Rule(
        "(defaultValue )?", {"identifier": ID, "cardinality": "single|multiple", "baseType": "identifier|float"}
    ),
    "defaultValue": Rule("(value )+"),
    "itemBody": Rule("((p|pre|choiceInteraction) )+"),
    "p": Rule("((code|textEntryInteraction) )*", mixed=True),
    "pre": Rule(text=TEXT),
    "code": Rule(text=TEXT),
    "choiceInteraction": Rule(
        "(prompt )?(simpleChoice )+", {"responseIdentifier": ID, "shuffle": BOOL, "maxChoices": r"\d+"}
    ),
    "simpleChoice": Rule("(code )*", {"identifier": ID}, mixed=True),
    "textEntryInteraction": Rule("", {"responseIdentifier": ID}, {"expectedLength": r"\d+"}),
    "responseProcessing": Rule("((responseCondition|setOutcomeValue) )+"),
    "responseCondition": Rule("responseIf (responseElseIf )*(responseElse )?"),
    "responseIf": Rule(f"{EXPRESSIONS} (setOutcomeValue )*"),
    "responseElseIf": Rule(f"{EXPRESSIONS} (setOutcomeValue )*"),
    "setOutcomeValue": Rule(f"{EXPRESSIONS} ", {"identifier": ID}),
    "match": Rule(f"({EXPRESSIONS} ){{2}}"),
    "equal": Rule(f"({EXPRESSIONS} ){{2}}", {"toleranceMode": "absolute|exact"}, {"tolerance": r"[\d.]+ [\d.]+"}),
    "stringMatch": Rule(f"({EXPRESSIONS} ){{2}}", {"caseSensitive": BOOL}, {"substring": BOOL}),
    "variable": Rule("", {"identifier": ID}),
    "correct": Rule("", {"identifier": ID}),
    "mapResponse": Rule("", {"identifier": ID}),
    "baseValue": Rule("", {"baseType": "identifier|float|string"}, text=TEXT),
    "modalFeedback": Rule(BLOCKS, {"outcomeIdentifier": ID, "identifier": ID, "showHide": "show|hide"}),
    "assessmentTest": Rule("(testPart )+", {"identifier": ID, "title": TEXT}, LOCATION),
    "testPart": Rule(
        "(assessmentSection )+",
        {"identifier": ID, "navigationMode": "linear|nonlinear", "submissionMode": "individual|simultaneous"},
    ),
    "assessmentSection": Rule("(assessmentItemRef )*", {"identifier": ID, "title": TEXT, "visible": BOOL}),
    "assessmentItemRef": Rule("", {"identifier": ID, "href": FILE}),
}  # fmt: skip
PACKAGE: Mapping[str, Rule] = {
    "manifest": Rule("(metadata )?organizations resources ", {"identifier": ID}, LOCATION),
    "metadata": Rule("schema schemaversion "),
    "schema": Rule(text="QTIv2.1 Package"),
    "schemaversion": Rule(text="1.0.0"),
    "organizations": Rule(),
    "resources": Rule("(resource )*"),
    "resource": Rule(
        "(file )+(dependency )*", {"identifier": ID, "type": "imsqti_(item|test)_xmlv2p1", "href": FILE}
    ),
    "file": Rule("", {"href": FILE}),
    "dependency": Rule("", {"identifierref": ID}),
}  # fmt: skip
ANY_TEXT = r"(?s).*"
GRADE = r"-?(100|50|33\.33333|25|20|16\.66667|0)"
COMMON = "name questiontext generalfeedback defaultgrade penalty hidden idnumber "
HTML = {"format": "html"}
MOODLE: Mapping[str, Rule] = {
    "quiz": Rule("(question )+"),
    "question": Rule(
        f"category |{COMMON}single shuffleanswers answernumbering (answer ){{2,}}(hint )*"
        f"|{COMMON}(answer )+(units )?unitgradingtype unitpenalty showunits unitsleft (hint )*"
        f"|{COMMON}usecase (answer )+(hint )*",
        {"type": "category|multichoice|numerical|shortanswer"},
    ),
    "category": Rule("text "),
    "name": Rule("text "),
    "questiontext": Rule("text ", HTML),
    "generalfeedback": Rule("text ", HTML),
    "hint": Rule("text ", HTML),
    "feedback": Rule("text ", HTML),
    "text": Rule(text=ANY_TEXT),
    "defaultgrade": Rule(text=NUMBER),
    "penalty": Rule(text=NUMBER),
    "hidden": Rule(text="0|1"),
    "idnumber": Rule(text=r"[a-zA-Z0-9_\-]{1,100}"),
    "single": Rule(text=BOOL),
    "shuffleanswers": Rule(text=BOOL),
    "answernumbering": Rule(text="abc|ABCD|123|none"),
    "usecase": Rule(text="0|1"),
    "answer": Rule("text feedback (tolerance )?", {"fraction": GRADE, "format": "html|moodle_auto_format"}),
    "tolerance": Rule(text=NUMBER),
    "units": Rule("(unit )+"),
    "unit": Rule("multiplier unit_name "),
    "multiplier": Rule(text=NUMBER),
    "unit_name": Rule(text=TEXT),
    "unitgradingtype": Rule(text="[012]"),
    "unitpenalty": Rule(text=NUMBER),
    "showunits": Rule(text="[0123]"),
    "unitsleft": Rule(text="0|1"),
}  # fmt: skip


def bare(element: ET.Element) -> str:
    """Return the element's name without its namespace."""
    return element.tag.rpartition("}")[2]


def problems(element: ET.Element, rules: Mapping[str, Rule], namespace: str = "", path: str = "") -> list[str]:
    """Everything about an element and what is in it that the rules do not allow."""
    path = f"{path}/{bare(element)}"
    rule = rules.get(bare(element))
    if rule is None or element.tag != (f"{{{namespace}}}" if namespace else "") + bare(element):
        return [f"{path}: no such element"]
    problems_here = [f"{path}: {name} is missing" for name in rule.attributes if name not in element.attrib]
    for name, value in element.attrib.items():
        pattern = {**rule.attributes, **rule.optional}.get(name)
        if pattern is None or not re.fullmatch(pattern, value):
            problems_here.append(f"{path}: {name}={value!r}")
    children = "".join(f"{bare(child)} " for child in element)
    if not re.fullmatch(rule.children, children):
        problems_here.append(f"{path}: holds {children!r}")
    own = [element.text or "", *(child.tail or "" for child in element)]
    if rule.text is not None and not re.fullmatch(rule.text, element.text or ""):
        problems_here.append(f"{path}: says {element.text!r}")
    if rule.text is None and not rule.mixed and any(text.strip() for text in own):
        problems_here.append(f"{path}: says {own}")
    return problems_here + [problem for child in element for problem in problems(child, rules, namespace, path)]

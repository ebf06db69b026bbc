"""Reads YAML as text, lists and maps only: no types, tags or references. Every text knows its line and place.

A file that a learner edits by hand is data: `no` stays the word no, and nothing in it is ever built or expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from grader.errors import ReadError

MOST_PARTS = 20_000
DEEPEST = 6
TOO_DEEP = re.compile(rf"(?:[\[{{]\s*){{{DEEPEST + 1}}}")
"""Brackets of which a parser may refuse so many that it never tells of the first, each in its own words."""
TOO_MUCH = "there is far too much in this file: start over with a fresh one"
NOTHING = frozenset(("", "~", "null", "Null", "NULL", "..."))


class Text(str):
    """A scalar or a key.

    Args:
        line: counted from 1.
        start: index of its first character in the file, quotes included.
        end: index behind its last one.
        quoted: it stands in quotes or in a block, so that it cannot mean nothing.
    """

    __slots__ = ("end", "line", "quoted", "start")
    line: int
    start: int
    end: int
    quoted: bool

    def __new__(cls, value: str, line: int = 1, start: int = 0, end: int = 0, *, quoted: bool = True) -> Text:
        """Make a text of what is written and its place."""
        text = super().__new__(cls, value)
        text.line, text.start, text.end, text.quoted = line, start, end, quoted
        return text

    @property
    def blank(self) -> bool:
        """Nothing is written here: `null`, `~`, `...`, or not a character."""
        return not self.strip() or (not self.quoted and self in NOTHING)


class Items(list["Node"]):
    """A list; `start` and `end` are its place in the file."""

    start = end = 0


class Map(dict[Text, "Node"]):
    """A map; `start` and `end` are its place in the file."""

    start = end = 0


Node = Text | Items | Map


def read_map(text: str) -> Map:
    """Return the map that a YAML file is; an empty one for an empty file.

    Raises:
        ReadError: it is no YAML, is no map, repeats a key, or uses more of YAML than text, lists and maps.
    """
    try:
        found = _Reader(text).document()
    except yaml.MarkedYAMLError as error:
        line = min(error.problem_mark.line + 1 if error.problem_mark else 1, len(text.splitlines()) or 1)
        if TOO_DEEP.search(text):
            raise ReadError(line, TOO_MUCH) from error
        why = f"this is not valid YAML ({error.problem})"
        raise ReadError(line, f"{why}: indent with spaces, and put text with special signs in quotes") from error
    except yaml.YAMLError as error:
        raise ReadError(1, "there are characters in it that no text has: remove them") from error
    if isinstance(found, Text) and found.blank:
        return Map()
    if not isinstance(found, Map):
        raise ReadError(1, "every answer needs a name and a colon before it, such as `name: answer`")
    return found


def line_of(node: Node, path: tuple[str | int, ...]) -> int:
    """Return the line of the innermost part of a path that is there; parts that are not are passed over."""
    line = 1
    for part in path:
        if isinstance(node, Map):
            key = next((key for key in node if key == part), None)
            if key is not None:
                line, node = key.line, node[key]
        elif isinstance(node, Items) and isinstance(part, int) and part < len(node):
            node = node[part]
            line = node.line if isinstance(node, Text) else line
    return line


class _Reader:
    """Build the tree of nodes from YAML events, so that nothing that is not allowed is ever built."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
        self.parts = 0

    def document(self) -> Node:
        """Return the node of the only document; a blank text for an empty file.

        Raises:
            ReadError: there is a second document.
        """
        next(self.events)  # the stream
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            return Text("", quoted=False)
        node = self.node(next(self.events), 0)
        next(self.events)  # the document's end
        if not isinstance(rest := next(self.events), yaml.StreamEndEvent):
            raise ReadError(_line(rest), "a second document begins here: keep everything in one, without ---")
        return node

    def node(self, event: Any, depth: int) -> Node:
        """Return the node that begins with this event.

        Raises:
            ReadError: it is a reference or has a tag, or there is too much.
        """
        self.parts += 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise ReadError(_line(event), "references (& and *) are not allowed here: put the text in quotes")
        if event.tag is not None and event.tag != "!":
            raise ReadError(_line(event), "tags (!) are not allowed here: put the text in quotes")
        if self.parts > MOST_PARTS or depth > DEEPEST:
            raise ReadError(_line(event), TOO_MUCH)
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.ScalarEvent):
            return Text(event.value, _line(event), start, end, quoted=bool(event.style))
        found: Items | Map = Items() if isinstance(event, yaml.SequenceStartEvent) else Map()
        last = self.fill(found, depth + 1)
        found.start = start
        found.end = last.end_mark.index if event.flow_style else _end(found, end)
        return found

    def fill(self, found: Items | Map, depth: int) -> Any:
        """Fill a list or a map with its parts; return the event that ends it."""
        while not isinstance(event := next(self.events), (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            part = self.node(event, depth)
            if isinstance(found, Items):
                found.append(part)
                continue
            if not isinstance(part, Text):
                raise ReadError(_line(event), "a name was expected here: put the text in quotes")
            if part in found:
                first = next(known.line for known in found if known == part)
                raise ReadError(part.line, f"{part} is there a second time, after line {first}: keep one of them")
            found[part] = self.node(next(self.events), depth)
        return event


def _end(found: Items | Map, otherwise: int) -> int:
    """Return where the last part of a block ends; comments behind it do not belong to it."""
    parts = found if isinstance(found, Items) else [*found, *found.values()]
    return max((part.end for part in parts), default=otherwise)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

"""YAML read as text, lists and maps only, without types, tags or references; every text knows its line and place.

A file that a learner edits is data: `no` stays the word no, and no object is built and no reference expanded.
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
"""Matches brackets nested too deeply, which a parser may report as another mistake."""
TOO_MUCH = "there is far too much in this file: start over with a fresh one"
NOTHING = frozenset(("", "~", "null", "Null", "NULL", "..."))


class Text(str):
    """Hold the text of a scalar or a key, with its place in the file.

    Args:
        value: the text, without quotes.
        line: the number of its line, counted from 1.
        start: the index of its first character in the file, quotes included.
        end: the index after its last character.
        quoted: whether it is in quotes or in a block, so that `null`, say, is a word.
    """

    __slots__ = ("end", "line", "quoted", "start")
    line: int
    start: int
    end: int
    quoted: bool

    def __new__(cls, value: str, line: int = 1, start: int = 0, end: int = 0, *, quoted: bool = True) -> Text:
        """Make a text with its place in the file; the arguments are those of the class."""
        text = super().__new__(cls, value)
        text.line, text.start, text.end, text.quoted = line, start, end, quoted
        return text

    @property
    def blank(self) -> bool:
        """Return whether the text stands for no value: `null`, `~`, `...`, or blanks only."""
        return not self.strip() or (not self.quoted and self in NOTHING)


class Items(list["YamlNode"]):
    """A list, with the indices `start` and `end` of its place in the file."""

    start = end = 0


class Map(dict[Text, "YamlNode"]):
    """A map, with the indices `start` and `end` of its place in the file."""

    start = end = 0


YamlNode = Text | Items | Map


def read_map(text: str) -> Map:
    """Return the map in a YAML text; an empty one for an empty text.

    Raises:
        ReadError: the text is no YAML, is no map, repeats a key, or uses more of YAML than text, lists and maps.
    """
    try:
        root = _Reader(text).document()
    except yaml.MarkedYAMLError as error:
        line = min(error.problem_mark.line + 1 if error.problem_mark else 1, len(text.splitlines()) or 1)
        if TOO_DEEP.search(text):
            raise ReadError(line, TOO_MUCH) from error
        why = f"this is not valid YAML ({error.problem})"
        how = "indent with spaces, and put text with special signs, such as a - in front, in quotes"
        raise ReadError(line, f"{why}: {how}") from error
    except yaml.YAMLError as error:
        raise ReadError(1, "there are characters in it that no text has: remove them") from error
    if isinstance(root, Text) and root.blank:
        return Map()
    if not isinstance(root, Map):
        raise ReadError(1, "every answer needs a name and a colon before it, such as `name: answer`")
    return root


def line_of(node: YamlNode, path: tuple[str | int, ...]) -> int:
    """Return the line of the innermost part that a path leads to; keys and indices that do not exist are skipped.

    Args:
        node: the root of the tree.
        path: keys of maps and indices of lists, from the root inwards.
    """
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
    """Build the tree of nodes from YAML events; an event that is not allowed is refused before anything is built.

    Args:
        text: the text of the file.
    """

    def __init__(self, text: str) -> None:
        """Begin to parse the text; no event is read yet."""
        self.text = text
        self.events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
        self.parts = 0

    def document(self) -> YamlNode:
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
        if not isinstance(following := next(self.events), yaml.StreamEndEvent):
            raise ReadError(_line(following), "a second document begins here: keep everything in one, without ---")
        return node

    def node(self, event: Any, depth: int) -> YamlNode:
        """Return the node that begins with an event, `depth` levels below the root.

        Raises:
            ReadError: the node is a reference or has a tag, or there are too many nodes or levels.
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
        collection: Items | Map = Items() if isinstance(event, yaml.SequenceStartEvent) else Map()
        last = self.fill(collection, depth + 1)
        collection.start = start
        collection.end = last.end_mark.index if event.flow_style else _end(collection, end)
        return collection

    def fill(self, collection: Items | Map, depth: int) -> Any:
        """Fill a list or a map with its parts, `depth` levels below the root; return the event that ends it.

        Raises:
            ReadError: a part cannot be read, a key is no text, or it is repeated.
        """
        while not isinstance(event := next(self.events), (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            part = self.node(event, depth)
            if isinstance(collection, Items):
                collection.append(part)
                continue
            if not isinstance(part, Text):
                raise ReadError(_line(event), "a name was expected here: put the text in quotes")
            if part in collection:
                first = next(known.line for known in collection if known == part)
                raise ReadError(part.line, f"{part} is there a second time, after line {first}: keep one of them")
            collection[part] = self.node(next(self.events), depth)
        return event


def _end(collection: Items | Map, otherwise: int) -> int:
    """Return the index of the character behind the last part of a block list or map; `otherwise` if it has no parts.

    Comments after the last part are left out.
    """
    parts = collection if isinstance(collection, Items) else [*collection, *collection.values()]
    return max((part.end for part in parts), default=otherwise)


def _line(event: Any) -> int:
    """Return the number of the line in which a YAML event begins, counted from 1."""
    return int(event.start_mark.line) + 1


_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

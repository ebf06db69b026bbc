"""YAML of text, lists and maps is read; every other feature is refused quickly and with its line."""

from __future__ import annotations

import contextlib
import time

import pytest
from helpers.courses import AT_ONCE
from hypothesis import given
from hypothesis import strategies as st

from grader.course.plain_yaml import Items, Map, Text, line_of, read_map
from grader.errors import ReadError


@pytest.mark.parametrize(
    "written", ["no", "yes", "true", "4.5", "1e-5", "0x10", "12:30", "2024-01-01", "inf", "=", "(bs, n)", "w @ df"]
)
def test_every_value_is_the_text_that_was_written(written: str) -> None:
    (value,) = read_map(f"answer: {written}").values()
    assert value == written
    assert isinstance(value, Text)
    assert not value.blank


@pytest.mark.parametrize("written", ["", " ", "null", "~", "...", '""', "'  '", "  # nothing yet", "Null"])
def test_every_spelling_of_no_value_is_blank(written: str) -> None:
    (value,) = read_map(f"answer: {written}").values()
    assert isinstance(value, Text)
    assert value.blank


def test_null_in_quotes_is_a_word() -> None:
    (value,) = read_map("answer: 'null'").values()
    assert isinstance(value, Text)
    assert not value.blank


def test_lists_and_maps_are_read_and_every_text_knows_its_line() -> None:
    tree = read_map("a: [1, 2]\n# a remark\nb:\n  c: x\n  d:\n    - y\n    - z\n")
    assert tree == {"a": ["1", "2"], "b": {"c": "x", "d": ["y", "z"]}}
    assert isinstance(tree[Text("a")], Items)
    assert isinstance(tree[Text("b")], Map)
    assert line_of(tree, ("b", "d", 1)) == 7
    assert line_of(tree, ("b", "tag", "c", "missing")) == 4


def test_every_text_knows_its_place() -> None:
    text = "é: ☃ # x\r\nb: \"𝔘\"\r\nc: [4, 'x']\r\nd:\r\n  - p\r\n  - q\r\n# remark\r\ne: z\r\n"
    tree = read_map(text)
    found = {str(name): text[node.start : node.end] for name, node in tree.items()}
    assert found == {"é": "☃", "b": '"𝔘"', "c": "[4, 'x']", "d": "- p\r\n  - q", "e": "z"}


@pytest.mark.parametrize("text", ["", "\n", "# only a remark\n", "---\n", "null"])
def test_an_empty_file_is_an_empty_map(text: str) -> None:
    assert read_map(text) == {}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: 2\na: 3", 3, "a is there a second time, after line 1"),
        ("a: 1\n\tb: 2", 2, "not valid YAML"),
        ("a: x: y", 1, "not valid YAML"),
        ("a: [1, 2\nb: 3", 2, "not valid YAML"),
        ('a: "x', 1, "not valid YAML"),
        ("a: @x", 1, "not valid YAML"),
        ("a: &x 1\nb: *x", 1, "references (& and *) are not allowed"),
        ("a: *x", 1, "references (& and *) are not allowed"),
        ("a: 1\n<<: *x", 2, "references (& and *) are not allowed"),
        ("a: !!python/object/apply:os.system [true]", 1, "tags (!) are not allowed"),
        ("a: !include x", 1, "tags (!) are not allowed"),
        ("a: 1\n---\nb: 2", 2, "a second document"),
        ("- a\n- b", 1, "needs a name and a colon"),
        ("just words", 1, "needs a name and a colon"),
        ("? [a, b]\n: 1", 1, "a name was expected"),
        ("? {a: b}\n: 1", 1, "a name was expected"),
        ("a: \x00", 1, "characters in it that no text has"),
        ("a: \x07", 1, "characters in it that no text has"),
    ],
)
def test_other_features_of_yaml_are_refused_with_their_line(text: str, line: int, says: str) -> None:
    with pytest.raises(ReadError, match=says.replace("(", r"\(").replace(")", r"\)").replace("*", r"\*")) as refused:
        read_map(text)
    assert refused.value.line == line


BILLION_LAUGHS = 'a: &a ["lol"]\n' + "".join(
    f"{new}: &{new} [{', '.join(f'*{old}' for _ in range(9))}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        BILLION_LAUGHS,
        "a: " + "[" * 60_000,
        "a: " + "{" * 60_000,
        "a: " + "[" * 30_000 + "]" * 30_000,
        "? " * 30_000,
        "- " * 30_000,
        "a: [" + "1, " * 60_000 + "]",
        "\n".join(" " * i + "a:" for i in range(340)),
        "".join(f"k{i}: 1\n" for i in range(30_000)),
        "a: " + "'" * 60_001,
        "%YAML 9.9\n---\na: 1",
        "%TAG ! tag:x,2000:\n---\na: !x 1",
    ],
    ids=lambda text: f"{text[:12]!r} and so on",
)
def test_a_bomb_is_refused_before_it_goes_off(text: str) -> None:
    started = time.process_time()
    with pytest.raises(ReadError):
        read_map(text)
    assert time.process_time() - started < AT_ONCE


def test_the_deepest_nesting_that_is_allowed_is_read() -> None:
    assert read_map("a: [[[[[x]]]]]")
    with pytest.raises(ReadError, match="far too much"):
        read_map("a: [[[[[[x]]]]]]")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ReadError):
        read_map(text)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#,? \n\t%@`~", max_size=60))
def test_any_sequence_of_yaml_signs_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ReadError):
        read_map(text)

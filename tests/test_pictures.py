"""The pictures of lessons and documents are what the script draws, can be read by anybody, and have their place."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from helpers.courses import ROOT

DRAWN = sorted([*ROOT.glob("exercises/*/*.svg"), *ROOT.glob("docs/*.svg")])
SVG = "{http://www.w3.org/2000/svg}"


def test_the_pictures_are_what_the_script_draws() -> None:
    """If this fails, write them anew: python tools/pictures.py"""
    ran = subprocess.run(
        [sys.executable, "tools/pictures.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_a_picture_is_sound_xml_with_words_for_those_who_cannot_see_it(path: Path) -> None:
    root = ET.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    assert all(len(root.findtext(f"{SVG}{name}", "").split()) > 2 for name in ("title", "desc"))
    assert "prefers-color-scheme: dark" in path.read_text("utf-8")


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_a_number_on_a_tinted_cell_can_be_read_in_the_light_and_in_the_dark(path: Path) -> None:
    root = ET.parse(path).getroot()
    light, dark = root.findtext(f"{SVG}style", "").split("@media")
    tints = [(each, float(share)) for each in root.iter(f"{SVG}rect")
             if (share := each.get("opacity") or each.get("fill-opacity"))]  # fmt: skip
    for colours in (light, dark):
        named = dict(re.findall(r"([\w.-]+) \{ fill: #(\w{6})", colours))
        for tint, share in tints:
            fill, below = _rgb(named[f".{tint.get('class')}"]), _rgb(named[".box"])
            over = [share * a + (1 - share) * b for a, b in zip(fill, below, strict=True)]
            for text in filter(partial(_is_inside, tint), root.iter(f"{SVG}text")):
                fills = [named[f".{name}"] for name in text.get("class", "").split() if f".{name}" in named]
                ink = _luminance(_rgb((fills or [named["text"]])[0]))
                lighter, darker = sorted((ink, _luminance(over)), reverse=True)
                assert (lighter + 0.05) / (darker + 0.05) >= 4.5, text.text


def _is_inside(box: ET.Element, text: ET.Element) -> bool:
    x, y, width, height = (float(box.get(name, 0)) for name in ("x", "y", "width", "height"))
    return x <= float(text.get("x", 0)) <= x + width and y <= float(text.get("y", 0)) <= y + height


def _rgb(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]


def _luminance(rgb: Sequence[float]) -> float:
    """Return the relative luminance of a colour, as the Web Content Accessibility Guidelines define it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.name)
def test_a_picture_is_shown_in_a_lesson_or_a_document_beside_it(path: Path) -> None:
    assert any(f"]({path.name})" in page.read_text("utf-8") for page in path.parent.glob("*.md"))

"""The pictures of lessons and documents are what the script draws, can be read by anybody, and have their place."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
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
def test_a_picture_is_shown_in_a_lesson_or_a_document_beside_it(path: Path) -> None:
    assert any(f"]({path.name})" in page.read_text("utf-8") for page in path.parent.glob("*.md"))

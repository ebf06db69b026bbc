"""Write docs/mistakes.md anew from the operators: `python tools/mistakes_page.py`."""

from pathlib import Path

from grader.authoring.mistakes_page import mistakes_page

if __name__ == "__main__":
    page = Path(__file__).resolve().parent.parent / "docs/mistakes.md"
    page.write_text(mistakes_page(), encoding="utf-8")

"""Every output of a drawn class has the points that the docs promise, and a second run changes nothing.

A few classes; `thorough/test_every_class_oracle.py` has more.
"""

from __future__ import annotations

import csv
import html
import io
import json
import random
import re
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from helpers.class_oracle import Expected, expected
from helpers.commands import Typed
from helpers.drawn_assignments import UNITS, DrawnClass, draw_class, lay_down
from helpers.platform_formats import RUNNER, STUDENT_PLATFORMS, score_in

pytestmark = pytest.mark.usefixtures("warm_pool")
EXACT = 1e-9
ROUNDED = 0.006  # of what is written with two digits
MOODLE = ("Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum Grade",
          "Feedback comments")  # fmt: skip
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Linear (77)")
OUT_OF = 50
TOLERANCES = {"gradescope": EXACT, "prairielearn": 1e-4, "submitty": 1e-4, "classroom50": 1.0}  # in points
LINE = re.compile(r'<tr><th scope="row"><bdi>(.*?)</bdi></th><td class="number">(?:<span[^>]*>)?(none|≥|[\d.]+)')
UNREADABLE = re.compile('"gradable": false.*(Python cannot read|the variant must be)')


@pytest.mark.parametrize(("layout", "seed"), [("plain", 3), ("canvas", 4)])
def test_every_output_of_a_drawn_class_has_the_points_of_the_docs(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, seed: int
) -> None:
    assert_points(typed, tmp_path, monkeypatch, layout, seed)


def assert_points(typed: Typed, folder: Path, monkeypatch: pytest.MonkeyPatch, layout: str, seed: int) -> None:
    """Grade, report and export the class of this seed, and compare every output with the oracle."""
    for name, value in RUNNER.items():
        monkeypatch.setenv(name, value)
    draw = random.Random(f"{layout} {seed}")
    drawn = draw_class(draw, layout)
    lay_down(draw, drawn, folder)
    points = {person.key: expected(drawn, person) for person in drawn.people}
    kinds = {each.kind for each in points.values()}
    code = 3 if "ungraded" in kinds else 1 if "nothing" in kinds else 0
    most = sum(drawn.points.values())
    command = ["grade", "week-1", "--format", "json", *(["--yes"] if drawn.enters_zero else [])]
    done = typed(*command, cwd=folder)
    assert done.returncode == code, done.stderr
    grades = folder / "grades/week-1"
    _assert_records(grades, points, most)
    _assert_summary(json.loads(done.stdout), points)
    _assert_exports(typed, folder, points, most, code)
    _assert_report(typed, folder, points)
    for unit in dict.fromkeys(UNITS.values()):
        _assert_unit(typed, folder, drawn, unit)
    before = {path.name: path.read_bytes() for path in grades.iterdir() if path.name != "changes.csv"}
    again = typed(*command, cwd=folder)
    assert again.returncode == code, again.stderr
    after = {path.name: path.read_bytes() for path in grades.iterdir() if path.name != "changes.csv"}
    assert after == before, "a second run changes nothing"
    assert _rows(grades / "changes.csv") == []


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def _name(cell: str) -> str:
    """Return the name in a cell, without the mark that keeps it from being a formula."""
    return re.sub(r"^'(?=[=+\-@])", "", cell)


def _assert_same(points: dict[str, Expected], found: dict[str, float | None], tolerance: float = EXACT) -> None:
    assert set(found) == set(points)
    for student, score in found.items():
        promised = points[student].score
        assert (score is None) == (promised is None), (student, score, promised)
        if score is not None and promised is not None:
            assert score == pytest.approx(float(promised), abs=tolerance), student


def _assert_records(grades: Path, points: dict[str, Expected], most: Fraction) -> None:
    records = [json.loads(path.read_bytes()) for path in grades.glob("*.json")]
    _assert_same(points, {record["student"]: record["score"] for record in records})
    for record in records:
        promised = points[record["student"]]
        assert record["max_score"] == float(most)
        assert record["raw_score"] == (None if promised.raw is None else pytest.approx(float(promised.raw), abs=EXACT))
        assert ("reason" in record) == promised.has_reason
        failed = any(answer["status"] == "error" for exercise in record["exercises"] for answer in exercise["answers"])
        assert failed == (promised.kind == "ungraded")
    rows = _rows(grades / "grades.csv")
    _assert_same(points, {_name(row["student"]): float(row["score"]) if row["score"] else None for row in rows})


def _assert_summary(summary: dict[str, object], points: dict[str, Expected]) -> None:
    scores = [each.score for each in points.values() if each.score is not None]
    assert summary["mean_score"] == (pytest.approx(float(sum(scores) / len(scores))) if scores else None), summary


def _assert_report(typed: Typed, folder: Path, points: dict[str, Expected]) -> None:
    done = typed("report", "week-1", cwd=folder)
    assert done.returncode == 0, done.stderr
    scores: dict[str, float | None] = defaultdict(float)
    for row in _rows(folder / "grades/week-1/report.csv"):
        student = _name(row["student"])
        if row["status"] in ("error", "no score") or scores[student] is None:
            scores[student] = None
        elif row["status"] != "graded by a person":  # those points stand in the line of the change
            scores[student] += float(row["score"])  # type: ignore[operator]
    _assert_same(points, scores)
    page = (folder / "grades/week-1/report.html").read_text(encoding="utf-8")
    students = page[page.index('<section aria-labelledby="students">') :].partition("</section>")[0]
    lines = {html.unescape(name): cell for name, cell in LINE.findall(students)}
    _assert_same(points, {name: float(cell) if cell[0].isdigit() else None for name, cell in lines.items()}, ROUNDED)
    known = sorted(float(each.score) for each in points.values() if each.score is not None)
    if known:
        median = (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
        assert float(re.search(r"median (\S+) of", done.stdout)[1]) == pytest.approx(median, abs=ROUNDED)  # type: ignore[index]


def _assert_exports(typed: Typed, folder: Path, points: dict[str, Expected], most: Fraction, code: int) -> None:
    for platform in STUDENT_PLATFORMS:
        done = typed("export", "week-1", "--to", platform, cwd=folder)
        assert done.returncode == code, done.stderr
        made = folder / "exported/week-1" / platform
        is_clipped = platform in ("prairielearn", "submitty", "vpl", "classroom50")
        promised = {student: _clipped(each, most) if is_clipped else each for student, each in points.items()}
        found: dict[str, float | None] = dict.fromkeys(points)
        files: dict[str, dict[str, bytes]] = defaultdict(dict)
        for row in _rows(made / "index.csv") if (made / "index.csv").exists() else ():
            files[_name(row["student"])][row["file"]] = (made / _name(row["file"])).read_bytes()
        for student, contents in files.items():
            if platform == "prairielearn" and any(UNREADABLE.search(each.decode()) for each in contents.values()):
                del promised[student], found[student]  # not gradable there, as docs/prairielearn.md says
            else:
                found[student] = score_in(platform, contents, float(most))
        _assert_same(promised, found, TOLERANCES.get(platform, ROUNDED))
    for platform, columns in (("canvas", CANVAS), ("moodle", MOODLE)):
        _write_sheet(folder / "sheet.csv", columns, points)
        done = typed("export", "week-1", "--to", platform, "--fill", "sheet.csv", cwd=folder)
        assert done.returncode == code, done.stderr
        (filled,) = (folder / "exported/week-1" / platform).glob("*.csv")
        name, grade = ("SIS Login ID", "Linear (77)") if platform == "canvas" else ("ID number", "Grade")
        cells = {row[name]: row[grade] for row in _rows(filled) if row[name]}
        assert len(cells) == len(points)
        for student, cell in cells.items():
            score = points[student].score
            if score is None:
                assert cell == "", student
            else:
                share = score / most if platform == "canvas" else min(score / most, Fraction(1))
                assert float(cell) == pytest.approx(float(share * OUT_OF), abs=ROUNDED), student


def _assert_unit(typed: Typed, folder: Path, drawn: DrawnClass, unit: str) -> None:
    """Compare the export of one unit with the points of its exercises."""
    names = [name for name, place in UNITS.items() if place == unit]
    points = {person.key: expected(drawn, person, names) for person in drawn.people}
    most = sum(drawn.points[name] for name in names)
    done = typed("export", "week-1", "--to", "gradescope", "--unit", unit, "--out", f"of/{unit}", cwd=folder)
    assert done.returncode in (0, 1, 3), done.stderr
    found = {}
    for row in _rows(folder / f"of/{unit}/index.csv"):
        result = json.loads((folder / f"of/{unit}" / _name(row["file"])).read_bytes())
        found[_name(row["student"])] = result.get("score")
    _assert_same(points, found)
    _write_sheet(folder / "sheet.csv", CANVAS, points)
    sheets = folder / "sheets" / unit
    typed("export", "week-1", "--to", "canvas", "--fill", "sheet.csv", "--unit", unit, "--out", str(sheets), cwd=folder)
    (filled,) = sheets.glob("*.csv")
    cells = {row["SIS Login ID"]: row["Linear (77)"] for row in _rows(filled) if row["SIS Login ID"]}
    shares = {name: float(cell) * float(most) / OUT_OF if cell else None for name, cell in cells.items()}
    _assert_same(points, shares, ROUNDED * float(most))


def _write_sheet(path: Path, columns: tuple[str, ...], points: dict[str, Expected]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        if columns == CANVAS:
            writer.writerow(("    Points Possible", "", "", "", "", OUT_OF))
        for number, student in enumerate(points):
            if columns == CANVAS:
                writer.writerow((f"Somebody{number}, N", 5000 + number, f"s{number}", student, "A", ""))
            else:
                row = f"Participant {6000 + number}", f"Someone{number}", student, "", "Submitted", "", OUT_OF, ""
                writer.writerow(row)


def _clipped(promised: Expected, most: Fraction) -> Expected:
    """Return the points for a platform that takes no more than all of them."""
    return promised if promised.score is None else replace(promised, score=min(promised.score, most))

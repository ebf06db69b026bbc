"""Draw a class with its assignment, and lay it down with `class.yaml`, roster, submissions and adjustments."""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path

from grader.course.course import load_course
from grader.quiz.answer_sheet import blank_sheet, solved_sheet
from helpers import platforms
from helpers.courses import ROOT

UNITS = {"slope": "01_slopes", "lin_grad": "04_linear", "quiz_04_linear": "04_linear"}
QUIZ = load_course(ROOT).find("quiz_04_linear").quiz
SLOPE = (ROOT / "solutions/01_slopes/slope.py").read_text(encoding="utf-8")
BROKEN = "def {}(:\n"
SOURCES = {
    "slope": {
        "right": SLOPE,
        "wrong": SLOPE.replace("/ h", "* h"),
        "untouched": (ROOT / "exercises/01_slopes/slope.py").read_text(encoding="utf-8"),
        "broken": BROKEN.format("slope"),
    },
    "lin_grad": {
        "right": platforms.RIGHT,
        "part": platforms.MEAN,
        "third": platforms.MEAN.replace("inp.t() @ out.g", "inp.t() @ out.g * 2"),
        "untouched": platforms.STUB,
        "broken": BROKEN.format("lin_grad"),
    },
    "quiz_04_linear": {
        "right": solved_sheet("04_linear", QUIZ),
        "untouched": blank_sheet("04_linear", QUIZ),
        "broken": "variant: none\n",
    },
}
LAYOUTS = ("plain", "sections", "moodle", "canvas", "gradescope", "github")
NAMES = (  # of which no two share a word
    ("ada", "Ada Lovelace"), ("ben", "Ben O'Neil"), ("josé", "José Núñez"), ("x-æ", "Æthel Ørsted-Å"),
    ("CON", "Con Aux"),
    ("=1+1", "=SUM(A1) Formula"), ("<b>i<b>", "Ida <b>Bold<b>"), ("李雷", "李雷 王"), ("..dots", "Dot Dotson"),
    ("a b  c", "Wim van der Berg"), ("x" * 90, "Xaver " + "Y" * 90), ("@mona", "@Mona Lisa"), ("100%", "Per Cent"),
    ("q\"uo;te", "Quo \"Te\" Tation"), ("007", "James Bond"), ("&amp;", "Amp &amp; Sand"), ("-rf", "-Dash Er"),
    ("😀", "Smile 😀"), ("null", "Null Void"), ("env", "Envy Green"),
)  # fmt: skip
DUE = datetime(2026, 11, 30, 18, 0, tzinfo=UTC)
DELAYS = (-86400, -1, 0, 1, 899, 900, 901, 3600, 86399, 86400, 86401, 87300, 87301, 2 * 86400, 5 * 86400, 40 * 86400)


@dataclass(frozen=True)
class Attempt:
    """Something that one person, or a group, handed in: which kind of file for which exercise."""

    number: int  # Canvas's of the upload
    files: dict[str, str]
    handed_in: datetime | None = None  # what the platform says
    is_archive: bool = False


@dataclass
class Person:
    """A person under the name that the results have, and what is known of them."""

    key: str
    attempts: list[Attempt] = field(default_factory=list)
    handed_in: datetime | None = None  # what the roster says
    extension: datetime | None = None
    has_one_folder: bool = False  # with all attempts in it


@dataclass
class DrawnClass:
    """A class, its assignment and the changes of its grades."""

    layout: str
    people: list[Person]
    points: dict[str, Fraction]
    adjustments: list[tuple[str, str, Fraction]]  # student, exercise or nothing, points
    due: datetime | None
    grace: timedelta
    per_day: Fraction
    at_most: Fraction
    free_days: int
    enters_zero: bool  # --yes


def draw_class(draw: random.Random, layout: str) -> DrawnClass:
    """Draw a class of a layout; `on_roster` and what lies in folders is drawn by `lay_down`."""
    people = [Person(key="") for _ in range(draw.randint(1, 6))]
    number = 9000
    for person in people:
        for _ in range(draw.choice((0, 1, 1, 1, 1, 2, 3))):
            number += 1
            attempt = _attempt(draw, number, layout)
            if attempt.handed_in is None or attempt.handed_in not in [other.handed_in for other in person.attempts]:
                person.attempts.append(attempt)
        if layout in ("moodle", "github"):
            del person.attempts[1:]
        elif layout in ("plain", "sections"):
            del person.attempts[2:]
            if len(person.attempts) == 2 and draw.random() < 0.6:
                person.attempts.pop()
            person.has_one_folder = draw.random() < 0.6
        if layout == "canvas":
            draw.shuffle(person.attempts)
    if not any(person.attempts for person in people):
        people[0].attempts.append(_attempt(draw, number + 1, layout))
    if layout == "gradescope" and len(people) > 2 and draw.random() < 0.5 and people[0].attempts:
        people[1].attempts.append(people[0].attempts[-1])  # a group
    points = {"slope": draw.choice((1, 2, "1/4")), "lin_grad": draw.choice((1, 2, 3, 5, "1/4"))}
    points["quiz_04_linear"] = draw.choice(("19/4", "19/2"))
    return DrawnClass(
        layout=layout,
        people=people,
        points={name: Fraction(most) for name, most in points.items()},
        adjustments=[],
        due=draw.choice((DUE, DUE, DUE, DUE.astimezone(timezone(timedelta(hours=5, minutes=30))), None)),
        grace=timedelta(minutes=draw.choice((0, 15, 120, 1440))),
        per_day=Fraction(draw.choice(("0", "0.1", "0.15", "0.3", "1"))),
        at_most=Fraction(draw.choice(("0", "0.5", "0.5", "1"))),
        free_days=draw.choice((0, 0, 1, 2)),
        enters_zero=draw.random() < 0.4,
    )


def _attempt(draw: random.Random, number: int, layout: str) -> Attempt:
    files = {name: draw.choice((*SOURCES[name], "right", "missing")) for name in SOURCES}
    files = {name: kind for name, kind in files.items() if kind != "missing"}
    time = DUE + timedelta(seconds=draw.choice(DELAYS), days=number - 9000 if draw.random() < 0.2 else 0)
    return Attempt(number, files, time if layout == "gradescope" else None, draw.random() < 0.4)


def lay_down(draw: random.Random, drawn: DrawnClass, folder: Path) -> None:
    """Name the people of a class, and write its course, roster, submissions, `class.yaml` and `adjustments.csv`."""
    _course(drawn, folder)
    has_roster = draw.random() < 0.75
    names = draw.sample(NAMES, len(drawn.people))
    rows: list[dict[str, str]] = []
    files: dict[str, str | bytes] = {}
    metadata: dict[int, list[str]] = {}
    aliases: dict[str, str] = {}
    for index, (person, (odd, full)) in enumerate(zip(drawn.people, names, strict=True)):
        number, login, email = 301 + 7 * index, f"login{index}q", f"mail{index}z@uni.edu"
        entry = {
            "plain": odd, "sections": odd, "moodle": f"{full}_{number}",
            "canvas": f"lastname{'abcdef'[index]}_{number}",
            "gradescope": email, "github": login,
        }[drawn.layout]  # fmt: skip
        key, row = {
            "plain": (odd, {"username": odd, "email": email}),
            "sections": (odd, {"username": odd, "email": email, "section": "MT"[index % 2]}),
            "moodle": (email, {"Identifier": f"Participant {number}", "Full name": full, "Email address": email}),
            "canvas": (login, {"Student": full, "ID": str(number), "SIS Login ID": login, "Section": "A"}),
            "gradescope": (login, {"username": login, "email": email}),
            "github": (f"u{number}", {"identifier": f"u{number}", "github_username": login}),
        }[drawn.layout]  # fmt: skip
        on_roster = has_roster and (not person.attempts or index == 0 or draw.random() < 0.8)
        person.key = key if on_roster else entry
        if on_roster:
            if draw.random() < 0.5:
                person.handed_in = DUE + timedelta(seconds=draw.choice(DELAYS))
            rows.append({**row, "handed_in": _time(draw, person.handed_in)})
            if drawn.layout in ("plain", "sections") and draw.random() < 0.3:
                entry = f"Other Name {'abcdef'[index] * 3}"
                aliases[entry] = key
        if drawn.layout == "sections":
            entry = f"{'MT'[index % 2]}onday/{entry}"
        for attempt in person.attempts:
            if drawn.layout == "gradescope":
                metadata.setdefault(attempt.number, []).append(email)
            at = f"{entry}/try{attempt.number}" if person.has_one_folder and len(person.attempts) > 1 else entry
            _submission(draw, drawn.layout, at, attempt, files)
    if not has_roster:  # nobody knows of who handed in nothing
        drawn.people = [person for person in drawn.people if person.attempts]
    _submissions(drawn, metadata, files, folder)
    if has_roster:
        _table(folder / "people.csv", rows)
    _adjust(draw, drawn, folder)
    _class_file(draw, drawn, has_roster, aliases, folder)


def _course(drawn: DrawnClass, folder: Path) -> None:
    text = "course: small\ntitle: One\nunits:\n"
    for name, unit in UNITS.items():
        points = float(drawn.points[name])
        if name.startswith("quiz_"):
            text += f"  quiz: {points}\n"
            continue
        for part in ("exercises", "solutions"):
            shutil.copytree(ROOT / part / unit, folder / part / unit, ignore=shutil.ignore_patterns("__pycache__"))
        text += f"- id: {unit}\n  title: {unit}\n  exercises:\n  - {{id: {name}, points: {points}}}\n"
    (folder / "course.yaml").write_text(text, encoding="utf-8")


def _submission(draw: random.Random, layout: str, entry: str, attempt: Attempt, files: dict[str, str | bytes]) -> None:
    """Add the files of an attempt under the names that the platform gives."""
    at = draw.choice(("", "deep/er/", "UNIT/", "exercises/UNIT/"))
    sources: dict[str, str | bytes] = {"notes.txt": "none"} if draw.random() < 0.3 or not attempt.files else {}
    for name, kind in attempt.files.items():
        ending = ".yaml" if name.startswith("quiz_") else ".py"
        spelled = draw.choice((name, f"{name} (1)", name.upper(), f"{name}-2")) + ending
        sources[at.replace("UNIT", UNITS[name]) + spelled] = SOURCES[name][kind]
    if layout == "canvas":
        if attempt.is_archive:
            files[f"{entry}_{attempt.number}_hw.zip"] = platforms.zipped(sources)
        else:
            for name, content in sources.items():
                files[f"{entry}_{attempt.number}_{Path(name).name}"] = content
        return
    if layout == "gradescope":
        top = f"assignment_777_export/submission_{attempt.number}"
    elif layout == "moodle":
        top = f"{entry}_assignsubmission_file"
    elif layout == "github":
        top = f"lin-alg-{entry}"
        sources[".git/HEAD"] = "ref: refs/heads/main"
    else:
        top = entry
        is_second = any(name.startswith((f"{top}/", f"{top}.zip")) for name in files)
        if attempt.is_archive or is_second:
            archive = ".tar.gz" if is_second else ".zip"
            files[top + archive] = platforms.zipped(sources) if archive == ".zip" else platforms.tarred(sources)
            return
    if attempt.is_archive and layout != "github":
        sources = {"hw.zip": platforms.zipped(sources)}
    files |= {f"{top}/{name}": content for name, content in sources.items()}


def _submissions(
    drawn: DrawnClass, metadata: Mapping[int, list[str]], files: dict[str, str | bytes], folder: Path
) -> None:
    top = folder / ("lin-alg-submissions" if drawn.layout == "github" else "submissions")
    if drawn.layout == "gradescope":
        text = "---\n"
        attempts = {attempt.number: attempt for person in drawn.people for attempt in person.attempts}
        for number, emails in metadata.items():
            text += f"submission_{number}:\n  :submitters:\n"
            text += "".join(f"  - :name: N\n    :email: {email}\n" for email in dict.fromkeys(emails))
            text += f"  :created_at: {attempts[number].handed_in:%Y-%m-%d %H:%M:%S}.000000000 Z\n"
        files["assignment_777_export/submission_metadata.yml"] = text
    if drawn.layout in ("gradescope", "moodle", "canvas"):
        platforms.put(top, {"download.zip": platforms.zipped(files)})
    else:
        platforms.put(top, files)


def _time(draw: random.Random, time: datetime | None) -> str:
    if time is None:
        return ""
    zone = draw.choice((UTC, timezone(timedelta(hours=-7)), None))
    return time.astimezone(zone).replace(tzinfo=zone).isoformat()


def _table(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _adjust(draw: random.Random, drawn: DrawnClass, folder: Path) -> None:
    for person in drawn.people:
        for _ in range(draw.choice((0, 0, 0, 1, 2))):
            exercise = draw.choice(("", *drawn.points))
            if any(line[:2] == (person.key, exercise) for line in drawn.adjustments) and exercise:
                continue
            if exercise:
                points = Fraction(drawn.points[exercise]) * Fraction(draw.choice(("0", "1/10", "1/2", "1")))
            else:
                points = Fraction(draw.choice(("0.5", "-0.25", "1", "-9", "0")))
            drawn.adjustments.append((person.key, exercise, points))
    draw.shuffle(drawn.adjustments)
    if drawn.adjustments or draw.random() < 0.5:
        with (folder / "adjustments.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("assignment", "student", "exercise", "points", "reason"))
            for student, exercise, change in drawn.adjustments:
                writer.writerow(("week-1", student, exercise, str(float(change)), "explained, in office hours"))


def _class_file(
    draw: random.Random, drawn: DrawnClass, has_roster: bool, aliases: Mapping[str, str], folder: Path
) -> None:
    submissions = "lin-alg-submissions" if drawn.layout == "github" else "submissions"
    if drawn.layout in ("gradescope", "moodle", "canvas"):
        submissions += "/download.zip"
    days = {"grace": f"{int(drawn.grace.total_seconds()) // 60} min", "per_day": float(drawn.per_day)}
    late = {**days, "at_most": float(drawn.at_most), "free_days": drawn.free_days}
    if drawn.due is None:
        late = {}
    assignment: dict[str, object] = {"submissions": submissions, "layout": drawn.layout}
    if late:
        assignment["late"] = late
    if drawn.due:
        assignment["due"] = drawn.due.isoformat()
        for person in drawn.people:
            if draw.random() < 0.2:
                person.extension = drawn.due + timedelta(days=draw.choice((0, 1, 3)))
        if extended := {person.key: person.extension.isoformat() for person in drawn.people if person.extension}:
            assignment["extensions"] = extended
    content: dict[str, object] = {"assignments": {"week-1": assignment}}
    if has_roster:
        content["roster"] = "people.csv"
    if aliases:
        content["aliases"] = aliases
    (folder / "class.yaml").write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")

"""The content of `class.yaml`: the course, roster and assignments of a class, with errors that name the line."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from grader.course.course_file import CourseFile, is_number_of_unit
from grader.course.yaml_file import StrictModel, line_of, parse_yaml, with_entry
from grader.errors import CourseError, UsageError
from grader.files import write_atomically
from grader.results.points import shown
from grader.safe_text import one_line

from .class_folder import LayoutName, enumeration, first_few_names, refuse_out_in_submission, similar_names
from .course_choice import class_course
from .platform_names import in_zone_of_machine, read_time

CLASS_FILE = "class.yaml"
GRADES_FILE = "grades.csv"
GRADES = Path("grades")  # one folder for each assignment lies in it
ASSIGNMENT = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
DATE = r"\d{4}-\d\d-\d\d"
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(m|min|h|d)")
PERCENT = re.compile(r"(\d+(?:[.,]\d+)?)\s*%")
UNITS = {"m": "minutes", "min": "minutes", "h": "hours", "d": "days"}
NO_CLASS = "the file must map names such as roster and assignments to values: correct it"
ADVICE = {
    ASSIGNMENT: "write letters from `a` to `z` or `A` to `Z`, digits, `.`, `_` and `-`, and none of these three first: "
    "it names a folder"
}


def _moment(value: Any) -> Any:
    """Return a value of `class.yaml` as a `datetime`; the end of the day for a date without a time.

    Args:
        value: a `datetime`, a `date`, or a text such as `2026-11-30T18:00`.

    Raises:
        ValueError: the value is no time, or a number such as 20261130, which would be a few months after 1970.
    """
    if isinstance(value, datetime):
        return value
    text = str(value).strip()
    try:
        if re.fullmatch(DATE, text):
            return datetime.combine(date.fromisoformat(text) + timedelta(days=1), time())
        return read_time(text)
    except (ValueError, OverflowError):  # no such day or time
        pass
    raise ValueError("write a date and a time, such as 2026-11-30T18:00")


def _duration(value: Any) -> timedelta:
    """Return the duration that a text such as `90 min`, `2 h` or `1 d` means.

    Raises:
        ValueError: the value is no such text.
    """
    match = DURATION.fullmatch(str(value).strip())
    if match is None:
        raise ValueError("write a number and min, h or d, such as 2 h")
    return timedelta(**{UNITS[match[2]]: float(match[1])})


def _share(value: Any) -> Any:
    """Return a value of `class.yaml` that is a number from 0 to 1, and any other that is neither text nor number.

    Raises:
        ValueError: the value is a percentage, or another text or number.
    """
    if match := PERCENT.fullmatch(str(value).strip()):
        raise ValueError(f"write {shown(float(match[1].replace(',', '.')) / 100)} for {match[0]}")
    if isinstance(value, str) or (isinstance(value, int | float) and not 0 <= value <= 1):
        raise ValueError("write a share of the score, from 0 to 1: 0.1 is ten percent")
    return value


def _with_zone(moment: datetime) -> datetime:
    """Return the same time in the zone of this machine; a time without a zone is one of this machine.

    Raises:
        ValueError: the moment is too near to the first or the last possible year to be converted.
    """
    try:
        return in_zone_of_machine(moment)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError("write a year like 2026") from error


UnitName = Annotated[str, BeforeValidator(lambda name: str(name) if type(name) is int else name)]
Moment = Annotated[datetime, BeforeValidator(_moment), AfterValidator(_with_zone)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
Share = Annotated[float, BeforeValidator(_share)]


class LatePolicy(StrictModel):
    """Describe what late work loses.

    Args:
        grace: the time after the due date in which work is not late.
        per_day: the share of the raw score that each day begun after the grace takes off.
        at_most: the share of the raw score that lateness takes off at most.
        free_days: how many of these days take nothing off, in each assignment.
    """

    grace: Duration = timedelta()
    per_day: Share = 0.0
    at_most: Share = 1.0
    free_days: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _check_per_day(self) -> Self:
        """Return this rule.

        Raise a `ValueError` if the rule takes nothing off because it does not say what a day costs.
        """
        if self.model_fields_set and "per_day" not in self.model_fields_set:
            raise ValueError("late work loses nothing without per_day: add it, such as per_day: 0.1")
        return self


class ClassAssignment(StrictModel):
    """Describe one assignment of a class.

    Args:
        units: the ids or numbers of the units that are graded; all if empty.
        submissions: the folder or archive that the class handed in.
        layout: how it is laid out; recognised if left out.
        due: when it is due; a date alone means the end of that day, a time without a zone is one of this machine.
        late: what late work loses.
        extensions: due dates of single students, by the names that they have in results.
    """

    submissions: Path
    units: tuple[UnitName, ...] = ()
    layout: LayoutName | None = None
    due: Moment | None = None
    late: LatePolicy = LatePolicy()
    extensions: Mapping[str, Moment] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_due(self) -> Self:
        """Return this assignment.

        Raise a `ValueError` if late work would lose nothing, because nobody has a due date.
        """
        if self.late != LatePolicy() and self.due is None and not self.extensions:
            raise ValueError("late work is late after a due date: add a line with due")
        return self


class ClassFile(StrictModel):
    """Hold the content of `class.yaml`; its paths are relative to the folder that it lies in.

    Args:
        course: the folder of the course; the course of the current folder if left out.
        roster: the CSV list of the class.
        aliases: names that students are known by, and the names that they have on the roster.
        assignments: the assignments of the class, by name.
    """

    course: Path | None = None
    roster: Path | None = None
    aliases: Mapping[str, str] = Field(default_factory=dict)
    assignments: Mapping[Annotated[str, Field(pattern=ASSIGNMENT)], ClassAssignment] = Field(default_factory=dict)


@dataclass(frozen=True)
class ClassPlan:
    """Hold a `class.yaml` that was read.

    Args:
        path: the file.
        text: its text, to find lines in.
        content: its content; empty if there is no such file.
    """

    path: Path = Path(CLASS_FILE)
    text: str = ""
    content: ClassFile = field(default_factory=ClassFile)

    def write_layout(self, assignment: str, layout: LayoutName) -> bool:
        """Write the layout of an assignment as a line of `class.yaml`.

        Returns:
            Whether the line was written; false if the file has no block of lines for this assignment.

        Raises:
            UsageError: the file cannot be written.
        """
        text = with_entry(self.text, ("assignments", assignment), "layout", layout)
        if text is None:
            return False
        try:
            write_atomically(self.path, text.encode())
        except OSError as error:
            raise UsageError(
                f"{CLASS_FILE} cannot be written ({error.strerror}): add layout: {layout} to it."
            ) from error
        return True

    def with_unit_ids(self, config: CourseFile) -> ClassPlan:
        """Return the plan with the ids of the course's units, where `class.yaml` gives their numbers."""
        assignments = {
            name: assignment.model_copy(update={"units": tuple(map(config.unit_id, assignment.units))})
            for name, assignment in self.content.assignments.items()
        }
        return replace(self, content=self.content.model_copy(update={"assignments": assignments}))

    def line(self, *location: str | int) -> str:
        """Return the file and the line of an entry, as in `class.yaml, line 3`.

        Args:
            location: the keys that lead to the entry.
        """
        return f"{self.path.name}, line {line_of(self.text, location)}"


@dataclass(frozen=True)
class GradeOptions:
    """Hold what decides what is graded, as `handgrad grade` was told or as `class.yaml` says.

    Args:
        submissions: the folder or archive of the class, once it is known.
        out: the results folder; `None` if the command line names none.
        units: the ids of the units that are graded; all if empty.
        exercises: the ids of further exercises that are graded.
        roster: the CSV list of the class.
        layout: the layout of the submissions.
        assignment: the name of the assignment; empty if it is none of `class.yaml`.
        aliases: names that students are known by, and the names that they have on the roster.
        remark: a sentence on how the argument of the command was read; empty if nothing is to be said.
    """

    submissions: Path = Path()
    out: Path | None = None
    units: Sequence[str] = ()
    exercises: Sequence[str] = ()
    roster: Path | None = None
    layout: LayoutName | None = None
    assignment: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


def read_class_file(folder: Path) -> ClassPlan:
    """Return the `class.yaml` of a folder; an empty one if there is none.

    Raises:
        UsageError: the file cannot be read, is called `class.yml`, or is wrong; names the line.
    """
    path = folder / CLASS_FILE
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        refuse_other_spelling(path, "class.yml")
        return ClassPlan(path)
    except UnicodeDecodeError as error:
        raise UsageError(f"{CLASS_FILE} cannot be read (it is not UTF-8 text): save it as UTF-8.") from error
    except OSError as error:
        raise UsageError(f"{CLASS_FILE} cannot be read ({error.strerror}): correct it, or move it away.") from error
    return ClassPlan(path, text, parse_yaml(Path(CLASS_FILE), text, ClassFile, ADVICE, NO_CLASS))


def refuse_other_spelling(path: Path, *others: str) -> None:
    """Refuse a folder in which a file is missing and another has almost its name, which would not be read.

    Args:
        path: the file that is missing.
        others: names that people give the file, besides its own in capitals.

    Raises:
        UsageError: there is a file of such a name; says to rename it.
    """
    with suppress(OSError):
        for name in sorted(os.listdir(path.parent)):
            if name.casefold() in (path.name, *others):
                raise UsageError(f"{name} is not read: rename it to {path.name}.")


def grade_options(plan: ClassPlan, submissions: str | None, given: GradeOptions) -> GradeOptions:
    """Return the options of a run: those of an assignment of `class.yaml`, or those that were given.

    The results folder of an assignment is the folder of its name in `GRADES`; without one it is `GRADES` by default.

    Args:
        plan: the `class.yaml` of the current folder.
        submissions: the argument of the command: the name of an assignment, or a path, such as `./NAME`; `None` if
            there is no argument.
        given: the options of the command line.

    Raises:
        UsageError: no assignment can be meant, or an option contradicts `class.yaml`; names its line.
    """
    content = plan.content
    name = _assignment_name(content, submissions)
    _check_same_file(plan, given.roster, content.roster, "--roster", "roster")
    roster = given.roster or content.roster
    if given.roster is None and roster is not None and not roster.is_file():
        raise UsageError(f"{plan.line('roster')}: there is no file {roster}: correct the name.")
    if content.aliases and roster is None:
        raise UsageError(f"{plan.line('aliases')}: aliases are names on a roster: add a line with roster.")
    if not name:
        out = given.out or GRADES
        _check_folder_is_free(plan, out)
        graded = submissions or ""
        remark = remark_on_rules(plan, graded)
        return replace(given, submissions=Path(graded), out=out, roster=roster, aliases=content.aliases, remark=remark)
    assignment, at = content.assignments[name], ("assignments", name)
    out = GRADES / name
    _check_same_file(plan, given.out, out, "--out", *at)
    if given.exercises:
        raise UsageError(f"{plan.line(*at, 'units')} says what {name} is graded in: leave out --exercise.")
    if given.units and set(given.units) != set(assignment.units):
        units = ", ".join(assignment.units) or "all units"
        raise UsageError(f"{plan.line(*at, 'units')} says {units} for {name}: leave out --unit, or change the line.")
    if given.layout and assignment.layout and given.layout != assignment.layout:
        says = f"{plan.line(*at, 'layout')} says layout {assignment.layout}"
        raise UsageError(f"{says}: leave out --layout, or change the line.")
    if not assignment.submissions.exists():
        says = f"{plan.line(*at, 'submissions')}: {assignment.submissions} does not exist"
        raise UsageError(f"{says}: name the folder or archive that the class handed in.")
    return GradeOptions(
        submissions=assignment.submissions,
        out=out,
        units=assignment.units,
        roster=roster,
        layout=given.layout or assignment.layout,
        assignment=name,
        aliases=content.aliases,
        remark=f"{submissions} is taken as the assignment {name}: for the folder alone, type ./{name}"
        * (submissions not in (None, name)),
    )


def remark_on_rules(plan: ClassPlan, path: str) -> str:
    """Return a sentence on submissions of an assignment that are graded by their path, without its rules; else empty.

    So is a folder with the name of an assignment whose submissions lie in another one. A `class.yaml` above the current
    folder is named, because it is not read.

    Args:
        plan: the `class.yaml` of the current folder.
        path: the path of what is graded, as it was typed.
    """
    above = (folder for folder in plan.path.absolute().parent.parents if (folder / CLASS_FILE).is_file())
    if not plan.text and (folder := next(above, None)) is not None:
        return (
            f"{folder / CLASS_FILE} is not read here, and its rules do not count: to apply them, run this in {folder}"
        )
    graded = Path(os.path.realpath(path))
    names = [
        name
        for name, assignment in plan.content.assignments.items()
        if graded.is_relative_to(os.path.realpath(assignment.submissions)) or path.rstrip(f"/{os.sep}") == name
    ]
    if not names:
        return ""
    assignments = enumeration(names, "or")
    return (
        f"{path} is graded without the rules of {assignments} in {CLASS_FILE}: due dates, lateness and adjustments do "
        f"not count. With them: handgrad grade {assignments}"
    )


def _assignment_name(content: ClassFile, submissions: str | None) -> str:
    """Return the name of the assignment that is graded; empty if `submissions` is a path and no assignment's name.

    `None` stands for the only assignment.

    Raises:
        UsageError: `submissions` is `None`, and there is not exactly one assignment; or there are assignments, and it
            is neither the name of one nor a path that exists.
    """
    names = list(content.assignments)
    if submissions is None:
        if len(names) == 1:
            return names[0]
        if names:
            raise UsageError(f"Name the assignment: handgrad grade {names[0]} (or {', '.join(names[1:])}).")
        raise UsageError("Name what the class handed in: handgrad grade submissions/")
    name = _named_assignment(content, submissions)
    if names and not name and not Path(submissions).exists():
        raise UsageError(f"There is no assignment or folder {submissions!r}: {nearest(submissions, names)}")
    return name


def _named_assignment(content: ClassFile, argument: str) -> str:
    """Return the name of the assignment that an argument means; empty if it is a path.

    A shell completes the name of an assignment whose submissions lie in a folder of its name: `hw/` means `hw`.
    """
    if argument in content.assignments:
        return argument
    name = argument.rstrip(f"/{os.sep}")
    if assignment := content.assignments.get(name):
        return name if os.path.realpath(name) == os.path.realpath(assignment.submissions) else ""
    return ""


def results_path(plan: ClassPlan, name: str | None) -> Path:
    """Return the results folder, or the record, that a command means.

    Args:
        plan: the `class.yaml` of the current folder.
        name: the name of an assignment, or a path; `None` for the only assignment, or the folder `grades`.

    Raises:
        UsageError: there are several assignments and `name` is `None`; or there are assignments, and `name` is neither
            one nor a path that exists. Without assignments, a path need not exist.
    """
    names = list(plan.content.assignments)
    if named := names[0] if name is None and len(names) == 1 else _named_assignment(plan.content, name or ""):
        return GRADES / named
    if name is None and names:
        raise UsageError(f"{CLASS_FILE} has several assignments: name one of {', '.join(names)}.")
    path = GRADES if name is None else Path(name)
    if names and not path.exists() and not _assignment_of(plan, path):
        raise UsageError(f"There is no assignment or folder {name!r}: {nearest(str(name), names)}")
    return path


def _check_same_file(plan: ClassPlan, given: Path | None, said: Path | None, option: str, *at: str) -> None:
    """Check that an option names the same file as `class.yaml`, if both name one.

    Args:
        plan: the `class.yaml`.
        given: the file that the option names; `None` without the option.
        said: the file that `class.yaml` names; `None` if it names none.
        option: the option, such as `--roster`.
        *at: the keys that lead to the line in `class.yaml`.

    Raises:
        UsageError: the two files are not the same.
    """
    if given is not None and said is not None and os.path.realpath(given) != os.path.realpath(said):
        raise UsageError(f"{plan.line(*at)} says {said}: leave out {option}, or change the line.")


def _check_folder_is_free(plan: ClassPlan, out: Path) -> None:
    """Raise a `UsageError` if a results folder belongs to an assignment, or lies in what students handed in to one.

    The assignments are those of `class.yaml`.
    """
    if name := _assignment_of(plan, out):
        says = f"{out} belongs to the assignment {name} ({plan.line('assignments', name)})"
        raise UsageError(f"{says}: run handgrad grade {name}, or name another folder with --out.")
    refuse_out_in_assignments(plan, out)


def refuse_out_in_assignments(plan: ClassPlan, out: Path) -> None:
    """Raise a `UsageError` if a folder that is written lies in what a student handed in to an assignment."""
    for assignment in plan.content.assignments.values():
        refuse_out_in_submission(assignment.submissions, out)


def refuse_record_of_class(plan: ClassPlan, record: Path) -> None:
    """Refuse to write the record of a submission that is graded alone among the results of a class.

    It would take the place of a record with the rules and the seed of the class.

    Args:
        plan: the `class.yaml`.
        record: the path of the record.

    Raises:
        UsageError: the folder belongs to an assignment, or holds the results of a class.
    """
    name = _assignment_of(plan, record.parent)
    if name or (record.parent / GRADES_FILE).exists():
        whose = f"belongs to the assignment {name}" if name else "holds the results of a class"
        run = f"run handgrad grade {name} --student NAME" if name else "add --student NAME to the command of the class"
        raise UsageError(
            f"{record.parent} {whose}: to grade one of its students again, {run}; or name another file with --out."
        )


def _assignment_of(plan: ClassPlan, out: Path) -> str:
    """Return the name of the assignment that a results folder belongs to; empty if it belongs to none."""
    names = (name for name in plan.content.assignments if os.path.realpath(out) == os.path.realpath(GRADES / name))
    return next(names, "")


def assignment_of(results: Path) -> str:
    """Return the name of the assignment that a results folder, or a record in it, belongs to; empty if to none.

    Raises:
        UsageError: the `class.yaml` of the current folder cannot be read, or is wrong.
    """
    return _assignment_of(read_class_file(Path.cwd()), results.parent if results.is_file() else results)


def grade_command(results: Path, exercises: Collection[tuple[str, str]] = (), suffix: str = "") -> str:
    """Return the command that makes results again: `handgrad grade lab_1` for those of an assignment of `class.yaml`.

    For other results, the command has the options `--unit` or `--exercise`, where needed, and `--out`.

    Args:
        results: the results folder, a record in it, or a record that was made alone.
        exercises: unit and id of each exercise that the results have; empty for the whole course.
        suffix: an ending that is added to the name of the results folder, or of a record made alone; empty if the
            results can be made in the same place.

    Raises:
        UsageError: the `class.yaml` of the current folder cannot be read, or is wrong.
    """
    if name := assignment_of(results):
        return f"handgrad grade {name}"
    wanted = _options_for(exercises)
    if results.is_file() and not (results.parent / GRADES_FILE).is_file():
        out = results.with_name(f"{results.stem}{suffix}{results.suffix}")
        return shlex.join(["handgrad", "grade", "--one", "SUBMISSION", *wanted, "--out", str(out)])
    folder = results.parent if results.is_file() else results
    out = folder.with_name(f"{folder.name}{suffix}") if folder.name else folder / suffix.lstrip("-")
    return shlex.join(["handgrad", "grade", "SUBMISSIONS", *wanted, "--out", str(out)])


def unit_advice(results: Path, unit: str) -> str:
    """Return how to get results of a unit that results do not cover, as a clause that ends in a command.

    Args:
        results: the results folder, a record in it, or a record that was made alone.
        unit: the id of the unit.

    Raises:
        UsageError: the `class.yaml` of the current folder cannot be read, or is wrong.
    """
    plan, name = read_class_file(Path.cwd()), assignment_of(results)
    if not name:
        return f"grade the unit into a folder of its own: {grade_command(results, {(unit, '')}, f'-{unit}')}"
    if not (named := plan.content.assignments[name].units) or _is_named(unit, named):
        return f"grade it again: handgrad grade {name}"
    return f"add it to {plan.line('assignments', name, 'units')}, and then run: handgrad grade {name}"


def are_units_outdated(results: Path, graded: Collection[str]) -> bool:
    """Return whether `class.yaml` names other units for the assignment of results than those in the results.

    `False` if it names no units, so that all are graded.

    Args:
        results: the results folder, or a record in it; the value is `False` if it belongs to no assignment.
        graded: the ids of the units in the results; the value is `False` if there are none.

    Raises:
        UsageError: the `class.yaml` of the current folder cannot be read, or is wrong.
    """
    name = assignment_of(results)
    units = read_class_file(Path.cwd()).content.assignments[name].units if name and graded else ()
    return bool(units) and not (
        all(_is_named(unit, units) for unit in graded)
        and all(any(_is_named(unit, [each]) for unit in graded) for each in units)
    )


def _is_named(unit: str, names: Iterable[str]) -> bool:
    """Return whether `names` contains the id or the number of a unit."""
    return any(unit == name or is_number_of_unit(name, unit) for name in names)


def _options_for(exercises: Collection[tuple[str, str]]) -> list[str]:
    """Return the options of `handgrad grade` that choose exercises, such as `["--unit", "04_linear"]`.

    There are none for the whole course of the current folder, or if that course cannot be read. A unit is chosen as a
    whole if at least half of its exercises are wanted. The options come in the order of the course.

    Args:
        exercises: unit and id of each; an empty id means the whole unit, and none at all the whole course.
    """
    try:
        course = class_course(Path.cwd(), read_class_file(Path.cwd()).content.course)
    except CourseError:
        return []
    options, is_whole = list[str](), True
    for unit in course.config.units:
        ids = [name for name in unit.ids if {(unit.id, name), (unit.id, "")} & {*exercises}]
        is_whole = is_whole and len(ids) == len(unit.ids)
        if 2 * len(ids) >= len(unit.ids):  # an edit of the course may have added some
            options += ["--unit", unit.id]
        else:
            options += [part for name in ids for part in ("--exercise", name)]
    return [] if is_whole else options


def nearest(name: str, names: Collection[str]) -> str:
    """Return a clause on an unknown name: `did you mean ada?`, else `known are ada, bob.` or `there are none.`."""
    if similar := similar_names(name, names, 1):
        return f"did you mean {one_line(enumeration(similar, 'or'))}?"
    return f"known are {one_line(first_few_names(sorted(names)))}." if names else "there are none."

"""Whatever fails between a folder and its record, at most one student is lost, and the output names that student."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.fault_injection import FAULTS, STUDENTS, Classes, Fault, Outcome, Where, make_class

BEFORE = ("course/", "sandbox/", "cli/")  # no submission is known yet
# What a class is known by, or what puts its table together: there is no record that could be that of one student.
OF_THE_CLASS = frozenset(
    (
        "classroom/file_tree.py:Folder.all_entries", "classroom/file_tree.py:_folder_entries",
        "classroom/class_folder.py:_download", "classroom/class_folder.py:_LayoutFinder._infos",
        "classroom/class_folder.py:_LayoutFinder._entries", "classroom/exercise_names.py:",
        "classroom/class_folder.py:_LayoutFinder._may_be_section", "classroom/class_folder.py:_EntryInfo.is_student",
        "classroom/class_folder.py:_EntryInfo.may_be_submission", "files.py:whole_file",
    )
)  # fmt: skip


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Classes:
    root = tmp_path_factory.mktemp("faults")
    make_class(root)
    return Classes(root)


@pytest.fixture(scope="module")
def clean(classes: Classes) -> Outcome:
    outcome = classes.run("clean")
    assert (outcome.code, sorted(outcome.records)) == (0, sorted(STUDENTS)), outcome.said
    return outcome


def functions(classes: Classes, where: Where) -> Iterator[tuple[str, int]]:
    """The functions that a clean run calls, and how often; parts of functions fail with them."""
    shutil.rmtree(classes.root / "counted", ignore_errors=True)  # or the results of an earlier test are kept
    for name, calls in sorted(classes.run("counted", counted=where).calls.items()):
        if "<" not in name and not name.startswith(BEFORE):
            yield name, calls


def wrong(classes: Classes, clean: Outcome, fault: Fault, calls: int) -> str:
    """What is wrong with how a class ended in which this fault was injected; empty if nothing is."""
    out = classes.root / "out"
    shutil.rmtree(out, ignore_errors=True)
    outcome = classes.run("out", fault)
    lost = outcome.lost(clean)
    if "Traceback" in outcome.said or not outcome.raised:
        return "it ended in a traceback" if outcome.raised else "nothing was raised"
    if outcome.code == 0:
        return f"nobody was told of {lost}" if lost else ""
    if outcome.code != 3:
        return f"the exit code is {outcome.code}"
    if len(lost) <= 1 and len(outcome.table.splitlines()) > len(STUDENTS):
        return "" if all(name in outcome.said for name in lost) else f"{lost} is not named"
    if any(record != clean.records[name] for name, record in outcome.records.items()):
        return "a record was changed"
    if calls >= len(STUDENTS) and not any(fault.function.startswith(name) for name in OF_THE_CLASS):
        return f"{lost} were lost"
    again = classes.run("out")
    return "" if (again.code, again.lost(clean)) == (0, []) else "the same command does not go on"


@pytest.mark.parametrize("error", FAULTS)
def test_no_fault_in_the_coordinator_loses_two_students(classes: Classes, clean: Outcome, error: str) -> None:
    found = {}
    for name, calls in functions(classes, "coordinator"):
        says = wrong(classes, clean, Fault("coordinator", name, error, at=(calls + 1) // 2), calls)
        if says == "nothing was raised":  # it is called less often if another worker's answers come first
            says = wrong(classes, clean, Fault("coordinator", name, error, at=1), calls)
        if says:
            found[name] = says
    assert found == {}


@pytest.mark.parametrize("student", STUDENTS)
@pytest.mark.parametrize("error", FAULTS)
def test_no_fault_over_one_submission_loses_another(
    classes: Classes, clean: Outcome, error: str, student: str, tmp_path: Path
) -> None:
    """In the process that reads and judges, whenever this student is served."""
    found = {}
    for name, _ in functions(classes, "process"):
        says = wrong(classes, clean, Fault("process", name, error, student=student), len(STUDENTS))
        if says and says != "nothing was raised":  # what reads a notebook reads no archive
            found[name] = says
    assert found == {}

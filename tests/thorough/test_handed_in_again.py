"""A notebook that is handed in again by hand, with no time noted, is graded again."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from helpers.nbgrader_class import (
    BMM,
    RIGHT,
    UNIT,
    answered,
    hand_in,
    nbgrader,
    read,
    released,
    released_folder,
    totals,
)

from grader.nbgrader.plugin import content_hash

AGAIN = "submitted/{0}/04_linear was handed in again, and is graded again"


@pytest.mark.slow
def test_what_has_changed_is_graded_again_and_nothing_else(tmp_path: Path) -> None:
    folder = released_folder(tmp_path, "c.SecureExecute.isolation = 'none'\n")
    blank = released(folder)
    right = answered(blank, lin_grad=RIGHT, bmm_grad=BMM)
    for student in ("ann", "bob", "cy"):
        hand_in(folder, student, answered(blank, lin_grad=RIGHT))
    (folder / "submitted" / "cy" / UNIT / f"{UNIT}.ipynb").rename(folder / "submitted" / "cy" / UNIT / "mine.ipynb")
    nbgrader("autograde", UNIT, cwd=folder)
    assert totals(folder) == {"ann": 3.0, "bob": 3.0, "cy": 3.0}

    graded = {name: folder / "autograded" / name / UNIT / f"{UNIT}.ipynb" for name in ("ann", "bob", "cy")}
    before = {name: path.stat().st_mtime_ns for name, path in graded.items()}
    hand_in(folder, "ann", right)
    said = nbgrader("autograde", UNIT, cwd=folder)
    assert AGAIN.format("ann") in said
    assert "handed in again" not in said.replace(AGAIN.format("ann"), "")
    assert totals(folder) == {"ann": 5.0, "bob": 3.0, "cy": 3.0}
    assert [name for name, path in graded.items() if path.stat().st_mtime_ns != before[name]] == ["ann"]

    (folder / "submitted" / "bob" / UNIT / "helpers.py").write_text("x = 1\n")
    assert AGAIN.format("bob") in nbgrader("autograde", UNIT, f"--notebook={UNIT}", cwd=folder)
    assert "handed in again" not in nbgrader("autograde", UNIT, cwd=folder)

    without = read(graded["ann"])  # as an earlier version left it
    del without.metadata["handgrad"]
    graded["ann"].chmod(0o644)
    nbformat.write(without, graded["ann"])
    os.utime(graded["ann"], ns=(0, 0))
    said = nbgrader("autograde", UNIT, cwd=folder)
    assert "submitted/ann/04_linear has changed since" in said
    assert "grade it again with --force" in said
    assert totals(folder)["ann"] == 5.0


def test_what_counts_is_what_was_handed_in(tmp_path: Path) -> None:
    """Notebooks and the files that they may import; no time, no link that leads out."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "n.ipynb").write_text("{}")
    first = content_hash(tmp_path / "a")
    for name in ("timestamp.txt", "essay.pdf"):
        (tmp_path / "a" / name).write_text("2024")
    (tmp_path / "elsewhere.py").write_text("x = 1")
    (tmp_path / "a" / "link.py").symlink_to(tmp_path / "elsewhere.py")
    assert content_hash(tmp_path / "a") == first
    (tmp_path / "a" / "helpers.py").write_text("x = 1")
    second = content_hash(tmp_path / "a")
    (tmp_path / "a" / "helpers.py").rename(tmp_path / "a" / "others.py")
    assert len({first, second, content_hash(tmp_path / "a")}) == 3


# student: the notebooks that lie there at first, those that lie there later, and what the student gets for these
RENAMED: dict[str, tuple[dict[str, str], dict[str, str], float | None]] = {
    "same-name": ({"mine": "old"}, {"mine": "new"}, 5.0),
    "other-name": ({"mine": "old"}, {"mine 2": "new"}, 5.0),
    "released-name": ({"mine": "old"}, {"mine": "old", UNIT: "new"}, 5.0),
    "first-of-two": ({"a": "new", "b": "old"}, {"a": "new"}, 5.0),
    "second-of-two": ({"a": "old", "b": "new"}, {"b": "new"}, 5.0),
    "both": ({"mine": "old"}, {"mine": "old", "mine 2": "new"}, None),
}


@pytest.mark.slow
def test_of_renamed_notebooks_the_one_that_was_handed_in_last_counts(tmp_path: Path) -> None:
    """`autograde` lays a copy under the released name beside it, which never stands for another notebook."""
    folder = released_folder(tmp_path, "c.SecureExecute.isolation = 'none'\n")
    blank = released(folder)
    made = {"old": answered(blank, lin_grad=RIGHT), "new": answered(blank, lin_grad=RIGHT, bmm_grad=BMM)}
    for student, (at_first, _, _) in RENAMED.items():
        for name, which in at_first.items():
            hand_in(folder, student, made[which], name)
    nbgrader("autograde", UNIT, cwd=folder)
    assert totals(folder) == {student: 3.0 if "mine" in before else None for student, (before, _, _) in RENAMED.items()}
    for student, (at_first, later, _) in RENAMED.items():
        assert (folder / "submitted" / student / UNIT / f"{UNIT}.ipynb").is_file(), "the copy"
        for name in at_first.keys() - later.keys():
            (folder / "submitted" / student / UNIT / f"{name}.ipynb").unlink()
        for name, which in later.items():
            hand_in(folder, student, made[which], name)
    for words in ((), ("--force",)):
        nbgrader("autograde", UNIT, *words, cwd=folder)
        assert totals(folder) == {student: points for student, (_, _, points) in RENAMED.items()}

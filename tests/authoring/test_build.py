"""Stubs are the worked solutions without their marked region, and a solution that cannot be one says why."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest

from grader.authoring.build import build, derived_files, stale_files, stub
from grader.course.course import Course, CourseExercise, load_course
from grader.errors import CourseError

ROOT = Path(__file__).resolve().parents[2]
REAL = load_course(ROOT)
COURSE = """
course: small
title: A small course
units:
  - id: 06_losses
    title: Losses
    exercises:
      - id: mse_grad
"""
HEAD = "def mse_grad(inp, targ):\n"


@pytest.fixture
def small(tmp_path: Path) -> Course:
    """A course of one exercise, built."""
    (tmp_path / "course.yaml").write_text(COURSE)
    shutil.copytree(ROOT / "solutions" / "06_losses", tmp_path / "solutions" / "06_losses")
    small = load_course(tmp_path)
    build(small)
    return small


@pytest.mark.parametrize("exercise", REAL.exercises, ids=lambda exercise: exercise.id)
def test_the_committed_stub_is_the_derived_one(exercise: CourseExercise):
    assert exercise.path.read_text(encoding="utf-8") == stub(exercise)


def test_a_stub_keeps_the_docstring_and_imports_and_asks_for_each_answer():
    text = stub(REAL.find("forward_and_backward"))
    (function,) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    *_, last = text.rstrip().splitlines()
    assert "inp: (bs, n)" in (ast.get_docstring(function) or "")
    assert [line.strip() for line in text.splitlines() if line.endswith("= ...")] == [
        f"{name}.g = ..." for name in ("inp", "w1", "b1", "w2", "b2")
    ]
    assert last == "    return ..."
    assert "import torch\n" in stub(REAL.find("df_db"))
    assert "SOLUTION" not in text


def test_a_class_that_is_to_be_written_as_well_is_left_open():
    """The class keeps its docstring, and what stands between it and the function is there to be used."""
    text = stub(REAL.find("value_engine"))
    names = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert list(names) == ["Value", "run_values", "value_engine"]
    for name, is_open in (("Value", True), ("run_values", False), ("value_engine", True)):
        *_, last = names[name].body
        assert (ast.unparse(last) == "...") is is_open
        assert ast.get_docstring(names[name])


def test_build_writes_what_is_stale_and_nothing_else(small: Course):
    (path,) = derived_files(small)
    assert build(small) == []
    path.write_text(path.read_text() + "# mine\n")
    assert stale_files(small) == [path]
    assert build(small) == [path]
    assert stale_files(small) == []
    path.unlink()
    assert build(small) == [path]
    assert [file.name for file in path.parent.iterdir()] == ["mse_grad.py"]


def test_line_ends_of_another_platform_are_not_stale(small: Course):
    (path,) = derived_files(small)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert stale_files(small) == []


def test_a_file_that_is_not_text_is_stale(small: Course):
    (path,) = derived_files(small)
    path.write_bytes(b"\xff\xfe")
    assert stale_files(small) == [path]


def test_a_learners_folder_is_never_built_over(tmp_path: Path):
    (tmp_path / "course.yaml").write_text(COURSE)
    with pytest.raises(CourseError, match=r"no solutions/ to build from.*handgrad reset ID$"):
        build(load_course(tmp_path))
    assert not (tmp_path / "exercises").exists()


def test_code_around_the_region_stays(small: Course):
    solution = small.exercises[0].solution
    region = "    ### BEGIN SOLUTION\n    inp.g = n\n    ### END SOLUTION\n"
    before, after = f"import torch\n\n\n{HEAD}    n = 1\n", "    return n\n"
    solution.write_text(before + region + after)
    assert stub(small.exercises[0]) == before + "    inp.g = ...\n" + after


BROKEN = {
    "no marks": (HEAD + "    inp.g = 0\n", "line 1: put ### BEGIN SOLUTION and ### END SOLUTION around the answer."),
    "unclosed": (
        HEAD + "    ### BEGIN SOLUTION\n    inp.g = 0\n",
        "line 2: this mark is never closed: put ### END SOLUTION behind the answer.",
    ),
    "nested": (
        HEAD + "    ### BEGIN SOLUTION\n    ### BEGIN SOLUTION\n    inp.g = 0\n    ### END SOLUTION\n",
        "line 3: ### BEGIN SOLUTION stands where ### END SOLUTION should: write one pair of marks.",
    ),
    "the wrong way round": (
        HEAD + "    ### END SOLUTION\n    inp.g = 0\n    ### BEGIN SOLUTION\n",
        "line 2: ### END SOLUTION stands where ### BEGIN SOLUTION should: write one pair of marks.",
    ),
    "repeated": (
        HEAD + 2 * "    ### BEGIN SOLUTION\n    inp.g = 0\n    ### END SOLUTION\n",
        "line 5: this is a second region: put all of it into one.",
    ),
    "another function": (
        "def mse(inp, targ):\n    ### BEGIN SOLUTION\n    inp.g = 0\n    ### END SOLUTION\n",
        "line 1: there is no function mse_grad in it: give the solution that name.",
    ),
    "outside": (
        "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n" + HEAD + "    inp.g = 0\n",
        "line 1: the mark is not inside mse_grad: move it into the function.",
    ),
    "too long": (
        HEAD + "    ### BEGIN SOLUTION\n    inp.g = 0\n\n\ndef other():\n    pass\n    ### END SOLUTION\n",
        "line 6: the marked region reaches beyond mse_grad: move ### END SOLUTION to the end of the function.",
    ),
    "half a statement": (
        HEAD + "    inp.g = (\n    ### BEGIN SOLUTION\n    0\n    ### END SOLUTION\n    )\n",
        "line 3: without the marked region this is not Python (*): put the marks around whole statements.",
    ),
    "not Python": (HEAD + "    inp.g = )\n", "line 2: this is not Python (unmatched ')'): correct it."),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_solution_is_named_with_its_line_and_what_to_do(small: Course, case: str):
    source, sentence = BROKEN[case]
    small.exercises[0].solution.write_text(source)
    with pytest.raises(CourseError) as caught:
        derived_files(small)
    pattern = re.escape(f"solutions/06_losses/mse_grad.py, {sentence}").replace(r"\*", ".*")
    assert re.fullmatch(pattern, str(caught.value))


def test_a_missing_solution_is_named(small: Course):
    small.exercises[0].solution.unlink()
    with pytest.raises(CourseError, match=r"mse_grad\.py is missing or cannot be read: write the worked solution of"):
        stale_files(small)


def test_a_solution_in_another_encoding_is_named(small: Course):
    small.exercises[0].solution.write_bytes(HEAD.encode() + b"    # \xe9\n")
    with pytest.raises(CourseError, match="is not UTF-8 text: save it as UTF-8"):
        stub(small.exercises[0])


def test_a_write_that_fails_leaves_the_old_file_and_no_other(small: Course, monkeypatch: pytest.MonkeyPatch):
    (path,) = derived_files(small)
    path.write_text("mine")

    def refuse(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("grader.files.os.replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        build(small)
    assert path.read_text() == "mine"
    assert [file.name for file in path.parent.iterdir()] == ["mse_grad.py"]

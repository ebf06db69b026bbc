"""`handgrad nbgrader init`: an instructor's folder, rebuilt around what is the instructor's own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.cli import main as cli
from grader.course.course import COURSE_VARIABLE, Course, bundled_folder, load_course, notebook_course
from grader.errors import CourseError, HandgradError
from grader.nbgrader.course_folder import AUTOGRADE, FEEDBACK, RELEASE, build_folder, config, merge_cells
from grader.nbgrader.source_notebook import grade_id, notebook_lesson, source_notebook

ROOT = Path(__file__).resolve().parents[2]
REAL = load_course(ROOT)
LINEAR = source_notebook(REAL, REAL.config.units[3], notebook_lesson(REAL, REAL.config.units[3]))
RELU = Path("source/05_activations/05_activations.ipynb")
SMALL = """
course: small
title: A small course
units:
  - {id: 05_activations, title: Activations, exercises: [{id: relu_grad}]}
"""


@pytest.fixture
def small(tmp_path: Path) -> Course:
    """A course of an instructor's own, of one exercise."""
    root = tmp_path / "small"
    for part in ("exercises", "solutions"):
        shutil.copytree(ROOT / part / "05_activations", root / part / "05_activations")
    (root / "course.yaml").write_text(SMALL)
    return load_course(root)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def own(text: str, name: str = "") -> NotebookNode:
    """A cell of the instructor's."""
    record = {"schema_version": 3, "grade_id": name, "grade": False, "solution": False, "locked": True, "task": False}
    return nbformat.v4.new_markdown_cell(text, metadata={"nbgrader": record} if name else {})


def test_a_folder_has_a_notebook_for_each_unit_and_building_it_again_changes_nothing(tmp_path: Path):
    first = build_folder(REAL, tmp_path / "nb")
    made = files(tmp_path / "nb")
    notebooks = [f"source/{unit.id}/{unit.id}.ipynb" for unit in REAL.config.units]
    pictures = [f"source/{path.parent.name}/{path.name}" for path in REAL.root.glob("exercises/*/*.svg")]
    assert sorted(made) == sorted([*notebooks, *pictures, "nbgrader_config.py"])
    assert sorted(str(file) for file in first.files) == sorted(made)
    again = build_folder(REAL, tmp_path / "nb")
    assert (again.files, again.backups, again.own_config) == ((), (), False)
    build_folder(REAL, tmp_path / "other")
    assert files(tmp_path / "nb") == made == files(tmp_path / "other")


def test_what_an_instructor_added_is_kept_and_what_was_changed_in_ours_is_backed_up(small: Course, tmp_path: Path):
    folder = tmp_path / "nb"
    build_folder(small, folder)
    notebook = read(folder / RELU)
    notebook.metadata.kernelspec.name = "class-kernel"
    check = next(i for i, cell in enumerate(notebook.cells) if grade_id(cell) == "relu_grad-check")
    notebook.cells.insert(check + 1, own("Talk about kinks here."))
    notebook.cells[check].source = "check('relu_grad')  # my note"
    del notebook.cells[0]
    nbformat.write(notebook, folder / RELU)
    edited = (folder / RELU).read_bytes()
    (folder / "source/my_essay").mkdir()
    (folder / "source/my_essay/my_essay.ipynb").write_text("{}")

    written = build_folder(small, folder)
    assert written.files == (RELU,)
    assert [(folder / backup).read_bytes() for backup in written.backups] == [edited]
    rebuilt = read(folder / RELU)
    assert rebuilt.metadata.kernelspec.name == "class-kernel"
    assert [grade_id(cell) or cell.source for cell in rebuilt.cells][:6] == [
        "lesson", "handgrad", "relu_grad-title", "relu_grad", "relu_grad-check", "Talk about kinks here."
    ]  # fmt: skip
    assert rebuilt.cells[4].source == 'check("relu_grad")'
    assert (folder / "source/my_essay/my_essay.ipynb").read_text() == "{}"
    assert build_folder(small, folder).files == ()


def test_cells_of_a_removed_exercise_go_and_own_cells_about_it_stay():
    existing = nbformat.from_dict(LINEAR)
    place = next(i for i, cell in enumerate(existing.cells) if grade_id(cell) == "lin_grad-check")
    existing.cells.insert(place + 1, own("A word on lin_grad."))
    without = nbformat.from_dict(LINEAR)
    without.cells = [cell for cell in LINEAR.cells if not grade_id(cell).startswith(("lin_grad-", "lin_grad"))]
    kept = merge_cells(without, existing)
    assert [grade_id(cell) or cell.source for cell in kept.cells][:4] == [
        "lesson", "handgrad", "A word on lin_grad.", "linear_grad-title"
    ]  # fmt: skip
    assert len(kept.cells) == len(without.cells) + 1


def test_a_notebook_of_an_older_format_is_upgraded(small: Course, tmp_path: Path):
    build_folder(small, tmp_path / "nb")
    old = read(tmp_path / "nb" / RELU)
    old.cells.append(nbformat.v4.new_raw_cell("mine"))
    for cell in old.cells:
        del cell["id"]
    old.nbformat_minor = 4
    nbformat.write(old, tmp_path / "nb" / RELU)
    build_folder(small, tmp_path / "nb")
    nbformat.validate(read(tmp_path / "nb" / RELU))
    assert read(tmp_path / "nb" / RELU).cells[-1].source == "mine"
    assert build_folder(small, tmp_path / "nb").files == ()


@pytest.mark.parametrize("content", ["{broken", "[]", '{"cells": 3}', "", '{"nbformat": 9, "cells": []}'])
def test_a_broken_notebook_is_named_and_nothing_is_written(tmp_path: Path, content: str):
    path = tmp_path / "source/04_linear/04_linear.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(CourseError) as caught:
        build_folder(REAL, tmp_path)
    says = str(caught.value)
    assert says.startswith(f"{path} is not a notebook that can be read (")
    assert says.endswith("repair it or move it away, and run the same command again. Nothing was written.")
    assert "\n" not in says
    assert files(tmp_path) == {"source/04_linear/04_linear.ipynb": content.encode()}


def test_a_configuration_that_nobody_edited_follows_the_course(small: Course, tmp_path: Path):
    """It was said to have changes of the instructor's own, and named the earlier course until it was edited by hand."""
    path, own = tmp_path / "nbgrader_config.py", config(small, tmp_path)
    for earlier in (config(REAL, tmp_path), own.replace(str(small.root), "/another"), own):
        path.write_text(earlier)
        written = build_folder(small, tmp_path)
        assert (written.own_config, written.course_line, path.read_text()) == (False, "", own)
    for edited in (own.replace("LimitOutput", "LimitMore"), own.replace("import os", "import os, sys")):
        path.write_text(edited)
        assert (build_folder(small, tmp_path).own_config, path.read_text()) == (True, edited)


def test_an_edited_configuration_stays_with_a_note_on_whether_it_isolates(small: Course, tmp_path: Path):
    build_folder(small, tmp_path)
    path = tmp_path / "nbgrader_config.py"
    path.write_text(path.read_text() + "\nc.Exchange.root = '/srv'\n")
    written = build_folder(small, tmp_path)
    assert (written.own_config, written.unprotected) == (True, False)
    path.write_text("c = get_config()\n")
    written = build_folder(small, tmp_path)
    assert (written.own_config, written.unprotected) == (True, True)
    assert written.course_line.startswith('os.environ.setdefault("HANDGRAD_COURSE"')
    assert path.read_text() == "c = get_config()\n"


def test_the_preprocessors_are_nbgraders_own_but_for_ours():
    from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback

    def named(classes: list[type]) -> list[str]:
        return [f"{cls.__module__.split('.')[0]}.preprocessors.{cls.__name__}" for cls in classes]

    released = [name.replace("handgrad.KeepStubs", "nbgrader.preprocessors.ClearSolutions")
                for name in RELEASE]  # fmt: skip
    assert released == named(GenerateAssignment.preprocessors.default_args[0])
    replaced = {
        "handgrad.SecureExecute": "nbgrader.preprocessors.Execute",
        "handgrad.ExplainScores": "nbgrader.preprocessors.SaveAutoGrades",
    }
    graded = [replaced.get(name, name) for name in AUTOGRADE]
    last = "nbgrader.preprocessors.CheckCellMetadata"  # what RestoreCells leaves has nothing to be checked
    assert [*graded, last] == named(Autograde.autograde_preprocessors.default_args[0])
    shown = [name for name in FEEDBACK if not name.startswith("handgrad.")]
    assert shown == named(GenerateFeedback.preprocessors.default_args[0])


def test_the_configuration_names_a_course_that_is_not_around_it(small: Course, tmp_path: Path):
    assert COURSE_VARIABLE not in config(REAL, tmp_path)
    assert COURSE_VARIABLE not in config(small, small.root / "nb")
    text = config(small, tmp_path / "nb")
    compile(text, "nbgrader_config.py", "exec")
    assert f'os.environ.setdefault("{COURSE_VARIABLE}", {str(small.root)!r})' in text


def test_a_notebook_finds_its_course(small: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    assert notebook_course(tmp_path).root == bundled_folder()
    assert notebook_course(small.root / "exercises").root == small.root
    monkeypatch.setenv(COURSE_VARIABLE, str(small.root))
    assert notebook_course(tmp_path).root == small.root
    monkeypatch.setenv(COURSE_VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(CourseError, match=r"gone/course\.yaml cannot be read"):
        notebook_course(tmp_path)


def test_a_picture_of_the_lesson_is_copied_beside_the_notebook(small: Course, tmp_path: Path):
    lesson = small.root / "exercises/05_activations"
    (lesson / "relu.png").write_bytes(b"png")
    (lesson / "README.md").write_text("# 5. Activations\n\n![A kink](relu.png)\n")
    build_folder(small, tmp_path / "nb")
    assert (tmp_path / "nb/source/05_activations/relu.png").read_bytes() == b"png"


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["handgrad", "nbgrader", "init", *arguments])
    try:
        cli.main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_the_command_says_what_it_wrote_and_what_to_do_next(
    small: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert run("nb", "--course", str(small.root), monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"nb/{RELU}\n")
    assert out.endswith(
        "nb/nbgrader_config.py\n3 file(s) written.\nnext: cd nb, then nbgrader generate_assignment 05_activations\n"
    )
    notebook = read(tmp_path / "nb" / RELU)
    notebook.cells[0].source = "# My own lesson"
    nbformat.write(notebook, tmp_path / "nb" / RELU)
    (tmp_path / "nb/nbgrader_config.py").write_text("c = get_config()\n")
    assert run("nb", "--course", str(small.root), monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert "Copies of what was replaced: nb/.handgrad/backups/05_activations-1.ipynb\n" in out
    assert "nb/nbgrader_config.py has changes of your own and was left as it is.\n" in out
    assert "It does not name handgrad.SecureExecute, so autograde would run student code" in out


def test_in_its_own_folder_the_notebooks_are_made_of_their_course_again(
    small: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    build_folder(small, tmp_path / "nb")
    monkeypatch.chdir(tmp_path / "nb")
    assert run(".", monkeypatch=monkeypatch) == 0
    said = capsys.readouterr()
    assert "Everything is up to date." in said.out
    assert f"No course.yaml here: making the notebooks of {small.root}." in said.err
    assert [path.name for path in (tmp_path / "nb/source").iterdir()] == ["05_activations"]


def test_without_nbgrader_one_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert run(str(tmp_path / "nb"), monkeypatch=monkeypatch) == 2
    assert capsys.readouterr().err == ('handgrad: nbgrader is not installed here: run pip install "nbgrader>=0.9.5"\n')
    assert not (tmp_path / "nb").exists()


def test_an_error_is_one_line_in_a_notebook():
    assert HandgradError("no such exercise")._render_traceback_() == ["handgrad: no such exercise"]


def test_the_help_imports_neither_nbformat_nor_nbgrader(tmp_path: Path):
    script = "import sys; from grader.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
    script += "print({'nbformat', 'nbgrader', 'IPython', 'torch'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script, "nbgrader", "--help"],
        cwd=tmp_path, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "init  Make an nbgrader course folder, or rebuild it." in done.stdout
    assert done.stdout.splitlines()[-1] == "set()"

"""What `import handgrad` gives, what it costs, and what is said where another package called `grader` is in the way."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.courses import ROOT

import handgrad
from grader.course.course import load_course

SPECS = sorted((ROOT / "solutions").glob("*/spec.py"))
OF_OTHERS = {
    "a package": {"grader/__init__.py": "raise SystemExit('a stranger was run')"},
    "a module": {"grader.py": "import missing"},
    "a package over ours": {"grader/__init__.py": "", "grader/cli/main.py": "def main(): print('theirs')"},
}


@pytest.fixture(params=OF_OTHERS)
def beside_another(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment in which another `grader` is found first."""
    for name, text in OF_OTHERS[request.param].items():
        path = tmp_path / "theirs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "theirs"), str(ROOT)])}


def run(*words: str, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env=env, cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )


def test_every_public_name_is_what_the_grader_has_and_what_type_checkers_see() -> None:
    tree = ast.parse(Path(handgrad.__file__).read_text("utf-8"))
    (seen,) = [
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]  # fmt: skip
    declared = {
        alias.name: node.module
        for node in seen.body if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname == alias.name
    }  # fmt: skip
    assert declared == handgrad._MODULES
    for name, module in declared.items():
        assert getattr(handgrad, name) is getattr(importlib.import_module(str(module)), name)
    assert dir(handgrad) == sorted(declared)
    with pytest.raises(AttributeError, match="module 'handgrad' has no attribute 'nothing'"):
        _ = handgrad.nothing


def test_every_sampler_has_a_public_name() -> None:
    from grader.course import sampling

    makers = [
        name for name, value in vars(sampling).items()
        if callable(value) and getattr(value, "__module__", "") == sampling.__name__ and not name.startswith("_")
        and getattr(value, "__annotations__", {}).get("return") in ("Sampler", "Marker")
    ]  # fmt: skip
    assert len(makers) > 20
    assert set(makers) <= handgrad._MODULES.keys()


def test_reading_every_spec_imports_neither_torch_nor_numpy(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from grader.course.course import load_course\n"
        f"course = load_course(Path({str(ROOT)!r}))\n"
        "print(sum(len(course.declarations(unit.id)) for unit in course.config.units) > 100)\n"
        "print({'torch', 'numpy', 'nbgrader', 'IPython'} & set(sys.modules))\n"
    )
    done = run("-c", code, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("True\nset()\n", "")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.parent.name)
def test_a_spec_says_handgrad(spec: Path) -> None:
    tree = ast.parse(spec.read_text("utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert "handgrad" in modules
    assert not any(str(module).partition(".")[0] == "grader" for module in modules)


def test_the_command_says_in_one_sentence_that_another_grader_is_in_the_way(
    beside_another: dict[str, str], tmp_path: Path
) -> None:
    done = run("-m", "handgrad", "list", env=beside_another, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"handgrad: {tmp_path}/theirs/grader")
    assert "is another package called grader, and hides the one that handgrad brings" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("beside_another", ["a package"], indirect=True)
def test_pytest_goes_on_and_says_so(beside_another: dict[str, str], tmp_path: Path) -> None:
    """Beside one of them; `thorough/test_pytest_beside_other_graders.py` has all."""
    assert_pytest_goes_on(beside_another, tmp_path)


def assert_pytest_goes_on(beside_another: dict[str, str], tmp_path: Path) -> None:
    """Check that pytest runs a stranger's test where another `grader` is found first, and that it says so once."""
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    done = run("-m", "pytest", "-p", "no:randomly", "test_own.py", env=beside_another, cwd=tmp_path)
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("handgrad: ")]
    assert "is another package called grader" in line


def test_a_notebook_shows_one_sentence_and_no_traceback(beside_another: dict[str, str], tmp_path: Path) -> None:
    code = "from handgrad import OtherGraderError\ntry: from handgrad import check\nexcept OtherGraderError as error: "
    code += "print(*error._render_traceback_())"
    done = run("-c", code, env=beside_another, cwd=tmp_path)
    assert done.stdout.startswith("handgrad: ")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def test_a_grader_that_is_missing_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "handgrad").symlink_to(ROOT / "handgrad")
    done = run("-S", "-m", "handgrad", env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr == "handgrad: The package grader, which handgrad brings, is missing: install handgrad again.\n"


def test_a_course_cannot_take_the_name_of_a_package_of_ours(tmp_path: Path) -> None:
    from grader.authoring.scaffold import new_course

    assert new_course(tmp_path / "handgrad").config.package == "course_handgrad"
    assert load_course(tmp_path / "handgrad").declarations("01_first")

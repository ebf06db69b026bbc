"""What runs in a learner's repository on GitHub: the action's script, and the autograder that the page shows."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from helpers.courses import ROOT, with_units_before
from helpers.document_claims import Document
from helpers.platform_formats import CLASSROOM50, RUNNER, workflow_commands
from jsonschema import Draft202012Validator

from grader.learner import workspace

WRONG = """\
print("::error file=x::printed")
print("##[error]printed")


def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g / len(inp)
    b.g = out.g.sum(0)
"""
RAISES = 'def relu_grad(inp, out):\n    raise ValueError("\\n::error file=x::raised\\n##[error]raised")\n'
pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A learner's of a few units, with a mistake and an exception that would be commands."""
    folder = with_units_before(workspace.init(tmp_path / "my-course"), "06_losses").root
    (folder / "exercises/04_linear/lin_grad.py").write_text(WRONG)
    (folder / "exercises/05_activations/relu_grad.py").write_text(RAISES)
    return folder


def run(repository: Path, command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": programs, "PYTHONPATH": str(ROOT), **RUNNER, **variables}
    del environment["DATETIME"]
    return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)


def act(repository: Path, **variables: str) -> tuple[subprocess.CompletedProcess[str], str, str]:
    """Run the action's script; what it printed, and its summary and outputs."""
    files = {name: repository.parent / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for path in files.values():
        path.write_text("")
    paths = {name: str(path) for name, path in files.items()}
    script = str(ROOT / "tools/github_action.sh")
    done = run(repository, ["bash", script], RUNNER_TEMP=str(repository.parent), **paths, **variables)
    summary, outputs = (path.read_text() for path in files.values())
    return done, summary, outputs


def test_the_action_annotates_summarises_and_obeys_nobody_else(repository: Path) -> None:
    done, summary, outputs = act(repository)
    assert done.returncode == 0, done.stderr
    before, token, rest = re.split(r"::stop-commands::(\S+)\n", done.stdout)
    assert before == ""
    _, shown = rest.split(f"::{token}::\n")
    titles = [said["title"] for name, said, _ in workflow_commands(shown) if name == "error"]
    assert titles == ["lin_grad w.g: mean-for-sum", "relu_grad inp.g: error"]
    assert workflow_commands(shown)[0][1]["line"] == "5"
    assert summary.startswith("## 2 of ")
    assert "mean-for-sum" in summary
    assert re.fullmatch(r"score=2\nmax-score=[\d.]+\n", outputs)
    assert workflow_commands(done.stderr) == []


def test_the_action_can_ask_for_a_unit_and_for_all_of_it(repository: Path) -> None:
    done, summary, outputs = act(repository, UNIT="04_linear", REQUIRE_SOLVED="true")
    assert done.returncode == 1
    assert outputs.startswith("score=2\n")
    assert "relu_grad" not in summary


def test_the_action_and_the_workflow_are_what_they_say() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert not any("${{" in script for script in scripts)  # values come as variables, which no shell reads as code
    assert "tools/github_action.sh" in scripts[-1]
    page = (ROOT / "docs/github.md").read_text("utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == list(action["inputs"])
    workflow = yaml.safe_load((ROOT / "docs/handgrad-workflow.yml").read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow["jobs"]["grade"]["steps"][-1]["with"]) <= set(action["inputs"])


@pytest.fixture
def autograder(repository: Path) -> str:
    """The autograder of the page, with a course that has the units of the learner's."""
    course = repository.parent / "the course"
    shutil.copytree(repository, course, ignore=shutil.ignore_patterns(".handgrad"))
    page = Document(ROOT / "docs/github.md", (ROOT / "docs/github.md").read_text("utf-8"))
    (source,) = [body for language, body in page.blocks if language == "python"]
    assert '"/opt/my-course"' in source
    return source.replace('"/opt/my-course"', repr(str(course)))


def test_the_autograder_of_the_page_writes_what_classroom50_takes(repository: Path, autograder: str) -> None:
    done = run(repository, [sys.executable, "-c", autograder])
    assert done.returncode == 0, done.stderr
    found = json.loads((repository / "result.json").read_bytes())
    Draft202012Validator(CLASSROOM50).validate(found)
    assert (found["score"], found["owner"]) == (8, "ada")  # two points, counted in quarters


FORGED_SPEC = "from pathlib import Path\nPath({marker!r}).touch()\n"


@pytest.mark.parametrize("forgery", ["course.yaml", "class.yaml", "roster", "solutions", "link"])
def test_nothing_in_the_learners_repository_decides_how_it_is_graded(
    repository: Path, autograder: str, forgery: str
) -> None:
    """The course of the learner's repository was used: its points, and a spec.py of the learner ran unconfined."""
    assert run(repository, [sys.executable, "-c", autograder]).returncode == 0
    honest, marker = json.loads((repository / "result.json").read_bytes()), repository.parent / "ran"
    listed = (repository / "course.yaml").read_text("utf-8")
    if forgery == "course.yaml":
        forged = re.sub(r"(id: lin_grad\n +points:) \d+", r"\1 1000", listed)
        assert forged != listed
        (repository / "course.yaml").write_text(forged)
    elif forgery == "roster":
        (repository / "class.yaml").write_text("roster: people.csv\naliases: {exercises: eve}\n")
        (repository / "people.csv").write_text("username\neve\n")
    elif forgery == "link":
        shutil.rmtree(repository / "exercises")
        (repository / "exercises").symlink_to(ROOT / "solutions")
    else:
        folder = repository if forgery == "solutions" else repository / "mine"
        shutil.copytree(ROOT / "solutions", folder / "solutions", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "course.yaml").write_text(listed)
        for spec in folder.glob("solutions/*/spec.py"):
            spec.write_text(FORGED_SPEC.format(marker=str(marker)) + spec.read_text("utf-8").partition('"""\n')[2])
        if forgery == "class.yaml":
            (repository / "class.yaml").write_text("course: mine\n")
    done = run(repository, [sys.executable, "-c", autograder])
    assert not marker.exists()
    if forgery == "link":
        assert (done.returncode, (repository / "result.json").exists()) == (2, False)
        assert "exercises is a link, and is not followed" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    found = json.loads((repository / "result.json").read_bytes())
    assert (found["score"], found["max-score"]) == (honest["score"], honest["max-score"])


@pytest.mark.parametrize("fault", ["nothing handed in", "no handgrad", "a folder", "a module beside the script"])
def test_the_autograder_leaves_no_result_of_the_learners_own(repository: Path, autograder: str, fault: str) -> None:
    """A result that the learner had committed was there after the run, if there was no score; a program ran as ours."""
    result = '{"score": 33, "max-score": 33}'
    if fault == "a folder":
        (repository / "result.json").mkdir()
    else:
        (repository / "result.json").write_text(result)
    if fault == "a module beside the script":
        (repository / "tempfile.py").write_text("import os\nos._exit(1)\n")
    (repository / "handgrad.py").write_text(f"open('result.json', 'w').write({result!r})\n")
    if fault == "no handgrad":
        autograder = autograder.replace('"handgrad"]', '"no_handgrad"]')
    else:
        shutil.rmtree(repository / "exercises")
        (repository / "exercises").mkdir()
        (repository / "exercises" / "notes.txt").write_text("hi")
    done = run(repository, [sys.executable, "-c", autograder])
    assert done.returncode == 1, done.stderr
    assert not (repository / "result.json").exists()

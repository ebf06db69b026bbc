"""The documents are true: what they link to is there, what they name exists, and what they show is what happens."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from golden import FOLDER, masked
from helpers.courses import ROOT
from helpers.document_claims import PACKAGE, Document, documents
from helpers.documented_commands import AUTHOR_RUNS, NOT_RUN, OTHER_PROGRAMS, RUN_ELSEWHERE, RUNS, SHOWN
from test_session import RIGHT, KeptWorker

from grader import INSTALL, INSTALL_DASK, INSTALL_NBGRADER
from grader.authoring.build import stub
from grader.authoring.mistakes_page import codes_table, source_of
from grader.cli import main as cli
from grader.course.course import Course, load_course
from grader.diagnosis.operators import OPERATORS
from grader.judging.grading import Grader
from grader.program.recording import record
from grader.results.codes import CODES, MEANINGS
from grader.sandbox.worker import Worker

README = Document(ROOT / "README.md", (ROOT / "README.md").read_text("utf-8"))
CONTRIBUTING = Document(ROOT / "CONTRIBUTING.md", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
LEARNERS = Document(ROOT / "docs/learners.md", (ROOT / "docs/learners.md").read_text("utf-8"))
PAGES = [
    page for page in documents() if page.path.parent.name == "docs" and page.path.stem not in ("mistakes", "explain")
]
"""The pages in docs/ but for the generated one, and for the one whose every block `test_document_explain.py` runs."""
LIN = "exercises/04_linear/lin_grad.py"
WRONG = """\
def lin_grad(inp, out, w, b):
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.mean(0)
"""

# What the learner's documents tell to type, with the exit code in a new course folder, where b.g of lin_grad is wrong.
TYPED = {
    "list": 0,
    "lesson": 0,
    "lesson --browser": 0,
    "check lin_grad": 1,
    "check 4": 1,
    "check lin_grad --show": 1,
    "check lin_grad --show --format json": 1,
    "check lin_grad --format html": 1,
    "hint lin_grad w.g": 0,
    "quiz": 1,
    "quiz 04_linear": 1,
    "quiz 04_linear --fresh": 1,
    "review": 0,
    "train 07_network": 2,
    "train 12_attention": 2,
    "train 13_engine": 2,
    "train 07_network --format json": 2,
    "card": 0,
    "card all": 0,
    "card 07_network": 0,
    "reset lin_grad": 0,
}
ONCE_SOLVED = {"solution lin_grad": 0}
# What is tried in other tests: a folder is made by `course`, watching needs a terminal, checking needs a target.
ELSEWHERE = {"", "--plain", "init", "init my-course", "check", "grade"}


@pytest.mark.parametrize("document", documents(), ids=lambda document: document.path.relative_to(ROOT).as_posix())
def test_a_document_names_only_what_is_there(document: Document) -> None:
    assert document.findings() == []


@pytest.mark.parametrize(
    ("claim", "finding"),
    [
        ("[here](nowhere.md)", "link to nowhere.md: there is no such file"),
        ("[here](README.md#no-such-part)", "link to README.md#no-such-part: there is no such heading"),
        ("[here](#no-such-part)", "link to #no-such-part: there is no such heading"),
        ("`grader/old_name.py`", "grader/old_name.py: there is no such file"),
        ("`exercises/<unit>/lecture.md`", "exercises/<unit>/lecture.md: there is no such file"),
        ("`test_nothing.py`", "test_nothing.py: there is no such file"),
        ("`pytest tests/old`", "tests/old: there is no such file"),
        ("```\npytest exercises/04_linear/gone.py::w.g\n```", "exercises/04_linear/gone.py: there is no such file"),
        ("```text\npytest exercises/09_gone/\n```", "exercises/09_gone/: there is no such file"),
        ("`python benchmarks/gone.py`", "benchmarks/gone.py: there is no such file"),
        ("`python benchmarks/run.py --wrote`", "benchmarks/run.py has no --wrote"),
        ("`judging.crew`", "judging.crew: there is no such module, or nothing of that name in it"),
        ("`judging.judge.Jury`", "judging.judge.Jury: there is no such module, or nothing of that name in it"),
        ("`grader.nothing.at_all`", "grader.nothing.at_all: there is no such module, or nothing of that name in it"),
        ("```python\nfrom handgrad import noise\n```", "handgrad.noise: there is no such module"),
        ("`handgrad chek lin_grad`", "handgrad chek lin_grad: there is no command chek"),
        ("```\n$ handgrad check lin_grad --shown  # a picture\n```", "there is no option --shown"),
        ("`handgrad hint lin_grd w.g`", "the course has no lin_grd"),
        ("`handgrad list lin_grad`", "lin_grad is too much"),
        ("`handgrad nbgrader begin my-class`", "there is no command begin"),
        ("`check --picture`", "there is no option --picture"),
        ("`--isolated`", "--isolated: no command has this option"),
    ],
)
def test_a_document_that_is_not_true_is_found_out(claim: str, finding: str) -> None:
    found = Document(ROOT / "SECURITY.md", f"{claim}\n").findings()
    assert len(found) == 1
    assert finding in found[0]


def test_what_is_true_is_not_found_fault_with() -> None:
    claims = (
        "`handgrad grade submissions/ --out grades/ --seed 5` `judging.judge.Judge` `results.records.AnswerResult.name`"
    )
    claims += " `exercises/<unit>/README.md` `w.g` `[3]` `inp.T @ out.g` `report.html` `handgrad nbgrader ...`"
    assert Document(ROOT / "SECURITY.md", claims).findings() == []


def test_every_command_of_a_page_is_run_or_says_why_not() -> None:
    for page in [*PAGES, CONTRIBUTING]:
        shown = {_as_typed(words): _is_mention(words) for words in page.commands("handgrad")}
        typed = {line for line, is_mention in shown.items() if not is_mention}
        name = page.path.name
        runs = [*RUNS.get(name, []), *AUTHOR_RUNS.get(name, [])]
        listed = {line for line, _, _ in runs} | set(NOT_RUN.get(name, {}))
        assert name in RUN_ELSEWHERE or typed <= listed <= shown.keys(), name


def _as_typed(words: list[str]) -> str:
    """Return a command as it is typed, with quotation marks around each argument that has a blank."""
    return " ".join(f'"{word}"' if " " in word else word for word in words)


def _is_mention(words: list[str]) -> bool:
    """Return whether a command is only named, as in `handgrad export --to moodle`, and not typed as it is."""
    return not words[1:] or (words[1].startswith("-") and not any("/" in word for word in words))


def test_every_block_of_a_page_is_compared_or_says_why_not() -> None:
    for page in PAGES:
        others = [body for _, body in page.blocks if not _is_of_commands(body)]
        begun = SHOWN.get(page.path.name, {})
        assert len(others) == len(begun), page.path.name
        assert all(body.startswith(begins) for body, begins in zip(others, begun, strict=True)), page.path.name
        named = [test for test in begun.values() if test.endswith(".py")]
        assert all(any((ROOT / "tests").rglob(test)) for test in named)


def _is_of_commands(block: str) -> bool:
    """Return whether each line of a block is a command that a shell reads."""
    programs = ("handgrad", *OTHER_PROGRAMS)
    return all(line.split()[0] in programs for line in block.splitlines())


def test_the_stub_that_instructors_are_shown_is_the_one_that_students_get() -> None:
    page = Document(ROOT / "docs/nbgrader.md", (ROOT / "docs/nbgrader.md").read_text("utf-8"))
    (shown,) = [body for language, body in page.blocks if language == "python"]
    real = stub(load_course(ROOT).find("lin_grad"))
    first, last = shown.split("    ...\n", 1)
    assert first in real
    assert real.endswith(last)


def test_the_commands_of_dask_have_the_options_that_the_page_on_clusters_uses() -> None:
    scheduler = pytest.importorskip("distributed.cli.dask_scheduler").main
    worker = pytest.importorskip("distributed.cli.dask_worker").main
    page = Document(ROOT / "docs/cluster.md", (ROOT / "docs/cluster.md").read_text("utf-8"))
    for name, *words in page.commands("dask"):
        known = {option for each in {"scheduler": scheduler, "worker": worker}[name].params for option in each.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_the_program_of_the_page_on_architecture_has_the_gradients_that_it_says() -> None:
    page = Document(ROOT / "docs/architecture.md", (ROOT / "docs/architecture.md").read_text("utf-8"))
    (code,) = [body for language, body in page.blocks if language == "python"]
    rng = np.random.default_rng(0)
    inp, w, b, out_g = (rng.standard_normal(shape) for shape in ((5, 4), (4, 3), (3,), (5, 3)))
    names = {"record": record, "inp": inp, "w": w, "b": b, "out_g": out_g}
    (program,) = [line for line in code.splitlines() if line.startswith("program = ")]
    exec(program, names)
    product = next(line for line in code.splitlines() if line.startswith("product = "))
    exec(product, names)
    right = {"inp": out_g @ w.T, "w": inp.T @ out_g, "b": out_g.sum(0)}
    edited = {"w": inp.T @ out_g / len(inp)}
    lines = [line.partition("  #")[0] for line in code.splitlines()]
    plain, by_mean, without = (eval(line, names) for line in lines if "gradients()" in line)
    np.testing.assert_allclose(plain, right["w"])
    np.testing.assert_allclose(by_mean, edited["w"])
    np.testing.assert_allclose(without, right["inp"])


def test_the_readme_can_be_read_in_a_minute() -> None:
    assert len(README.text.splitlines()) <= 70


def test_both_commands_of_the_readme_set_up_what_they_say() -> None:
    """The first has nothing but what a learner needs; the second has all that the tests need, and runs them."""
    learn, work = README.blocks[0][1].splitlines()
    assert learn.endswith("-e . && .venv/bin/pytest exercises/")
    assert work.endswith('-e ".[dev]" && .venv/bin/pytest tests/ -n 2')
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {"dev", "nbgrader"} <= set(project["optional-dependencies"])


def test_the_sample_of_the_readme_is_what_a_learner_reads() -> None:
    """Lines that another test holds pytest to; the head of the run and the short summary are left out."""
    (sample,) = [body for _, body in README.blocks if body.startswith("$ pytest")]
    real = _anywhere(FOLDER.joinpath("pytest_mean_for_sum.txt").read_text("utf-8"))
    _, *shown = _anywhere(masked(sample))
    assert [line for line in shown if line not in real] == []
    kept = [line for line in real if line in shown and line]
    assert kept == [line for line in shown if line]
    told = real[real.index("--- FAILURES") : real.index("--- progress")]
    assert [line for line in told if line not in shown] == []


def test_documents_install_handgrad_in_the_one_way_that_there_is() -> None:
    """Once a package index has it, `grader.SOURCE` changes, and this names what must follow."""
    told = {
        (document.path.name, command)
        for document in documents()
        for command in re.findall(r"(?:pip install|uvx|uv add|uv tool) [^\n`]*", document.text)
        if "handgrad" in command and document is not README
    }
    assert {name for name, _ in told} == {"learners.md", "instructors.md"}
    assert [each for each in told if not each[1].startswith(INSTALL)] == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for page, command, extra in (("nbgrader", INSTALL_NBGRADER, "nbgrader"), ("cluster", INSTALL_DASK, "dask")):
        assert f"\n{command}\n" in (ROOT / f"docs/{page}.md").read_text("utf-8")
        assert shlex.split(command)[2:] == extras[extra]


def test_the_folder_for_nbgrader_is_made_as_its_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("nbgrader")
    page = Document(ROOT / "docs/nbgrader.md", (ROOT / "docs/nbgrader.md").read_text("utf-8"))
    (sample,) = [body for _, body in page.blocks if body.startswith("$ handgrad nbgrader init my-class")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["handgrad", "nbgrader", "init", "my-class"])
    cli.app(sys.argv[1:], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    first, last = (part.strip().splitlines() for part in sample.split("\n", 1)[1].split("\n...\n"))
    assert (lines[: len(first)], lines[-len(last) :]) == (first, last)


@pytest.mark.parametrize("name", "corpus_names naming plan right_answers run same_name suites".split())
def test_a_benchmark_says_in_one_sentence_what_it_lacks(name: str) -> None:
    script = [sys.executable, "-S", str(ROOT / f"benchmarks/{name}.py")]
    done = subprocess.run(script, env={}, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    says = 'Benchmarks need what the tests need, and hypothesis is not installed: pip install -e ".[dev]"\n'
    assert done.stderr == says


@pytest.mark.parametrize("missing", ["nbgrader", "xdist", "handgrad"])
def test_a_benchmark_without_one_package_names_it(missing: str) -> None:
    without = f"import sys; sys.modules[{missing!r}] = None; import importlib.util as u; of = u.find_spec"
    without += f"; u.find_spec = lambda name: None if name == {missing!r} else of(name); sys.argv = ['run.py']"
    run = f"{without}; import runpy; sys.path.insert(0, 'benchmarks'); runpy.run_path('benchmarks/run.py')"
    done = subprocess.run(
        [sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert f"{missing} is not installed" in line


def _anywhere(text: str) -> list[str]:
    """Lines as they are on a screen of any width."""
    return [re.sub(r" +(?=\[100%\])", "  ", line) for line in text.splitlines()]


@pytest.fixture
def course(tmp_path: Path, new_workspace: Callable[..., Course]) -> Course:
    """A learner's folder in which one answer of `lin_grad` is wrong."""
    made = new_workspace(tmp_path / "my-course", before="08_shapes")
    (made.root / LIN).write_text(WRONG, encoding="utf-8")
    return made


@pytest.fixture
def typed(course: Course, worker: Worker, grader: Grader, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """`typed("check lin_grad")`: the exit code of that command in the learner's folder, whoever types `y` or `q`."""
    KeptWorker(worker).serve(grader, monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(course.root)

    def run(line: str) -> int:
        monkeypatch.setattr(sys, "argv", ["handgrad", *line.split()])
        monkeypatch.setattr(sys, "stdin", io.StringIO("y\nq\n" if line.startswith("reset") else "q\n"))
        try:
            cli.main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 0
        return 0

    return run


def test_every_command_that_a_learner_is_told_to_type_is_tried() -> None:
    told = {" ".join(words) for document in (README, LEARNERS) for words in document.commands("handgrad")}
    assert told - ELSEWHERE == {*TYPED, *ONCE_SOLVED}


@pytest.mark.parametrize("line", TYPED)
def test_a_command_ends_as_documented(line: str, typed: Callable[[str], int]) -> None:
    assert typed(line) == TYPED[line]


@pytest.mark.parametrize("line", ONCE_SOLVED)
def test_a_command_for_what_passes_ends_as_documented(line: str, typed: Callable[[str], int], course: Course) -> None:
    assert typed(line) == 2
    (course.root / LIN).write_text(RIGHT, encoding="utf-8")
    assert typed("check lin_grad") == 0
    assert typed(line) == ONCE_SOLVED[line]


def test_the_picture_of_the_learners_page_is_what_is_drawn(
    typed: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Sizes and numbers differ from run to run; heads, marks and the forward pass do not."""
    (sample,) = [body for _, body in LEARNERS.blocks if "--show" in body]
    capsys.readouterr()
    typed("check lin_grad --show")
    drawn = _phrases(capsys.readouterr().out)
    _, *shown = _phrases(sample)
    assert [phrase for phrase in shown if phrase not in drawn] == []


def _phrases(text: str) -> list[str]:
    """The words of a screen, without numbers: what stands side by side may stand one below the other."""
    phrases = (re.sub(r"-?\d[\d.e-]*", "N", phrase.strip()) for phrase in re.split(r"\n| {2,}", text))
    return [phrase for phrase in phrases if re.search(r"[a-z]{2}", phrase)]


def test_the_page_on_architecture_has_every_package_and_the_modules_that_all_speak_of() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    packages = [path.parent.name for path in sorted(PACKAGE.glob("*/__init__.py"))]
    assert [name for name in packages if f"| `grader.{name}` |" not in page] == []
    modules = [path.stem for path in sorted(PACKAGE.glob("*.py")) if not path.stem.startswith("__")]
    assert [name for name in modules if f"`grader.{name}`" not in page] == []
    picture = (ROOT / "docs/packages.svg").read_text("utf-8")
    assert [name for name in packages if f">{name}</text>" not in picture] == []


def test_the_table_of_packages_is_in_the_order_that_imports_must_keep() -> None:
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    listed = re.findall(r"^\| `(grader\.\w+)` \|", page, re.MULTILINE)
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    layers = [layer.split(" | ") for layer in contract["layers"]]
    level = {name: number for number, layer in enumerate(layers) for name in layer}
    assert [level[name] for name in listed] == sorted(level[name] for name in listed)


def test_the_page_of_mistakes_has_every_operator() -> None:
    page = (ROOT / "docs/mistakes.md").read_text("utf-8")
    shown = re.findall(r"^### (.*)$", page, re.MULTILINE)
    examples = [operator.name for operator in OPERATORS for _ in operator.examples]
    assert sorted(shown) == sorted(examples), "run python tools/mistakes_page.py"
    old = [operator.name for operator in OPERATORS for each in operator.examples if source_of(each) not in page]
    assert old == [], "run python tools/mistakes_page.py"


def test_the_page_of_mistakes_has_every_public_code() -> None:
    page = Document(ROOT / "docs/mistakes.md", (ROOT / "docs/mistakes.md").read_text("utf-8"))
    listed = {row[0].strip("`"): row[1] for row in page.table("code")}
    assert listed == {code: MEANINGS[code] for code in CODES}, "run python tools/mistakes_page.py"
    assert codes_table() in page.text


def test_the_options_of_nbgrader_that_its_page_names_are_those_of_its_commands() -> None:
    apps = pytest.importorskip("nbgrader.apps")
    page = Document(ROOT / "docs/nbgrader.md", (ROOT / "docs/nbgrader.md").read_text("utf-8"))
    known = {
        "generate_assignment": apps.GenerateAssignmentApp,
        "collect": apps.CollectApp,
        "autograde": apps.AutogradeApp,
    }
    named = set(re.findall(r"`(?:nbgrader )?(\w+) --(\w+)`", page.text))
    assert {("generate_assignment", "force"), ("collect", "update")} <= named
    assert [pair for pair in named if pair[0] in known and pair[1] not in known[pair[0]]().flags] == []


@pytest.mark.parametrize(
    "said",
    [
        "Formgrader shows a score without the late penalty; `nbgrader export`, the feedback and the report show it",
        "Validate waits for the time limit, and then for nbgrader's 30 seconds.",
        "An answer that was stored before an exception, or before a loop that never ends, counts.",
        "An answer that never ends takes the whole time limit (`time_limit` in `course.yaml`) for each exercise",
        "A line is given by its cell and its number in that cell, as in `cell 7, line 3`: code cells are counted",
        "It is read, not run, so an answer counts with or without quotes.",
    ],
)
def test_the_page_on_nbgrader_says_what_surprised_an_instructor(said: str) -> None:
    assert said in " ".join((ROOT / "docs/nbgrader.md").read_text("utf-8").replace("\n- ", "\n").split())

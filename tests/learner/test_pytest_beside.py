"""pytest in somebody else's project, on a machine where handgrad is installed: as if it were not.

Here with a few arguments and course files; `thorough/test_every_project_beside.py` has all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.course.course import Course
from grader.learner.pytest_folders import is_course

pytest_plugins = ["pytester"]

FILES = {
    "exercises/01_intro/test_a.py": "def test_ok(): pass\ndef test_wrong(): assert 1 + 1 == 3\n",
    "exercises/01_intro/slope.py": "raise SystemExit('imported')\n",
    "exercises/01_intro/quiz.yaml": "a question: an answer\n",
    "exercises/02_more/test_b.py": "import pytest\ndef test_ok(): pass\n@pytest.mark.skip\ndef test_later(): pass\n",
    "tests/test_c.py": "import logging\ndef test_logs(caplog):\n    logging.warning('hm')\n    assert caplog.records\n",
}
"""A project that is laid out as a course is, with tests in place of exercises."""
COURSE_FILES: dict[str, str | bytes | Callable[[Path], object]] = {
    "somebody's": "course: Biology\nterm: spring\nunits: 12\n",
    "units without exercises": "course: Biology\nunits:\n  - title: Cells\n    lessons: 3\n",
    "units by name": "course: Biology\nunits: {cells: {exercises: [membrane]}}\n",
    "units as words": "course: Biology\nunits: [cells, genes]\nexercises: 12\n",
    "exercises elsewhere": "course: {units: [{exercises: []}]}\n",
    "a list": "- course: Biology\n- units: [{exercises: 1}]\n",
    "no course": "title: Biology\nunits: [{exercises: [membrane]}]\n",
    "broken": "course: Biology\nunits: [cells, genes\n",
    "broken, with our words": "notes: [\n  course: Biology\n  units: of all sizes\n  exercises: none\n",
    "a tag of their own": "course: Biology\nunits: !include units.yaml\nexercises: !include exercises.yaml\n",
    "several documents": "course: Biology\n---\nunits: 3\n---\nexercises: 3\n",
    "empty": "",
    "no text": b"\x00\xff\xfe\x80 course: units: exercises:",
    "deep": "course: 1\nunits: 2\nexercises: " + "[" * 5000,
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to("course.yaml"),
}
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "a folder": ("exercises",),
    "a unit": ("exercises/01_intro",),
    "a file": ("exercises/01_intro/test_a.py",),
    "a test": ("exercises/01_intro/test_a.py::test_ok",),
    "no such test": ("exercises/01_intro/test_a.py::test_none",),
    "a file without tests": ("exercises/01_intro/slope.py",),
    "a quiz": ("exercises/01_intro/quiz.yaml",),
    "nothing that is there": ("exercises/01_intro/test_none.py",),
    "no path": ("membrane",),
    "a package": ("--pyargs", "xml.dom"),
    "no path at all": ("x" * 5000,),
    "two": ("tests", "exercises/02_more"),
    "another root": ("--rootdir=exercises", "exercises"),
    "no tests": ("exercises", "-k", "nothing_of_this_name"),
    "a list of them": ("exercises", "--collect-only", "-q"),
    "stopping early": ("exercises", "-x"),
    "verbosely": ("exercises", "-v", "-rA"),
    "in another process": ("exercises", "-n1"),
}
FEW_ARGUMENTS = ("nothing", "a quiz", "no path")
FEW_COURSE_FILES = ("somebody's", "broken, with our words")


def lay_out(folder: Path, course_file: str | bytes | Callable[[Path], object] | None = None) -> None:
    """Write somebody's project, with a `course.yaml` of theirs if there is one."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    path = folder / "course.yaml"
    if callable(course_file):
        course_file(path)
    elif course_file is not None:
        path.write_bytes(course_file.encode() if isinstance(course_file, str) else course_file)


def assert_the_same_without(pytester: pytest.Pytester, *arguments: str) -> None:
    """A run has the same exit code and says the same as one without handgrad's plugin."""
    here, without = (
        pytester.runpytest_inprocess("-p", "no:randomly", *options, *arguments)
        for options in ((), ("-p", "no:handgrad"))
    )
    assert here.ret == without.ret
    assert comparable(str(here.stdout)) == comparable(str(without.stdout))
    assert comparable(str(here.stderr)) == comparable(str(without.stderr))


def comparable(text: str) -> list[str]:
    """What pytest says, without its times and its list of plugins."""
    without_times = re.sub(r"=+ |\d+\.\d\d?s", "", text)
    return [line for line in without_times.splitlines() if not line.startswith("plugins:")]


@pytest.mark.parametrize("arguments", [ARGUMENTS[name] for name in FEW_ARGUMENTS], ids=FEW_ARGUMENTS)
def test_a_strangers_project_runs_as_it_does_without_handgrad(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    lay_out(pytester.path)
    assert_the_same_without(pytester, *arguments)


@pytest.mark.parametrize("course_file", COURSE_FILES.values(), ids=COURSE_FILES)
def test_a_course_file_of_somebody_elses_is_none_of_ours(
    tmp_path: Path, course_file: str | bytes | Callable[[Path], object]
) -> None:
    lay_out(tmp_path, course_file)
    assert not is_course(tmp_path)


@pytest.mark.parametrize("name", FEW_COURSE_FILES)
def test_tests_beside_a_course_file_of_somebody_elses_run(pytester: pytest.Pytester, name: str) -> None:
    lay_out(pytester.path, COURSE_FILES[name])
    pytester.runpytest_inprocess("exercises").assert_outcomes(passed=2, failed=1, skipped=1)
    assert pytester.runpytest_inprocess("membrane").ret == pytest.ExitCode.USAGE_ERROR


def test_a_project_inside_a_folder_of_exercises_is_left_alone_too(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(pytester.path, "course: Biology\nunits: [")
    monkeypatch.chdir(pytester.path / "exercises/01_intro")
    for arguments in (("../02_more",), ("nothing",)):
        assert_the_same_without(pytester, *arguments)


MISTAKES: dict[str, Callable[[str], str | bytes]] = {
    "none": lambda text: text,
    "a bracket is open": lambda text: text + "a: [\n",
    "a tab": lambda text: text.replace("    title:", "\ttitle:", 1),
    "a quote is open": lambda text: text.replace("title: ", 'title: "', 1),
    "a colon is missing": lambda text: text.replace("course:", "course", 1),
    "a line is indented": lambda text: text.replace("policy:", "   policy:", 1),
    "a unit without exercises": lambda text: text.replace("    exercises:\n", "    exercise:\n", 1),
    "an unknown setting": lambda text: text + "colour: blue\n",
    "a unit twice": lambda text: text.replace("02_chain_rule", "01_slopes", 1),
    "Latin-1": lambda text: text.replace("Gradients", "Dérivées", 1).encode("latin-1"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "DOS line ends": lambda text: text.replace("\n", "\r\n").encode(),
    "a control character": lambda text: text.replace("Gradients", "Gradients\x07", 1),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_course_file_of_ours_is_known_with_a_mistake_in_it(
    course: Course, tmp_path: Path, mistake: Callable[[str], str | bytes]
) -> None:
    text = mistake((course.root / "course.yaml").read_text(encoding="utf-8"))
    (tmp_path / "course.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert is_course(tmp_path)


def test_a_course_in_json_is_a_course(course: Course, tmp_path: Path) -> None:
    """As a cluster's workers are given it."""
    (tmp_path / "course.yaml").write_text(course.config.model_dump_json(exclude_none=True))
    assert is_course(tmp_path)

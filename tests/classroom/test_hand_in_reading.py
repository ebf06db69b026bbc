"""Which files of a submission are graded for which exercise, the notes on the others, and the student that it is of."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
from helpers.platforms import EXITS, MEAN, RIGHT, STUB, notebook, put, tarred, zipped
from test_class_grading import names_of, read, small_course

from grader.classroom.class_folder import PLAIN_LAYOUT, ClassFolder, find_submissions
from grader.classroom.exercise_names import ExerciseNames
from grader.classroom.platform_names import single_submission
from grader.classroom.roster import match_roster, read_roster
from grader.classroom.submissions import UnreadFile, read_submission
from grader.course.course import PACKAGE, Course, load_course
from grader.errors import UsageError
from grader.judging.grading import Grader
from grader.judging.quiz_sheets import grade_quiz
from grader.quiz.answer_sheet import blank_sheet, solved_sheet
from grader.quiz.notebook_quiz import assignment_lines
from grader.sandbox.worker import start_worker


@pytest.fixture(scope="module")
def course() -> Course:
    return small_course(PACKAGE.parent)


def found_in(course: Course, path: Path) -> ClassFolder:
    return find_submissions(course, path, path.parent / "out")


@pytest.mark.parametrize(
    "other",
    ["old/Lin_Grad.py", "lin_grad (1).py", "04_linear/lin_grad.py", "ｌｉｎ＿ｇｒａｄ.py", "try.zip", "hw.ipynb"],
)
def test_two_different_answers_are_an_error_whatever_their_times(course, tmp_path, other) -> None:
    def files(source: str) -> dict[str, str | bytes]:
        content = {"try.zip": zipped({"lin_grad.py": source}), "hw.ipynb": notebook(source)}.get(other, source)
        return {"lin_grad.py": RIGHT, other: content}

    eve = put(tmp_path / "eve", files(MEAN))
    for name, time in ((other, 1), (other, 1_800_000_000)):
        os.utime(eve / name, (time, time))
        unread = read(course, eve).files["lin_grad"]
        assert isinstance(unread, UnreadFile)
        assert unread.status == "error"
        assert unread.why.endswith(" are different answers: keep the one that counts")
        assert "lin_grad.py and " in f"{unread.why} and "
    assert read(course, put(tmp_path / "eve", files(RIGHT))).files == {"lin_grad": RIGHT.encode()}


HELPER = "import numpy as np\n\n\ndef helper(g):\n    return np.asarray(g)\n\n\n"


@pytest.mark.parametrize(
    ("file", "other", "is_same"),
    [
        (RIGHT, notebook("# mine\n", RIGHT, "inp = 1\nprint(lin_grad)"), True),
        (RIGHT, zipped({"lin_grad.py": RIGHT.replace("\n", "\r\n")}), True),
        (HELPER + RIGHT.replace("inp.g =", "inp.g = helper(1) *"),
         notebook(HELPER, RIGHT.replace("inp.g =", "inp.g = helper(1) *")), True),
        (HELPER + RIGHT.replace("inp.g =", "inp.g = helper(1) *"),
         notebook(HELPER.replace("asarray(g)", "asarray(-g)"), RIGHT.replace("inp.g =", "inp.g = helper(1) *")), False),
        (RIGHT, notebook(MEAN, RIGHT), False),
        (RIGHT, notebook(f"if True:\n{textwrap.indent(RIGHT, '    ')}"), False),
        (RIGHT, notebook(RIGHT + "(\n"), False),
    ],
)  # fmt: skip
def test_the_same_code_in_a_file_and_elsewhere_is_one_answer(course, tmp_path, file, other, is_same) -> None:
    """A notebook beside a file of its cell was an error, and so was a copy with other ends of lines."""
    name = "hw.zip" if isinstance(other, bytes) else "hw.ipynb"
    found = read(course, put(tmp_path / "eve", {"lin_grad.py": file, name: other}))
    assert isinstance(found.files["lin_grad"], UnreadFile) is not is_same
    path = "hw.zip/lin_grad.py" if name == "hw.zip" else name
    assert found.notes == ((f"{path} was not graded: lin_grad.py holds the same answer",) if is_same else ())


def test_in_a_clone_the_answer_in_its_units_folder_counts(course, tmp_path) -> None:
    files = {"exercises/04_linear/lin_grad.py": MEAN, "old/lin_grad.py": RIGHT}
    eve = put(tmp_path / "eve", {**files, ".git/HEAD": "ref: refs/heads/main"})
    found = read(course, eve)
    assert found.files == {"lin_grad": MEAN.encode()}
    at = "exercises/04_linear/lin_grad.py"
    assert found.notes == (f"old/lin_grad.py was not graded: {at} was graded in its place",)
    assert isinstance(read(course, put(tmp_path / "bob", files)).files["lin_grad"], UnreadFile)
    twice = read(course, put(tmp_path / "eve", {"fork/exercises/04_linear/lin_grad.py": RIGHT}))
    assert isinstance(twice.files["lin_grad"], UnreadFile)


def test_an_untouched_stub_never_hides_an_answer(course, tmp_path) -> None:
    eve = put(tmp_path / "eve", {"lin_grad.py": RIGHT, "04_linear/lin_grad.py": STUB, "x.ipynb": notebook(STUB)})
    os.utime(eve / "04_linear/lin_grad.py")
    assert read(course, eve).files == {"lin_grad": RIGHT.encode()}
    assert read(course, put(tmp_path / "bob", {"lin_grad.py": STUB})).files == {"lin_grad": STUB.encode()}


def test_a_notebook_answers_what_its_cells_define(course, tmp_path) -> None:
    relu = "def relu_grad(inp, out):\n    inp.g = (inp > 0) * out.g\n"
    found = read(
        course,
        put(tmp_path / "eve", {"hw.ipynb": notebook(RIGHT, relu), "tests.ipynb": notebook("1 + 1"), "no.ipynb": "[]"}),
    )
    assert found.files == dict.fromkeys(("lin_grad", "relu_grad"), (RIGHT, relu))
    assert found.notes == (
        "no.ipynb was ignored: it is no notebook that can be read (it has no list of cells): download the notebook "
        "itself, as .ipynb, and hand that in",
        "tests.ipynb was ignored: no cell of it defines a function of an exercise",
    )


WRITTEN = {
    "under its name": ([f"%%writefile lin_grad.py\n{RIGHT}"], ""),
    "and imported": ([f"%%writefile lin_grad.py\n{RIGHT}", "from lin_grad import lin_grad"], ""),
    "under another name, and imported": ([f"%%writefile a.py\n{RIGHT}", "from a import lin_grad"], ""),
    "a helper": (
        [
            "%%writefile a.py\ndef helper(g):\n    return g\n",
            f"from a import *\n{RIGHT}".replace("out.g @", "helper(out.g) @"),
        ],
        "",
    ),
    "under another name": (
        ["x = 1", f"%%writefile a.py\n{RIGHT}"],
        "hw.ipynb, cell 2, writes a.py, and no cell imports lin_grad from it: hand in that file as lin_grad.py",
    ),
    "with another function": (
        [f"%%writefile lin_grad.py\n{RIGHT.replace('lin_grad', 'linear')}"],
        "hw.ipynb, cell 1, writes lin_grad.py, which was ignored: it has no function lin_grad",
    ),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_an_answer_in_a_cell_that_writes_a_file_is_graded_or_noted(course, tmp_path, case) -> None:
    cells, note = WRITTEN[case]
    found = read(course, put(tmp_path / "eve", {"hw.ipynb": notebook(*cells), "relu_grad.py": "x = 1"}))
    assert ("lin_grad" in found.files) == (not note)
    assert note in found.notes if note else not any("writes" in each for each in found.notes)
    if not note:
        (graded,) = [part for part in found.parts(course) if part.exercise == "lin_grad"]
        with start_worker("none") as worker:
            result = Grader(1).grade(course.find("lin_grad"), graded.content, worker, beside=graded.beside)
        assert {answer.status for answer in result.answers} == {"passed"}


def test_a_file_under_a_wrong_name_is_asked_about_beside_other_answers(course, tmp_path) -> None:
    files = {"lin_grad_final.py": RIGHT, "relu_grad.py": RIGHT.replace("lin_grad", "relu_grad")}
    found = read(course, put(tmp_path / "eve", files))
    assert found.notes == ("lin_grad_final.py was ignored: it defines lin_grad: should it be lin_grad.py?",)
    found = read(course, put(tmp_path / "bob", {**files, "lin_grad.py": RIGHT}))
    assert found.notes == ("lin_grad_final.py was ignored: it is no exercise that is graded here",)


BROKEN = {
    "": "(it is empty): save the notebook",
    " \n": "(it is empty): save the notebook",
    "\0" * 5000: "(it holds nothing but zero bytes): save the notebook",
    "{": "(it breaks off in line 1, so a part of it is missing): save the notebook",
    '{"cells":\n [{"cell_type": "code", "source": "x = ': "(it breaks off in line 2, so a part of it is missing)",
    '{"cells":\n [{"cell_type": "code", "exec": nul': "(it breaks off in line 2, so a part of it is missing)",
    "[" * 100_000: "(it is nested too deeply): save the notebook",
    '{"cells": 1}': "(it has no list of cells): download the notebook itself",
    '{"cells": [,], "nbformat": 4}': "(it is damaged in line 1, column 12): save the notebook",
    '{"cells": [' + "9" * 9999 + "]}": "(it is damaged: it holds a number without end): save the notebook",
    "<!DOCTYPE html><html></html>": "(it is a web page): download the notebook itself",
    "PK\x03\x04": "(it is a zip archive): download the notebook itself",
    "import torch\n": "(it begins with 'import torch'): download the notebook itself",
    "version https://git-lfs.github.com/spec/v1\n": "(it is a pointer of Git LFS, and not the file): download",
}


@pytest.mark.parametrize(("broken", "why"), BROKEN.items(), ids=lambda text: text[:40])
def test_a_file_that_is_no_notebook_is_reported_as_such(course, tmp_path, broken, why) -> None:
    found = read(course, put(tmp_path / "eve", {"homework.ipynb": broken}))
    assert found.files == {}
    assert found.nothing == found.notes[0]
    assert found.nothing.startswith(f"homework.ipynb was ignored: it is no notebook that can be read {why}")


def test_a_notebook_without_an_exercise_has_nothing_to_grade(course, tmp_path) -> None:
    found = read(course, put(tmp_path / "eve", {"hw.ipynb": '{"cells": [1, {"cell_type": "code"}]}'}))
    assert found.notes == ("hw.ipynb was ignored: no cell of it defines a function of an exercise",)
    assert found.nothing == found.notes[0], "a notebook need not be named after an exercise"


def test_an_answer_in_a_text_cell_is_noted(course, tmp_path) -> None:
    """Its point was lost without a word where anything else was graded."""
    text = notebook("# Answers", RIGHT).replace('"code"', '"markdown"')
    why = "hw.ipynb defines lin_grad in a text cell, which is not graded: make it a code cell"
    relu = "def relu_grad(inp, out):\n    inp.g = (inp > 0) * out.g\n"
    beside = read(course, put(tmp_path / "eve", {"hw.ipynb": text, "relu_grad.py": relu}))
    assert ([*beside.files], beside.notes, beside.nothing) == (["relu_grad"], (why,), "")
    alone = read(course, put(tmp_path / "bob", {"a.ipynb": notebook("1"), "hw.ipynb": text}))
    assert (alone.files, alone.nothing) == ({}, why)


@pytest.mark.parametrize("name", ["hw.ipynb.txt", "hw (1).ipynb.json", "env/Hw.IPYNB.txt"])
def test_a_notebook_under_the_name_that_a_browser_gave_it_is_read(course, tmp_path, name: str) -> None:
    """A class knew of such a file only that it was no exercise."""
    assert read(course, put(tmp_path / "eve", {name: notebook(RIGHT)})).files == {"lin_grad": (RIGHT,)}
    found = found_in(course, put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, name: notebook(RIGHT)}))
    assert [submission.is_unclaimed for submission in found.submissions] == [False, name.startswith("hw")]


def test_a_notebook_in_utf_16_is_read(course, tmp_path) -> None:
    found = read(course, put(tmp_path / "eve", {"hw.ipynb": notebook(RIGHT).encode("utf-16")}))
    assert found.files == {"lin_grad": (RIGHT,)}


def test_an_answered_notebook_counts_beside_a_newer_stub(course, tmp_path) -> None:
    """The stub of `lin_grad_nd` in the same notebook is no stub of `lin_grad`."""
    other = STUB.replace("lin_grad", "lin_grad_nd")
    eve = put(tmp_path / "eve", {"a.ipynb": notebook(RIGHT, other), "b.ipynb": notebook(STUB, other)})
    os.utime(eve / "b.ipynb", (1_800_000_000, 1_800_000_000))
    found = read(course, eve)
    assert found.files == {"lin_grad": (RIGHT, other)}
    assert found.notes == ("b.ipynb was not graded: it is a stub, and was left as it is",)


def test_a_notebook_that_is_graded_in_part_is_noted_with_the_exercises_that_are_not(course, tmp_path) -> None:
    stub, answer = "def relu_grad(inp, out):\n    ...", "def relu_grad(inp, out):\n    inp.g = 1"
    files = {"a.ipynb": notebook(RIGHT, stub), "b.ipynb": notebook(STUB, answer)}
    assert {*read(course, put(tmp_path / "eve", files)).notes} == {
        "b.ipynb was not graded for lin_grad: it is a stub, and was left as it is",
        "a.ipynb was not graded for relu_grad: it is a stub, and was left as it is",
    }
    both = {"a.ipynb": notebook(RIGHT, answer), "b.ipynb": notebook(STUB, stub)}
    assert read(course, put(tmp_path / "bob", both)).notes == (
        "b.ipynb was not graded: it is a stub, and was left as it is",
    )


def test_a_stub_that_stands_below_the_answer_is_noted(course, tmp_path) -> None:
    found = read(course, put(tmp_path / "eve", {"hw.ipynb": notebook(RIGHT, STUB)}))
    assert found.notes == (
        "hw.ipynb: cell 2 holds lin_grad as it was given, and was passed over: the answer in cell 1 counts",
    )


def test_an_answer_that_a_later_one_replaces_is_noted(course, tmp_path) -> None:
    found = read(course, put(tmp_path / "eve", {"hw.ipynb": notebook(RIGHT, STUB, f"# again\n{MEAN}", MEAN)}))
    line = MEAN[: MEAN.index("def ")].count("\n") + 1
    assert found.notes[0] == (
        f"hw.ipynb: line {line} of cell 1 holds another lin_grad, and was passed over: "
        f"the last one, in line {line} of cell 4, counts"
    )
    assert len(found.notes) == 1, "the third cell holds the same as the last"
    twice = read(course, put(tmp_path / "bob", {"lin_grad.py": f"{RIGHT}\n\n{MEAN}"}))
    assert "of lin_grad.py holds another lin_grad, and was passed over" in twice.notes[0]
    wrapped = notebook(RIGHT, "lin_grad = checked(lin_grad)")
    assert read(course, put(tmp_path / "cem", {"hw.ipynb": wrapped})).notes == ()


def test_a_notebook_that_only_imports_the_function_is_no_answer(course, tmp_path) -> None:
    tried = notebook("from lin_grad import lin_grad", "lin_grad(1, 2, 3, 4)")
    eve = put(tmp_path / "eve", {"lin_grad.py": RIGHT, "try.ipynb": tried})
    os.utime(eve / "try.ipynb", (1_800_000_000, 1_800_000_000))
    assert read(course, eve).files == {"lin_grad": RIGHT.encode()}
    eve = put(tmp_path / "eve", {"try.ipynb": notebook("from mine import lin_grad")})
    os.utime(eve / "try.ipynb", (1_800_000_000, 1_800_000_000))
    found = read(course, eve)
    assert found.files == {"lin_grad": RIGHT.encode()}
    assert "try.ipynb was not graded: it only imports the function" in found.notes


def test_a_quiz_that_is_handed_in_as_a_script_is_asked_for_as_a_sheet(tmp_path) -> None:
    """The name that was proposed was the one that the file had."""
    course = load_course(PACKAGE.parent)
    names = ExerciseNames(course, course.exercises)
    file = put(tmp_path / "eve", {"quiz_04_linear.py": "quiz_04_linear = dict(variant=0)\n"})
    says = "(quiz_04_linear.py is no answer sheet: the quiz is handed in as quiz_04_linear.yaml)"
    assert read_submission(names, single_submission(file)).nothing.endswith(f"named after an exercise {says}")


@pytest.mark.parametrize("form", ["notebook", "nbconvert", "VS Code"])
def test_the_last_quiz_in_a_notebook_or_its_script_is_read_and_another_is_noted(tmp_path, form) -> None:
    """In a script it was read as YAML, and got no points; no note named another quiz in a notebook."""
    course = load_course(PACKAGE.parent)
    quiz = course.find("quiz_04_linear")
    first, last = ("\n".join(assignment_lines(quiz.id, quiz.quiz, solved=True, variant=each)) for each in (1, 0))
    cells = (RIGHT, first, last, "x = 1")
    above = {"nbconvert": "#!/usr/bin/env python\n# coding: utf-8\n\n", "VS Code": ""}
    mark = {"nbconvert": "# In[{}]:\n\n\n", "VS Code": "# %%\n"}
    file = {"hw.ipynb": notebook(*cells)}
    if form != "notebook":
        marked = (mark[form].format(number) + cell for number, cell in enumerate(cells, 1))
        file = {"hw.py": above[form] + "\n\n\n".join(marked)}
    names = ExerciseNames(course, course.exercises)
    found = read_submission(names, single_submission(put(tmp_path / "eve", file)))
    content = found.files[quiz.id]
    assert isinstance(content, tuple)
    result = grade_quiz(quiz, content)
    assert (result.score, result.max_score) == (quiz.points, quiz.points)
    line = {"notebook": 1, "nbconvert": 4, "VS Code": 2}[form]
    says = f"line {line} of cell 2 holds another {quiz.id}, and was passed over: the last one, in line {line} of cell 3"
    assert f"{next(iter(file))}: {says}, counts" in found.notes


def test_a_quiz_that_may_be_of_several_units_is_told_where_it_belongs(tmp_path) -> None:
    course = load_course(PACKAGE.parent)
    names = ExerciseNames(course, course.select(["01_slopes", "03_one_example"]))
    found = read_submission(names, single_submission(put(tmp_path / "eve", {"quiz.yaml": "q: 1\n"})))
    assert "it does not say which quiz it answers: put it in its unit's folder, such as 01_slopes" in str(found)


def test_an_exported_notebook_counts_whatever_it_is_called(course, tmp_path) -> None:
    script = (
        f"#!/usr/bin/env python\n# coding: utf-8\n\n# In[1]:\n\n\nget_ipython().system('ls')\n\n\n# In[ ]:\n\n{RIGHT}"
    )
    found = read(course, put(tmp_path / "eve", {"homework.py": script, "mine.py": RIGHT}))
    assert found.files == {"lin_grad": script.encode()}
    assert found.notes == (
        "homework.py was taken for lin_grad.py", "mine.py was ignored: it is no exercise that is graded here",
    )  # fmt: skip
    found = read(course, put(tmp_path / "bob", {"homework.py": script, "lin_grad.py": MEAN}))
    assert found.files == {"lin_grad": MEAN.encode()}
    assert found.notes == ("homework.py was not graded: lin_grad.py was graded in its place",)


@pytest.mark.parametrize(
    ("files", "note"),
    [
        ({"hw.ipynb": notebook(RIGHT)}, "hw.py was not graded: hw.ipynb holds the same answer"),
        ({"hw.ipynb": notebook(MEAN)}, "hw.py was not graded: hw.ipynb was graded in its place"),
        ({"a.ipynb": notebook(MEAN), "lin_grad.py": STUB}, "hw.py was not graded: a.ipynb was graded in its place"),
        ({"a.ipynb": notebook(MEAN), "lin_grad.py": RIGHT}, "hw.py was not graded: lin_grad.py goes before it"),
        ({"lin_grad.py": "from hw import lin_grad"}, ""),
    ],
)
def test_an_exported_notebook_that_another_file_replaces_is_noted(course, tmp_path, files, note) -> None:
    """It was said that the course has no such exercise."""
    found = read(course, put(tmp_path / "eve", {"hw.py": f"# In[1]:\n\n{RIGHT}", **files}))
    assert "lin_grad" in found.files
    assert [text for text in found.notes if text.startswith("hw.py")] == [note] * bool(note)


def test_a_blank_answer_sheet_never_hides_an_answered_one(tmp_path) -> None:
    whole = load_course(PACKAGE.parent)
    quiz = whole.find("quiz_04_linear")
    answered, blank = (sheet("04_linear", quiz.quiz).encode() for sheet in (solved_sheet, blank_sheet))
    eve = put(tmp_path / "eve", {"quiz_04_linear.yaml": answered, "04_linear/quiz.yaml": blank})
    os.utime(eve / "04_linear/quiz.yaml", (1_800_000_000, 1_800_000_000))
    found = read(whole, eve)
    assert found.files == {"quiz_04_linear": answered}
    assert found.notes == ("04_linear/quiz.yaml was not graded: it answers no question",)
    assert read(whole, put(tmp_path / "bob", {"quiz_04_linear.yaml": blank})).files == {"quiz_04_linear": blank}


QUIZ_NAMES = {
    "quiz_04_linear.yaml": True, "quiz_04_linear (1).yml": True, "any/where/Quiz-04-linear.yaml": True,
    "04_linear/quiz.yaml": True, "04_linear/quiz (1).yml": True, "quiz.yaml": False, "04_linear.yaml": False,
}  # fmt: skip


@pytest.mark.parametrize("name", QUIZ_NAMES)
def test_the_names_under_which_an_answer_sheet_is_taken(tmp_path, name) -> None:
    """The table in hand-ins.md names them; `quiz.yaml` is taken anywhere if no other quiz is graded."""
    whole = load_course(PACKAGE.parent)
    answered = solved_sheet("04_linear", whole.find("quiz_04_linear").quiz).encode()
    folder = put(tmp_path / "eve", {name: answered})
    assert read(whole, folder).files == ({"quiz_04_linear": answered} if QUIZ_NAMES[name] else {})
    alone = read_submission(ExerciseNames(whole, (whole.find("quiz_04_linear"),)), single_submission(folder))
    assert alone.files == ({"quiz_04_linear": answered} if name != "04_linear.yaml" else {})


def test_a_file_without_the_function_never_hides_an_answer(course, tmp_path) -> None:
    eve = put(tmp_path / "eve", {"lin_grad.py": RIGHT, "04_linear/lin_grad.py": "# later\n"})
    os.utime(eve / "04_linear/lin_grad.py")
    found = read(course, eve)
    assert found.files == {"lin_grad": RIGHT.encode()}
    assert found.notes == ("04_linear/lin_grad.py was not graded: it has no function lin_grad",)


def test_a_copy_of_the_whole_course_is_no_answer(course, tmp_path) -> None:
    """A clone of the course holds its worked solutions too."""
    at = "fork/{}/04_linear/lin_grad.py"
    eve = put(
        tmp_path / "eve", {at.format("exercises"): STUB, at.format("solutions"): RIGHT, at.format("tests"): RIGHT}
    )
    assert read(course, eve).files == {"lin_grad": STUB.encode()}


def test_an_answer_may_import_files_of_its_folder_wherever_it_lies(course, tmp_path) -> None:
    files = {
        "my/exercises/04_linear/lin_grad.py": "import own",
        "my/exercises/04_linear/own.py": "x = 1",
        "own.py": "x = 2",
    }
    found = read(course, put(tmp_path / "eve", files))
    assert found.importable_files(course.find("lin_grad"))["own.py"] == b"x = 1"


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "it is empty"),
        ({"report.pdf": ""}, "it holds report.pdf, and no file that is named after an exercise"),
        (
            {f"{name}.txt": "" for name in "abcde"},
            "it holds a.txt, b.txt, c.txt and 2 more files, and no file that is named after an exercise",
        ),
        (
            {"lin_gard.py": RIGHT},
            "it holds lin_gard.py, and no file that is named after an exercise (should lin_gard.py be lin_grad.py?)",
        ),
        (
            {"lin_grad_final.py": RIGHT},  # which is spelled more like lin_grad_nd
            "it holds lin_grad_final.py, and no file that is named after an exercise (lin_grad_final.py defines "
            "lin_grad: should it be lin_grad.py?)",
        ),
        ({"hw.rar": b"Rar!"}, "hw.rar: such archives are not read; ask for a .zip or a .tar.gz"),
        (
            {"export.zip": zipped({"a/submission_metadata.yml": "", "a/submission_1/lin_grad.py": RIGHT})},
            "it holds the work of several students, as Gradescope names files: if it is a section, name --layout "
            "sections",
        ),
        ({"hw.zip": b"PK"}, "hw.zip was ignored: it is damaged, or no archive; ask for it again"),
        ({"hw.tar.gz": b"\x1f\x8b"}, "hw.tar.gz was ignored: it is damaged, or no archive; ask for it again"),
        (
            {"lin_grad.py": b" " * (1 << 20) + b"x"},
            "lin_grad.py: the file was not read: it is larger than 1 MiB; hand in the answers alone",
        ),
        (
            {"lin_grad.py": "# für\n".encode("latin-1") + RIGHT.encode()},
            "lin_grad.py: the file was not read: line 1, after '# f', has the byte 0xFC, which is ü in Latin-1; it "
            "must be saved as UTF-8",
        ),
        (
            {"hw.ipynb": b" " * (32 << 20) + b"x"},
            "hw.ipynb was ignored: the file was not read: it is larger than 32 MiB; clear its outputs, and hand it in "
            "again",
        ),
        (
            {"mine.py": b" " * (1 << 20) + b"x"},
            "mine.py was ignored: the file was not read: it is larger than 1 MiB; hand in the answers alone",
        ),
    ],
)  # fmt: skip
def test_the_reason_why_there_is_nothing_to_grade_is_given(course, tmp_path, files, why) -> None:
    content = read(course, put(tmp_path / "eve", files))
    assert content.nothing == why
    assert not list(content.parts(course))


def test_an_answer_sheet_is_ignored_as_one_where_no_quiz_is_graded(course, tmp_path) -> None:
    content = read(course, put(tmp_path / "eve", {"lin_grad.py": RIGHT, "quiz.yaml": ""}))
    assert content.notes == ("quiz.yaml was ignored: this run grades no quiz",)


def test_a_file_that_is_no_text_is_graded_beside_one_that_is(course, tmp_path) -> None:
    content = read(course, put(tmp_path / "eve", {"lin_grad.py": b"# \xfc", "relu_grad.py": "x = 1"}))
    assert content.nothing == ""
    assert {part.exercise for part in content.parts(course)} == {"lin_grad", "relu_grad"}
    assert "lin_grad.py cannot be read: line 1" in "".join(content.notes)


@pytest.mark.parametrize("files", [{".git/HEAD": ""}, {"__MACOSX/._lin_grad.py": ""}, {".DS_Store": ""}, {".ada": ""}])
def test_what_a_system_leaves_behind_is_nothing(course, tmp_path, files) -> None:
    assert read(course, put(tmp_path / "eve", files)).nothing == "it is empty"


@pytest.mark.parametrize(
    "file",
    ["env/lin_grad.py", "a/venv/src/lin_grad.py", ".work/lin_grad.py", "a/node_modules/lin_grad.py", "hw.zip",
     "env/mine.ipynb", ".x/04_linear/lin_grad.py"],
)  # fmt: skip
def test_an_answer_in_a_folder_with_a_tools_name_is_read(course, tmp_path, file) -> None:
    """The submission was said to be empty, or the answer was missing without a word."""
    archive = zipped({"env/lin_grad.py": RIGHT, "env/lib/python3/site-packages/a.py": ""})
    content: str | bytes = {"hw.zip": archive, "env/mine.ipynb": notebook(RIGHT)}.get(file, RIGHT)
    alone = read(course, put(tmp_path / "eve", {file: content, "env/lib/python3/site-packages/lin_grad.py": EXITS}))
    path = "hw.zip/env/lin_grad.py" if file == "hw.zip" else file
    assert alone.chosen["lin_grad"].file.path == path
    assert (alone.nothing, alone.notes) == ("", ())
    stub = read(course, put(tmp_path / "eve", {"lin_grad.py": STUB}))
    assert stub.chosen["lin_grad"].file.path == path
    beside = read(course, put(tmp_path / "eve", {"lin_grad.py": MEAN}))
    assert beside.files == {"lin_grad": MEAN.encode()}
    assert beside.notes == (f"{path} was not graded: lin_grad.py was graded in its place",)


def test_an_answer_in_a_folder_with_a_tools_name_imports_the_files_beside_it(course, tmp_path) -> None:
    files = {
        "env/lin_grad.py": "import own",
        "env/own.py": "x = 1",
        "env/pyvenv.cfg": "",
        "env/bin/activate_this.py": "",
    }
    found = read(course, put(tmp_path / "eve", files))
    assert found.importable_files(course.find("lin_grad")) == {"own.py": b"x = 1", "lin_grad.py": b"import own"}
    assert found.notes == ()


TOOLS_FILES = {
    "env/lib/python3/site-packages/lin_grad.py": "", "venv/pyvenv.cfg": "", ".ipynb_checkpoints/a-checkpoint.ipynb": "",
    ".history/lin_grad_20261128120000.py": "", "node_modules/x/y.js": "", "__pycache__/lin_grad.pyc": "",
}  # fmt: skip


def test_the_files_of_tools_are_ignored_without_a_note(course, tmp_path) -> None:
    found = read(course, put(tmp_path / "eve", {"lin_grad.py": RIGHT, **TOOLS_FILES}))
    assert (found.files, found.notes) == ({"lin_grad": RIGHT.encode()}, ())


@pytest.mark.parametrize("file", sorted(TOOLS_FILES))
def test_a_submission_of_a_tools_files_is_not_said_to_be_empty(course, tmp_path, file) -> None:
    folder = file.partition("/")[0]
    assert read(course, put(tmp_path / "eve", {f"hw/{file}": ""})).nothing == (
        f"it holds nothing but hw/{folder}, and tools use this name: ask for the answers outside of such a folder"
    )


def test_a_file_too_large_is_noted_and_unreadable_beside_other_answers(course, tmp_path) -> None:
    put(tmp_path / "eve", {"lin_grad.py": b" " * (1 << 20) + b"x", "relu_grad.py": "def relu_grad(inp, out): pass\n"})
    found = read(course, tmp_path / "eve")
    why = "the file was not read: it is larger than 1 MiB; hand in the answers alone"
    assert found.files["lin_grad"] == UnreadFile("failed", why, "syntax-error")
    assert f"lin_grad.py: {why}" in found.notes


@pytest.mark.parametrize("name", ["Copy of linear_grad.py", "linear_grad.py", "linear_grad (1).py"])
def test_the_hash_of_an_answer_does_not_depend_on_which_other_exercises_are_asked(course, tmp_path, name) -> None:
    """A file that an exercise lost its name to, when another exercise left the course, counted as a change."""
    folder = put(tmp_path / "eve", {"lin_grad.py": "import own\n" + RIGHT, "own.py": "import deep", "deep.py": ""})
    put(folder, {name: "x = 1\n"})

    def digest(names: ExerciseNames) -> str:
        content = read_submission(names, single_submission(folder))
        return content.hashes(tuple(content.parts(names.course)), ())["lin_grad"]

    class_course = load_course(PACKAGE.parent)
    more = ExerciseNames(class_course, class_course.exercises)
    before = digest(ExerciseNames(course, course.exercises))
    assert digest(more) == before
    put(folder, {"deep.py": "x = 2"})
    assert digest(more) != before, "what a file imports that the answer imports"


def test_how_a_name_was_understood_is_no_reason_why_there_is_nothing_to_grade(course, tmp_path) -> None:
    """It was exported to the student as the reason for no score."""
    put(tmp_path / "in" / "hw1-eve", {".git/HEAD": ""})
    put(tmp_path / "in" / "hw1-ada", {"lin_grad.py": RIGHT, ".git/HEAD": ""})
    put(tmp_path, {"people.csv": "login\nada\neve\n"})
    found = match_roster(find_submissions(course, tmp_path / "in", tmp_path), read_roster(tmp_path / "people.csv"))
    content = read_submission(ExerciseNames(course, course.exercises), found.submissions[1])
    assert content.notes == ("hw1-eve was taken for eve, by a part of a name",)
    assert content.nothing == "it is empty"


MARK = "_assignsubmission_file"


def roster(tmp_path: Path, text: str) -> Path:
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    return tmp_path / "roster.csv"


@pytest.mark.parametrize(
    ("text", "students"),
    [
        ("student,github\nAda L,ada\nBob B,bob\n", ["Ada L", "Bob B"]),
        ("Vorname;Nachname;Username\nAda;L;ada\nBob;B;bob\n", ["ada", "bob"]),
        ("First Name,Last Name,SID,Email\nAda,L,1,ada@x.edu\nBob,B,2,bob@x.edu\n", ["1", "2"]),
        ("username,first_name,last_name,email,section,github_id,role\nada,A,L,,,1,\nbob,B,B,,,2,\n", ["ada", "bob"]),
        ("name\tsid\tid\nx\t\tada\ny\t7\tbob\n", ["ada", "bob"]),
    ],
)  # fmt: skip
def test_a_roster_may_have_any_columns(course, tmp_path, text, students) -> None:
    path = put(tmp_path / "in", {"ada/lin_grad.py": RIGHT, "hw1-bob/lin_grad.py": RIGHT, "hw1-bob/.git/HEAD": ""})
    found = match_roster(found_in(course, path), read_roster(roster(tmp_path, text)))
    assert [one.key for one in found.submissions] == students
    assert (found.absent, found.unlisted) == ((), ())


def test_a_name_in_another_order_never_competes_with_a_name_as_it_is_spelled(course, tmp_path) -> None:
    text = "sid,name\n1,Wei Zhang\n2,Zhang Wei\n3,Ada\n"
    path = put(tmp_path / "in", {"Wei Zhang/lin_grad.py": RIGHT, "3/lin_grad.py": RIGHT, "ada/relu_grad.py": ""})
    found = match_roster(found_in(course, path), read_roster(roster(tmp_path, text)))
    assert [(one.key, bool(one.conflict)) for one in found.submissions] == [("1", False), ("3", True)]
    assert (found.absent, found.unlisted) == (("2",), ()), "3 and ada are of one student"


@pytest.mark.parametrize(
    ("honest", "hostile"),
    [
        (f"hon_11{MARK}/lin_grad.py", f"hon_11{MARK}_x y_99{MARK}/lin_grad.py"),
        (f"hon_11{MARK}_lin_grad.py", f"hon_11{MARK}_x_99{MARK}_lin_grad.py"),
        ("honone_11_33_lin_grad.py", "honone_11_33_x_99_100_lin_grad.py"),
    ],
)
def test_a_name_that_looks_like_another_students_submission_replaces_nothing(course, tmp_path, honest, hostile) -> None:
    found = found_in(course, put(tmp_path / "in", {honest: RIGHT, hostile: EXITS}))
    assert [read_submission(names_of(course), one).files for one in found.submissions] == [{"lin_grad": RIGHT.encode()}]
    assert found.strays == (hostile.partition("/")[0],)


def test_a_files_own_name_may_look_like_another_platforms(course, tmp_path) -> None:
    """The same holds beside another file of the same student."""
    names = (f"Ada_11{MARK}_lin_grad.py", f"Ada_11{MARK}_helper_1_2_.py", f"Bob_12{MARK}_lin_grad.py")
    found = found_in(course, put(tmp_path / "in", dict.fromkeys(names, RIGHT)))
    assert ([len(one.folders) for one in found.submissions], found.strays) == ([2, 1], ())


@pytest.mark.parametrize(
    ("other", "anns", "others"),
    [
        ("eve", "hw1-submissions/hw1-hon1", "hw1-submissions/hw1-zz-hon1"),
        ("hon-1", "hon1", "hon-1"),
        ("eve", "hon1", "x-hon1"),
    ],
)
def test_a_student_with_the_exact_name_on_the_roster_keeps_it(course, tmp_path, other, anns, others) -> None:
    path = put(
        tmp_path / "in", {f"{anns}/lin_grad.py": RIGHT, f"{others}/lin_grad.py": EXITS, f"{others}/.git/HEAD": ""}
    )
    found = match_roster(found_in(course, path), read_roster(roster(tmp_path, f"name,github\nAnn,hon1\nEve,{other}\n")))
    (ann,) = (one for one in found.submissions if one.key == "hon1")
    assert read_submission(names_of(course), ann).files == {"lin_grad": RIGHT.encode()}


@pytest.mark.parametrize("text", ["", "name\nAda\nAda\n", "colour\nred\n", "sid\n1\n1\n"])
def test_a_roster_without_a_column_that_identifies_students_is_refused(tmp_path, text) -> None:
    with pytest.raises(UsageError, match="has no column that tells students apart"):
        read_roster(roster(tmp_path, text))


def test_the_only_student_of_a_class_is_a_student(course, tmp_path) -> None:
    path = put(tmp_path / "in", {"ada/my-course/exercises/04_linear/lin_grad.py": RIGHT})
    assert [one.key for one in found_in(course, path).submissions] == ["ada"]
    twice = put(tmp_path / "two", {f"{who}/hw{i}.zip": zipped({"lin_grad.py": RIGHT}) for who in "ab" for i in (1, 2)})
    assert [one.key for one in found_in(course, twice).submissions] == ["a", "b"], "two archives are no section"


def test_a_whole_class_in_a_tar(course, tmp_path) -> None:
    files = {f"submissions/{name}/lin_grad.py": EXITS for name in ("ada", "bob")}
    put(tmp_path, {"class.tar.gz": tarred(files)})
    found = found_in(course, tmp_path / "class.tar.gz")
    assert [one.key for one in found.submissions] == ["ada", "bob"]
    assert read_submission(names_of(course), found.submissions[0]).files == {"lin_grad": EXITS.encode()}


@pytest.mark.parametrize("name", ["class.zip", "class.tar.gz", "class.tar"])
def test_a_damaged_archive_of_a_class_gives_one_sentence(course, tmp_path, name) -> None:
    put(tmp_path, {name: b"\x1f\x8bPK broken" * 100})
    with pytest.raises(UsageError, match=r"cannot be read, it is damaged: download it again"):
        found_in(course, tmp_path / name)


def test_no_name_that_one_student_chose_changes_the_layout_of_the_class(course, tmp_path) -> None:
    names = ("Bob B_102_assignsubmission_file_lin_grad.py", "bob_102_9001_lin_grad.py", "submission_metadata.yml")
    plain = {f"{who}/lin_grad.py": RIGHT for who in ("ada", "bob")}
    path = put(tmp_path / "in", {**plain, **{f"eve/{name}": MEAN for name in names}})
    found = found_in(course, path)
    assert ([one.key for one in found.submissions], found.layout) == (["ada", "bob", "eve"], PLAIN_LAYOUT)
    uploads = {f"{who}_{i}_900{i}_lin_grad.py": RIGHT for i, who in enumerate(("ada", "bob", "cem"))}
    path = put(tmp_path / "canvas", {**uploads, "eve_9_9009_x_1_assignsubmission_file_lin_grad.py": MEAN})
    found = found_in(course, path)
    assert ([one.key for one in found.submissions], found.strays) == (["ada_0", "bob_1", "cem_2", "eve_9"], ())


def test_files_of_units_that_are_not_graded_have_no_notes(course, tmp_path) -> None:
    eve = put(
        tmp_path / "eve", {"04_linear/lin_grad.py": RIGHT, "05_activations/own.py": "", "05_activations/x.txt": ""}
    )
    names = ExerciseNames(course, course.select(["04_linear"]))
    assert read_submission(names, single_submission(eve)).notes == ()
    assert len(read(course, eve).notes) == 2
    only = read_submission(ExerciseNames(course, course.select(["05_activations"])), single_submission(eve))
    assert only.nothing == "it holds 04_linear/lin_grad.py, which this run does not grade"

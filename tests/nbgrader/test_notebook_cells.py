"""An exercise graded from the cells of a notebook: run in order, one namespace, and no cell stops the rest."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

import pytest
from helpers.courses import ROOT, solution, with_policy
from helpers.grading import codes

from grader.course.course import Course
from grader.judging.grading import Grader
from grader.judging.unanswered_stubs import with_answer_beside
from grader.quiz.notebook_quiz import assignment_lines
from grader.results.records import ExerciseResult
from grader.sandbox.source_text import LONGEST, Part
from grader.sandbox.worker import Worker

RIGHT = textwrap.dedent("""
    def lin_grad(inp, out, w, b):
        inp.g = out.g @ w.t()
        w.g = inp.t() @ out.g
        b.g = out.g.sum(0)
""")
WRONG = RIGHT.replace("sum(0)", "mean(0)")
STUB = "def lin_grad(inp, out, w, b):\n    ...\n"
GIVEN = (ROOT / "exercises/04_linear/lin_grad.py").read_text()
GradeCells = Callable[..., ExerciseResult]


@pytest.fixture
def any_worker(worker: Worker) -> Worker:
    """This platform's default worker; thorough/test_each_kind_of_worker.py has one of each kind."""
    return worker


@pytest.fixture(scope="module")
def course(course: Course) -> Course:
    """The real course, with time enough for an honest answer on a busy machine."""
    return with_policy(course, time_limit=60)


@pytest.fixture
def grade_cells(course: Course, worker: Worker, grader: Grader) -> GradeCells:
    """`grade_cells("lin_grad", cell, ...)`: the verdict on a notebook of these cells."""
    return lambda exercise, *cells: grader.grade(course.find(exercise), cells, worker)


PASSES = {
    "one cell": [RIGHT],
    "imports in a cell of their own": ["import torch", RIGHT.replace("out.g.sum(0)", "torch.sum(out.g, 0)")],
    "a helper in another cell": ["def rows(x):\n    return x.sum(0)", RIGHT.replace("out.g.sum(0)", "rows(out.g)")],
    "a helper below": [RIGHT.replace("out.g.sum(0)", "rows(out.g)"), "def rows(x):\n    return x.sum(0)"],
    "written again below": [WRONG, RIGHT],
    "the stub above": [STUB, RIGHT],
    "the stub below": [RIGHT, STUB],
    "the stub as it is given below": [RIGHT, GIVEN, "x = 1"],
    "the stub below in the same cell": [f"{RIGHT}\n\n{GIVEN}\ny = 1"],
    "a timed statement": [RIGHT.replace("    w.g", "    %time w.g")],
    "a timed statement with options": [RIGHT.replace("    w.g", "    %timeit -n 3 -r1 w.g")],
    "a timed cell in a block": ["if True:\n" + textwrap.indent(RIGHT, "    ").replace("b.g = ", "%time b.g = ")],
    "what nbconvert makes of a magic": [
        "get_ipython().run_line_magic('matplotlib', 'inline')\nget_ipython().system('pip install torch')\n"
        "ip = get_ipython()\nif 'google.colab' in str(get_ipython()):\n    ip.magic('pylab')\n"
        + RIGHT.replace("b.g = out.g.sum(0)", "get_ipython().run_line_magic('time', 'b.g = out.g.sum(0)')"),
    ],
    "what nbconvert makes of a timed cell": [f"get_ipython().run_cell_magic('time', '', {RIGHT!r})"],
    "what a notebook shows": [RIGHT + "\ndisplay(3);\n1;", "display(lin_grad)"],
    "an error before": ["1 / 0", RIGHT],
    "an error after": [RIGHT, "lin_grad(1, 2, 3, 4)"],
    "an error in the same cell, after": [RIGHT + "\nassert False\n"],
    "a syntax error elsewhere": ["def (", RIGHT, "  x = ["],
    "an exit": ["exit()", "import sys; sys.exit(3)", RIGHT],
    "an exit at once": ["import os\nos._exit(0)", RIGHT, "import os as mine\nmine.abort()"],
    "an interrupt": ["raise KeyboardInterrupt", RIGHT],
    "magics and shell lines": ["%matplotlib inline\n!pip install torch\ntorch?", "%%time\n" + RIGHT + "\n%timeit 1"],
    "another language": ["%%bash\nrm -rf *", RIGHT],
    "the setup, the check and the score": [
        "import torch\nfrom handgrad import check as see, score\nimport handgrad.elsewhere as h\n%load_ext handgrad",
        RIGHT + '\ncheck("lin_grad")\nsee("lin_grad")\nh.show(1).all()',
        'score("lin_grad", "w.g")',
    ],
    "the setup of an older version": ["from grader.nbgrader.cells import check, score", RIGHT, 'check("lin_grad")'],
    "nothing but the function": ["", RIGHT, "", "   \n"],
    "null bytes and lone surrogates": ["x = 1\0", "x = '\ud800'", RIGHT],
    "nesting": ["(" * 20_000, "-" * 20_000 + "1", "x" + ".a" * 20_000, RIGHT],
    "a cell that is far too long": ["#" * (LONGEST + 1), RIGHT],
    "autograd in a cell of one's own": [
        "import torch", RIGHT, "x = torch.ones(2, requires_grad=True)\nx.sum().backward()\nprint(x.grad)",
    ],
}  # fmt: skip


@pytest.mark.parametrize("what", PASSES)
def test_a_right_answer_is_right_whatever_stands_around_it(
    any_worker: Worker, course: Course, grader: Grader, what: str
) -> None:
    result = grader.grade(course.find("lin_grad"), PASSES[what], any_worker)
    assert set(codes(result).values()) == {None}, result


FAILS = {
    "no cell": ([], "missing-function", "no cell of the notebook defines lin_grad: write it in the cell"),
    "another name": (["def lin_gard(): pass"], "missing-function", "defines `lin_gard`, but none"),
    "another exercise": (["def lin_grad_nd(): pass"], "missing-function", "no cell of the notebook defines lin_grad:"),
    "the stub": ([STUB], "todo", "not attempted yet"),
    "the stub twice": ([STUB, STUB], "todo", "not attempted yet"),
    "its cell is no Python": (
        ["x = 1", "# mine\n" + RIGHT.replace("out.g.sum(0)", "out.g.sum(0")], "syntax-error",
        r"cannot read the cell: .*\(cell 2, line 6: b\.g = out\.g\.sum\(0\)",
    ),
    "its cell fails before": (
        ["x = 1", "y = 2\nz = 1 / 0\n" + RIGHT, "w = 3 / 0"],
        "error", r"ZeroDivisionError: .* \(cell 2, line 2: z = 1 / 0\)",
    ),
    "it fails when called": (
        ["x = 1\n\n", "\n" + RIGHT.replace("out.g.sum(0)", "nowhere")],
        "error", r"NameError: .* \(cell 2, line 6: b\.g = nowhere",
    ),
    "a helper in another cell fails": (
        ["def rows(x):\n    return x.nope", RIGHT.replace("out.g.sum(0)", "rows(out.g)")],
        "error", r"AttributeError: .* \(cell 1, line 2: return x\.nope\)",
    ),
    "its cell is far too long": (["x = 1", RIGHT + "#" * LONGEST], "error", "cell 2 was not read, .*too long"),
    "its cell is nested too deeply": ([RIGHT + "-" * 20_000 + "1"], "memory|error", ""),
    "check is no answer": (["lin_grad = check"], "missing-function", "cell 1 binds lin_grad to a value"),
}  # fmt: skip


@pytest.mark.parametrize(("cells", "code", "says"), FAILS.values(), ids=FAILS)
def test_a_missing_function_is_explained_by_the_cell_that_failed(
    grade_cells: GradeCells, cells: list[str], code: str, says: str
) -> None:
    result = grade_cells("lin_grad", *cells)
    answer = result.answers[-1]
    assert re.fullmatch(code, answer.code or ""), answer
    assert re.search(says, answer.message), answer.message
    assert result.score < 3


COPIES = {
    "in a cell below": ([RIGHT, GIVEN], "cell 2", "cell 1"),
    "twice": (["x = 1", RIGHT, GIVEN, STUB], "cell 4", "cell 2"),
    "in the same cell": ([RIGHT + STUB], "line 6 of cell 1", "line 2"),
}


@pytest.mark.parametrize(("cells", "stub", "answer"), COPIES.values(), ids=COPIES)
def test_a_stub_below_the_answer_does_not_take_its_place(
    grade_cells: GradeCells, cells: list[str], stub: str, answer: str
) -> None:
    note = f"{stub} holds lin_grad as it was given, and was passed over: the answer in {answer} counts"
    for answered, score in ((RIGHT, 3), (WRONG, 2)):
        result = grade_cells("lin_grad", *(cell.replace(RIGHT, answered) for cell in cells))
        assert (result.score, result.notes[-1]) == (score, note)


def test_a_file_with_its_stub_below_the_answer_counts(course: Course, grader: Grader, worker: Worker) -> None:
    result = grader.grade(course.find("lin_grad"), f"{RIGHT}\n\n{GIVEN}".encode(), worker)
    assert result.status == "passed"
    assert result.notes == (
        "line 13 of lin_grad.py holds lin_grad as it was given, and was passed over: the answer in line 2 counts",
    )


@pytest.mark.parametrize("name", ["mend_linear", "value_engine", "test_scale", "bias_grad"])
def test_any_kind_of_stub_is_known(name: str, course: Course, grader: Grader, worker: Worker) -> None:
    """One to be mended, one with a class to be written as well, a test, and a function that returns."""
    exercise = course.find(name)
    given = (ROOT / exercise.file).read_text()
    cells = [solution(course, name).decode(), given]
    assert grader.grade(exercise, cells, worker).status == "passed"
    assert grader.grade(exercise, cells[::-1], worker).status == "passed"
    assert grader.grade(exercise, [given, given], worker).status == "todo"


def test_magics_are_passed_over_in_a_file_that_is_imported(course: Course, grader: Grader, worker: Worker) -> None:
    helper = b"get_ipython().system('ls')\n%pylab\ndef rows(x):\n    %time y = x.sum(0)\n    display(y)\n    return y\n"
    answer = f"from mine import rows\n{RIGHT.replace('out.g.sum(0)', 'rows(out.g)')}".encode()
    assert grader.grade(course.find("lin_grad"), answer, worker, beside={"mine.py": helper}).status == "passed"


FILE = {"lin_grad.py": RIGHT.encode()}
COUNTS = "lin_grad.py beside the notebook counts: no cell answers lin_grad"
NOT_GRADED = "lin_grad.py beside the notebook was not graded: the answer in the notebook counts"


@pytest.mark.parametrize(
    ("cells", "beside", "code", "note"),
    [
        ([STUB], FILE, None, COUNTS),
        ([], FILE, None, COUNTS),
        ([GIVEN], {"lin_grad.py": WRONG.encode()}, "mean-for-sum", COUNTS),
        ([GIVEN], {"lin_grad.py": GIVEN.encode()}, "todo", ""),
        ([GIVEN], {"lin_grad.py": b"x = 1"}, "todo", ""),
        (
            [GIVEN],
            {"lin_grad.py": b"\xff\xfe"},
            "todo",
            "lin_grad.py beside the notebook cannot be read: save it as UTF-8",
        ),
        ([WRONG], FILE, "mean-for-sum", NOT_GRADED),
        ([RIGHT], {"lin_grad.py": GIVEN.encode()}, None, ""),
        (["from lin_grad import lin_grad"], FILE, None, ""),
        (["from lin_grad import *"], FILE, None, ""),
        (["import lin_grad as mine\nlin_grad = mine.lin_grad"], FILE, None, ""),
        (["from sq import lin_grad"], {"sq.py": RIGHT.encode()}, None, ""),
        (["import pickle\nclass A: pass\npickle.dumps(A())\nfrom lin_grad import lin_grad"], FILE, None, ""),
    ],
)
def test_an_answer_in_the_file_of_the_exercise_beside_the_notebook_counts_or_is_noted(
    course: Course, worker: Worker, grader: Grader, cells: list[str], beside: dict[str, bytes], code: str, note: str
) -> None:
    result = grader.grade(course.find("lin_grad"), cells, worker, beside=beside)
    assert codes(result)["b.g"] == code
    assert result.notes == ((note,) if note else ())


def test_an_answer_sheet_beside_the_notebook_is_noted(course: Course) -> None:
    quiz = course.find("quiz_04_linear")
    name = next(iter(quiz.quiz.questions))
    sheet = {"quiz.yaml": f"variant: 0\n{name}: 3\n".encode()}
    note = "quiz.yaml beside the notebook was not graded: quiz_04_linear counts in its cell alone"
    assert with_answer_beside(quiz, (), sheet) == ((), note)
    assert with_answer_beside(quiz, (), {"quiz.yaml": b"variant: 0\n"}) == ((), "")
    assert with_answer_beside(quiz, (), {"quiz.yaml": b"- ["}) == ((), note)


def test_an_error_in_that_file_is_placed_there(course: Course, worker: Worker, grader: Grader) -> None:
    broken = RIGHT.replace("out.g.sum(0)", "nowhere").encode()
    result = grader.grade(course.find("lin_grad"), [STUB], worker, beside={"lin_grad.py": broken})
    assert "(lin_grad.py, line 5: b.g = nowhere)" in result.answers[-1].message


def test_exercises_of_one_notebook_that_share_a_child_find_these_files(
    course: Course, worker: Worker, grader: Grader
) -> None:
    cells, names = ("from lin_grad import lin_grad",), ("lin_grad", "bmm_grad")
    files = {f"{name}.py": solution(course, name) for name in names}
    job = grader.together(course, [Part(name, cells, files) for name in names], worker)
    assert {name: result.status for name, result in job.results_of(job.run()).items()} == dict.fromkeys(names, "passed")


def test_a_stub_in_a_block_is_left_alone(grade_cells: GradeCells) -> None:
    """Nobody knows whether it is run."""
    result = grade_cells("lin_grad", RIGHT, f"if False:\n{textwrap.indent(STUB, '    ')}")
    assert (result.status, result.notes) == ("passed", ())


def test_an_answer_in_part_is_no_stub(grade_cells: GradeCells) -> None:
    part = GIVEN.replace("w.g = ...", "w.g = inp.t() @ out.g")
    result = grade_cells("lin_grad", RIGHT, part)
    assert [answer.status for answer in result.answers] == ["todo", "passed", "todo"]
    assert result.notes == ()


@pytest.mark.parametrize("command", ["%mymagic ", "!", "?", "get_ipython().mine('x') #"])
def test_a_line_of_the_function_that_was_not_run_is_named(grade_cells: GradeCells, command: str) -> None:
    result = grade_cells("lin_grad", "x = 1\n%cd ..", RIGHT.replace("    w.g", f"    {command}w.g"))
    (wrong,) = (answer for answer in result.answers if answer.code)
    begins = f"begins with {command[0]}" if command[0] in "%!?" else "is a command for IPython"
    assert wrong.code == "missing-answer"
    assert wrong.message == (
        f"nothing was stored in w.g; line 4 of cell 2 {begins}, which was skipped: write it as Python"
    )


def test_a_cell_that_runs_on_and_on_is_named_and_uses_up_only_its_share(
    course: Course, worker: Worker, grader: Grader
) -> None:
    soon = with_policy(course, time_limit=2)
    result = grader.grade(soon.find("lin_grad"), ["", "while True: pass\n" + RIGHT], worker)
    answer = result.answers[-1]
    assert answer.code == "timeout"
    assert re.search(r"after 0\.\d+ seconds \(cell 2, line 1: while True", answer.message), answer.message


def test_autograd_is_named_with_its_cell_and_line(grade_cells: GradeCells) -> None:
    helper = "%pwd\nimport torch\ndef slope(x):\n    x.requires_grad_()\n    x.sum().backward()\n    return x.grad\n"
    result = grade_cells("lin_grad", "not Python", helper, RIGHT.replace("out.g.sum(0)", "slope(b.clone())"))
    assert codes(result)["b.g"] == "used-autograd"
    assert "torch differentiate (cell 2, line 4: x.requires_grad_())" in result.answers[-1].message


def test_what_was_passed_over_is_noted_with_its_place(grade_cells: GradeCells) -> None:
    result = grade_cells("lin_grad", "import torch\n%matplotlib inline", RIGHT)
    assert result.notes == ("skipped, because it is not Python (cell 1, line 2: %matplotlib inline)",)


def test_a_file_is_one_cell_in_which_an_error_ends_everything(
    course: Course, worker: Worker, grader: Grader, grade_cells: GradeCells
) -> None:
    exercise = course.find("lin_grad")
    assert codes(grader.grade(exercise, (RIGHT + "1 / 0\n").encode(), worker))["w.g"] == "error"
    assert codes(grade_cells("lin_grad", RIGHT + "1 / 0\n"))["w.g"] is None
    assert grader.grade(exercise, ("%pwd\n" + RIGHT).encode(), worker).status == "passed"


def test_a_file_that_is_far_too_long_is_the_learners_doing(course: Course, worker: Worker, grader: Grader) -> None:
    """Control characters become six in a job: a file that may be read can still be too long for one."""
    result = grader.grade(course.find("lin_grad"), b"\x01" * LONGEST, worker)
    assert {(answer.status, answer.code) for answer in result.answers} == {("failed", "error")}
    assert "exercises/04_linear/lin_grad.py was not read" in result.answers[0].message


def test_every_worked_solution_of_a_unit_passes_in_one_notebook(course: Course, worker: Worker, grader: Grader) -> None:
    exercises = course.select(["04_linear"])
    *functions, quiz = exercises
    cells = [solution(course, exercise.id).decode() for exercise in functions]
    cells.append("\n".join(assignment_lines(quiz.id, quiz.quiz, solved=True)))
    assert {grader.grade(exercise, cells, worker).status for exercise in exercises} == {"passed"}

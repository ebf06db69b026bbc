"""The commands and the outputs that the pages in docs/ show, each with what it gives, or with the test that has it.

`test_documents.py` checks that none is missing. `thorough/test_documented_commands.py` runs the commands in a class.
"""

from __future__ import annotations

# By page, in the order of the page: the command, its exit code, and a file that it writes.
Runs = dict[str, list[tuple[str, int, str]]]
GRADE = ("grade submissions/ --out grades/", 0, "grades/grades.csv")
RUNS: Runs = {
    "CONTRIBUTING.md": [
        ("grade my-class --out grades/ --exercise lin_grad", 0, "grades/ada.json"),
        ("export grades/ada.json --to vpl --out exported/", 0, "exported/vpl.txt"),
    ],
    "canvas.md": [
        GRADE,
        (
            'export grades/ --to canvas --fill gradebook.csv --column "Linear layers" --unit 04_linear',
            0,
            "exported/canvas/canvas.csv",
        ),
    ],
    "exports.md": [
        ("export grades/ada.json --to gradescope --out results/", 0, "results/results.json"),
        ("export grades/ --to feedback --out pages/", 0, "pages/ada.feedback.html"),
    ],
    "gradescope.md": [
        ("gradescope my-course.zip --unit 04_linear", 0, "my-course.zip"),
        ("gradescope my-course.zip --try submissions/ada", 0, ""),
    ],
    "instructors.md": [
        GRADE,
        ("grade submissions/ --seed N --out again/", 0, "again/ada.json"),
        ("report grades/", 0, "grades/report.html"),
        ("export grades/ --to feedback", 0, "exported/feedback/ada.feedback.html"),
    ],
    "junit.md": [("export grades/student.json --to junit --out test-reports/", 0, "test-reports/junit.xml")],
    "moodle.md": [
        GRADE,
        ("export grades/ --to moodle --fill worksheet.csv --unit 04_linear", 0, "exported/moodle/moodle.csv"),
        ("export grades/ada.json --to vpl --out-of 100 --out -", 0, ""),
    ],
    "nbgrader.md": [
        ("nbgrader init my-class", 0, "my-class/nbgrader_config.py"),
        ("report --gradebook sqlite:///gradebook.db", 0, "report.html"),
        ("export --gradebook sqlite:///gradebook.db --to feedback", 0, "exported/feedback/ada.feedback.html"),
        ("grade submissions/ --out grades/ --gradebook sqlite:///gradebook.db", 0, "gradebook.db"),
    ],
    "prairielearn.md": [
        ("export grades/student.json --to prairielearn --out /grade/results", 0, "grade/results/results.json")
    ],
    "report.md": [
        ("report grades/", 0, "grades/report.html"),
        ("report --gradebook sqlite:///gradebook.db", 0, "report.csv"),
    ],
    "submitty.md": [("export grades/student.json --to submitty --out .", 0, "validation_results.json")],
}
"""Commands of `handgrad`, without its name."""

AUTHOR_RUNS: Runs = {
    "CONTRIBUTING.md": [
        ("init --course my-gradients", 0, "my-gradients/course.yaml"),
        ("new squareplus_grad --unit 05_activations", 0, "solutions/05_activations/squareplus_grad.py"),
        ("new --quiz --unit UNIT", 0, "solutions/05_activations/quiz.yaml"),
        ("build", 0, ""),
        ("audit", 0, ""),
        ("audit 05_activations", 0, ""),
        ("init ../as-a-learner", 0, "../as-a-learner/course.yaml"),
    ],
}
"""Commands of an author: the first in an empty folder, the others in the new course."""

RUN_ELSEWHERE = {
    "class.md": "classroom/test_assignments.py",
    "hand-ins.md": "classroom/test_hand_ins.py",
    "learners.md": "test_documents.py",
}
"""Pages all of whose commands another test runs."""

NOT_RUN = {
    "CONTRIBUTING.md": {
        "init my-folder --from my_gradients": "run by authoring/test_new_course.py, where a package is installed",
        "train 07_network": "run by learner/test_training.py",
    },
    "cluster.md": {"grade submissions/ --scheduler tls://head:8786": "needs a scheduler on another machine"},
    "github.md": {"init my-course": "run by test_documents.py, in the README"},
}
"""Commands that cannot be run here, with the reason; their form is checked by `Document.findings`."""

SHOWN = {
    "architecture.md": {"program = record(": "test_documents.py"},
    "class.md": {
        "roster: people.csv": "classroom/test_assignments.py",
        "assignment,student": "classroom/test_assignments.py",
    },
    "cluster.md": {"from dask_jobqueue": "it needs Slurm", "distributed:": "it needs certificates"},
    "github.md": {"import sys": "test_github_action.py"},
    "hand-ins.md": {
        "lin_grad (1).py": "classroom/test_hand_ins.py",
        "2 of 6 hold nothing": "classroom/test_hand_ins.py",
        "submissions: 2 sections": "classroom/test_class_layouts.py",
        "lovelaceada_201_9001": "classroom/test_hand_ins.py",
    },
    "nbgrader.md": {"$ handgrad nbgrader init": "test_documents.py", "def lin_grad": "test_documents.py"},
    "learners.md": {"$ handgrad check": "test_documents.py"},
}
"""By page, the first words of each block that is more than commands, and the test that compares it; or why none can."""

OTHER_PROGRAMS = {
    "dask": "it runs until it is stopped; the form of its options is checked",
    "pip": "it installs; the words are compared with the constants of `grader`",
    "gh": "it needs an account of GitHub",
    "nbgrader": "test_nbgrader_processes.py and test_nbgrader_stock.py",
    "cd": "",
}
"""Programs that blocks of commands call, and which test runs them, or why none does."""

"""The students of one nbgrader class: right, wrong, untouched, broken and late, forgers, and layers of traps."""

from __future__ import annotations

import copy
import json
import os
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.nbgrader.source_notebook import grade_id
from grader.nbgrader.submission import TIMESTAMP
from helpers.nbgrader_class import BMM, RIGHT, UNIT, answered, cell, hand_in, nbgrader, released, released_folder

WRONG = RIGHT.replace("sum(0)", "mean(0)")
PARTLY = "def lin_grad(inp, out, w, b):\n    inp.g = ...\n    w.g = inp.t() @ out.g\n    b.g = ...\n"
DUE = datetime(2030, 1, 10, 12)
ALL = 5.0
Make = Callable[[NotebookNode], NotebookNode | bytes]


def without(*names: str) -> Make:
    def make(notebook: NotebookNode) -> NotebookNode:
        notebook.cells = [each for each in notebook.cells if grade_id(each) not in names]
        return notebook

    return make


def edited(edit: Callable[[NotebookNode], object]) -> Make:
    def make(notebook: NotebookNode) -> NotebookNode:
        edit(notebook)
        return notebook

    return make


def in_another_cell(notebook: NotebookNode) -> None:
    cell(notebook, "lin_grad").source = ""
    notebook.cells.append(nbformat.v4.new_code_cell("%matplotlib inline\n!pip install torch\n" + RIGHT))


def faked(notebook: NotebookNode) -> None:
    """Forge the outputs of a kernel for full points, and for points beyond them."""
    for each in notebook.cells:
        if each.cell_type == "code":
            each.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "3.0"}, execution_count=1)]
            each.metadata.nbgrader["points"] = 100


def retyped(notebook: NotebookNode) -> None:
    for i, each in enumerate(notebook.cells):
        if grade_id(each) in ("lin_grad", "lin_grad-w-g"):
            notebook.cells[i] = nbformat.v4.new_markdown_cell(each.source, metadata=each.metadata)


def stripped(notebook: NotebookNode) -> None:
    for each in notebook.cells:
        each.metadata = {}


def noisy(notebook: NotebookNode) -> None:
    output = nbformat.v4.new_output("stream", text="0123456789\n" * 1_000_000)
    cell(notebook, "lin_grad").outputs = [output]


def copied_stub(notebook: NotebookNode) -> None:
    """Add a copy of the stub below the answer, as a copied cell is, and a timed line in the answer."""
    above = cell(notebook, "lin_grad")
    above.source = RIGHT.replace("    w.g", "    %time w.g")
    below = copy.deepcopy(above)
    below.source = PARTLY.replace("inp.t() @ out.g", "...")
    notebook.cells.append(below)


def schema(notebook: NotebookNode) -> None:
    for each in notebook.cells:
        each.metadata.nbgrader["schema_version"] = 99


SCRIPT = (
    "def lin_grad(inp, out, w, b):\n    raise ValueError('<script>alert(1)</script> <img src=x onerror=alert(2)>')\n"
)
REPAIRED: dict[str, Make] = {
    "cells-deleted": without("lin_grad-check", "lin_grad-w-g", "lin_grad-b-g", "handgrad", "lesson"),
    "cells-twice": edited(lambda notebook: notebook.cells.extend(copy.deepcopy(notebook.cells))),
    "cells-reversed": edited(lambda notebook: notebook.cells.reverse()),
    "cells-stripped": edited(stripped),
    "cell-retyped": edited(retyped),
    "cell-elsewhere": edited(in_another_cell),
    "cells-edited": edited(lambda notebook: cell(notebook, "lin_grad-w-g").update(source="1 / 0")),
    "stub-copied": edited(copied_stub),
    "output-huge": edited(noisy),
    "output-faked": edited(faked),
    "schema-newer": edited(schema),
}
"""All of these did both exercises right; what else they did to their notebook changes no score."""

Worth = Mapping[str, tuple[float | None, Make]]
WORTH: Worth = {
    "right": (ALL, lambda notebook: answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)),
    "wrong": (4.0, lambda notebook: answered(notebook, lin_grad=WRONG, bmm_grad=BMM)),
    "partly": (1.0, lambda notebook: answered(notebook, lin_grad=PARTLY)),
    "untouched": (0.0, lambda notebook: notebook),
    **{name: (ALL, lambda notebook, make=make: make(answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)))
       for name, make in REPAIRED.items()},
    "broken-json": (None, lambda notebook: json.dumps(answered(notebook, lin_grad=RIGHT)).encode()[:-100]),
    "broken-syntax": (2.0, lambda notebook: answered(notebook, lin_grad=RIGHT + "(", bmm_grad=BMM)),
    "broken-nothing": (None, lambda notebook: b""),
    "answer-deleted": (2.0, lambda notebook: without("lin_grad")(answered(notebook, bmm_grad=BMM))),
    "answer-emptied": (2.0, lambda notebook: answered(notebook, lin_grad="", bmm_grad=BMM)),
    "answer-scripts": (2.0, lambda notebook: answered(notebook, lin_grad=SCRIPT, bmm_grad=BMM)),
    "late": (ALL, lambda notebook: answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)),
    "renamed": (ALL, lambda notebook: answered(notebook, lin_grad=RIGHT, bmm_grad=BMM)),
}  # fmt: skip
"""Student: the points that they earn (`None`: a person has to look), and what they hand in."""
SOME_WORTH = {name: worth for name, worth in WORTH.items() if name not in REPAIRED.keys() - {"cells-deleted"}}


FORGERIES = {
    "empties later cells": """
        def lin_grad(inp, out, w, b): ...
        get_ipython().input_transformers_cleanup.append(lambda lines: [])
    """,
    "equals everything": """
        class Anything:
            def __eq__(self, other): return self
            def __ne__(self, other): return False
            def all(self): return True
            def __bool__(self): return True
        def lin_grad(inp, out, w, b): inp.g = w.g = b.g = Anything()
    """,
    "shows its points": """
        import sys
        def lin_grad(inp, out, w, b):
            sys.displayhook(1.0)
    """,
    "reads the tests": """
        import re, sqlite3
        from pathlib import Path
        def lin_grad(inp, out, w, b):
            book = next(p for p in (folder / "gradebook.db" for folder in Path.cwd().parents) if p.exists())
            for (text,) in sqlite3.connect(book).execute("select source from source_cell"):
                for name, rule in re.findall(r"assert [(](.*?) == (.*)[)][.]all", text or ""):
                    exec(f"{name} = {rule}")
            print("I READ THE TESTS")
    """,
    "writes everybody's scores": """
        import sqlite3
        from pathlib import Path
        def lin_grad(inp, out, w, b): ...
        book = next(p for p in (folder / "gradebook.db" for folder in Path.cwd().parents) if p.exists())
        with sqlite3.connect(book) as db:
            db.execute("update grade set manual_score = 1.0, needs_manual_grade = 0")
    """,
}
MORE = {
    "gives its own score": """
        def lin_grad(inp, out, w, b): ...
        def score(*_): return 1.0
        check = score
    """,
    "rewrites its notebook": """
        def lin_grad(inp, out, w, b): ...
        import json
        from pathlib import Path
        for path in Path("FOLDER").rglob("*.ipynb"):
            path.write_text(path.read_text().replace('"outputs": []', '"outputs": [1]'))
    """,
    "asks the grader": """
        def lin_grad(inp, out, w, b):
            import gc, sys
            from grader.reference.trials import make_trials
            from handgrad import explain, score
            from grader.course.course import load_course
            inp.g, w.g, b.g = [o for o in gc.get_objects() if type(o).__name__ == "Trial"][0].expected.values()
    """,
    "answers for the worker": """
        import os
        def lin_grad(inp, out, w, b):
            for fd in range(3, 64):
                try: os.write(fd, b'HGF1' + bytes(12) + b'{"score": 1.0, "passed": true}')
                except OSError: pass
            os._exit(0)
    """,
    "differentiates": """
        import torch
        def lin_grad(inp, out, w, b):
            x = [t.clone().requires_grad_() for t in (inp, w, b)]
            inp.g, w.g, b.g = torch.autograd.grad(x[0] @ x[1] + x[2], x, out.g)
    """,
    "fills the disk and starts programs": """
        def lin_grad(inp, out, w, b):
            import os, subprocess
            subprocess.Popen(["sleep", "1000"])
        import os
        os.system("touch /tmp/handgrad-was-here")
        open("/tmp/handgrad-was-here", "w").write("x" * 10**9)
    """,
    "puts HTML into its message": """
        def lin_grad(inp, out, w, b):
            raise ValueError("</code></div><script>document.title = 'mine'</script>")
    """,
}
NEIGHBOUR, OTHER = "abe", "zac"
NAME = f"{UNIT}.ipynb"
LEADS_OUT = "it is a link that leads out of the submission"
Lay = Callable[[Path], object]


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


# student: (what is laid where the notebook should be, what is said of it)
UNREAD: dict[str, tuple[Lay, str]] = {
    "folder": (lambda place: (place / NAME).mkdir(), "it is a folder"),
    "pipe": (lambda place: os.mkfifo(place / NAME), "it is no file, but a pipe or a device"),
    "link-to-the-solution": (
        lambda place: (place / NAME).symlink_to(place.parents[2] / "source" / UNIT / NAME), LEADS_OUT),
    "link-to-a-neighbour": (lambda place: (place / NAME).symlink_to(f"../../ann/{UNIT}/{NAME}"), LEADS_OUT),
    "link-to-nothing": (lambda place: (place / NAME).symlink_to("/nowhere/at/all"), LEADS_OUT),
    "link-of-a-folder": (
        lambda place: (place.rmdir(), place.symlink_to(place.parents[2] / "source" / UNIT)), LEADS_OUT),
    "sparse": (lambda place: sparse(place / NAME), "it is larger than 64 MiB"),
    "half": (lambda place: (place / NAME).write_text('{"cells": ['), "no notebook that can be read"),
    "empty": (lambda place: (place / NAME).write_text("{}"), "The file holds no cells"),
}  # fmt: skip
# student: what lies beside a right notebook
BESIDE: dict[str, Lay] = {
    "link-to-the-gradebook": lambda place: (place / "data.csv").symlink_to(place.parents[2] / "gradebook.db"),
    "link-without-end": lambda place: (place / "data.csv").symlink_to("/dev/zero"),
    "link-to-itself": lambda place: (place / "data.csv").symlink_to("data.csv"),
    "hollow-beside": lambda place: sparse(place / "data.csv"),
    "pipe-beside": lambda place: os.mkfifo(place / "data.csv"),
    "time-is-a-pipe": lambda place: os.mkfifo(place / TIMESTAMP),
    "time-is-a-folder": lambda place: (place / TIMESTAMP).mkdir(),
    "time-is-a-word": lambda place: (place / TIMESTAMP).write_text("yesterday\x1b[2J"),
    "time-is-bytes": lambda place: (place / TIMESTAMP).write_bytes(b"\xff\xfe"),
    "time-is-too-late": lambda place: (place / TIMESTAMP).write_text("9999-12-31 23:59:59 UTC-14"),
    "time-is-endless": lambda place: (place / TIMESTAMP).write_text("1" * 5000),
}
HONEST = ("ann", "zoe")
GRADED = ("folder", "pipe", "link-to-the-solution", "link-of-a-folder", "half", "empty")
COPIED = ("link-to-the-gradebook", "pipe-beside", "time-is-a-word")


def submit(inbound: Path, student: str, content: NotebookNode | bytes) -> None:
    """Lay a submission into the exchange as `nbgrader submit` does; the late one comes an hour late."""
    when = DUE + timedelta(hours=1 if student == "late" else -1)
    stamp = f"{when.isoformat(' ')}.000000 UTC"
    folder = inbound / f"{student}+{UNIT}+{stamp}+0"
    folder.mkdir()
    name = "Homework (final).ipynb" if student == "renamed" else f"{UNIT}.ipynb"
    (folder / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    (folder / "timestamp.txt").write_text(stamp)


def hostile(notebook: NotebookNode, source: str) -> NotebookNode:
    return answered(notebook, lin_grad=textwrap.dedent(source))


def hand_in_forgeries(folder: Path, forgeries: Mapping[str, str]) -> None:
    """One student for each forgery, and two honest ones before and after them."""
    for student in (NEIGHBOUR, OTHER):
        hand_in(folder, student, answered(released(folder), lin_grad=RIGHT.replace("sum(0)", "mean(0)")))
    for name, source in forgeries.items():
        hand_in(folder, name.replace(" ", "-"), hostile(released(folder), source.replace("FOLDER", str(folder))))


def lay_traps(folder: Path) -> None:
    """Hand in what is no file of the student's own, and an honest notebook before and after it."""
    right = answered(released(folder), lin_grad=RIGHT, bmm_grad=BMM)
    for student in (*HONEST, *COPIED, "exits"):
        hand_in(folder, student, exits(right) if student == "exits" else right)
    for student in GRADED:
        (folder / "submitted" / student / UNIT).mkdir(parents=True)
        UNREAD[student][0](folder / "submitted" / student / UNIT)
    for student in COPIED:
        BESIDE[student](folder / "submitted" / student / UNIT)


def exits(notebook: NotebookNode) -> NotebookNode:
    leaves = [nbformat.v4.new_code_cell(f"import os\nos.{end}") for end in ("_exit(0)", "abort()")]
    return NotebookNode({**notebook, "cells": [leaves[0], *notebook.cells, leaves[1]]})


CONFIG = """
c.Exchange.root = {exchange!r}
c.ExchangeCollect.check_owner = False
c.LateSubmissionPlugin.penalty_method = "zero"
c.GenerateFeedback.force = True
"""


@dataclass(frozen=True)
class NbgraderClass:
    """A class that was graded: its nbgrader folder, and what was said while it was graded."""

    folder: Path
    said: str


EVERY_FORGERY = {**FORGERIES, **MORE}
SOME_FORGERIES = dict(list(EVERY_FORGERY.items())[::4])


def make_class(root: Path, students: Worth, command: Callable[..., str] = nbgrader) -> NbgraderClass:
    """Make a course in the middle of the term: released, submitted by exchange, collected, graded, exported.

    Args:
        students: who hands in through the exchange; beside them are some who try to take points, and who lay traps.
        command: runs an nbgrader command.
    """
    folder = released_folder(root, CONFIG.format(exchange=str(root / "exchange")))
    command("db", "assignment", "add", UNIT, f"--duedate={DUE.isoformat(' ')} UTC", cwd=folder)
    command("release_assignment", UNIT, cwd=folder)
    assert (root / "exchange" / "small" / "outbound" / UNIT / f"{UNIT}.ipynb").is_file()
    for student, (_, make) in students.items():
        submit(root / "exchange" / "small" / "inbound", student, make(released(folder)))
    command("collect", UNIT, cwd=folder)
    hand_in_forgeries(folder, SOME_FORGERIES)
    lay_traps(folder)
    said = command("autograde", UNIT, cwd=folder)
    command("export", cwd=folder)
    return NbgraderClass(folder, said)


def feedback(folder: Path, student: str) -> str:
    """Return the page that a student gets; nbgrader makes it at the first call."""
    page = folder / "feedback" / student / UNIT / f"{UNIT}.html"
    if not page.exists():
        nbgrader("generate_feedback", UNIT, f"--student={student}", cwd=folder)
    return page.read_text(encoding="utf-8")

"""Whatever a student hands in is read as a sound notebook, and each released cell is there once, as it was."""

from __future__ import annotations

import copy
import json
import logging
import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from helpers.nbgrader_class import RIGHT, UNIT, answered, cell, read, released, released_folder
from hypothesis import example, given
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import CheckCellMetadata, DeduplicateIds, OverwriteCells, OverwriteKernelspec

from grader.nbgrader.restore import MISSING, RestoreCells, inert_markdown
from grader.nbgrader.source_notebook import grade_id
from grader.nbgrader.submission import (
    ABOUT,
    MOST_CELLS,
    MOST_TEXT,
    TOO_LONG,
    find_renamed,
    read_submitted,
    ungradable_note,
)
from grader.safe_text import as_markdown
from grader.sandbox.source_text import LONGEST

pytestmark = pytest.mark.slow


def notebook_of(*cells: Any, **more: Any) -> bytes:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells), **more}).encode()


def code(source: Any, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None, **more}


def sound(notebook: NotebookNode) -> NotebookNode:
    """The same, once nbformat has found nothing wrong and it has been to disk and back."""
    nbformat.validate(notebook)
    return nbformat.reads(nbformat.writes(notebook), as_version=4)


UNREADABLE = {
    "nothing": b"",
    "half a notebook": notebook_of(code("x = 1"))[:-20],
    "another language": b"def f(): pass",
    "bytes": bytes(range(256)),
    "an abyss": b"[" * 200_000,
    "millions of empty lists": b'{"cells": [' + b"[]," * 3_000_000 + b"[]]}",
    "a number": b"7",
    "a list": b"[]",
    "null": b"null",
    "no cells": b"{}",
    "cells that are none": b'{"cells": "x = 1"}',
    "a number of a million digits": b'{"cells": 1' + b"0" * 1_000_000 + b"}",
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_file_that_is_no_notebook_becomes_a_notebook_with_a_note(what: str):
    notebook = sound(read_submitted(UNREADABLE[what]))
    (about,) = notebook.cells
    assert about.source.startswith(ABOUT)
    assert "hand" in about.source
    assert len(about.source) < 400


ODD = {
    "lines": (code(["x = 1\n", "y = 2"]), "x = 1\ny = 2"),
    "no source": ({"cell_type": "code"}, ""),
    "a number for a source": (code(7), ""),
    "lines that are none": (code(["x", 1, None, "y"]), "xy"),
    "a lone surrogate": (code("x = '\ud800'"), "x = '?'"),
    "another kind of cell": ({"cell_type": "heading", "source": "Title", "level": 2}, "Title"),
    "a kind that is none": ({"cell_type": ["code"], "source": "x"}, "x"),
    "outputs without end": (code("x", outputs=[{"output_type": "stream", "name": "stdout", "text": "y" * 10**7}]), "x"),
    "outputs that are none": (code("x", outputs={"a": [1]}), "x"),
    "an id that is none": (code("x", id="no id!"), "x"),
    "an attachment": ({"cell_type": "markdown", "source": "x", "attachments": {"a.png": {}}}, "x"),
    "metadata that are none": (code("x", metadata=[1]), "x"),
    "a record that is none": (code("x", metadata={"nbgrader": "all points"}), "x"),
    "a record of surprises": (
        code("x", metadata={"nbgrader": {"points": 1e300, "grade_id": {"a": 1}, "\ud800": "\ud800"}}), "x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ODD)
def test_an_odd_cell_is_a_cell(what: str):
    odd, source = ODD[what]
    notebook = sound(read_submitted(notebook_of(odd, code("z"))))
    assert [cell.source for cell in notebook.cells] == [source, "z"]
    assert not any(cell.get("outputs") for cell in notebook.cells)


def test_cells_keep_their_ids_once():
    notebook = sound(read_submitted(notebook_of(code("x", id="a"), code("y", id="a"), code("z", id="b"))))
    assert [cell.id for cell in notebook.cells][::2] == ["a", "b"]
    assert notebook.cells[1].id != "a"


def test_an_older_notebook_is_read_too():
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1"}, 7]}]}
    assert [cell.source for cell in sound(read_submitted(json.dumps(old).encode())).cells] == ["x = 1"]


def test_a_notebook_in_utf_16_is_read_too():
    data = notebook_of(code("x = 1")).decode().encode("utf-16")
    assert [cell.source for cell in sound(read_submitted(data)).cells] == ["x = 1"]


def test_oversized_cells_are_left_out_with_a_note():
    notebook = sound(read_submitted(notebook_of(code("x" * (LONGEST + 1)), code("y" * LONGEST))))
    assert [len(cell.source) for cell in notebook.cells[1:]] == [len(TOO_LONG), LONGEST]
    assert "longer than 1 MiB" in notebook.cells[0].source
    many = sound(read_submitted(notebook_of(*[code("x")] * (MOST_CELLS + 1))))
    assert len(many.cells) == MOST_CELLS + 1
    assert f"more than {MOST_CELLS} cells" in many.cells[0].source


def test_oversized_text_is_left_out_before_it_is_rendered():
    text = {"cell_type": "markdown", "source": "\\begin{a} " * 6_000}
    notebook = sound(read_submitted(notebook_of({**text, "source": text["source"] * 2}, *[text] * 20, code("x = 1"))))
    kept = [cell for cell in notebook.cells[1:] if cell.cell_type == "markdown"]
    assert 0 < sum(len(cell.source) for cell in kept) <= MOST_TEXT
    assert notebook.cells[1].source == TOO_LONG
    assert notebook.cells[-1].source == "x = 1"
    assert "far too much text" in notebook.cells[0].source


def test_fifty_megabytes_in_one_cell_take_no_time():
    """A regular expression that goes back over them would take hours."""
    data = notebook_of(code("x = 1  # " + "\n" * 50_000_000))
    started = time.process_time()
    assert read_submitted(data).cells[1].source == TOO_LONG
    assert time.process_time() - started < 60


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from("cells cell_type source metadata nbgrader grade_id points worksheets id".split()),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
@example({"cells": [{"metadata": {"nbgrader": {"grade_id": "lin_grad", "points": float("nan")}}}]})
@example({"cells": [{"metadata": {"nbgrader": {"points": float("inf")}}}], "worksheets": [{"cells": [{}]}]})
def test_no_json_at_all_stops_the_class(value: Any):
    sound(read_submitted(json.dumps(value).encode()))


@given(st.binary(max_size=60))
def test_no_bytes_at_all_stop_the_class(data: bytes):
    sound(read_submitted(data))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released_folder(tmp_path_factory.mktemp("restore"))


def resources(folder: Path) -> dict[str, Any]:
    place = {"notebook": UNIT, "assignment": UNIT, "student": "s", "db_url": f"sqlite:///{folder / 'gradebook.db'}"}
    return {"nbgrader": place}


def restored(folder: Path, notebook: NotebookNode) -> NotebookNode:
    """The notebook as it is graded, once nbgrader's own preprocessors have found nothing to repair in it."""
    result, _ = RestoreCells().preprocess(read_submitted(json.dumps(notebook).encode()), resources(folder))
    sound(result)
    after = copy.deepcopy(result)
    for theirs in (DeduplicateIds(), OverwriteKernelspec(), OverwriteCells(), CheckCellMetadata()):
        after, _ = theirs.preprocess(after, resources(folder))
    assert after == result
    return result


def without_metadata(notebook: NotebookNode) -> None:
    for each in notebook.cells:
        each.metadata = {}


def everywhere(**changes: Any) -> Any:
    def edit(notebook: NotebookNode) -> None:
        for each in notebook.cells:
            each.metadata.setdefault("nbgrader", {}).update(changes)

    return edit


def retyped(notebook: NotebookNode) -> None:
    for i, each in enumerate(notebook.cells):
        if grade_id(each).startswith("lin_grad"):
            notebook.cells[i] = nbformat.v4.new_markdown_cell(each.source, metadata=each.metadata)
            notebook.cells[i]["attachments"] = {"a.png": {"image/png": ""}}


EDITS = {
    "nothing": lambda notebook: None,
    "no cells": lambda notebook: notebook.cells.clear(),
    "half of the cells": lambda notebook: notebook.cells.__delitem__(slice(0, None, 2)),
    "every cell twice": lambda notebook: notebook.cells.extend(copy.deepcopy(notebook.cells)),
    "reversed": lambda notebook: notebook.cells.reverse(),
    "emptied": lambda notebook: [each.__setitem__("source", "") for each in notebook.cells],
    "retyped": retyped,
    "without metadata": without_metadata,
    "more points": everywhere(points=1000),
    "fewer points": everywhere(points=-1),
    "everything a solution": everywhere(solution=True, grade=True, locked=False),
    "nothing graded": everywhere(grade=False, solution=False, locked=False, task=True),
    "an older schema": everywhere(schema_version=1),
    "a newer schema": everywhere(schema_version=99),
    "an unknown name": everywhere(grade_id="mine"),
    "no name at all": everywhere(grade_id=""),
    "one name for all": everywhere(grade_id="lin_grad"),
    "keys of one's own": everywhere(comment="full marks", score=3),
    "checksums of one's own": everywhere(checksum="x"),
    "edited tests": lambda notebook: [
        each.__setitem__("source", "3.0") for each in notebook.cells if each.metadata.get("nbgrader", {}).get("locked")
    ],
}


@pytest.mark.parametrize("what", list(EDITS)[::4])
def test_each_released_cell_is_restored_once(folder: Path, what: str):
    """After some edits; `thorough/test_every_notebook_edit.py` has all."""
    assert_restored_once(folder, what)


def assert_restored_once(folder: Path, what: str) -> None:
    """Check that every released cell is there once, as it was released, after a student's edit of the notebook."""
    was = released(folder)
    notebook = answered(was, lin_grad=RIGHT)
    EDITS[what](notebook)
    result = restored(folder, notebook)
    MetadataValidator().validate_nb(result)
    for known in was.cells:
        if known.cell_type != "code":
            continue
        now = cell(result, grade_id(known))
        record = {key: value for key, value in known.metadata.nbgrader.items() if key != "cell_type"}
        assert {**now.metadata.nbgrader, "task": False} == record
        assert now.cell_type == "code"
        assert known.metadata.nbgrader.solution or now.source == known.source
    names = [grade_id(each) for each in result.cells if grade_id(each)]
    assert len(names) == len(set(names))


def test_repairs_are_noted_at_the_top(folder: Path):
    notebook = answered(released(folder), lin_grad=RIGHT)
    retyped(notebook)
    notebook.cells = [each for each in notebook.cells if grade_id(each) not in ("bmm_grad", "bmm_grad-a-g", "handgrad")]
    notebook.cells.append(copy.deepcopy(cell(notebook, "lin_grad")))
    cell(notebook, "bmm_grad-b-g").source = "2.0"
    about = restored(folder, notebook).cells[0].source
    for says in (
        "`lin_grad` were of another type, which was put right",
        "Missing, and added back: `handgrad`, `bmm_grad`, `bmm_grad-a-g`",
        "`lin_grad` is there more than once",
        "Cell `bmm_grad-b-g` was changed, and put back as released",
    ):
        assert says in about
    assert not restored(folder, released(folder)).cells[0].source.startswith(ABOUT)


def test_the_same_repair_of_many_cells_is_one_note_below_earlier_notes(folder: Path):
    notebook = released(folder)
    for each in notebook.cells:
        each.source += " #" if each.metadata.get("nbgrader", {}).get("locked") and each.cell_type == "code" else ""
    about = restored(folder, notebook).cells[0].source
    assert about.count("\n- ") == 1
    assert re.search(r"\n- Cells (`[\w-]+`(, )?){6} and 2 more were changed, and put back as released\.$", about)
    notebook.cells = notebook.cells[1:2]
    first, *others = restored(folder, notebook).cells
    assert "\n- Missing, and added back: `lin_grad`, " in first.source
    assert not any(each.source.startswith(ABOUT) for each in others)


def test_of_a_file_that_cannot_be_read_no_repair_is_noted(folder: Path):
    first, *others = restored(folder, read_submitted(b"{")).cells
    assert re.fullmatch(re.escape(ABOUT) + r"\n- The file is no notebook that can be read [^\n]*", first.source)
    assert {"lin_grad", "lin_grad-w-g"} <= {grade_id(each) for each in others}


def test_a_missing_answer_is_not_filled_in(folder: Path):
    notebook = released(folder)
    notebook.cells.clear()
    assert cell(restored(folder, notebook), "lin_grad").source == MISSING


def test_work_in_cells_that_lost_their_names_is_kept(folder: Path):
    notebook = answered(released(folder), lin_grad=RIGHT)
    without_metadata(notebook)
    result = restored(folder, notebook)
    assert RIGHT in [each.source for each in result.cells if not grade_id(each)]


def test_a_renamed_notebook_is_graded(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = tmp_path / "submitted" / "s" / UNIT
    place.mkdir(parents=True)
    (tmp_path / "source" / UNIT).mkdir(parents=True)
    (tmp_path / "source" / UNIT / f"{UNIT}.ipynb").touch()
    monkeypatch.chdir(tmp_path)
    other = Path("submitted", "s", UNIT, "<b>Copy of 04.ipynb")
    nbformat.write(answered(released(folder), lin_grad=RIGHT), other)
    found = [str(other)]
    find_renamed(UNIT, "*", found)
    assert found == [f"submitted/s/{UNIT}/{UNIT}.ipynb"]
    copied = read(place / f"{UNIT}.ipynb")
    assert cell(copied, "lin_grad").source == RIGHT
    assert "handed in as `<b>Copy of 04.ipynb`, not as" in copied.cells[0].source


def test_the_copy_of_a_renamed_notebook_is_renewed_and_never_replaces_a_submitted_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "source" / UNIT).mkdir(parents=True)
    (tmp_path / "source" / UNIT / f"{UNIT}.ipynb").touch()
    monkeypatch.chdir(tmp_path)
    right, wrong = (answered(released(folder), lin_grad=text) for text in (RIGHT, "wrong"))
    nbformat.write(wrong, "other.ipynb")
    find_renamed(UNIT, "*", ["other.ipynb"])
    nbformat.write(right, "other.ipynb")
    names = ["other.ipynb", f"{UNIT}.ipynb"]
    find_renamed(UNIT, "*", names)
    assert names == [f"{UNIT}.ipynb"]
    assert cell(read(Path(f"{UNIT}.ipynb")), "lin_grad").source == RIGHT
    Path("other.ipynb").unlink()
    nbformat.write(answered(released(folder), lin_grad="corrected"), "other 2.ipynb")
    find_renamed(UNIT, "*", ["other 2.ipynb", f"{UNIT}.ipynb"])
    assert cell(read(Path(f"{UNIT}.ipynb")), "lin_grad").source == "corrected"
    nbformat.write(right, "other.ipynb")
    nbformat.write(wrong, f"{UNIT}.ipynb")
    names = ["other.ipynb", f"{UNIT}.ipynb"]
    find_renamed(UNIT, "*", names)
    assert names == ["other.ipynb", f"{UNIT}.ipynb"]
    assert cell(read(Path(f"{UNIT}.ipynb")), "lin_grad").source == "wrong"


def test_links_and_two_candidates_are_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "source" / UNIT).mkdir(parents=True)
    (tmp_path / "source" / UNIT / f"{UNIT}.ipynb").touch()
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "secret")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("grader.nbgrader.submission.get_logger", logging.getLogger)
    for names in (["link.ipynb"], ["one.ipynb", "two.ipynb"], []):
        before = list(names)
        find_renamed(UNIT, "*", names)
        assert names == before + [f"{UNIT}.ipynb"] * bool(before)
        if names:
            note = ungradable_note(read(tmp_path / f"{UNIT}.ipynb"))
            assert note == (
                f"It is not known which notebook is meant (there is no `{UNIT}.ipynb`, but "
                f"{', '.join(f'`{name}`' for name in before)}): ask, and delete or rename the others."
            )
    assert "holds one.ipynb, two.ipynb, and no 04_linear.ipynb: rename the notebook that counts" in caplog.text


HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;script&gt;", "a `b` <i>c</i> ``d``", "`<b>`",
    "$\\href{javascript:alert(1)}{x}$", "\\(x\\)", "$$<b>x</b>$$", "[x](javascript:alert(1))", "`` <b> `",
    "![x](http://a.example/x.png)", "http://a.example", "**bold** __bold__ ~~gone~~ a*b*c", "```\n<b>\n```",
    "\\begin{equation}<b>\\end{equation}",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_students_text_is_inert_in_a_comment(text: str):
    page = MarkdownWithMath(renderer=IPythonRenderer(escape=False)).render(f"- w.g: {as_markdown(text)} [error]")
    assert set(re.findall(r"<(\w+)", page)) <= {"ul", "li", "code"}
    shown = unescape(re.sub(r"</?(ul|li|code)>", "", page))
    assert " ".join(text.split()) in " ".join(shown.split())


SCRIPTS = [
    *HOSTILE, "<SCRIPT >alert(1)</SCRIPT>", "<!-- x --><?php ?><style>*{display:none}</style>", "<b\nonclick=alert(1)>",
    "[x]( javascript:alert(1))", "[x](<javascript:alert(1)>)", "[x]\n\n[x]: javascript:alert(1)",
    "[x](&#106;avascript:alert(1))", "[x](java\\script:alert(1))", "$\\href {javascript:alert(1)}{x}$",
    "<javascript:alert(1)>", "$\\require{html}$", "$\\mmlToken{mi}[href='javascript:alert(1)']{x}$",
    "$&#92;href{javascript:alert(1)}{x}$", "$&#x5C;href{x}{x}$", "$&#92href{x}{x}$", "$&bsol;require{html}$",
    "$&amp;#92;href{x}{x}$", "![](https://a.example/seen.png)", "![x][p]\n\n[p]: https://a.example/seen.png",
    "![a [b](https://a.example)](https://a.example/seen.png)", "![p]\n\n[p]: https://a.example/seen.png",
    "[x](data:text/html;base64,aaaa)", "![x](javascript:alert(1))", "    <b onclick=alert(1)>", "```\n<script>\n```",
]  # fmt: skip
PLAIN = set("p ul li code pre strong em del div span a img".split())


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_students_markdown_runs_no_script(text: str):
    page = MarkdownWithMath(renderer=IPythonRenderer(escape=False)).render(inert_markdown(text))
    assert {tag.removeprefix("/") for tag in re.findall(r"<([!?/]?\w*)", page)} <= PLAIN
    assert not re.search(r'(?:href|src)="(?!https?://a\.example)', page)
    assert not re.search(r"\\(href|require|mmlToken)", unescape(page))
    assert "<img" not in page
    assert inert_markdown(inert_markdown(text)) == inert_markdown(text)


def test_a_students_raw_cell_is_inert_too(folder: Path):
    notebook = released(folder)
    raw = {"cell_type": "raw", "source": SCRIPTS[0] + "$\\href{}$"}
    notebook.cells += sound(read_submitted(notebook_of(raw))).cells
    last = sound(restored(folder, notebook)).cells[-1]
    assert (last.cell_type, last.source) == ("raw", "< script>alert(1)< /script>$\\ href{}$")


@pytest.mark.parametrize(
    "text",
    [
        "a < b and c<3, **bold**",
        "$x < y$ `a[0]`",
        "[x](https://a.example) ![p](attachment:p.png)",
        "1. a\n2. b",
        "[x](https://a.example?b=1&c=2) a && b & c",
    ],
)
def test_ordinary_markdown_of_a_student_stays_as_it_is(text: str):
    assert inert_markdown(text) == text


PASTED = {
    "p.png": {"image/png": "aGk=", "text/html": "<b>"}, "q.svg": {"image/svg+xml": "PA=="}, "r s": {"image/png": "a"},
    "t": {"image/png": 3}, "u": {"image/png": "'onerror="}, "v": 7,
}  # fmt: skip
SHOWN = "![a](attachment:p.png) ![b](attachment:q.svg) ![c](attachment:p.png%20) ![d](attachment:) ![e](attachment:no)"


def test_pasted_pictures_stay_and_missing_ones_stop_nothing(folder: Path):
    handed_in = {"cell_type": "markdown", "source": f"{SHOWN} <script>", "attachments": PASTED}
    found = sound(read_submitted(notebook_of(handed_in)))
    notebook = released(folder)
    notebook.cells += found.cells
    last = sound(restored(folder, notebook)).cells[-1]
    assert last.attachments == {"p.png": {"image/png": "aGk="}}
    assert last.source.count("attachment:") == 1
    page = MarkdownWithMath(renderer=IPythonRenderer(escape=False, attachments=last.attachments)).render(last.source)
    assert "data:image/png;base64,aGk=" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    "text", ["every entry is 1/5 of what it should be, and bs = 5 here", "end it with `return ...`", "w.g[0,1]"]
)
def test_an_ordinary_sentence_stays_as_it_is(text: str):
    assert as_markdown(text) == text

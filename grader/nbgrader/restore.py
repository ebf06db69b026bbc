"""A preprocessor that repairs submitted notebooks: each released cell is there once, as the gradebook records it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from .submission import ABOUT, add_notes, new_cell, notes_in, ungradable_note

SCHEMA_VERSION = 3
NAMED = 6
RELEASED = "_handgrad_released"
TAG = re.compile(r"<(?=[A-Za-z/!?])")
LINK = re.compile(r"\](?=[(:]\s*(?!https?://|attachment:|#))")
TEX = re.compile(r"\\(?=(?:href|require|style|class|cssId|data|mmlToken)\b)")
ENTITY = re.compile(r"&(?=#|\w+;)")
PICTURE = re.compile(r"!(?=\[(?![^\[\]]*\]\(\s*attachment:))")
FUNCTION = re.compile(r"^def ", re.MULTILINE)
MISSING = "# This cell was missing from the submission."


@dataclass(frozen=True)
class ReleasedCell:
    """A cell of the released notebook.

    Args:
        cell_type: `code`, `markdown` or `raw`.
        record: nbgrader's metadata.
        source: the source that it must have; `None` where the student writes.
        released: the source that it was released with.
    """

    cell_type: str
    record: Mapping[str, Any]
    source: str | None
    released: str

    @property
    def counts(self) -> bool:
        """Return whether the cell is worth adding where it is missing: it is run, to be written in, or has points."""
        return self.cell_type == "code" or bool(self.record["grade"]) or bool(self.record["task"])


ReleasedNotebook = tuple[dict[str, Any], dict[str, ReleasedCell]]  # the kernel that runs it, and its cells


class RestoreCells(NbGraderPreprocessor):  # type: ignore[misc]
    """A preprocessor that repairs cells which a student deleted, copied, retyped, edited or stripped of metadata.

    It reads the gradebook once for all students. nbgrader's own `DeduplicateIds`, `OverwriteCells`,
    `OverwriteKernelspec` and `CheckCellMetadata` read it once for each cell, and have nothing left to do.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Repair a submitted notebook, with a note on each repair at its top, and disarm the student's Markdown.

        Args:
            nb: the notebook, which is changed.
            resources: nbgrader's resources.

        Returns:
            The notebook and the resources.
        """
        place = resources["nbgrader"]
        kernelspec, released = self._released_notebook(place["db_url"], place["assignment"], place["notebook"])
        nb.metadata["kernelspec"] = dict(kernelspec) or nb.metadata["kernelspec"]
        earlier_notes = notes_in(nb)
        is_ungradable = ungradable_note(nb) is not None
        notes = [*_drop_unknown_and_copies(nb, released), *_restore(nb, released), *_add_missing(nb, released)]
        if is_ungradable:  # all cells are missing then: the reason is enough
            notes = []
        for cell in nb.cells:
            if cell.cell_type != "code" and not cell.metadata.get("nbgrader", {}).get("locked"):
                cell.source = inert_markdown(cell.source)
        for note in (*earlier_notes, *notes):
            self.log.warning("%s, %s: %s", place["student"], place["notebook"], note)
        add_notes(nb, notes)
        return nb, resources

    def _released_notebook(self, database: str, assignment: str, notebook: str) -> ReleasedNotebook:
        """Return a notebook as it was released.

        It is read from the gradebook once, and cached in the exporter that this preprocessor belongs to, which
        converts the submissions of all students one after the other.

        Args:
            database: the URL of the gradebook.
            assignment: the name of the assignment.
            notebook: the name of the notebook, without `.ipynb`.
        """
        exporter: Any = self.parent or self
        cache: dict[tuple[str, str, str], ReleasedNotebook] = vars(exporter).setdefault(RELEASED, {})
        place = (database, assignment, notebook)
        if place not in cache:
            with Gradebook(database) as gradebook:
                record = gradebook.find_notebook(notebook, assignment)
                cache[place] = json.loads(record.kernelspec or "{}"), _released_cells(record)
        return cache[place]


def inert_markdown(text: str) -> str:
    """Return a student's Markdown as text that runs no script and loads nothing.

    nbgrader's pages would run scripts, in an instructor's browser, where the gradebook can be changed. Characters that
    are written as entities escape its filter, and a remote picture would tell who looks at it.
    """
    return TEX.sub(r"\\ ", LINK.sub("] ", PICTURE.sub("! ", TAG.sub("< ", ENTITY.sub("& ", text)))))


def _released_cells(notebook: Any) -> dict[str, ReleasedCell]:
    """Return every cell of a released notebook that nbgrader has a record of, by name and in order."""
    points = {cell.name: float(cell.max_score) for cell in (*notebook.grade_cells, *notebook.task_cells)}
    grade, solution, task = (
        {cell.name for cell in cells} for cells in (notebook.grade_cells, notebook.solution_cells, notebook.task_cells)
    )
    cells = {}
    for cell in notebook.source_cells:
        record = {
            "schema_version": SCHEMA_VERSION,
            "grade_id": cell.name,
            "grade": cell.name in grade,
            "solution": cell.name in solution,
            "locked": bool(cell.locked),
            "task": cell.name in task,
            **({"points": points[cell.name]} if cell.name in points else {}),
            **({"checksum": cell.checksum} if cell.checksum else {}),
        }
        cells[cell.name] = ReleasedCell(cell.cell_type, record, cell.source if cell.locked else None, cell.source or "")
    return cells


def _drop_unknown_and_copies(nb: NotebookNode, released: Mapping[str, ReleasedCell]) -> list[str]:
    """Leave nbgrader's metadata only on the last copy of each released cell, and return notes on the copies.

    Args:
        nb: the notebook, which is changed; a cell that was never released loses its metadata.
        released: the released cells, by grade_id.
    """
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for cell in reversed(nb.cells):
        name = cell.metadata.pop("nbgrader", {}).get("grade_id")
        if name not in released:
            continue
        if name in seen:
            twice[name] = None
        else:
            seen.add(name)
            cell.metadata["nbgrader"] = {"grade_id": name}
    return _cell_notes(
        list(twice), "is there", "are there", "more than once: all copies are run, the last answered one counts"
    )


def _restore(nb: NotebookNode, released: Mapping[str, ReleasedCell]) -> list[str]:
    """Give each released cell its type, its metadata and, where students may not write, its source.

    Notes on the cells that were changed are returned. Cells without nbgrader's metadata stay as they are.
    """
    retyped, changed, answered = list[str](), list[str](), ""
    for i, cell in enumerate(nb.cells):
        if "nbgrader" not in cell.metadata:
            continue
        name = cell.metadata["nbgrader"]["grade_id"]
        original = released[name]
        if cell.cell_type != original.cell_type:
            retyped.append(name)
        if original.source is not None and cell.source != original.source and original.counts:
            changed.append(name)
            answered = ": an answer there does not count" if answered or FUNCTION.search(cell.source) else ""
        source = cell.source if original.source is None else original.source
        nb.cells[i] = new_cell(original.cell_type, source, original.record, cell.id, cell.get("attachments"))
    return [
        *_cell_notes(retyped, "was", "were", "of another type, which was put right"),
        *_cell_notes(changed, "was", "were", f"changed, and put back as released{answered}"),
    ]


def _add_missing(nb: NotebookNode, released: Mapping[str, ReleasedCell]) -> list[str]:
    """Add each missing cell whose `counts` is true behind the cell that preceded it at release.

    Return notes on these cells.
    """
    places = {cell.metadata["nbgrader"]["grade_id"] for cell in nb.cells if "nbgrader" in cell.metadata}
    missing, before = [], ""
    for name, original in released.items():
        if name not in places:
            if not original.counts:
                continue
            missing.append(name)
            blank = original.record["solution"] and not original.record["grade"]
            cell = new_cell(original.cell_type, MISSING if blank else original.released, original.record)
            nb.cells.insert(_place_after(nb.cells, before), cell)
        before = name
    return [f"Missing, and added back: {_name_list(missing)}."] if missing else []


def _cell_notes(names: Sequence[str], verb: str, plural_verb: str, rest: str) -> list[str]:
    """Return one note on cells, such as "Cells a and b were put back."; an empty list without cells.

    Args:
        names: the names of the cells.
        verb: the verb for one cell, such as "was".
        plural_verb: the verb for several, such as "were".
        rest: the rest of the sentence, such as "put back".
    """
    if not names:
        return []
    if len(names) == 1:
        return [f"Cell {_name_list(names)} {verb} {rest}."]
    return [f"Cells {_name_list(names)} {plural_verb} {rest}."]


def _name_list(names: Sequence[str]) -> str:
    """Return the first `NAMED` names, and how many more there are: "`a`, `b` and 3 more"."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:NAMED]) + more


def _place_after(cells: Sequence[NotebookNode], name: str) -> int:
    """Return the index behind the cell with this name; without one, behind the notes at the top of the notebook."""
    places = [i for i, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == name]
    return places[0] + 1 if places else int(bool(cells) and cells[0].source.startswith(ABOUT))

"""An nbgrader preprocessor: each cell that is graded is there once, and is what the gradebook says it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from .nbgrader_submission import add_notes, new_cell

SCHEMA_VERSION = 3
MISSING = "# This cell was missing from the submission."


@dataclass(frozen=True)
class Known:
    """A cell as it was released.

    Args:
        record: nbgrader's metadata.
        source: what it must hold; `None` where the student writes.
    """

    cell_type: str
    record: Mapping[str, Any]
    source: str | None
    released: str

    @property
    def counts(self) -> bool:
        """It is worth adding where it is missing: it is run, written in, or worth points."""
        return self.cell_type == "code" or bool(self.record["grade"]) or bool(self.record["task"])


class RestoreCells(NbGraderPreprocessor):  # type: ignore[misc]
    """Repairs what students do to notebooks: cells deleted, copied, retyped, edited, or stripped of their metadata.

    It asks the gradebook once for each notebook. nbgrader's own `DeduplicateIds`, `OverwriteCells`,
    `OverwriteKernelspec` and `CheckCellMetadata` ask once for each cell; after this they would find nothing to do.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        place = resources["nbgrader"]
        with Gradebook(place["db_url"]) as gradebook:
            released = gradebook.find_notebook(place["notebook"], place["assignment"])
            known = _known(released)
            nb.metadata["kernelspec"] = json.loads(released.kernelspec or "{}") or nb.metadata["kernelspec"]
        notes = [*_forget_others(nb, known), *_restore(nb, known), *_add_missing(nb, known)]
        for note in notes:
            self.log.warning("%s, %s: %s", place["student"], place["notebook"], note)
        add_notes(nb, notes)
        return nb, resources


def _known(notebook: Any) -> dict[str, Known]:
    """Every cell of the released notebook that nbgrader keeps a record of, in order."""
    points = {cell.name: float(cell.max_score) for cell in (*notebook.grade_cells, *notebook.task_cells)}
    grade, solution, task = (
        {cell.name for cell in cells} for cells in (notebook.grade_cells, notebook.solution_cells, notebook.task_cells)
    )
    found = {}
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
        found[cell.name] = Known(cell.cell_type, record, cell.source if cell.locked else None, cell.source or "")
    return found


def _forget_others(nb: NotebookNode, known: Mapping[str, Known]) -> list[str]:
    """Cells of one name: the last keeps it, as in nbgrader's own DeduplicateIds; all of them are run."""
    seen: set[str] = set()
    notes = []
    for cell in reversed(nb.cells):
        name = cell.metadata.pop("nbgrader", {}).get("grade_id")
        if name not in known:
            continue
        if name in seen:
            notes.append(f"Cell `{name}` is there more than once: all of them are run, the last one counts.")
        else:
            seen.add(name)
            cell.metadata["nbgrader"] = {"grade_id": name}
    return list(dict.fromkeys(notes))


def _restore(nb: NotebookNode, known: Mapping[str, Known]) -> list[str]:
    """Give each cell its type, its record and, where students may not write, its source."""
    notes = []
    for i, cell in enumerate(nb.cells):
        if "nbgrader" not in cell.metadata:
            continue
        name = cell.metadata["nbgrader"]["grade_id"]
        was = known[name]
        if cell.cell_type != was.cell_type:
            notes.append(f"Cell `{name}` was of another type: it counts as {was.cell_type} again.")
        if was.source is not None and cell.source != was.source and was.counts:
            notes.append(f"Cell `{name}` was changed, and is as it was released again.")
        source = cell.source if was.source is None else was.source
        nb.cells[i] = new_cell(was.cell_type, source, was.record, cell.id)
    return notes


def _add_missing(nb: NotebookNode, known: Mapping[str, Known]) -> list[str]:
    """Add each missing cell after the one that it was released after."""
    places = {cell.metadata["nbgrader"]["grade_id"] for cell in nb.cells if "nbgrader" in cell.metadata}
    missing, before = [], ""
    for name, was in known.items():
        if name not in places:
            if not was.counts:
                continue
            missing.append(name)
            blank = was.record["solution"] and not was.record["grade"]
            cell = new_cell(was.cell_type, MISSING if blank else was.released, was.record)
            nb.cells.insert(_after(nb.cells, before), cell)
        before = name
    names = ", ".join(f"`{name}`" for name in missing)
    return [f"Missing, and added back: {names}."] if missing else []


def _after(cells: Sequence[NotebookNode], name: str) -> int:
    found = [i for i, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == name]
    return found[0] + 1 if found else 0

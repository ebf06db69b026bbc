"""An nbgrader preprocessor that repairs graded cells: each is there once, and is what the gradebook says it is."""

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

from .submission import ABOUT, add_notes, new_cell, notes_in

SCHEMA_VERSION = 3
NAMED = 6
RELEASED = "_handgrad_released"
TAG = re.compile(r"<(?=[A-Za-z/!?])")
LINK = re.compile(r"\](?=[(:]\s*(?!https?://|attachment:|#))")
TEX = re.compile(r"\\(?=(?:href|require|style|class|cssId|data|mmlToken)\b)")
ENTITY = re.compile(r"&(?=#|\w+;)")
PICTURE = re.compile(r"!(?=\[(?![^\[\]]*\]\(\s*attachment:))")
MISSING = "# This cell was missing from the submission."


@dataclass(frozen=True)
class ReleasedCell:
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


Released = tuple[dict[str, Any], dict[str, ReleasedCell]]  # the kernel that runs it, and its cells


class RestoreCells(NbGraderPreprocessor):  # type: ignore[misc]
    """Repairs what students do to notebooks: cells deleted, copied, retyped, edited, or stripped of their metadata.

    It asks the gradebook once for all students. nbgrader's own `DeduplicateIds`, `OverwriteCells`,
    `OverwriteKernelspec` and `CheckCellMetadata` ask once for each cell; after this they would find nothing to do.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        place = resources["nbgrader"]
        kernelspec, released = self._released(place["db_url"], place["assignment"], place["notebook"])
        nb.metadata["kernelspec"] = dict(kernelspec) or nb.metadata["kernelspec"]
        said = notes_in(nb)
        notes = [*_drop_unknown_and_copies(nb, released), *_restore(nb, released), *_add_missing(nb, released)]
        for cell in nb.cells:
            if cell.cell_type != "code" and not cell.metadata.get("nbgrader", {}).get("locked"):
                cell.source = inert(cell.source)
        for note in (*said, *notes):
            self.log.warning("%s, %s: %s", place["student"], place["notebook"], note)
        add_notes(nb, notes)
        return nb, resources

    def _released(self, *place: str) -> Released:
        """What the gradebook knows of a notebook; the exporter keeps it, for it outlives its preprocessors."""
        keeper: Any = self.parent or self
        kept: dict[tuple[str, ...], Released] = vars(keeper).setdefault(RELEASED, {})
        if place not in kept:
            database, assignment, notebook = place
            with Gradebook(database) as gradebook:
                found = gradebook.find_notebook(notebook, assignment)
                kept[place] = json.loads(found.kernelspec or "{}"), _released_cells(found)
        return kept[place]


def inert(text: str) -> str:
    """Markdown of a student's as text alone: nbgrader's pages would run the scripts that are in it.

    They are opened where the gradebook can be changed: in an instructor's browser, beside formgrader. Characters that
    are written as entities are so to the page, but not to the filter; a picture from elsewhere tells who looks at it.
    """
    return TEX.sub(r"\\ ", LINK.sub("] ", PICTURE.sub("! ", TAG.sub("< ", ENTITY.sub("& ", text)))))


def _released_cells(notebook: Any) -> dict[str, ReleasedCell]:
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
        found[cell.name] = ReleasedCell(cell.cell_type, record, cell.source if cell.locked else None, cell.source or "")
    return found


def _drop_unknown_and_copies(nb: NotebookNode, released: Mapping[str, ReleasedCell]) -> list[str]:
    """Leave the name of a released cell only on the last cell that has it; return notes on the copies."""
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
    """Give each cell its type, its record and, where students may not write, its source."""
    retyped, changed = list[str](), list[str]()
    for i, cell in enumerate(nb.cells):
        if "nbgrader" not in cell.metadata:
            continue
        name = cell.metadata["nbgrader"]["grade_id"]
        was = released[name]
        if cell.cell_type != was.cell_type:
            retyped.append(name)
        if was.source is not None and cell.source != was.source and was.counts:
            changed.append(name)
        source = cell.source if was.source is None else was.source
        nb.cells[i] = new_cell(was.cell_type, source, was.record, cell.id, cell.get("attachments"))
    return [
        *_cell_notes(retyped, "was", "were", "of another type, which was put right"),
        *_cell_notes(changed, "was", "were", "changed, and put back as released"),
    ]


def _add_missing(nb: NotebookNode, released: Mapping[str, ReleasedCell]) -> list[str]:
    """Add each missing cell after the one that it was released after."""
    places = {cell.metadata["nbgrader"]["grade_id"] for cell in nb.cells if "nbgrader" in cell.metadata}
    missing, before = [], ""
    for name, was in released.items():
        if name not in places:
            if not was.counts:
                continue
            missing.append(name)
            blank = was.record["solution"] and not was.record["grade"]
            cell = new_cell(was.cell_type, MISSING if blank else was.released, was.record)
            nb.cells.insert(_place_after(nb.cells, before), cell)
        before = name
    return [f"Missing, and added back: {_listed(missing)}."] if missing else []


def _cell_notes(names: Sequence[str], one: str, many: str, what: str) -> list[str]:
    """One note for all cells to which the same applies."""
    if not names:
        return []
    return [f"Cell {_listed(names)} {one} {what}."] if len(names) == 1 else [f"Cells {_listed(names)} {many} {what}."]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(f"`{name}`" for name in names[:NAMED]) + more


def _place_after(cells: Sequence[NotebookNode], name: str) -> int:
    """The index for a cell that was released after this one; where there is none, below the notes on the submission."""
    found = [i for i, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == name]
    return found[0] + 1 if found else int(bool(cells) and cells[0].source.startswith(ABOUT))

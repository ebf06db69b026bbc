"""An nbgrader preprocessor that releases each exercise as the stub that every learner gets, `w.g = ...`."""

from __future__ import annotations

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions

from .source_notebook import stub_of


class KeepStubs(ClearSolutions):  # type: ignore[misc]
    """Clears worked solutions as nbgrader does, but leaves each derived cell its own placeholders."""

    code_stub: dict[str, str]

    def preprocess_cell(
        self, cell: NotebookNode, resources: ResourcesDict, cell_index: int
    ) -> tuple[NotebookNode, ResourcesDict]:
        stub = stub_of(cell)
        if stub is None:
            return super().preprocess_cell(cell, resources, cell_index)  # type: ignore[no-any-return]
        usual = self.code_stub
        self.code_stub = {**usual, "python": stub}
        try:
            return super().preprocess_cell(cell, resources, cell_index)  # type: ignore[no-any-return]
        finally:
            self.code_stub = usual

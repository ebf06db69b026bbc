"""Who handed in which folder of an export from Gradescope: its `submission_metadata.yml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from grader.errors import UsageError

from .file_tree import File, UnreadableArchiveError

METADATA_FILE = "submission_metadata.yml"
LARGEST = 256 << 20  # bytes: it holds the output of every test of every submission
IDENTITY = (":email", ":sid", ":name")  # the first that there is tells students apart


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Plain YAML; what Ruby marks as an object of its own is passed over."""


_Loader.add_multi_constructor("", lambda loader, suffix, node: None)
People = list[tuple[str, frozenset[str]]]


def read_submitters(file: File) -> dict[str, People]:
    """For each folder of the export, the students whose submission it is: what tells each apart, and all names.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        data = file.read(LARGEST)
        found = yaml.load(data[:LARGEST], Loader=_Loader)
    except (OSError, UnreadableArchiveError, yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{METADATA_FILE} cannot be read ({type(error).__name__}): export it anew.") from error
    entries = found.items() if isinstance(found, Mapping) else ()
    return {str(folder): people for folder, entry in entries if (people := _people(entry))}


def _people(entry: Any) -> People:
    listed = entry.get(":submitters") if isinstance(entry, Mapping) else None
    found = []
    for person in listed if isinstance(listed, list) else ():
        said = [str(person[key]).strip() for key in IDENTITY if person.get(key)] if isinstance(person, Mapping) else []
        if said:
            found.append((said[0], frozenset(said)))
    return found

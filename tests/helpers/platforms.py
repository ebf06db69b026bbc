"""Submissions in the layout of each platform: right, wrong, late, repeated and hostile ones."""

from __future__ import annotations

import io
import json
import os
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from helpers.courses import ROOT

RIGHT = (ROOT / "solutions/04_linear/lin_grad.py").read_text()
MEAN = RIGHT.replace("out.g.sum(0)", "out.g.mean(0)")
STUB = (ROOT / "exercises/04_linear/lin_grad.py").read_text()
EXITS = "import os\n\ndef lin_grad(inp, out, w, b):\n    os._exit(0)\n"
UNIT = "04_linear"
Files = Mapping[str, str | bytes]


def put(folder: Path, files: Files) -> Path:
    """Write files, all with one time."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


def zipped(files: Files) -> bytes:
    """Return a zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def tarred(files: Files, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    """Return a .tar.gz archive; with `kind`, of links to `target`."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(data) if kind == tarfile.REGTYPE else 0, kind, target
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def notebook(*cells: str) -> str:
    """Return a notebook of code cells."""
    listed = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    text = [{"cell_type": "markdown", "source": "def lin_grad(): my answers"}]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [*text, *listed]})


def moodle(folder: Path) -> Path:
    """Moodle's "download all submissions": one zip with a folder for each student."""
    file, text = "_assignsubmission_file", "_assignsubmission_onlinetext/onlinetext.html"
    files = {
        f"Ada Lovelace_101{file}/lin_grad.py": RIGHT,
        f"Ada Lovelace_101{text}": "<p>done</p>",
        f"Bob Müller_102{file}/week 4/lin_grad (1).py": MEAN,
        f"Cem Öz_103{file}_/hw.zip": zipped({"my-course/exercises/04_linear/lin_grad.py": RIGHT}),
        f"Dan O'Neil_104{text}": "<p>It is in my other folder.</p>",
        f"Eve X_105{file}/../../../etc/lin_grad.py": RIGHT,
        f"Eve X_105{file}/lin_grad.py": EXITS,
    }
    put(folder, {"CS-Linear-4711.zip": zipped(files)})
    return folder / "CS-Linear-4711.zip"


MOODLE_GRADES = """Identifier,Full name,Email address,Status,Grade
Participant 101,Ada Lovelace,ada@uni.edu,Submitted,
Participant 102,Bob Müller,bob@uni.edu,Submitted,
Participant 103,Cem Öz,cem@uni.edu,Submitted,
Participant 104,Dan O'Neil,dan@uni.edu,Submitted,
Participant 106,Fay F,fay@uni.edu,No submission,
"""


def moodle_without_folders(folder: Path) -> Path:
    """Return the same files, for an instructor who prefers no folders."""
    both = {f"Bob_102_assignsubmission_file_lin_grad{copy}.py": MEAN if copy else RIGHT for copy in ("", " (1)")}
    return put(folder / "flat", {"Ada_101_assignsubmission_file_lin_grad.py": RIGHT, **both, "notes.txt": "mine"})


def canvas(folder: Path) -> Path:
    """Canvas's "download submissions": one zip of files, with the student's name and number and the upload's."""
    files = {
        "lovelaceada_201_9001_lin_grad.py": RIGHT,
        "mullerbob_LATE_202_9002_lin_grad-1.py": MEAN,
        "ozcem_203_9003_lin_grad.py": MEAN,
        "ozcem_203_9010_lin_grad-1.py": RIGHT,
        "oneildan_204_text.html": "<p>hi</p>",
        "evex_205_9005_lin_grad.py": EXITS,
        "fayf_206_9006_hw.zip": zipped({"../lin_grad.py": MEAN, "lin_grad.py": RIGHT}),
        "LATE_anon_Ab1Cd_9007_lin_grad.py": RIGHT,
    }
    put(folder, {"submissions.zip": zipped(files)})
    return folder / "submissions.zip"


CANVAS_GRADES = """Student,ID,SIS User ID,SIS Login ID,Section,Linear (77)
    Points Possible,,,,,24.75
"Lovelace, Ada",201,u201,ada,A,
"Müller, Bob",202,u202,bob,A,
"Öz, Cem",203,u203,cem,A,
"O'Neil, Dan",204,u204,dan,A,
"X, Eve",205,u205,eve,A,
"F, Fay",206,u206,fay,A,
"G, Gil",207,u207,gil,A,
"""

GRADESCOPE_METADATA = """---
submission_301:
  :submitters:
  - :name: Ada Lovelace
    :sid: '101'
    :email: ada@uni.edu
  :created_at: 2026-04-26 17:34:00.861687000 Z
  :results: !ruby/object:Results
    output: |-
      submission_302:
        :submitters: []
submission_302:
  :submitters:
  - :name: Bob Müller
    :email: bob@uni.edu
  - :name: ../../Cem
    :sid: 103
submission_303:
  :submitters: []
"""


def gradescope(folder: Path) -> Path:
    """Gradescope's "export submissions"."""
    at = "assignment_777_export/"
    files = {
        f"{at}submission_metadata.yml": GRADESCOPE_METADATA,
        f"{at}submission_301/lin_grad.py": RIGHT,
        f"{at}submission_302/04_linear/lin_grad.py": MEAN,
        f"{at}submission_303/main.py": "import os",
        f"__MACOSX/{at}._submission_metadata.yml": "",
    }
    put(folder, {"export.zip": zipped(files)})
    return folder / "export.zip"


def github(folder: Path) -> Path:
    """Return what `gh classroom clone student-repos` makes; the times of a clone have no meaning."""
    clones, at = folder / "lin-alg-submissions", f"my-course/exercises/{UNIT}/lin_grad.py"
    for student, source in {"ada-l": RIGHT, "bob": MEAN, "cem": STUB, "dan": ""}.items():
        around = {".git/HEAD": "ref: refs/heads/main", "README.md": "", "my-course/course.yaml": ""}
        put(clones / f"lin-alg-{student}", {**around, **({at: source} if source else {})})
    put(clones / "lin-alg-cem", {"lin_grad.py": RIGHT})  # by way of the browser, and the stub is still there
    put(clones / "lin-alg-bob", {"old/lin_grad.py": RIGHT})
    os.utime(clones / "lin-alg-bob/old/lin_grad.py")
    return clones


GITHUB_ROSTER = """"identifier","github_username","github_id","name"
"u101","ada-l","1","Ada"
"u102","bob","2",""
"u103","cem","3",""
"u104","dan","4",""
"u105","","",""
"""


def sections(folder: Path) -> Path:
    """Return a folder for each section, with a folder or an archive for each student; two are called Ada."""
    put(folder / "class/Monday", {"ada/lin_grad.py": RIGHT, "bob/04_linear/lin_grad.py": MEAN})
    put(folder / "class/Friday", {"ada/lin_grad.py": MEAN, "cem.zip": zipped({"x/lin_grad.py": RIGHT})})
    return put(folder / "class/Friday", {"dan.tar.gz": tarred({"./lin_grad.py": EXITS})}).parent


def odd_names(folder: Path) -> Path:
    """Right answers under the names that browsers, editors and people make."""
    names = (
        (
            "lin_grad (1).py lin_grad-2.py Lin_Grad.py lin_grad.py.txt deep/in/some/folder/lin_grad.py lin-grad.py "
            "repo/my-course/exercises/04_linear/lin_grad.py 04_Linear/lin_grad.py"
        )
        .replace(" (", "|(")
        .split()
    )
    spelled = [name.replace("|", " ") for name in (*names, "lin_grad|-|Copy.py", "Copy|of|lin_grad.py", "LIN|GRAD.PY")]
    files: dict[str, str | bytes] = {f"s{number:02}/{name}": RIGHT for number, name in enumerate(spelled)}
    files["book/04_linear.ipynb"] = notebook("import torch", RIGHT, 'check("lin_grad")')
    files["zip/hand in.zip"] = zipped({"a/b/lin_grad.py": RIGHT, "__MACOSX/a/b/._lin_grad.py": b"\0"})
    files["tar/hw.tar.gz"] = tarred({"./lin_grad.py": RIGHT})
    files["flat.zip"] = zipped({"lin_grad.py": RIGHT})
    return put(folder / "odd", files)

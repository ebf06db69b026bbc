"""Draws classes of odd names, links, devices, modes, archives and contents beside one honest student."""

from __future__ import annotations

import ctypes
import gzip
import io
import json
import os
import random
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

HONEST = "honest"
MOST = 5  # other entries of a class
CAPSET = {"x86_64": 126, "aarch64": 91}
LINUX_CAPABILITY_VERSION_3 = 0x20080522

NAMES = [
    b"ada", b"Ada", b"..ada", b"...", b".x", b"env", b"venv", b"node_modules", b"__pycache__", b"__MACOSX", b".git",
    b"\xff", b"caf\xe9", b"\xed\xa0\x80", "Núñez, José".encode(), "é".encode() * 100, b"x" * 240, b" ", b" a ",
    b"-rf", b"a\nb", b"a\x1b[2Jb", b"a\x07", b"=cmd()", b"'; drop", b'q"uote', b"a,b;c", b"%s{0}", b"grades",
    b"removed", b"CON", b"exercises", b"04_linear", b"lin_grad", b"lin_grad.py", b"a.zip.zip", b"a.json",
    b"\xe2\x80\xaegnorts", b"_.ada-bc87ce9d6d9a", b"ada-" + b"0" * 32, b"solutions", b"a\\b", b"<b>",
    b"\xf0\x9f\x98\x80",
]  # fmt: skip
FILES = [
    b"lin_grad.py", b"04_linear/lin_grad.py", b"exercises/04_linear/lin_grad.py", b"lin_grad (1).py", b"Lin-Grad.py",
    b"lin_grad.py.txt", b"homework.ipynb", b"lin_grad.ipynb", b"quiz.yaml", b"04_linear/quiz.yaml", b"helper.py",
    b".py", b"\xff.py", b"caf\xe9.py", b"\xed\xa0\x80.py", b"a\nb.py", b"x" * 250 + b".py", b"README.md",
    b"relu_grad.py", b"a/b/c/d/e/f/lin_grad.py", b".hidden.py", b"env/lin_grad.py", b"hw.rar", b"hw.zip",
    b"hw.tar.gz", b"\x1b[2J.txt", b"\xff/lin_grad.py", b"a.ipynb", b"b.ipynb", b"torch.py", b"lin_grad.PY",
    b"lin_grad",
]  # fmt: skip


def notebook(source: object) -> bytes:
    cells = [{"cell_type": "code", "source": source, "outputs": [], "metadata": {}}]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def contents(right: bytes) -> list[bytes]:
    """Draw the content of a file."""
    return [
        right, right, right.replace(b"sum", b"mean"), b"", b"\0" * 99, b"\xff\xfe", b"def lin_grad(",
        b"# \xe9\n" + right, right.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + right, b"#" * ((1 << 20) + 1),
        b"(" * 5000, b"[" * 100_000, b"import os\nos._exit(0)\n", b"raise SystemExit\n",
        b"def lin_grad(*a): return lin_grad(*a)\n", b"PK\3\4 no zip", notebook(right.decode()),
        notebook([1, None, "x"]), notebook({}), notebook("\ud800"), b"{}", b"null", b'{"cells": 1}',
        b'{"cells": [null, [], {"cell_type": []}]}', gzip.compress(b"no tar"), b"weight_gradient: inp[None:]\n",
        b"a: &a [*a]\n", b"- " * 2000, b"\x1f\x8b\x08", b"def lin_grad(inp, out, w, b): print('\\x1b[2J' * 9)\n",
    ]  # fmt: skip


def draw_class(root: Path, right: bytes, seed: int) -> list[bytes]:
    """Lay down a class in an empty folder.

    Returns:
        The names of its folders and archives, each of which is somebody's, or is told of.
    """
    draw = random.Random(seed)
    place = root / HONEST / "04_linear"
    place.mkdir(parents=True)
    (place / "lin_grad.py").write_bytes(right)
    names = [HONEST.encode()]
    for name in draw.sample(NAMES, draw.randint(1, MOST)):
        entry = draw.choice((_folder, _folder, _folder, _archive, _odd))
        if made := entry(os.fsencode(root), name, right, draw):
            names.append(made)
    return names


def _folder(root: bytes, name: bytes, right: bytes, draw: random.Random) -> bytes | None:
    top = os.path.join(root, name)
    os.mkdir(top)
    for file in draw.sample(FILES, draw.randint(0, 6)):
        path = os.path.join(top, file)
        if os.path.lexists(path) or not _make_folders(top, os.path.dirname(file)):
            continue
        kind = draw.random()
        if kind < 0.75:
            with open(path, "xb") as made:
                made.write(draw.choice(contents(right)) if draw.random() < 0.85 else _packed(right, draw)[1])
        elif not _odd_file(path, draw):
            continue
        if draw.random() < 0.1 and stat.S_ISREG(os.lstat(path).st_mode):
            os.chmod(path, draw.choice((0, 0o200, 0o4755)))
        if draw.random() < 0.1:
            os.utime(path, (0, draw.choice((0, -1, 2**33))), follow_symlinks=False)
    if draw.random() < 0.1:
        os.chmod(top, draw.choice((0, 0o100, 0o400)))
    return name


def _make_folders(top: bytes, folder: bytes) -> bool:
    """Make the folders below `top`; `False` where a file is in their place."""
    at = top
    for part in folder.split(b"/") if folder else ():
        at = os.path.join(at, part)
        if not os.path.isdir(at) or os.path.islink(at):
            if os.path.lexists(at):
                return False
            os.mkdir(at)
    return True


def _odd_file(path: bytes, draw: random.Random) -> bool:
    """Make a link, a pipe, a device or a folder in the place of a file."""
    made: Callable[[], object] = draw.choice(
        (
            lambda: os.symlink(b"/etc/passwd", path),
            lambda: os.symlink(os.path.basename(path), path),
            lambda: os.symlink(b"..", path),
            lambda: os.symlink(b"/nowhere/at/all", path),
            lambda: os.mkfifo(path),
            lambda: os.mkdir(path),
            lambda: os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5)),
            lambda: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 32),
        )
    )
    try:
        made()
    except (PermissionError, OSError):  # no device may be made here
        return False
    return True


def _archive(root: bytes, name: bytes, right: bytes, draw: random.Random) -> bytes | None:
    ending, data = _packed(right, draw)
    path = os.path.join(root, name[:200] + ending)
    with open(path, "xb") as made:
        made.write(data)
    return os.path.basename(path)


def _packed(right: bytes, draw: random.Random) -> tuple[bytes, bytes]:
    """Draw an archive of drawn files, and its ending; some are damaged."""
    files = {name: draw.choice(contents(right)) for name in draw.sample(FILES, draw.randint(0, 4))}
    ending = draw.choice((b".zip", b".tar", b".tar.gz", b".tgz"))
    if draw.random() < 0.1:
        files[b"../../escape.py"] = right
    if draw.random() < 0.1:
        files[b"inner.zip"] = _zip({b"lin_grad.py": right})
    data = _zip(files) if ending == b".zip" else _tar(files, ending, draw)
    if draw.random() < 0.2:
        at = draw.randrange(len(data))
        data = draw.choice((data[:at], data[:at] + draw.randbytes(9) + data[at + 9 :], draw.randbytes(99)))
    return ending, data


def _zip(files: dict[bytes, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.decode("cp437"), content)
    return stream.getvalue()


def _tar(files: dict[bytes, bytes], ending: bytes, draw: random.Random) -> bytes:
    stream = io.BytesIO()
    mode = "w" if ending == b".tar" else "w:gz"
    with tarfile.open(
        fileobj=stream, mode=mode, format=draw.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    ) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(os.fsdecode(name))
            member.size, member.mtime = len(content), draw.choice((0, 10**9))
            if draw.random() < 0.1:
                member.type, member.linkname = (
                    draw.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE)),
                    "/etc/passwd",
                )
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _odd(root: bytes, name: bytes, right: bytes, draw: random.Random) -> bytes | None:
    """Make something that is nobody's submission: a link, a pipe, a device, a lone file."""
    path = os.path.join(root, name)
    if draw.random() < 0.3:
        with open(path + b".txt", "xb") as made:
            made.write(draw.choice(contents(right)))
    else:
        _odd_file(path, draw)
    return name if os.path.isdir(path) and not os.path.islink(path) else None


def drop_capabilities() -> None:
    """Let the modes of files hold for this process as they do for anybody."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.syscall(CAPSET[os.uname().machine], header, nothing):
        raise OSError(ctypes.get_errno(), "capset")

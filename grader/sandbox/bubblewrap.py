"""The bubblewrap box: no network, no other process, no file but Python, its libraries, torch and `grader.child`.

It never contains solutions, submissions, the gradebook, a home, or other packages of site-packages.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGES = "/packages"  # the folder in the box that holds torch, numpy and this package
LIBRARIES = ("torch", "torchgen", "numpy", "numpy.libs", "typing_extensions.py", "nvidia")
PACKAGE = Path(__file__).resolve().parent.parent
OF_THIS_PACKAGE = ("__init__.py", "errors.py", "child")
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"  # read by malloc; without huge pages a fork takes twice as long
WALLS = "--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try --new-session".split()
OF_ROOT = "--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID".split()  # what it needs to stop being root
SYSTEM_LIBRARIES = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")


def box_command(arguments: Sequence[str]) -> list[str]:
    """Return the command that runs this Python in a sandbox of bubblewrap.

    Args:
        arguments: the arguments of Python. It starts without site-packages: code among them that imports torch, numpy
            or this package must first put `PACKAGES` on `sys.path`.

    Raises:
        FileNotFoundError: bubblewrap, torch or numpy is not installed.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise FileNotFoundError(
            "bubblewrap is not installed (`apt-get install bubblewrap`, or your system's package of that name)"
        )
    python = str(Path(sys.executable).resolve())
    user = OF_ROOT if os.geteuid() == 0 else ["--unshare-user"]
    return [bwrap, *WALLS, *user, *_file_options(python), "--", python, "-I", "-S", "-B", *arguments]


def _file_options(python: str) -> list[str]:
    """Return the options of bubblewrap for what can be seen in the sandbox, whose working directory is /.

    It is /proc, /dev/null, /dev/urandom and read-only files. Installed packages are hidden, but for those of
    `_packages`, which stand below `PACKAGES`.

    Args:
        python: the path of the interpreter.
    """
    content = ["--proc", "/proc"]
    for device in ("/dev/null", "/dev/urandom"):
        content += ["--dev-bind", device, device]
    for folder in _library_folders():
        content += ["--ro-bind-try", str(folder), str(folder)]
        for packages in [*folder.glob("*-packages"), *folder.glob("python*/*-packages")]:
            content += ["--tmpfs", str(packages)]
    for file in ("/etc/ld.so.cache", HUGE_PAGES):
        content += ["--ro-bind-try", file, file]
    content += ["--ro-bind", python, python]
    for name, path in _packages():
        content += ["--ro-bind", str(path), f"{PACKAGES}/{name}"]
    return [*content, "--remount-ro", "/", "--chdir", "/"]


def _library_folders() -> list[Path]:
    """Return the folders with the standard library and with the shared libraries of the system."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or "none"
    wide = [Path("/lib64"), Path("/usr/lib64"), *(Path(folder, multiarch) for folder in SYSTEM_LIBRARIES)]
    own = [] if sys.base_prefix == "/usr" else [Path(sys.base_prefix, "lib")]
    standard = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    inside = [path for path in standard if not any(path.is_relative_to(folder) for folder in own)]
    return [path for path in dict.fromkeys([*wide, *own, *inside]) if path.is_dir()]


def _packages() -> Iterator[tuple[str, Path]]:
    """Yield all that the child imports: its path in the sandbox, below `PACKAGES`, and its path outside.

    Each library is taken from the first of the two's folders that has it, and left out if none has.

    Raises:
        FileNotFoundError: torch or numpy is not installed.
    """
    sites = []
    for name in ("torch", "numpy"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"{name} is not installed")
        sites.append(Path(spec.origin).parent.parent)
    for library in LIBRARIES:
        yield from [(library, site / library) for site in sites if (site / library).exists()][:1]
    yield from ((f"grader/{part}", PACKAGE / part) for part in OF_THIS_PACKAGE)

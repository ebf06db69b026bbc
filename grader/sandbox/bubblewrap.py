"""The bubblewrap box: no network, no other process, no file but Python, its libraries, torch and this package's worker.

Never in it: solutions/, submissions, the gradebook, a home, the rest of site-packages.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

PACKAGES = "/packages"
LIBRARIES = ("torch", "torchgen", "numpy", "numpy.libs", "typing_extensions.py", "nvidia")
PACKAGE = Path(__file__).resolve().parent.parent
OF_THIS_PACKAGE = ("__init__.py", "errors.py", "child")
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"  # malloc asks there; without them each fork takes twice as long
WALLS = "--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try --new-session".split()
OF_ROOT = "--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID".split()  # what it needs to stop being root
SYSTEM_LIBRARIES = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")


def command(arguments: Sequence[str]) -> list[str]:
    """The command that runs this Python in a box, with `PACKAGES` on no path yet.

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
    return [bwrap, *WALLS, *user, *_content(python), "--", python, "-I", "-S", "-B", *arguments]


def _content(python: str) -> list[str]:
    """What can be seen inside, all of it read-only."""
    content = ["--proc", "/proc"]
    for device in ("/dev/null", "/dev/urandom"):
        content += ["--dev-bind", device, device]
    for folder in _interpreter():
        content += ["--ro-bind-try", str(folder), str(folder)]
        for packages in [*folder.glob("*-packages"), *folder.glob("python*/*-packages")]:
            content += ["--tmpfs", str(packages)]
    for file in ("/etc/ld.so.cache", HUGE_PAGES):
        content += ["--ro-bind-try", file, file]
    content += ["--ro-bind", python, python]
    for name, path in _packages():
        content += ["--ro-bind", str(path), f"{PACKAGES}/{name}"]
    return [*content, "--remount-ro", "/", "--chdir", "/"]


def _interpreter() -> list[Path]:
    """Folders with the standard library and the shared libraries of the system."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or "none"
    wide = [Path("/lib64"), Path("/usr/lib64"), *(Path(folder, multiarch) for folder in SYSTEM_LIBRARIES)]
    own = [] if sys.base_prefix == "/usr" else [Path(sys.base_prefix, "lib")]
    standard = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    inside = [path for path in standard if not any(path.is_relative_to(folder) for folder in own)]
    return [path for path in dict.fromkeys([*wide, *own, *inside]) if path.is_dir()]


def _packages() -> Iterator[tuple[str, Path]]:
    """Name inside the box and place outside, for each library and each part of this package that the child needs."""
    sites = []
    for name in ("torch", "numpy"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"{name} is not installed")
        sites.append(Path(spec.origin).parent.parent)
    for library in LIBRARIES:
        yield from [(library, site / library) for site in sites if (site / library).exists()][:1]
    yield from ((f"grader/{part}", PACKAGE / part) for part in OF_THIS_PACKAGE)

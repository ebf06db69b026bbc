"""Imports of learner code: files of its own submission, stand-ins for libraries that draw, or else installed modules.

A check imports as a graded run does, where no file can be opened: a library that draws is replaced by a stand-in in
both, whether it is installed or not.
"""

from __future__ import annotations

import ast
import dis
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn

from .preloaded_modules import MODULES, is_banned

SHOWS = frozenset(
    "matplotlib mpl_toolkits pylab seaborn plotly bokeh altair plotnine holoviews hvplot panel pandas polars tabulate "
    "prettytable IPython ipywidgets ipympl ipytest google tqdm rich progressbar fastprogress alive_progress colorama "
    "termcolor loguru PIL imageio cv2 skimage torchviz graphviz pydot networkx torchsummary torchinfo torchview "
    "tensorboard tensorboardX wandb mlflow comet_ml visdom livelossplot pytest hypothesis jaxtyping beartype typeguard "
    "torchtyping ipdb pudb".split()
)
PARTS = ("torch.utils.tensorboard", "numpy.f2py")  # the latter is among the names of numpy, and needs a compiler
OURS = ("handgrad", "grader")  # imported by the cells of notebooks; older notebooks import the second
PROGRESS = frozenset("tqdm rich progressbar fastprogress alive_progress".split())
HAS = "checks and graded runs have Python's modules, torch, numpy, and the files in the same folder"
NOTHING = "{} is ignored in checks and graded runs, so nothing can be computed with it"
IMPORTS = re.compile(r"^[ \t]*(?:import|from)\b|;[ \t]*(?:import|from)\b", re.MULTILINE)
UNPACKS = {dis.opmap["UNPACK_SEQUENCE"], dis.opmap["UNPACK_EX"]}
NUMBERS = "array float int index complex".split()
OPERATORS = (
    "getitem setitem neg lt gt le ge add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod "
    "pow rpow matmul rmatmul and rand or ror"
).split()
Run = Callable[[str, str, dict[str, Any]], None]


class NotThere(ModuleNotFoundError):
    """Learner code needs a module that checks and graded runs do not have."""


def absence(error: ImportError) -> str:
    """Return the learner's message for an import that failed; for a missing module, it lists the modules there are."""
    message = str(error.msg)[:200]
    return f"{message}; {HAS}" if type(error) is ModuleNotFoundError else message


class Absent:
    """A stand-in for a name whose import failed: every use of it raises `NotThere` with the reason."""

    def __init__(self, why: str) -> None:
        """Make a stand-in that raises with the message `why`."""
        self._why = why

    def __getattr__(self, name: str) -> Any:
        """Raise `NotThere` with the reason; `AttributeError` for a special attribute such as `__len__`."""
        raise AttributeError(name) if name.startswith("__") else NotThere(self._why)  # `__` asks only what it is

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Raise `NotThere` with the reason: what a call, an operator or a conversion of the stand-in runs."""
        raise NotThere(self._why)


for _name in (*NUMBERS, *OPERATORS, "call", "iter", "mro_entries", "instancecheck"):
    setattr(Absent, f"__{_name}__", Absent._refuse)


class PassedOver(Absent, types.ModuleType):
    """A stand-in for a library that shows things, and for every attribute and result of it: it does nothing.

    A progress bar still yields the items that it is given, and a decorator returns its function. It is never a number:
    to compute with it raises `NotThere`.
    """

    __through__: Any = ()  # the iterable that a progress bar was given

    def __init__(self, name: str) -> None:
        """Make a stand-in for the module or attribute of this full name."""
        types.ModuleType.__init__(self, name)
        super().__init__(NOTHING.format(name.partition(".")[0]))

    def __call__(self, *args: Any, **_kwargs: object) -> Any:
        """Return the function that is the only argument, as for a decorator.

        Otherwise a stand-in for the result of the call.
        """
        if len(args) == 1 and isinstance(args[0], types.FunctionType):
            return args[0]
        result = PassedOver(self.__name__)
        if args and self.__name__.partition(".")[0] in PROGRESS:
            result.__through__ = args[0]
        return result

    def __getattr__(self, name: str) -> Any:
        """Return a stand-in for an attribute of the library; raise `AttributeError` for a special one."""
        return super().__getattr__(name) if name.startswith("__") else PassedOver(f"{self.__name__}.{name}")

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator of the items that a progress bar was given, or of stand-ins for `fig, ax = ...`.

        For any other stand-in, it is empty.
        """
        frame = sys._getframe(1)
        code, at = frame.f_code.co_code, frame.f_lasti
        if code[at] in UNPACKS:  # fig, ax = plt.subplots()
            return iter([PassedOver(self.__name__) for _ in range(code[at + 1])])
        through = range(self.__through__) if isinstance(self.__through__, int) else self.__through__  # trange(10)
        return iter(through) if hasattr(type(through), "__iter__") else iter(())

    def __len__(self) -> int:
        """Return the number of items that a progress bar was given; 0 for any other stand-in."""
        return len(self.__through__) if hasattr(type(self.__through__), "__len__") else 0

    def __repr__(self, _spec: str = "") -> str:
        """Return the name of the library or attribute, such as "<tqdm.auto, ignored>"."""
        return f"<{self.__name__}, ignored>"

    __format__ = __repr__

    @classmethod
    def __torch_function__(cls, _function: object, _types: object, args: Any = (), _kwargs: object = None) -> NoReturn:
        """Raise `NotThere` with the reason, since an operation of torch was given a stand-in."""
        next((argument for argument in args if isinstance(argument, cls)), cls("it"))._refuse()


# An operation returns the stand-in itself; these special methods must return something else.
_ANSWERS = {"bool": True, "exit": None, "mro_entries": (), "instancecheck": False}
for _name in (*OPERATORS, "enter", *_ANSWERS):
    setattr(PassedOver, f"__{_name}__", lambda self, *_, _name=_name: _ANSWERS.get(_name, self))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Find and load the submission's own files, and stand-ins for libraries that show things.

    Args:
        sources: the texts of the submission's files, by the names of their modules.
        folder: the path of the submission's folder, with a slash at its end.
        run: runs a file: called with its text, its path and the namespace of its module.

    Attributes:
        loaded: the names of the modules that were loaded.
    """

    def __init__(self, sources: Mapping[str, str], folder: str, run: Run) -> None:
        """Begin with no module loaded.

        Args:
            sources: the texts of the submission's files, by the names of their modules.
            folder: the path of the submission's folder, with a slash at its end.
            run: runs a file: called with its text, its path and the namespace of its module.
        """
        self.sources, self.folder, self.run = sources, folder, run
        self.loaded: list[str] = []

    def find_spec(self, name: str, *_where: object) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module that is a file of the submission or a library that draws.

        `None` for any other name.
        """
        if name in self.sources:
            return importlib.util.spec_from_loader(name, self, origin=f"{self.folder}{name}.py")
        return importlib.util.spec_from_loader(name, self, is_package=True) if is_passed_over(name) else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """Return a `PassedOver` for a library that draws; `None`, for an ordinary module, for a submitted file."""
        self.loaded.append(spec.name)
        return None if spec.name in self.sources else PassedOver(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the text of a submitted file in its module; do nothing for a stand-in."""
        if text := self.sources.get(module.__name__):
            module.__file__ = f"{self.folder}{module.__name__}.py"
            self.run(text, module.__file__, vars(module))


@contextmanager
def learner_imports(sources: Mapping[str, str], folder: str, run: Run) -> Iterator[None]:
    """Let imports within this context be those of learner code; afterwards, none of its modules stays in this process.

    Args:
        sources: the texts of the submission's files, by the names of their modules.
        folder: the path of the submission's folder, with a slash at its end.
        run: runs a file: called with its text, its path and the namespace of its module.
    """
    _available_modules()  # cached before learner code adds to `sys.modules`
    finder = _Finder(sources, folder, run)
    # A look at every module copies its pages in a forked process, so it is taken only if one is to be removed.
    loaded = list(sys.modules) if any(map(sys.modules.get, SHOWS)) else []
    before = {name: sys.modules.pop(name) for name in loaded if is_passed_over(name)}
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in finder.loaded:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def is_passed_over(name: str) -> bool:
    """Return whether the module of this name is replaced by a stand-in without effect.

    These are libraries that only show things, and modules of this project that notebooks import.
    """
    package, _, inside = name.partition(".")
    is_ours = package == "handgrad" or (package == "grader" and inside != "" and name not in _available_modules())
    return package in SHOWS or is_ours or name in PARTS


def unusual_imports(text: str, tree: ast.Module, own: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the imports of modules that a graded run does not have or replaces, as `{"name": "scipy", "line": 3}`.

    Args:
        text: the source.
        tree: the module that the source was parsed to.
        own: the submission's other files, by the names of their modules.
    """
    for node in ast.walk(tree) if IMPORTS.search(text) else ():
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        else:
            continue
        unusual = (name for name in names if name not in own and name not in _available_modules())
        yield from ({"name": name, "line": node.lineno} for name in unusual if name.partition(".")[0] not in OURS)


@cache
def _available_modules() -> frozenset[str]:
    """Return the names of the modules that a graded run has; first called before any learner code is run."""
    preloaded = {name.rsplit(".", dots)[0] for name in MODULES for dots in range(name.count(".") + 1)}
    names = {*preloaded, *sys.modules, *sys.builtin_module_names, "__future__"}
    return frozenset(name for name in names if name.partition(".")[0] not in SHOWS and not is_banned(name))

"""Modules that learner code may import in a graded run, which are loaded beforehand: no file can be opened later.

Some functions import on their first call, depending on the versions of Python, numpy and torch: they are called once.
"""

from __future__ import annotations

import contextlib
import importlib
import operator
import re
import sys
import types
import warnings
from collections.abc import Callable

import numpy as np
import torch

MODULES = """
abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath codecs collections.abc
concurrent.futures contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis doctest
encodings.ascii encodings.cp1252 encodings.hex_codec encodings.idna encodings.latin_1 encodings.punycode
encodings.raw_unicode_escape encodings.unicode_escape encodings.utf_16 encodings.utf_32 encodings.utf_8_sig enum
errno fractions functools gc getpass glob graphlib hashlib heapq hmac html inspect io itertools json json.tool keyword
linecache locale logging logging.handlers math numbers operator os os.path pathlib pdb pickle platform
pprint queue random re reprlib resource sched secrets select shlex shutil signal socket statistics
string stringprep struct subprocess symtable sys tempfile textwrap threading time timeit token tokenize
traceback tracemalloc types typing unicodedata unittest unittest.mock uuid warnings weakref
bz2 cProfile configparser gzip lzma profile pstats urllib.parse xml.etree.ElementTree zipfile
zlib zoneinfo _strptime _pydecimal
numpy numpy.char numpy.core numpy.ctypeslib numpy.fft numpy.lib.stride_tricks numpy.linalg numpy.ma numpy.polynomial
numpy.random numpy.rec numpy.strings numpy.testing numpy.typing
torch torch.backends.opt_einsum torch.distributions torch.fft torch.func torch.linalg torch.nn torch.nn.functional
torch.nn.init torch.nn.utils torch.optim torch.special torch.testing torch.utils._device torch.utils.checkpoint
torch.utils.data torch.utils.serialization typing_extensions
""".split()

CALLS = """
torch.optim.SGD([torch.nn.Parameter(a)], lr=1.0).zero_grad(); torch.manual_seed(0); repr(a); torch.norm(a);
np.linalg.inv(n); np.einsum("ij,jk->ik", n, n, optimize=True); np.fft.fft(n); np.pad(n, 1); np.median(n); repr(n);
np.random.default_rng(0).normal(size=2); np.random.rand(2); np.testing.assert_allclose(n, n);
datetime.datetime.strptime("2000", "%Y"); decimal.Decimal(1) / 3; fractions.Fraction(1, 3); statistics.stdev([1, 2]);
"x".encode("ascii"); "x".encode("latin-1"); "x".encode("utf-16"); "x".encode("idna"); platform.system(); uuid.uuid4();
inspect.signature(copy.copy); typing.get_type_hints(copy.copy); hashlib.sha256(b"").hexdigest(); copy.deepcopy(a);
warnings.warn("warm"); logging.getLogger("warm").warning("warm"); traceback.format_exc()
""".split(";")

BANNED = (
    "sympy mpmath symengine autograd jax jaxlib tensorflow keras theano aesara pytensor casadi mxnet paddle mindspore "
    "tinygrad chainer cupy mlx numdifftools algopy functorch torch._inductor torch.testing._internal.common_utils "
    "torch.testing._internal.custom_op_db torch.testing._internal.autograd_function_db "
    "torch._decomp.decompositions_for_jvp torch.distributed.autograd torch.export.experimental"
).split()
_BANNED = tuple(f"{name}." for name in BANNED)


def is_banned(name: str) -> bool:
    """Return whether a graded run refuses to import the module of this name, by which torch differentiates."""
    return f"{name}.".startswith(_BANNED)


def ban() -> None:
    """Make imports of banned modules fail with a message that names the module.

    No file could be opened anyway.
    """
    sys.modules.update(dict.fromkeys([*filter(is_banned, sys.modules), *BANNED]))  # type: ignore[arg-type]


def load() -> None:
    """Import all `MODULES` and make all `CALLS`; those that this version of a library does not have are skipped."""
    _leave_out_the_compiler()
    with warnings.catch_warnings(), contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
        warnings.simplefilter("ignore")
        for name in MODULES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        names = {**sys.modules, "a": torch.eye(2), "n": np.eye(2), "np": np}
        for call in CALLS:
            with contextlib.suppress(Exception):
                eval(call, names)


def _leave_out_the_compiler() -> None:
    """Install stand-ins for torch's compiler, which a few ordinary functions import on their first call.

    The compiler takes 100 MB, and imports sympy, which differentiates. Without it sizes are numbers and never symbols,
    as the stand-ins assume.
    """
    _install_stand_in("torch._dynamo", disable=lambda function, *_args, **_options: function, graph_break=lambda: None)
    _install_stand_in(
        "torch.fx.experimental.symbolic_shapes",
        sym_eq=operator.eq, sym_and=lambda *every: all(every), sym_or=lambda *some: any(some),
        definitely_false=operator.not_, has_hint=lambda _size: True, has_guarding_hint=lambda _size: True,
        free_symbols=lambda _value: set(), free_unbacked_symbols=lambda _value: set(),
    )  # fmt: skip
    sys.modules["sympy"] = sys.modules["mpmath"] = None  # type: ignore[assignment]
    vars(importlib.import_module("torch.testing._comparison"))["_HAS_DTENSOR"] = False


def _install_stand_in(name: str, **names: Callable[..., object]) -> None:
    """Register a module of this name with these functions, unless it is imported already.

    Args:
        name: the name of the module.
        names: the functions of the module, by name; any other function that a version of torch asks for is a
            `_size_function`.
    """
    module = types.ModuleType(name)
    module.__dict__.update(names, __getattr__=_size_function)
    sys.modules.setdefault(name, module)


def _size_function(name: str) -> Callable[..., object]:
    """Return a stand-in, for sizes that are plain numbers, for the function with this name about symbolic sizes.

    A function whose name begins with `is_` or `has_` returns `False`; one such as `guard_int` or `hint_int` returns the
    size itself.

    Raises:
        AttributeError: the name is not that of a function about sizes.
    """
    if re.match(r"_?(is|has)_", name):
        return lambda *_sizes: False
    if re.match(r"_?(guard|expect|definitely|statically|optimization|hint|constrain)", name):
        return lambda size, *_more, **_options: size
    raise AttributeError(name)

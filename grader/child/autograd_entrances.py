"""Close every entrance to differentiation that Python can name: engine, functorch, forward mode, TorchScript, dynamo.

What lies behind them is already gone from the dispatcher. Closing them says so at once (`AutogradUsed`), and takes
away the parts that do not go through the dispatcher: TorchScript differentiates graphs by rules of its own, and
`torch._decomp` holds derivatives written in Python.
"""

from __future__ import annotations

import ctypes
import gc
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

import torch
import torch._decomp
import torch._functorch.eager_transforms
import torch.masked
import torch.nn.grad

from .no_autograd import refuse

ENGINE = ("run_backward", "queue_callback")
TORCHSCRIPT = re.compile(
    r"_jit_(script|interface|trace_|differentiate|interpret|decomposition|register|to_|set_prof|run_|fuser|pass_)"
    r"|_?import_ir|_load_|_create_(function|graph|method)|parse_ir|_fuse_to_static|_backport|_debug_set_autodiff"
    r"|_(set|get)_graph_executor|_compile_graph|_generate_upgraders|_enter_dual_level|_dist_autograd_init"
)
FUNCTORCH = re.compile(r"_(grad|jvp)_(in|de)crement|_(un)?wrap_for_grad")
SCRIPT_CLASSES = (
    "CompilationUnit ScriptFunction ScriptMethod ScriptModule LiteScriptModule StaticModule Gradient "
    "GraphExecutorState Graph"
).split()
FUNCTIONAL = "jacobian hessian vjp jvp hvp vhp".split()
MODULES = (
    "torch._decomp",
    "torch.nn.grad",
    "torch.masked",
    "torch._functorch.autograd_function",
    "torch._higher_order_ops",
    "torch._lobpcg",
    "torch._native",
    "torch.nn.attention",
)
FORMULA = re.compile(r"backward|jvp|vjp|_input$|_weight$")


def close_entrances() -> None:
    """Close them all; none of this can be undone in this process."""
    torch._C._set_graph_executor_optimize(False)
    _close_engine()
    _close_script_classes()
    _remove_code(_formulas())
    refused = [
        getattr(owner, name)
        for owner, pattern in ((torch._C, TORCHSCRIPT), (torch._C._functorch, FUNCTORCH))
        for name in dir(owner)
        if pattern.match(name)
    ]
    _replace({id(entrance): refuse for entrance in refused})
    _stand_in_for_dynamo()


def _close_engine() -> None:
    """The engine is a static C type: its dictionary can be changed only from behind."""
    engine = torch._C._ImperativeEngine
    (members,) = gc.get_referents(vars(engine))
    for name in ENGINE:
        members[name] = refuse
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(engine))


def _close_script_classes() -> None:
    """Nothing that holds a TorchScript graph can be made, filled or run."""
    for class_name in SCRIPT_CLASSES:
        closed = getattr(torch._C, class_name)
        for name, member in list(vars(closed).items()):
            if callable(member) and (name in {"__init__", "__call__"} or not name.startswith("__")):
                setattr(closed, name, refuse)


def _formulas() -> Iterator[Any]:
    """Every Python function of torch that computes a derivative: decompositions, and each Function's `backward`."""
    for name, module in list(sys.modules.items()):
        if name.startswith(MODULES):
            yield from (value for key, value in vars(module).items() if FORMULA.search(key))
    yield from (vars(torch.autograd.functional)[name] for name in FUNCTIONAL)
    for table in torch._decomp.global_decomposition_table.values():
        yield from (rule for operation, rule in table.items() if FORMULA.search(str(operation)))
    for transform in _subclasses(torch.distributions.Transform):
        yield vars(transform).get("log_abs_det_jacobian")
    for function in _subclasses(torch.autograd.Function):
        members = (vars(function).get(name) for name in ("backward", "vjp", "jvp"))
        yield from (getattr(member, "__func__", member) for member in members)


def _subclasses(kind: Any) -> Iterator[Any]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _remove_code(found: Iterable[Any]) -> None:
    """Take the code out of functions, wherever they are referred to from, and out of those that they wrap."""
    waiting, seen = list(found), set()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, types.FunctionType) or function in seen:
            continue
        seen.add(function)
        waiting += [cell.cell_contents for cell in function.__closure__ or () if _holds_formula(cell)]
        function.__code__ = _raise_removed.__code__.replace(co_freevars=function.__code__.co_freevars)
        vars(function).clear()


def _raise_removed(*_arguments: object, **_options: object) -> NoReturn:
    from grader.child.no_autograd import refuse  # it runs among the globals of the function whose code it replaces

    refuse()


def _holds_formula(cell: types.CellType) -> bool:
    try:
        content = cell.cell_contents
    except ValueError:  # an empty cell
        return False
    return FORMULA.search(getattr(content, "__name__", "")) is not None


def _replace(replacements: Mapping[int, Callable[..., Any]]) -> None:
    """Put a replacement wherever a module refers to an object, by its identity."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in replacements:
                setattr(module, name, replacements[id(value)])


def _stand_in_for_dynamo() -> None:
    """`torch._dynamo` needs sympy: what honest code reaches of it does nothing, and `compile` leaves code as it is."""
    for name in ("torch._dynamo", "torch.fx.experimental.symbolic_shapes"):
        sys.modules[name] = _StandIn(name)
    torch._dynamo = sys.modules["torch._dynamo"]
    for owner, name in ((torch, "compile"), (torch.jit, "script"), (torch.jit, "trace")):
        setattr(owner, name, _unchanged)


class _StandIn(types.ModuleType):
    """A module whose functions give back what they are given, whose questions are answered no."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name[0].isupper():
            return type(name, (Exception,), {})
        return _no if name.startswith(("is_", "has_", "free_")) else _unchanged


def _no(*_arguments: object, **_options: object) -> bool:
    return False


def _unchanged(value: Any = None, *_arguments: object, **_options: object) -> Any:
    return (lambda later: later) if value is None else value

"""The child reports facts about one learner's file, and never a verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.workers import make_job

from grader.child.protocol import Frame
from grader.child.reply_facts import MAX_PRINTED
from grader.sandbox.checked_reply import Facts, read
from grader.sandbox.worker import Worker

X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.fixture
def ask(worker: Worker) -> Any:
    """Return a function `ask(source, {...arguments})`, which returns the worker's checked reply."""

    def asked(source: str, *argument_sets: dict[str, Any], **options: Any) -> Facts:
        reply = worker.run(make_job(source, *argument_sets or ({"x": X},), **options), 10)
        assert isinstance(reply, Frame), reply
        return read(reply)

    return asked


def test_a_returned_tensor_is_described_and_sent(ask: Any) -> None:
    observed = ask("def probe(x): return x.t() + 1")
    returned = observed.calls[0].returned
    assert (returned.kind, returned.dtype, returned.shape) == ("tensor", "float32", [3, 2])
    np.testing.assert_array_equal(returned.array, X.T + 1)


def test_every_stored_attribute_is_reported(ask: Any) -> None:
    observed = ask("def probe(x):\n    x.g = x * 2\n    x.note = 'hi'\n    setattr(x, 'h', ...)")
    stored = observed.calls[0].stored["x"]
    assert {name: value.kind for name, value in stored.items()} == {"g": "tensor", "note": "other", "h": "ellipsis"}
    np.testing.assert_array_equal(stored["g"].array, X * 2)


def test_the_arguments_are_reported_as_they_are_after_the_call(ask: Any) -> None:
    observed = ask("def probe(x): x.mul_(2)")
    np.testing.assert_array_equal(observed.calls[0].after["x"].array, X * 2)


def test_only_the_arguments_that_a_call_changed_are_reported(ask: Any) -> None:
    observed = ask("def probe(x, y): y.add_(1)", {"x": X, "y": X})
    assert list(observed.calls[0].after) == ["y"]


@pytest.mark.parametrize(
    ("given", "change"),
    [
        ({"literal": "{'a', 'b'}"}, "y.discard('a')"),
        ([1, 2], "y.append(3)"),
        ({"literal": "{'a': [1]}"}, "y['a'].append(2)"),
        ({"function": "lambda x: x * 2"}, "y.calls = 1"),
        ({"function": "lambda x: x * 2"}, "y.__code__ = (lambda x: x).__code__"),
    ],
)
def test_an_argument_of_any_kind_is_compared(ask: Any, given: Any, change: str) -> None:
    for then, changed in ((change, ["y"]), ("y == y", [])):
        observed = ask(f"def probe(x, y): {then}", {"x": X, "y": given})
        assert list(observed.calls[0].after) == changed


def test_what_a_call_left_is_reported_as_it_was_then(ask: Any) -> None:
    """A function that writes all its answers into one array does not change those reported before."""
    source = "import torch\nkept = torch.zeros(2, 3)\ndef probe(x):\n    x.g = kept\n    return kept.add_(x)"
    observed = ask(source, {"x": X}, {"x": X}, {"x": X})
    for times, call in enumerate(observed.calls, 1):
        for value in (call.returned, call.stored["x"]["g"]):
            np.testing.assert_array_equal(value.array, times * X)


def test_a_reply_of_more_parts_and_bytes_than_fit_at_once_arrives_whole(ask: Any) -> None:
    observed = ask("def probe(x): return [x.repeat(500, 1) + i for i in range(16)]", *[{"x": X}] * 90)
    for call in observed.calls:
        for i, value in enumerate(call.returned.items):
            np.testing.assert_array_equal(value.array, np.tile(X, (500, 1)) + i)


def test_a_gradient_that_was_there_comes_with_its_argument(ask: Any) -> None:
    observed = ask("def probe(x): return x.g + 1", {"x": (X, X * 3)})
    np.testing.assert_array_equal(observed.calls[0].returned.array, X * 3 + 1)


def test_each_call_gets_inputs_of_its_own(ask: Any) -> None:
    """A change that the first call makes to its arguments is not seen by the second."""
    observed = ask("def probe(x):\n    x.zero_()\n    return x.numel()", {"x": X}, {"x": X[:1]})
    assert [float(call.returned.array) for call in observed.calls] == [6.0, 3.0]


@pytest.mark.parametrize(
    ("value", "kind", "type_name"),
    [
        ("None", "none", ""),
        ("...", "ellipsis", ""),
        ("2", "number", "int"),
        ("2.5", "number", "float"),
        ("__import__('numpy').float32(2)", "number", "float32"),
        ("True", "other", "bool"),
        ("2j", "other", "complex"),
        ("'text'", "other", "str"),
        ("x.numpy()", "ndarray", "numpy array"),
        ("(x, 1)", "items", "tuple"),
        ("[x]", "items", "list"),
        ("{}", "other", "dict"),
        ("x.to_sparse()", "other", "sparse_coo cpu tensor"),
        ("probe", "other", "function"),
    ],
)
def test_a_value_is_reported_by_its_kind(ask: Any, value: str, kind: str, type_name: str) -> None:
    returned = ask(f"def probe(x): return {value}").calls[0].returned
    assert (returned.kind, returned.type) == (kind, type_name)


@pytest.mark.parametrize("value", ["[2, 0.5, 1]", "(2, x.sum() * 0 + 0.5, x.numel() - 5)"])
def test_a_list_of_numbers_is_sent_as_one_array_too(ask: Any, value: str) -> None:
    observed = ask(f"def probe(x): return {value}")
    returned = observed.calls[0].returned
    np.testing.assert_array_equal(returned.array, [2, 0.5, 1])
    assert [item.kind for item in returned.items].count("number") >= 2


@pytest.mark.parametrize("value", ["[]", "[x, 1]", "[[1, 2]]", "[True, 1]", "['1']", "[2j]"])
def test_a_list_of_anything_else_is_not(ask: Any, value: str) -> None:
    assert ask(f"def probe(x): return {value}").calls[0].returned.array is None


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "bool", "complex64", "uint8"])
def test_a_tensor_of_any_dtype_is_sent_as_it_is(ask: Any, dtype: str) -> None:
    observed = ask(f"import torch\ndef probe(x): return x.to(torch.{dtype})")
    assert observed.calls[0].returned.array.dtype.name == dtype


def test_a_bfloat16_tensor_keeps_its_name(ask: Any) -> None:
    observed = ask("import torch\ndef probe(x): return x.bfloat16()")
    assert observed.calls[0].returned.dtype == "bfloat16"
    np.testing.assert_array_equal(observed.calls[0].returned.array, X)


@pytest.mark.parametrize(
    "view", ["x.t()[::2]", "x.expand(4, 2, 3)[1, :, ::2]", "x.to(__import__('torch').complex64).conj().real"]
)
def test_views_are_sent_by_their_contents(ask: Any, view: str) -> None:
    observed = ask(f"def probe(x):\n    y = {view}\n    x.h = y.tolist()\n    return y")
    returned = observed.calls[0].returned
    assert list(returned.array.shape) == returned.shape


def test_every_kind_of_argument_is_built(ask: Any) -> None:
    checks = "    import torch\n    assert d is torch.float64 and s == {'a', 'b'} and t == (2, 0, 1)\n"
    checks += "    assert p == [('mul', 0, (1, 2.5)), []]\n"
    source = f"def probe(f, d, s, t, k, p):\n{checks}    return f(3.0) + k"
    arguments = {
        "f": {"function": "lambda x: math.sqrt(x * 3)"},
        "d": {"dtype": "float64"},
        "s": {"literal": "{'a', 'b'}"},
        "t": {"literal": "(2, 0, 1)"},
        "k": 2,
        "p": [("mul", 0, (1, 2.5)), []],
    }
    observed = ask(source, arguments)
    assert float(observed.calls[0].returned.array) == 5.0


@pytest.mark.parametrize(
    ("source", "stub"),
    [
        ("def probe(x): ...", True),
        ("def probe(x):\n    '''Say what.'''\n    pass", True),
        ("def probe(x):\n    '''Say what.'''\n    raise NotImplementedError", True),
        ("def probe(x):\n    raise NotImplementedError('later')", True),
        ("def probe(x): return None", False),
        ("def probe(x): raise ValueError", False),
        ("def other(x): ...\ndef probe(x): return x", False),
    ],
)
def test_a_function_that_does_nothing_is_a_stub(ask: Any, source: str, stub: bool) -> None:
    assert ask(source).stub is stub


def test_a_missing_function_leaves_no_calls_and_the_names_that_are_there(ask: Any) -> None:
    facts = ask("def probed(x): return x\ndef helper(): pass")
    assert (facts.calls, facts.defined) == ([], ["probed", "helper"])


@pytest.mark.parametrize(
    "source",
    [
        "from functools import partial\ndef f(k, x): return x * k\nprobe = partial(f, 2)",
        "probe = lambda x: x * 2",
        "class Probe:\n    def __call__(self, x): return x * 2\nprobe = Probe()",
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass A:\n    k: int = 2\ndef probe(x): return x * A().k",
        "import pickle, typing\nT = typing.NamedTuple('T', [('k', int)])\ndef probe(x): return x * T(2).k",
        "if __name__ == '__main__':\n    raise SystemExit\ndef probe(x): return x * 2",
    ],
)
def test_anything_callable_by_that_name_is_called(ask: Any, source: str) -> None:
    observed = ask(source)
    np.testing.assert_array_equal(observed.calls[0].returned.array, X * 2)


def test_what_is_printed_comes_along(ask: Any) -> None:
    facts = ask("import sys\nprint('one')\ndef probe(x):\n    print('two')\n    print('three', file=sys.stderr)")
    assert facts.printed == "one\ntwo\nthree\n"


@pytest.mark.parametrize("more", ["", "!"])
def test_only_a_text_that_was_cut_short_says_so(ask: Any, more: str) -> None:
    text = "x" * (MAX_PRINTED - 1) + "\n"
    note = "\n... (the rest was not kept)" if more else ""
    assert ask(f"def probe(x): print({text + more!r}, end='')").printed == text + note


def test_an_exception_is_reported_with_the_lines_of_the_learners_file(ask: Any) -> None:
    error = ask("def helper(x):\n    return x.reshape(7)\ndef probe(x):\n    return helper(x)").calls[0].error
    assert (error.kind, error.type, error.lines) == ("raised", "RuntimeError", [4, 2])
    assert "shape" in error.message


def test_an_exception_in_one_call_leaves_the_others(ask: Any) -> None:
    observed = ask("def probe(x): return 1 / (len(x) - 2)", {"x": X}, {"x": X[:1]})
    assert [call.error is None for call in observed.calls] == [False, True]


def test_a_syntax_error_is_reported_with_its_line(ask: Any) -> None:
    error = ask("def probe(x):\n    return x +\n").error
    assert (error.kind, error.lines) == ("syntax", [2])


def test_a_missing_module_is_named(ask: Any) -> None:
    error = ask("def probe(x):\n    import nonesuch").calls[0].error
    assert (error.kind, error.type, error.lines) == ("absent", "ModuleNotFoundError", [2])
    assert "nonesuch" in error.message


def test_a_file_that_is_imported_opens_none_either(ask: Any) -> None:
    reply = ask("import helpers\ndef probe(x): ...", modules={"helpers": "open('/dev/zero')"})
    error = reply.error
    assert (error.type, error.file, error.lines) == ("PermissionError", "helpers.py", [1])


AUTOGRAD = {
    "backward": "y = x.clone().requires_grad_()\n    (y * y).sum().backward()\n    return y.grad",
    "autograd.grad": "y = x.clone().requires_grad_()\n    return torch.autograd.grad((y * y).sum(), y)[0]",
    "autograd.backward": "y = x.clone().requires_grad_()\n    torch.autograd.backward((y**2).sum())\n    return y.grad",
    "functional.jacobian": "return torch.autograd.functional.jacobian(lambda y: y * y, x)",
    "functional.vjp": "return torch.autograd.functional.vjp(lambda y: y * y, x, x)[1]",
    "func.grad": "return torch.func.grad(lambda y: (y * y).sum())(x)",
    "func.vjp": "return torch.func.vjp(lambda y: y * y, x)[1](x)[0]",
    "func.jvp": "return torch.func.jvp(lambda y: y * y, (x,), (x,))[1]",
    "func.jacrev": "return torch.func.jacrev(lambda y: y * y)(x)",
    "func.jacfwd": "return torch.func.jacfwd(lambda y: y * y)(x)",
    "forward mode": (
        "import torch.autograd.forward_ad as fw\n    with fw.dual_level():\n"
        "        return fw.unpack_dual(fw.make_dual(x, x) ** 2).tangent"
    ),
    "a swallowed refusal": (
        "y = x.clone().requires_grad_()\n    try:\n        (y * y).sum().backward()\n"
        "    except ValueError:\n        pass\n    return y.grad"
    ),
}


@pytest.mark.parametrize("way", AUTOGRAD)
def test_autograd_is_refused_by(ask: Any, way: str) -> None:
    error = ask(f"import torch\ndef probe(x):\n    {AUTOGRAD[way]}").calls[0].error
    assert error is not None
    assert error.kind == "autograd"


def test_autograd_may_be_used_outside_the_function(ask: Any) -> None:
    """A learner may check their own work with it, below the function."""
    check = "y = torch.ones(2, requires_grad=True)\n(y * y).sum().backward()\nassert y.grad[0] == 2"
    assert ask(f"import torch\ndef probe(x): return x * 2\n{check}").error is None


def test_warnings_are_no_errors(ask: Any) -> None:
    body = "    warnings.warn('careful')\n    return x.sum()"
    assert ask(f"import warnings\nwarnings.simplefilter('error')\ndef probe(x):\n{body}").calls[0].error is None


def test_new_tensors_have_the_dtype_of_the_arguments(ask: Any) -> None:
    source = "import torch\ndef probe(x): return torch.zeros(2)"
    observed = ask(source, {"x": X}, {"x": X.astype("float64")})
    assert [call.returned.dtype for call in observed.calls] == ["float32", "float64"]


def test_work_and_memory_are_measured_where_asked(ask: Any) -> None:
    """Elements written and bytes held at once; views cost nothing."""
    big = np.zeros((50, 40), "float32")
    (call,) = ask("def probe(x): return (x.t() + 1).sum(0)", {"x": big}, meter=True).calls
    assert call.work == 50 * 40 + 50
    assert call.peak >= 50 * 40 * 4
    (unmeasured,) = ask("def probe(x): return (x.t() + 1).sum(0)", {"x": big}).calls
    assert (unmeasured.work, unmeasured.peak) == (0, 0)


def test_memory_that_was_given_back_is_not_counted_twice(ask: Any) -> None:
    big = np.zeros((100, 100), "float32")
    (call,) = ask("def probe(x):\n    for _ in range(9): y = x + 1\n    return y.sum()", {"x": big}, meter=True).calls
    assert call.work >= 90_000
    assert call.peak < 3.5 * big.nbytes


def test_memory_held_by_numpy_counts(ask: Any) -> None:
    source = "import numpy\ndef probe(x):\n    y = numpy.zeros(1_000_000)\n    return x.sum() + y.sum()"
    (call,) = ask(source, meter=True).calls
    assert call.peak >= 8_000_000


def test_a_call_that_runs_out_of_time_names_its_line(ask: Any) -> None:
    error = ask("def probe(x):\n    while True:\n        pass", time_limit=0.5).calls[0].error
    assert error.kind == "timeout"
    assert set(error.lines) <= {2, 3}

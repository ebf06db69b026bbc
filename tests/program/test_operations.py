"""Operations that are written by hand compute what torch does; their vjps are torch's, and finite differences agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from grader.program.operation import OPERATIONS
from grader.program.program import Program
from grader.program.rearrangement import joined_axes, refined_shape
from grader.program.recording import record

Forward = Callable[..., torch.Tensor]
Shape = tuple[int, ...]

shapes = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


@st.composite
def broadcast_shapes(draw) -> tuple[Shape, Shape]:
    """Two shapes that broadcast: axes of size 1 in either, or axes that one of them lacks."""
    whole = draw(st.lists(st.integers(1, 4), min_size=0, max_size=3))
    pair = [tuple(1 if draw(st.booleans()) and draw(st.booleans()) else size for size in whole) for _ in range(2)]
    lacking = draw(st.integers(0, 1))
    pair[lacking] = pair[lacking][draw(st.integers(0, len(whole))) :]
    return pair[0], pair[1]


def positive(shape: Shape, seed: int) -> np.ndarray:
    """Numbers between 0.3 and 1.7, no two alike, so that nothing is at a kink."""
    generator = np.random.default_rng(seed)
    count = math.prod(shape)
    return (0.3 + 1.4 * (generator.permutation(count) + generator.uniform(0.2, 0.8, count)) / max(count, 1)).reshape(
        shape
    )


def signed(shape: Shape, seed: int) -> np.ndarray:
    """Numbers of both signs, none of them near 0, 1 or -1."""
    values = positive(shape, seed)
    return np.where(np.random.default_rng(seed + 1).random(shape) < 0.5, -1, 1) * np.where(
        values < 1, values * 0.8, values
    )


def prove(forward: Forward, inputs: dict[str, np.ndarray], handwritten: bool = True) -> Program:
    """Assert that the recorded program has torch's gradients, and that its own forward pass has them as slopes."""
    tensors = {name: torch.tensor(value) for name, value in inputs.items()}
    floats = [name for name, value in tensors.items() if value.is_floating_point()]
    out = forward(**{name: value.requires_grad_(name in floats) for name, value in tensors.items()})
    upstream = np.random.default_rng(7).standard_normal(out.shape)
    expected = torch.autograd.grad(
        (out * torch.tensor(upstream)).sum(),
        [tensors[name] for name in floats],
        allow_unused=True,
        materialize_grads=True,
    )
    program = record(forward, inputs, upstream)
    if handwritten:
        assert [node.name for node in program.nodes if node.operation.family == "other"] == []
    gradients = program.gradients()
    for name, gradient in zip(floats, expected, strict=True):
        np.testing.assert_allclose(gradients[name], gradient.numpy(), rtol=1e-9, atol=1e-9)
        direction = np.random.default_rng(9).standard_normal(inputs[name].shape)
        ahead, back = (_output(program, name, inputs[name] + by * direction) for by in (1e-6, -1e-6))
        slope = float(((ahead - back) / 2e-6 * upstream).sum())
        assert math.isclose(slope, float((gradients[name] * direction).sum()), rel_tol=1e-5, abs_tol=1e-5)
    return program


def _output(program: Program, name: str, value: np.ndarray) -> np.ndarray:
    changes = {program.inputs[name]: lambda node: replace(node, values=(value,))}
    return program.forward.run_nodes(changes, gradient_paths=True)[program.forward.outputs[0]].value


UNARY: dict[str, Forward] = {
    name: (lambda x, name=name: getattr(torch, name)(x))
    for name in "neg exp expm1 log log1p log2 sqrt rsqrt reciprocal square sin cos tan atan sinh cosh asinh tanh "
    "sigmoid erf lgamma digamma abs relu".split()
} | {
    "asin": lambda x: torch.asin(x / 4),
    "acos": lambda x: torch.acos(x / 4),
    "acosh": lambda x: torch.acosh(1 + x * x),
    "atanh": lambda x: torch.atanh(x / 4),
    "logsigmoid": lambda x: F.logsigmoid(x),
    "silu": lambda x: F.silu(x),
    "softplus": lambda x: F.softplus(x),
    "softplus of beta": lambda x: F.softplus(x, beta=2.0, threshold=1.5),
    "gelu": lambda x: F.gelu(x),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "elu": lambda x: F.elu(x - 1, 0.7),
    "leaky relu": lambda x: F.leaky_relu(x - 1, 0.2),
    "squared": lambda x: x**2,
    "cubed": lambda x: x.pow(3),
    "square root by power": lambda x: x**0.5,
    "power of 2": lambda x: 2**x,
    "power 0": lambda x: x**0 + x,
    "one less it": lambda x: 1 - x,
    "one over it": lambda x: 1 / x,
    "times two": lambda x: 2 * x,
    "clamp": lambda x: x.clamp(0.6, 1.2),
    "clamp from below": lambda x: x.clamp_min(0.9),
    "clamp by keyword": lambda x: torch.clamp(x, max=0.9),
    "double relu": lambda x: F.relu(x - 1),
    "sign and round": lambda x: x.sign() * x + x.round() + x.floor() + x.ceil(),
    "detached": lambda x: x.detach() * x,
    "cast": lambda x: (x > 1).double() * x,
    "not": lambda x: torch.where(~(x > 1), x, 2 * x),
    "masked": lambda x: x.masked_fill(x > 1, 0.5),
    "cloned": lambda x: x.clone().contiguous() * x,
}
BINARY: dict[str, Forward] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "add with alpha": lambda x, y: torch.add(x, y, alpha=3),
    "maximum": lambda x, y: torch.maximum(x, y),
    "minimum": lambda x, y: torch.minimum(x, y),
    "max of two": lambda x, y: torch.max(x, y),
    "where": lambda x, y: torch.where(x > y, x, y),
    "where as a method": lambda x, y: x.where(x > y, y),
    "clamp by a tensor": lambda x, y: x.clamp(min=y),
    "and": lambda x, y: ((x > 1) & (y > 1)).double() * x * y,
}
ALONG: dict[str, Callable[[torch.Tensor, int, bool], torch.Tensor]] = {
    "sum": lambda x, dim, keep: x.sum(dim, keep),
    "mean": lambda x, dim, keep: x.mean(dim, keepdim=keep),
    "logsumexp": lambda x, dim, keep: x.logsumexp(dim, keep),
    "amax": lambda x, dim, keep: x.amax(dim, keep),
    "amin": lambda x, dim, keep: x.amin((dim,), keep),
    "max": lambda x, dim, keep: x.max(dim, keep).values,
    "min": lambda x, dim, keep: x.min(dim, keepdim=keep)[0],
    "norm": lambda x, dim, keep: x.norm(dim=dim, keepdim=keep),
    "vector norm": lambda x, dim, keep: torch.linalg.vector_norm(x, 3, dim, keep),
    "var of all": lambda x, dim, keep: x.var(dim, unbiased=False, keepdim=keep),
    "std": lambda x, dim, keep: torch.cat((x, x + 1, 2 * x), dim).std(dim, keepdim=keep),
    "softmax": lambda x, dim, keep: x.softmax(dim),
    "log softmax": lambda x, dim, keep: F.log_softmax(x, dim=dim),
    "cumsum": lambda x, dim, keep: x.cumsum(dim),
    "sort": lambda x, dim, keep: x.sort(dim, descending=keep).values,
    "topk": lambda x, dim, keep: x.topk(1, dim, largest=keep)[0],
    "flip": lambda x, dim, keep: x.flip(dim).cumsum(dim),
    "roll": lambda x, dim, keep: x.roll(1, dim).cumsum(dim),
    "unsqueeze": lambda x, dim, keep: x.unsqueeze(dim),
    "squeeze": lambda x, dim, keep: x.squeeze(dim),
    "select": lambda x, dim, keep: x.select(dim, -1),
    "narrow": lambda x, dim, keep: x.narrow(dim, 0, 1),
    "unbind": lambda x, dim, keep: x.unbind(dim)[-1],
    "chunk": lambda x, dim, keep: x.chunk(2, dim)[-1],
    "split": lambda x, dim, keep: x.split(1, dim)[0],
    "stack": lambda x, dim, keep: torch.stack((x, 2 * x, x * x), dim),
    "cat": lambda x, dim, keep: torch.cat((x, x * x), dim),
    "unfold": lambda x, dim, keep: torch.cat((x, 2 * x, x * x), dim).unfold(dim, 2, 1 + keep),
    "gather": lambda x, dim, keep: x.gather(dim, x.argsort(dim)),
    "take along": lambda x, dim, keep: x.take_along_dim(x.argmax(dim, True), dim),
    "index select": lambda x, dim, keep: x.index_select(dim, torch.tensor([0, -1 % x.shape[dim], 0])),
    "index add": lambda x, dim, keep: x.index_add(
        dim, torch.tensor([0, 0]), torch.cat((x, x), dim).narrow(dim, 0, 2) ** 2
    ),
    "scatter": lambda x, dim, keep: x.scatter(
        dim, torch.zeros_like(x, dtype=torch.int64).narrow(dim, 0, 1), x.narrow(dim, -1, 1) ** 2
    ),
    "scatter a number": lambda x, dim, keep: x.scatter(
        dim, torch.zeros_like(x, dtype=torch.int64).narrow(dim, 0, 1), 3.0
    ),
    "scatter add": lambda x, dim, keep: x.scatter_add(dim, torch.zeros_like(x, dtype=torch.int64), x**2),
}
WHOLE: dict[str, Forward] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: torch.mean(x),
    "max": lambda x: x.max(),
    "min": lambda x: torch.min(x),
    "norm": lambda x: x.norm(),
    "var": lambda x: torch.cat((x, x * x)).var(),
    "std": lambda x: torch.cat((x, x * x)).std(),
    "sum over all axes": lambda x: x.sum(tuple(range(x.dim()))),
    "reshape": lambda x: x.reshape(-1, 1),
    "view": lambda x: x.view((-1,)),
    "flatten": lambda x: x.flatten(),
    "flatten in part": lambda x: x.unsqueeze(0).flatten(0, 1),
    "unflatten": lambda x: x.unflatten(0, (1, -1)),
    "expand": lambda x: x.expand(2, *x.shape),
    "repeat": lambda x: x.repeat(2, *x.shape),
    "expand an axis": lambda x: x.unsqueeze(0).expand(3, *(-1,) * x.dim()),
    "pad": lambda x: F.pad(x, (1, 2)),
    "pad with a number": lambda x: F.pad(x, (2, 0), value=1.5) ** 2,
    "pad with a mode by position": lambda x: F.pad(x, (2, 0), "constant", 1.5) ** 2,
    "cut by padding": lambda x: F.pad(x, (2, -1)),
    "permute": lambda x: x.permute(*reversed(range(x.dim()))),
    "T": lambda x: x.reshape(len(x), -1).T,
    "mT": lambda x: x.unsqueeze(0).mT if x.dim() > 1 else x * 1,
    "t": lambda x: x.reshape(-1, len(x)).t(),
    "movedim": lambda x: x.movedim(0, -1),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "tril": lambda x: x.reshape(len(x), -1).tril(),
    "triu": lambda x: torch.triu(x.reshape(len(x), -1), 1) + x.sum(),
    "view as": lambda x: x.flatten().view_as(x) * x,
    "first": lambda x: x[0],
    "last of all axes": lambda x: x[..., -1],
    "slice": lambda x: x[..., 1:],
    "new axis": lambda x: x[None, ..., None],
    "every other": lambda x: x[::2],
    "rows twice": lambda x: x[torch.tensor([0, 0])],
    "rows of a list": lambda x: x[[0, -1]],
    "mask": lambda x: x[x > 1],
    "pairs": lambda x: x.flatten()[torch.tensor([[0, -1]])],
}


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=6, deadline=None)
@given(shape=shapes, seed=st.integers(0, 99))
def test_pointwise_functions(name: str, shape: Shape, seed: int) -> None:
    prove(UNARY[name], {"x": positive(shape, seed)})


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=12, deadline=None)
@given(pair=broadcast_shapes(), seed=st.integers(0, 99))
def test_pointwise_operations_sum_over_broadcast_axes(name: str, pair: tuple[Shape, Shape], seed: int) -> None:
    both = positive((math.prod(pair[0]) + math.prod(pair[1]),), seed)  # no two entries alike
    x, y = both[: math.prod(pair[0])].reshape(pair[0]), both[math.prod(pair[0]) :].reshape(pair[1])
    prove(BINARY[name], {"x": x, "y": y})


@pytest.mark.parametrize("name", ALONG)
@settings(max_examples=10, deadline=None)
@given(shape=shapes, axis=st.integers(-3, 2), keep=st.booleans(), seed=st.integers(0, 99))
def test_operations_along_an_axis(name: str, shape: Shape, axis: int, keep: bool, seed: int) -> None:
    dim = axis % len(shape) - (len(shape) if axis < 0 else 0)  # from the front and from the end
    prove(lambda x: ALONG[name](x, dim, keep), {"x": positive(shape, seed)})


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=6, deadline=None)
@given(shape=shapes, seed=st.integers(0, 99))
def test_operations_on_whole_arrays(name: str, shape: Shape, seed: int) -> None:
    prove(WHOLE[name], {"x": positive(shape, seed)})


@settings(max_examples=40, deadline=None)
@given(
    batch=broadcast_shapes(), n=st.integers(1, 3), k=st.integers(1, 3), m=st.integers(1, 3), vectors=st.integers(0, 3)
)
def test_matrix_products(batch: tuple[Shape, Shape], n: int, k: int, m: int, vectors: int) -> None:
    x, w = (*batch[0], n, k), (*batch[1], k, m)
    if vectors & 1:
        x = (k,)
    if vectors & 2:
        w = (k,)
    prove(lambda x, w: x @ w, {"x": signed(x, 1), "w": signed(w, 2)})


@pytest.mark.parametrize(
    ("equation", "operands"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij->j", [(2, 3)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("ij,j->i", [(2, 3), (3,)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]),
        ("bhid,bhjd,bhjm->bhim", [(1, 2, 3, 2), (1, 2, 4, 2), (1, 2, 4, 3)]),
        ("ij,k->i", [(2, 3), (4,)]),
        ("ij,jk->ik", [(2, 1), (3, 4)]),
    ],
)
def test_einsum(equation: str, operands: list[Shape]) -> None:
    names = "abc"[: len(operands)]
    inputs = {name: signed(shape, i) for i, (name, shape) in enumerate(zip(names, operands, strict=True))}
    prove(lambda **given: torch.einsum(equation, *given.values()), inputs)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_linear_and_outer(shape: Shape, bias: bool) -> None:
    inputs = {"x": signed(shape, 1), "w": signed((5, 4), 2)} | ({"b": signed((5,), 3)} if bias else {})
    prove(lambda x, w, b=None: F.linear(x, w, b), inputs)
    prove(lambda x, y: torch.outer(x, y), {"x": signed((3,), 1), "y": signed((4,), 2)})


@settings(max_examples=60, deadline=None)
@given(
    axes=st.integers(1, 2),
    kernel=st.integers(1, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    dilation=st.integers(1, 2),
    groups=st.integers(1, 2),
    bias=st.booleans(),
    more=st.integers(0, 3),
)
def test_convolutions(
    axes: int, kernel: int, stride: int, padding: int, dilation: int, groups: int, bias: bool, more: int
) -> None:
    size = dilation * (kernel - 1) + 1 + more
    inputs = {
        "x": signed((2, 2 * groups, *(size + i for i in range(axes))), 1),
        "w": signed((2 * groups, 2, *(kernel,) * axes), 2),
    }
    inputs |= {"b": signed((2 * groups,), 3)} if bias else {}
    convolve = F.conv1d if axes == 1 else F.conv2d
    prove(lambda x, w, b=None: convolve(x, w, b, stride, padding, dilation, groups), inputs)


@settings(max_examples=40, deadline=None)
@given(
    axes=st.integers(1, 2),
    kernel=st.integers(2, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 1),
    dilation=st.integers(1, 2),
    groups=st.integers(1, 2),
    bias=st.booleans(),
    more=st.integers(0, 1),
)
def test_transposed_convolution(
    axes: int, kernel: int, stride: int, padding: int, dilation: int, groups: int, bias: bool, more: int
) -> None:
    inputs = {
        "x": signed((2, 2 * groups, *(3 + i for i in range(axes))), 1),
        "w": signed((2 * groups, 2, *(kernel,) * axes), 2),
    }
    inputs |= {"b": signed((2 * groups,), 3)} if bias else {}
    spread = F.conv_transpose1d if axes == 1 else F.conv_transpose2d
    behind = min(more, max(stride, dilation) - 1)
    prove(lambda x, w, b=None: spread(x, w, b, stride, padding, behind, groups, dilation), inputs)


@settings(max_examples=40, deadline=None)
@given(
    axes=st.integers(1, 2),
    kernel=st.integers(2, 3),
    stride=st.integers(1, 3),
    padding=st.integers(0, 1),
    more=st.integers(0, 3),
)
def test_pooling(axes: int, kernel: int, stride: int, padding: int, more: int) -> None:
    x = signed((2, 2, *(kernel + more + i for i in range(axes))), 1)
    greatest, mean = (F.max_pool1d, F.avg_pool1d) if axes == 1 else (F.max_pool2d, F.avg_pool2d)
    prove(lambda x: greatest(x, kernel, stride, padding), {"x": x})
    prove(lambda x: mean(x, kernel, stride, padding), {"x": x})
    prove(lambda x: mean(x, kernel, stride, padding, count_include_pad=False), {"x": x})
    prove(lambda x: greatest(x, kernel), {"x": x})


@pytest.mark.parametrize(
    "options",
    [{"dilation": (1,)}, {"stride": (1,)}, {"stride": (3,)}, {"padding": (0,)}, {"dilation": (2,), "stride": (1,)}],
)
def test_windows_have_vjps_with_other_options(options: dict[str, tuple[int, ...]]) -> None:
    """What somebody computes who has the upstream gradient of the right windows, and walks over others."""
    inputs = {"x": signed((2, 3, 9), 1), "w": signed((4, 3, 3), 2)}
    program = record(lambda x, w: F.conv1d(x, w, stride=2, padding=1, dilation=2), inputs)
    node = program.nodes[-1]
    g = signed(node.value.shape, 3)
    chosen = {name: value[0] for name, value in {**node.options, **options}.items() if name != "groups"}
    x_g, w_g = np.zeros((2, 3, 99)), np.zeros((4, 3, 3))
    wide = np.zeros((2, 3, 99))
    wide[:, :, chosen["padding"] : chosen["padding"] + 9] = inputs["x"]
    for place in range(g.shape[-1]):
        for tap in range(3):
            at = place * chosen["stride"] + tap * chosen["dilation"]
            x_g[:, :, at] += g[:, :, place] @ inputs["w"][:, :, tap]
            w_g[:, :, tap] += g[:, :, place].T @ wide[:, :, at]
    np.testing.assert_allclose(node.vjp(0, g, options=options), x_g[:, :, chosen["padding"] :][:, :, :9], atol=1e-12)
    np.testing.assert_allclose(node.vjp(1, g, options=options), w_g, atol=1e-12)
    pooled = record(lambda x: F.max_pool1d(x, 3, 2, 1), {"x": inputs["x"]}).nodes[-1]
    if "dilation" not in options:
        assert pooled.vjp(0, signed(pooled.value.shape, 4), options=options).shape == (2, 3, 9)


def test_equal_entries_share_as_torch_has_it() -> None:
    x = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    for forward in (
        lambda x: x.amax(1),
        lambda x: x.max(1).values,
        lambda x: x.max(),
        lambda x: torch.maximum(x, x.flip(1)),
        lambda x: x.sort(dim=1, stable=True).values,
        lambda x: x.relu(),
        lambda x: x.abs(),
        lambda x: x.clamp(0, 2),
        lambda x: x.clamp_min(0),
        lambda x: x.norm(dim=1),
    ):
        tensor = torch.tensor(x, requires_grad=True)
        out = forward(tensor)
        (expected,) = torch.autograd.grad((out * torch.arange(1.0, 1 + out.numel()).reshape(out.shape)).sum(), tensor)
        upstream = np.arange(1.0, 1 + out.numel()).reshape(out.shape)
        np.testing.assert_allclose(record(forward, {"x": x}, upstream).gradients()["x"], expected.numpy(), atol=1e-12)


COMPOSITES: dict[str, Forward] = {
    "cross entropy": lambda x, y, c, w: F.cross_entropy(x, c),
    "summed cross entropy": lambda x, y, c, w: F.cross_entropy(x, c, reduction="sum"),
    "weighed cross entropy": lambda x, y, c, w: F.cross_entropy(x, c, w.detach().abs()),
    "smoothed cross entropy": lambda x, y, c, w: F.cross_entropy(x, c, label_smoothing=0.1),
    "cross entropy of probabilities": lambda x, y, c, w: F.cross_entropy(x, y.softmax(-1)),
    "nll": lambda x, y, c, w: F.nll_loss(x.log_softmax(-1), c),
    "nll by example": lambda x, y, c, w: F.nll_loss(x.log_softmax(-1), c, reduction="none").square(),
    "mse": lambda x, y, c, w: F.mse_loss(x, y),
    "l1": lambda x, y, c, w: F.l1_loss(x, y, reduction="sum"),
    "smooth l1": lambda x, y, c, w: F.smooth_l1_loss(x, y, beta=0.8),
    "huber": lambda x, y, c, w: F.huber_loss(x, y, delta=0.7),
    "bce": lambda x, y, c, w: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
    "bce with logits": lambda x, y, c, w: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
    "kl": lambda x, y, c, w: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
    "kl of logarithms": lambda x, y, c, w: F.kl_div(
        x.log_softmax(-1), y.log_softmax(-1), reduction="sum", log_target=True
    ),
    "layer norm": lambda x, y, c, w: F.layer_norm(x, (4,), w, y[0]),
    "rms norm": lambda x, y, c, w: F.rms_norm(x, (4,), w),
    "batch norm": lambda x, y, c, w: F.batch_norm(x, None, None, w, y[0], training=True),
    "batch norm of images": lambda x, y, c, w: F.batch_norm(x.reshape(3, 2, 2), None, None, w[:2], training=True),
    "batch norm with statistics": lambda x, y, c, w: F.batch_norm(x, y[0].detach(), w.detach().abs(), w, y[1]),
    "group norm": lambda x, y, c, w: F.group_norm(x, 2, w, y[0]),
    "normalize": lambda x, y, c, w: F.normalize(x, dim=0),
    "cosine": lambda x, y, c, w: F.cosine_similarity(x, y),
    "addmm": lambda x, y, c, w: torch.addmm(w, x, y.T @ x, beta=2.0),
    "attention": lambda x, y, c, w: F.scaled_dot_product_attention(x[None], y[None], (x * y)[None]),
    "causal attention": lambda x, y, c, w: F.scaled_dot_product_attention(x[None], y[None], y[None], is_causal=True),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_losses_and_layers_are_recorded_as_what_they_are_made_of(name: str) -> None:
    inputs = {"x": signed((3, 4), 1), "y": signed((3, 4), 2), "c": np.array([1, 3, 0]), "w": signed((4,), 3)}
    program = prove(COMPOSITES[name], inputs)
    composite = {node.composite for node in program.nodes} - {""}
    assert len(composite) == 1


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: torch.linalg.inv(x),
        lambda x: torch.linalg.det(x) * x,
        lambda x: x.prod(0),
        lambda x: x.cumprod(1),
        lambda x: torch.logcumsumexp(x, 0),
        lambda x: torch.einsum("ii->i", x),
        lambda x: x.diagonal(),
        lambda x: F.mish(x),
        lambda x: torch.linalg.qr(x).Q,
        lambda x: torch.linalg.solve(x, x.T),
        lambda x: F.fold(x[None, :1].expand(1, 4, 3)[..., :1], (2, 2), 2),
        lambda x: F.cross_entropy(x, torch.tensor([0, 1, -100])),
        lambda x: x.sum((0, 1), dtype=torch.float64).exp(),
        lambda x: F.adaptive_avg_pool1d(x[None], 2),
        lambda x: F.unfold(x[None, None], 2),
        lambda x: F.hardtanh(x),
    ],
)
def test_what_is_not_written_by_hand_is_torchs(forward: Forward) -> None:
    prove(forward, {"x": signed((3, 3), 5) + 2 * np.eye(3)}, handwritten=False)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize(
    ("shape", "widths"),
    [((3, 5), (2, 1)), ((2, 3, 5), (2, -1)), ((2, 2, 4, 5), (1, 2, 3, 0)), ((1, 2, 3, 4, 5), (1, 2, 3, 0, 1, 1))],
)
def test_padding_with_entries_of_the_input_sums_over_their_uses(shape: Shape, widths: Shape, mode: str) -> None:
    program = prove(lambda x: F.pad(x, widths, mode=mode).square(), {"x": signed(shape, 5)})
    padded = program.nodes[program.forward.outputs[0]].operands[0][1]
    assert program.nodes[padded].name == "getitem"


@pytest.mark.parametrize(
    ("a", "b", "left"),
    [
        ((3, 3), (3,), True),
        ((3, 3), (3, 2), True),
        ((3, 3), (2, 3), False),
        ((2, 3, 3), (2, 3), True),
        ((2, 3, 3), (3, 4), True),
        ((3, 3), (2, 3, 1), True),
    ],
)
def test_solutions_of_linear_equations_are_numpys(a: Shape, b: Shape, left: bool) -> None:
    inputs = {"a": signed(a, 5) + 2 * np.eye(3), "b": signed(b, 6)}
    program = prove(lambda a, b: torch.linalg.solve(a, b, left=left).tanh(), inputs, handwritten=False)
    assert OPERATIONS["linalg_solve"] in [node.operation for node in program.nodes]


def test_each_differentiable_operation_is_proved_here() -> None:
    """No rule is added to the table without a call of it in this file."""
    called = set()
    x, y = positive((3, 4), 0), positive((3, 4), 1) + 0.01
    for forward in (*UNARY.values(), *WHOLE.values()):
        called |= {node.name for node in record(forward, {"x": x}).nodes}
    for forward in BINARY.values():
        called |= {node.name for node in record(forward, {"x": x, "y": y}).nodes}
    for along in ALONG.values():
        called |= {node.name for node in record(lambda x, along=along: along(x, 1, True), {"x": x}).nodes}
    elsewhere = {
        "matmul",
        "einsum",
        "linear",
        "outer",
        "convolution",
        "max_pool",
        "mean_pool",
        "embedding",
        "write",
        "transposed_convolution",
        "linalg_solve",
    }
    assert {name for name, operation in OPERATIONS.items() if operation.vjps} <= called | elsewhere | {
        "gt",
        "lt",
        "ge",
        "le",
        "eq",
        "ne",
        "logical_not",
        "logical_and",
        "logical_or",
    }


def test_an_embedding_sums_over_its_uses() -> None:
    prove(lambda i, w: F.embedding(i, w).square(), {"i": np.array([[0, 2], [2, 2]]), "w": signed((3, 2), 1)})


@pytest.mark.parametrize(
    "forward",
    [
        lambda i, w: F.embedding(i, w, padding_idx=-1),
        lambda i, w: F.embedding(i, w, 0),
        lambda i, w: torch.embedding(w, i),
    ],
)
def test_an_embedding_with_a_padding_row_or_the_table_first_is_torchs(forward: Forward) -> None:
    inputs = {"i": np.array([[0, 2], [1, 2]]), "w": signed((3, 2), 1)}
    tensors = {name: torch.tensor(value) for name, value in inputs.items()}
    (expected,) = torch.autograd.grad(forward(**tensors | {"w": tensors["w"].requires_grad_()}).sum(), tensors["w"])
    np.testing.assert_allclose(record(forward, inputs).gradients()["w"], expected.numpy())


@pytest.mark.parametrize("shapes", [((2, 80, 60), (2, 60, 50)), ((2, 80, 60), (60, 50))])
def test_a_large_matrix_product_is_numpys(shapes: tuple[Shape, Shape]) -> None:
    """It is computed by torch, from arrays that may be read only, and turned."""
    x, w = (signed(shape, seed) for seed, shape in enumerate(shapes))
    g = signed((*shapes[0][:-1], 50), 3)
    program = record(lambda x, w: x @ w, {"x": x, "w": w}, g)
    np.testing.assert_allclose(program.nodes[-1].value, x @ w, rtol=1e-10, atol=1e-12)
    gradients = program.gradients()
    np.testing.assert_allclose(gradients["x"], g @ np.swapaxes(w, -1, -2), rtol=1e-10, atol=1e-12)
    per_batch = np.swapaxes(x, -1, -2) @ g
    np.testing.assert_allclose(gradients["w"], per_batch if w.ndim == 3 else per_batch.sum(0), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "refined", "axes"),
    [
        ((4, 6, 5), (4, 2, 15), (4, 2, 3, 5), ([0, 1, 1, 2], [0, 1, 2, 2])),
        ((1, 6), (6,), (1, 6), ([0, 1], [0, 0])),
        ((2, 3), (3, 2), None, None),
        ((2, 6), (12,), (2, 6), ([0, 1], [0, 0])),
    ],
)
def test_refined_shape_splits_both_shapes_into_common_axes(
    first: tuple[int, ...], second: tuple[int, ...], refined: tuple[int, ...] | None, axes: tuple[list[int], ...] | None
) -> None:
    assert refined_shape(first, second) == refined
    if refined is not None:
        assert (joined_axes(first, refined), joined_axes(second, refined)) == axes

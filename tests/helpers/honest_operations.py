"""Run `python honest_operations.py plain|removed`: a digest of each operation's result and of what it cost."""

import copy
import hashlib
import io
import json
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

from grader.child.job_answer import CostMeter
from grader.child.worker_process import make_torch_plain

torch.set_num_threads(1)
warnings.simplefilter("ignore")
make_torch_plain()
if sys.argv[1] == "removed":
    from grader.child import preloaded_modules
    from grader.child.no_autograd import remove_autograd

    preloaded_modules.load()
    remove_autograd()
    sys.meta_path.clear()  # in a graded run no module is found that was not loaded before
torch.manual_seed(0)
x = torch.randn(6, 5)
y = torch.randn(5, 4)
v = torch.randn(5)
s = torch.randn(4, 4)
b = torch.randn(3, 6, 5)
b2 = torch.randn(3, 5, 2)
i = torch.tensor([0, 2, 2, 1])
img = torch.randn(2, 3, 8, 8)
k = torch.randn(4, 3, 3, 3)
spd = s @ s.T + 4 * torch.eye(4)


def inplace(f):
    def g():
        t = x.clone()
        f(t)
        return t

    return g


def scripted(t):
    return t * 3


def rt(t):
    f = io.BytesIO()
    torch.save(t, f)
    f.seek(0)
    return torch.load(f)


def opt(kind):
    p = torch.nn.Parameter(torch.ones(3))
    o = kind([p], lr=0.1)
    p.grad = torch.ones(3)
    o.step(*([lambda: torch.tensor(1.0)] if kind is torch.optim.LBFGS else []))
    return p.detach()


OPS = {
    "matmul": lambda: x @ y,
    "mv": lambda: x @ v,
    "einsum": lambda: torch.einsum("bij,bjk->ik", b, b2),
    "bmm": lambda: torch.bmm(b, b2),
    "sum": lambda: x.sum(0),
    "sumall": lambda: x.sum(),
    "mean": lambda: x.mean(1, keepdim=True),
    "var": lambda: x.var(0, unbiased=False),
    "std": lambda: x.std(),
    "index": lambda: x[i],
    "mask": lambda: x[x > 0],
    "slice": lambda: x[1:5:2, ::2],
    "ellipsis": lambda: b[..., 0],
    "newaxis": lambda: x[:, None] * x[None],
    "setitem": inplace(lambda t: t.__setitem__((0, slice(None)), 7.0)),
    "setmask": inplace(lambda t: t.__setitem__(t > 0, 0.0)),
    "iadd": inplace(lambda t: t.add_(1)),
    "imul_view": inplace(lambda t: t[0].mul_(3)),
    "iview": inplace(lambda t: t.view(-1)[3:9].zero_()),
    "index_add_": inplace(lambda t: t.index_add_(0, i, torch.ones(4, 5))),
    "index_put_": inplace(lambda t: t.index_put_((i,), torch.ones(4, 5), accumulate=True)),
    "scatter_": inplace(lambda t: t.scatter_(0, torch.tensor([[0, 1, 2, 0, 0]]), torch.ones(1, 5))),
    "scatter_add": lambda: x.scatter_add(0, torch.tensor([[0, 1, 2, 0, 0]]), torch.ones(1, 5)),
    "index_copy": lambda: x.index_copy(0, torch.tensor([1, 2]), torch.ones(2, 5)),
    "gather": lambda: x.gather(1, torch.tensor([[0], [1], [2], [3], [4], [0]])),
    "where": lambda: torch.where(x > 0, x, 0.0),
    "where1": lambda: torch.stack(torch.where(x > 0)),
    "pinv": lambda: torch.linalg.pinv(x),
    "inv": lambda: torch.linalg.inv(spd),
    "solve": lambda: torch.linalg.solve(spd, s),
    "det": lambda: torch.linalg.det(spd),
    "svd": lambda: torch.linalg.svd(x)[1],
    "qr": lambda: torch.linalg.qr(x)[1],
    "eigh": lambda: torch.linalg.eigh(spd)[0],
    "cholesky": lambda: torch.linalg.cholesky(spd),
    "lstsq": lambda: torch.linalg.lstsq(x, x).solution.round(decimals=3).abs(),
    "norm": lambda: torch.linalg.norm(x, dim=1),
    "matrix_exp": lambda: torch.matrix_exp(s),
    "conv2d": lambda: F.conv2d(img, k, padding=1),
    "conv_t": lambda: F.conv_transpose2d(torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(1)), k),
    "conv1d": lambda: F.conv1d(b, torch.ones(2, 6, 3)),
    "maxpool": lambda: F.max_pool2d(img, 2, return_indices=True)[0],
    "avgpool": lambda: F.avg_pool2d(img, 2),
    "unfold": lambda: F.unfold(img, 3),
    "fold": lambda: F.fold(F.unfold(img, 3), (8, 8), 3),
    "pad": lambda: F.pad(x, (1, 1)),
    "padr": lambda: F.pad(img, (1, 1, 1, 1), mode="reflect"),
    "interp": lambda: F.interpolate(img, scale_factor=2.0, mode="bilinear"),
    "softmax": lambda: x.softmax(-1),
    "log_softmax": lambda: F.log_softmax(x, 1),
    "logsumexp": lambda: x.logsumexp(0),
    "ce": lambda: F.cross_entropy(x, torch.tensor([0, 1, 2, 3, 4, 0])),
    "mse": lambda: F.mse_loss(x, x * 2),
    "bce": lambda: F.binary_cross_entropy_with_logits(x, (x > 0).float()),
    "nll": lambda: F.nll_loss(F.log_softmax(x, 1), torch.tensor([0, 1, 2, 3, 4, 0])),
    "gelu": lambda: F.gelu(x),
    "silu": lambda: F.silu(x),
    "elu": lambda: F.elu(x),
    "relu": lambda: x.relu(),
    "leaky": lambda: F.leaky_relu(x),
    "softplus": lambda: F.softplus(x),
    "sigmoid": lambda: x.sigmoid(),
    "tanh": lambda: x.tanh(),
    "layer_norm": lambda: F.layer_norm(x, (5,)),
    "batch_norm": lambda: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda: F.group_norm(img.repeat(1, 2, 1, 1), 3),
    "embedding": lambda: F.embedding(i, x),
    "one_hot": lambda: F.one_hot(i),
    "dropout": lambda: F.dropout(x, 0.0),
    "sdpa": lambda: F.scaled_dot_product_attention(b, b, b),
    "linear": lambda: F.linear(x, y.T),
    "cumsum": lambda: x.cumsum(0),
    "cumprod": lambda: x.cumprod(1),
    "sort": lambda: x.sort(1)[0],
    "argsort": lambda: x.argsort(0),
    "topk": lambda: x.topk(2)[1],
    "max": lambda: x.max(0)[0],
    "argmax": lambda: x.argmax(1),
    "amax": lambda: x.amax(0),
    "median": lambda: x.median(),
    "min2": lambda: torch.minimum(x, -x),
    "clamp": lambda: x.clamp(-0.5, 0.5),
    "prod": lambda: x.prod(0),
    "reshape": lambda: x.t().reshape(3, 10),
    "permute": lambda: b.permute(2, 0, 1).contiguous(),
    "flip": lambda: x.flip(0),
    "roll": lambda: x.roll(1, 0),
    "tril": lambda: s.tril(),
    "diag": lambda: torch.diag(s),
    "diag_embed": lambda: torch.diag_embed(x),
    "outer": lambda: torch.outer(v, v),
    "kron": lambda: torch.kron(s, s),
    "cat": lambda: torch.cat([x, x]),
    "stack": lambda: torch.stack([x, x], 1),
    "split": lambda: x.split(2)[1],
    "chunk": lambda: x.chunk(3)[2],
    "unbind": lambda: x.unbind(1)[2],
    "expand": lambda: v.expand(6, 5),
    "bcast": lambda: x + v,
    "broadcast_to": lambda: torch.broadcast_to(v, (2, 5)),
    "broadcast_shapes": lambda: torch.zeros(torch.broadcast_shapes((3, 1), (1, 4))),
    "broadcast_tensors": lambda: torch.broadcast_tensors(v, x)[0],
    "repeat": lambda: v.repeat(2, 2),
    "repeat_interleave": lambda: v.repeat_interleave(2),
    "tensordot": lambda: torch.tensordot(x, y, 1),
    "cdist": lambda: torch.cdist(x, x),
    "bincount": lambda: torch.bincount(i),
    "unique": lambda: torch.unique(i),
    "trace": lambda: torch.trace(s),
    "addmm": lambda: torch.addmm(torch.zeros(6, 4), x, y),
    "pow": lambda: x.abs() ** 1.5,
    "exp": lambda: x.exp(),
    "log": lambda: x.abs().log(),
    "atan2": lambda: torch.atan2(x, x + 1),
    "erf": lambda: x.erf(),
    "lgamma": lambda: x.abs().lgamma(),
    "rsqrt": lambda: x.abs().rsqrt(),
    "double": lambda: x.double() @ y.double(),
    "complex": lambda: torch.fft.rfft(x).abs(),
    "numpy": lambda: torch.from_numpy(x.numpy() * 2),
    "tonp": lambda: torch.as_tensor(np.einsum("ij,kj->ik", x.numpy(), x.numpy())),
    "npufunc": lambda: torch.tensor(np.exp(x)),
    "bf16": lambda: (x.bfloat16() * 2).float(),
    "vmap": lambda: torch.vmap(lambda r: (r * r).sum())(x),
    "vmapfunc": lambda: torch.func.vmap(torch.dot)(x, x),
    "map_": lambda: x.clone().apply_(lambda e: e * 2),
    "lift": lambda: torch.tensor([1.0, 2.0]),
    "sparse": lambda: torch.sparse.mm(s.to_sparse(), s),
    "searchsorted": lambda: torch.searchsorted(v.sort()[0], x),
    "cov": lambda: torch.cov(x),
    "gradient": lambda: torch.gradient(v)[0],
    "meshgrid": lambda: torch.meshgrid(v, v, indexing="ij")[0],
    "nograd": lambda: torch.no_grad()(lambda: x @ y)(),
    "requires_grad": lambda: (x.clone().requires_grad_() @ y).detach(),
    "detach": lambda: x.detach() * 2,
    "data": lambda: x.data * 2,
    "print": lambda: torch.tensor(list(str(x).encode())),
    "repr": lambda: torch.tensor(list(repr(b).encode())),
    "format": lambda: torch.tensor(list(f"{x[0, 0]:.3f}".encode())),
    "nnlinear": lambda: torch.nn.Linear(5, 2)(x).detach(),
    "lstm": lambda: torch.nn.LSTM(5, 3)(b)[0].detach(),
    "mha": lambda: torch.nn.MultiheadAttention(4, 2)(s[None], s[None], s[None])[0].detach(),
    "sgd": lambda: opt(torch.optim.SGD),
    "adam": lambda: opt(torch.optim.Adam),
    "lbfgs": lambda: opt(torch.optim.LBFGS),
    "seed": lambda: (torch.manual_seed(3), torch.randn(3))[1],
    "bernoulli": lambda: (torch.manual_seed(3), torch.bernoulli(torch.full((9,), 0.5)))[1],
    "randperm": lambda: (torch.manual_seed(3), torch.randperm(9))[1],
    "multinomial": lambda: (torch.manual_seed(3), torch.multinomial(torch.ones(5), 2))[1],
    "dist": lambda: torch.distributions.Normal(0.0, 1.0).log_prob(x),
    "gammadist": lambda: torch.distributions.Dirichlet(torch.ones(5)).log_prob(x.softmax(1)),
    "histc": lambda: torch.histc(x),
    "compile": lambda: torch.compile(lambda t: t * 2)(x),
    "script": lambda: torch.jit.script(scripted)(x),
    "pickle": lambda: rt(x),
    "deepcopy": lambda: copy.deepcopy(x),
    "isclose": lambda: torch.isclose(x, x),
    "assert_close": lambda: (torch.testing.assert_close(x, x), x)[1],
    "allclose": lambda: torch.tensor(torch.allclose(x, x)),
    "nested_tolist": lambda: torch.tensor(x.tolist()),
    "iter": lambda: torch.stack(list(x)),
    "item": lambda: torch.tensor(x[0, 0].item()),
    "sum_to_size": lambda: x.sum_to_size(1, 5),
    "logcumsumexp": lambda: x.logcumsumexp(0),
    "take": lambda: x.take(i),
    "masked_fill": lambda: x.masked_fill(x > 0, 1.0),
    "masked_select": lambda: x.masked_select(x > 0),
    "as_strided": lambda: x.as_strided((2, 2), (1, 2)),
    "movedim": lambda: b.movedim(0, 2),
    "nanmean": lambda: x.nanmean(),
    "quantile": lambda: x.quantile(0.3),
    "bucketize": lambda: torch.bucketize(x, v.sort()[0]),
    "cross": lambda: torch.linalg.cross(b[:, 0, :3], b[:, 1, :3]),
    "vander": lambda: torch.vander(v),
    "block_diag": lambda: torch.block_diag(s, s),
    "cartesian": lambda: torch.cartesian_prod(v, v),
    "index_select": lambda: x.index_select(0, i),
    "index_reduce": lambda: x.clone().index_reduce_(0, i, torch.ones(4, 5), "amax"),
    "scatter_reduce": lambda: x.scatter_reduce(0, torch.tensor([[0, 1, 2, 0, 0]]), torch.ones(1, 5), "sum"),
    "hardtanh": lambda: F.hardtanh(x),
    "threshold": lambda: F.threshold(x, 0.1, 0.0),
    "glu": lambda: F.glu(s),
    "prelu": lambda: F.prelu(x, torch.tensor([0.1])),
    "cosine": lambda: F.cosine_similarity(x, x + 1),
    "normalize": lambda: F.normalize(x),
    "pairwise": lambda: F.pairwise_distance(x, x + 1),
    "kl": lambda: F.kl_div(x, x.softmax(1)),
    "huber": lambda: F.huber_loss(x, x * 2),
    "smooth": lambda: F.smooth_l1_loss(x, x * 2),
    "embbag": lambda: F.embedding_bag(i[None], x),
    "grid": lambda: F.grid_sample(img, torch.zeros(2, 3, 3, 2)),
    "stft": lambda: torch.stft(torch.ones(64), 16, return_complex=True, window=torch.ones(16)).abs(),
    "tnn": lambda: torch.nn.functional.ctc_loss(
        torch.zeros(5, 1, 3).log_softmax(2), torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])
    ),
}


def digest(operation):
    """Return a digest of a result to the last bit, of its layout, and of the work that the meter counted."""
    torch.manual_seed(1)
    result = operation()
    torch.manual_seed(1)
    with CostMeter() as meter:
        operation()
    contents = hashlib.md5(result.contiguous().numpy().tobytes()).hexdigest()
    return f"{result.dtype} {tuple(result.shape)} {result.stride()} {contents} {meter.work} {meter.peak > 0}"


print(json.dumps({name: digest(operation) for name, operation in OPS.items()}))

"""Roads to a gradient, each the body of `answer(x)`: what would find the gradient of sum(x ** 3)."""
# ruff: noqa: E501

import os

PRELUDE = """
import torch
import torch.nn.functional as F
def f(x):
    return (x * x * x).sum()
def leaf(x):
    return x.clone().requires_grad_()
"""
WRAPS = ("_Z16THPVariable_WrapRKN2at10TensorBaseE", "_Z16THPVariable_WrapN2at10TensorBaseE")  # as versions have it
WRAP = f"wrap = next(getattr(wraps, name) for name in {WRAPS} if hasattr(wraps, name)); wrap.restype = ctypes.py_object"
IN_CPP = (
    "f = kernels._ZN2at3cpu18threshold_backwardERKNS_6TensorES3_RKN3c106ScalarE; f.restype = None\n"
    "g, y, out = 3 * x * x, x * x, ctypes.c_void_p()\n"
    "f(ctypes.byref(out), ctypes.byref(ctypes.c_void_p(g._cdata)), ctypes.byref(ctypes.c_void_p(y._cdata)), (ctypes.c_uint64 * 8)())\n"
    f"{WRAP}\n"
    "return wrap(ctypes.byref(out))"
)
FORMULA_IN_CPP = f"""import ctypes
NAME = '_ZN5torch8autograd9generated7details29copysign_tensor_self_backwardERKN2at6TensorES6_S6_'
kernels, wraps = ctypes.CDLL('libtorch_cpu.so'), ctypes.PyDLL('libtorch_python.so')
{WRAP}
g, out = 3 * x * x, ctypes.c_void_p()
def formula(f, one=torch.ones(3)):
    f.restype = None
    f(ctypes.byref(out), *[ctypes.byref(ctypes.c_void_p(each._cdata)) for each in (g, one, one)])
    return wrap(ctypes.byref(out))"""
BY_TYPE = """import ctypes
libc, address, size = ctypes.CDLL(None, use_errno=True), ctypes.c_void_p, ctypes.c_size_t
def readable(page): return libc.syscall(%d, 0, address(page), None, 8) == 0
kind = id(type(torch._C._dispatch_library('IMPL', 'aten', '', '', 0)))
start = id(kind) & ~0xfff
for step in (4096, -4096):
    page = start
    while abs(page - start) < 200 << 20 and readable(page):
        words = (ctypes.c_uint64 * 512).from_address(page)
        for at in [page + 8 * i - 8 for i in range(1, 512) if words[i] == kind]:
            if 0 < ctypes.c_int64.from_address(at).value < 1000: ctypes.cast(at, ctypes.py_object).value.reset()
        page += step"""
BY_TYPE %= {"x86_64": 14, "aarch64": 135}[os.uname().machine]
ROADS = {
    "backward": "y = leaf(x); f(y).backward(); return y.grad",
    "backward on torch.autograd": "y = leaf(x); torch.autograd.backward(f(y)); return y.grad",
    "autograd.grad": "return torch.autograd.grad(f(y := leaf(x)), y)[0]",
    "autograd.grad with create_graph": "return torch.autograd.grad(f(y := leaf(x)), y, create_graph=True)[0]",
    "requires_grad by assignment": "y = x.clone(); y.requires_grad = True; f(y).backward(); return y.grad",
    "a Parameter": "p = torch.nn.Parameter(x.clone()); f(p).backward(); return p.grad",
    "a factory with requires_grad": "y = torch.tensor(x.tolist(), requires_grad=True); f(y).backward(); return y.grad",
    "a module and a loss": (
        "m = torch.nn.Linear(3, 1, bias=False); m.weight.data = x[None].clone()\n"
        "F.l1_loss(m(torch.eye(3)) ** 3, torch.full((3, 1), -9.0), reduction='sum').backward(); return m.weight.grad[0]"
    ),
    "optimiser step": (
        "p = torch.nn.Parameter(x.clone()); o = torch.optim.SGD([p], lr=1.0)\nf(p).backward(); o.step(); return x - p.data"
    ),
    "an LBFGS closure": (
        "p = torch.nn.Parameter(x.clone()); o = torch.optim.LBFGS([p], lr=1.0, max_iter=1)\n"
        "def closure():\n"
        "    o.zero_grad(); loss = f(p); loss.backward(); return loss\n"
        "o.step(closure); return p.grad"
    ),
    "gradient hooks": ("kept = []\ny = leaf(x); y.register_hook(kept.append); f(y).backward(); return kept[0]"),
    "hooks after accumulation": (
        "kept = []\ny = leaf(x); y.register_post_accumulate_grad_hook(lambda t: kept.append(t.grad)); f(y).backward(); return kept[0]"
    ),
    "enable_grad": "with torch.no_grad(), torch.enable_grad():\n    y = leaf(x); f(y).backward(); return y.grad",
    "inference_mode(False)": "with torch.inference_mode(False), torch.enable_grad():\n    y = leaf(x); f(y).backward(); return y.grad",
    "set_grad_enabled": "torch._C._set_grad_enabled(True); y = leaf(x); f(y).backward(); return y.grad",
    "a thread": (
        "import threading\nkept = []\n"
        "def work():\n    y = leaf(x); f(y).backward(); kept.append(y.grad)\n"
        "t = threading.Thread(target=work); t.start(); t.join(); return kept[0]"
    ),
    "a thread pool": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def work():\n    y = leaf(x); return torch.autograd.grad(f(y), y)[0]\n"
        "with ThreadPoolExecutor() as pool: return pool.submit(work).result()"
    ),
    "popping the dispatch modes": (
        "from torch.utils._python_dispatch import _disable_current_modes\n"
        "with _disable_current_modes():\n    y = leaf(x); f(y).backward(); return y.grad"
    ),
    "disabled torch functions": "with torch._C.DisableTorchFunction():\n    y = leaf(x); f(y).backward(); return y.grad",
    "the engine": (
        "from torch.autograd.variable import Variable\ny = leaf(x)\n"
        "return Variable._execution_engine.run_backward((f(y),), (torch.ones(()),), False, False, (y,), True, False)[0]"
    ),
    "an engine of one's own": "y = leaf(x); return torch._C._ImperativeEngine().run_backward((f(y),), (torch.ones(()),), False, False, (y,), True, False)[0]",
    "the engine's base class": (
        "y = leaf(x); e = torch._C._ImperativeEngine()\n"
        "return type(e).run_backward(e, (f(y),), (torch.ones(()),), False, False, (y,), True, False)[0]"
    ),
    "aten::_backward": "y = leaf(x); torch.ops.aten._backward(f(y), [y]); return y.grad",
    "aten::_backward overload": "y = leaf(x); torch.ops.aten._backward.default(f(y), [y]); return y.grad",
    "the graph by hand": (
        "y = leaf(x); node = f(y).grad_fn; g = node(torch.ones(()))\n"
        "first, second = node.next_functions[0][0](g)\n"
        "inner = node.next_functions[0][0].next_functions[0][0](first)\n"
        "return inner[0] + inner[1] + second"
    ),
    "saved tensors by hand": (
        "y = leaf(x); node = f(y).grad_fn.next_functions[0][0]\nreturn node._saved_self + 2 * node._saved_other ** 2"
    ),
    "gradient edges": (
        "from torch.autograd.graph import get_gradient_edge\n"
        "y = leaf(x); edge = get_gradient_edge(y); return torch.autograd.grad(f(y), [edge])[0]"
    ),
    "saved tensors hooks on meta": (
        "kept = []\n"
        "y = torch.empty(3, device='meta', requires_grad=True)\n"
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(1), t)[1], lambda t: x):\n"
        "    z = y * y * y\n"
        "node = z.grad_fn\n"
        "a, b = node(torch.ones(3)); c, d = node.next_functions[0][0](torch.ones(3))\n"
        "return 3 * d * d if not kept else 3 * x * x * (len(kept) > 0)"
    ),
    "replayed on a graph of meta tensors": (
        "y = torch.empty(3, device='meta', requires_grad=True)\n"
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: None, lambda t: x):\n"
        "    z = torch.sin(y)\n"
        "z.grad_fn(torch.ones(3)); return 3 * x * x"
    ),
    "a graph of wrappers on meta": (
        "class T(torch.Tensor):\n"
        "    @staticmethod\n"
        "    def __new__(cls, t, grad=False):\n"
        "        return torch.Tensor._make_wrapper_subclass(cls, t.shape, dtype=t.dtype, device='meta', requires_grad=grad)\n"
        "    def __init__(self, t, grad=False):\n        self.t = t\n"
        "    @classmethod\n"
        "    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):\n"
        "        un = lambda a: a.t if isinstance(a, T) else a\n"
        "        kwargs = {k: v for k, v in (kwargs or {}).items() if k not in ('device', 'pin_memory')}\n"
        "        out = func(*[un(a) for a in args], **kwargs)\n"
        "        return T(out) if isinstance(out, torch.Tensor) else out\n"
        "y = T(x.clone(), True); z = y * y * y\n"
        "outer = z.grad_fn; a, b = outer(T(torch.ones(3)))\n"
        "c, d = outer.next_functions[0][0](a); return (b.t + c.t + d.t)"
    ),
    "a graph on every claimed device": (
        "class T(torch.Tensor):\n"
        "    @staticmethod\n"
        "    def __new__(cls, t, device):\n"
        "        return torch.Tensor._make_wrapper_subclass(cls, t.shape, dtype=t.dtype, device=device, requires_grad=True)\n"
        "    @classmethod\n"
        "    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):\n        return T(x, 'meta').detach() if 0 else x.clone()\n"
        "for device in 'cpu cuda xpu mps xla hpu ipu lazy mtia maia meta privateuseone'.split():\n"
        "    try:\n        y = T(x, device) * 3\n    except Exception:\n        continue\n"
        "    if y.grad_fn is not None: return 3 * x * x\n"
    ),
    "a fake tensor on cuda": (
        "from torch._subclasses.fake_tensor import FakeTensorMode\n"
        "with FakeTensorMode():\n    y = torch.empty(3, requires_grad=True); z = (y * y).sum()\n"
        "return 3 * x * x if z.grad_fn is not None else None"
    ),
    "sparse tensors": "y = leaf(x.to_sparse()); z = torch.sparse.sum(y * 1.0)\nreturn 3 * x * x if z.grad_fn is not None else None",
    "nested tensors": (
        "y = torch.nested.nested_tensor([x, x], requires_grad=True); z = (y * 2)\n"
        "return 3 * x * x if z.grad_fn is not None else None"
    ),
    "jagged nested tensors": (
        "y = leaf(x); z = torch.nested.as_nested_tensor([y, y], layout=torch.jagged).values()\n"
        "return 3 * x * x if z.grad_fn is not None else None"
    ),
    "complex tensors": "y = leaf(x.cfloat()); z = (y * y * y).sum(); z.real.backward(); return y.grad.real",
    "double tensors": "y = leaf(x.double()); f(y).backward(); return y.grad",
    "_foreach_pow": "y = leaf(x); torch._foreach_pow([y], 3)[0].sum().backward(); return y.grad",
    "_fused_rms_norm": (
        "y = leaf(x); z = torch.ops.aten._fused_rms_norm(y, [3], None, None)[0]\n"
        "return 3 * x * x if z.grad_fn is not None else None"
    ),
    "a custom operation": (
        "@torch.library.custom_op('learner::cube', mutates_args=())\n"
        "def cube(x: torch.Tensor) -> torch.Tensor:\n    return x ** 3\n"
        "def rule(ctx, g):\n    with torch.enable_grad():\n        y = leaf(x); return g * torch.autograd.grad(f(y), y)[0]\n"
        "cube.register_autograd(rule); y = leaf(x); cube(y).sum().backward(); return y.grad"
    ),
    "TorchScript's aten::grad": (
        "y = leaf(x); op = torch._C._jit_get_operation('aten::grad')[0]\n"
        "return op([f(y)], [y], None, None, False, False)[0]"
    ),
    "in place on a view": "y = leaf(x); z = y.clone(); z[:] *= y; z.view(-1).mul_(y); z.sum().backward(); return y.grad",
    "func.grad": "return torch.func.grad(f)(x)",
    "func.grad_and_value": "return torch.func.grad_and_value(f)(x)[0]",
    "func.vjp": "return torch.func.vjp(f, x)[1](torch.ones(()))[0]",
    "func.jvp": "return [torch.func.jvp(f, (x,), (e,))[1] for e in torch.eye(3)]",
    "func.jacrev": "return torch.func.jacrev(f)(x)",
    "func.jacfwd": "return torch.func.jacfwd(f)(x)",
    "func.hessian": "return torch.func.hessian(lambda x: (x ** 4).sum() / 4)(x).diag()",
    "func.linearize": "return [torch.func.linearize(f, x)[1](e) for e in torch.eye(3)]",
    "vmap over grad": "return torch.vmap(torch.func.grad(lambda v: v * v * v))(x)",
    "functorch": "import functorch; return functorch.grad(f)(x)",
    "functorch levels": (
        "from torch._C import _functorch as t\n"
        "level = t._grad_increment_nesting(); t.set_inplace_requires_grad_allowed(True)\n"
        "y = t._wrap_for_grad(x, level).requires_grad_()\n"
        "out = f(y); g = torch.autograd.grad(out, y, create_graph=True)[0]\n"
        "g = t._unwrap_for_grad(g, level); t._grad_decrement_nesting(); return g"
    ),
    "functional.jacobian": "return torch.autograd.functional.jacobian(f, x)",
    "functional.vjp": "return torch.autograd.functional.vjp(f, x)[1]",
    "functional.jvp": "return [torch.autograd.functional.jvp(f, x, e)[1] for e in torch.eye(3)]",
    "functional.hessian": "return torch.autograd.functional.hessian(lambda x: (x ** 4).sum() / 4, x).diag()",
    "functional.hvp": "return torch.autograd.functional.hvp(lambda x: (x ** 4).sum() / 4, x, torch.ones(3))[1]",
    "forward mode": (
        "import torch.autograd.forward_ad as fw\n"
        "with fw.dual_level():\n"
        "    return fw.unpack_dual(fw.make_dual(x, torch.ones(3)) ** 3).tangent"
    ),
    "forward mode by its operations": (
        "torch._C._enter_dual_level()\n"
        "y = torch._VF._make_dual(x, torch.ones(3), level=0)\n"
        "return torch._VF._unpack_dual(y * y * y, level=0)[1]"
    ),
    "forward mode through torch.ops": (
        "import torch.autograd.forward_ad as fw\n"
        "with fw.dual_level():\n"
        "    y = torch.ops.aten._make_dual(x, torch.ones(3), 0); return torch.ops.aten._unpack_dual(y * y * y, 0)[1]"
    ),
    "threshold_backward": "return torch.ops.aten.threshold_backward(3 * x * x, x * x, 0)",
    "an overload of it": "return torch.ops.aten.threshold_backward.default(3 * x * x, x * x, 0)",
    "an out variant of it": (
        "out = torch.empty(3); torch.ops.aten.threshold_backward.grad_input(3 * x * x, x * x, 0, grad_input=out); return out"
    ),
    "an operation by its kernel": (
        "op = torch.ops.aten.threshold_backward.default\n"
        "return op._op_dk(torch._C.DispatchKey.CPU, 3 * x * x, x * x, 0)"
    ),
    "an operation redispatched": (
        "op = torch.ops.aten.threshold_backward.default\n"
        "return op.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), 3 * x * x, x * x, 0)"
    ),
    "an operation below Autograd": (
        "with torch._C._AutoDispatchBelowAutograd():\n    return torch.ops.aten.threshold_backward(3 * x * x, x * x, 0)"
    ),
    "an operation from the registry": (
        "op, *_ = torch._C._jit_get_operation('aten::threshold_backward'); return op(3 * x * x, x * x, 0)"
    ),
    "an operation by torch.library": (
        "k = torch.library.get_kernel('aten::threshold_backward', 'CPU')\n"
        "return k.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), 3 * x * x, x * x, 0)"
    ),
    "the recording kernel by torch.library": (
        "from torch._C import DispatchKey as K, DispatchKeySet as S\n"
        "k = torch.library.get_kernel('aten::sin', 'AutogradCPU')\n"
        "z = k.call_boxed(S(K.AutogradCPU) | S(K.CPU), leaf(x))\n"
        "return 3 * x * x if z.grad_fn is not None else None"
    ),
    "an operation of oneDNN's": (
        "rule = torch.ops.aten.mkldnn_linear_backward_input\n"
        "return rule([1, 3], torch.ones(1, 1).to_mkldnn(), (3 * x * x).view(1, 3)).to_dense()"
    ),
    "what vmap makes of picked entries": (
        "rule = torch.ops.aten.index_select_backward\n"
        "return torch.vmap(lambda g: rule(g, [3], 0, torch.arange(3)))((3 * x * x)[None])[0]"
    ),
    "what vmap makes of a largest entry": (
        "rule = torch.ops.aten.value_selecting_reduction_backward\n"
        "return torch.vmap(lambda g: rule(g, 0, torch.arange(3), [3], True))((3 * x * x)[None])[0]"
    ),
    "what vmap makes of gathered entries": (
        "rule = torch.ops.aten.gather_backward\n"
        "return torch.vmap(lambda g: rule(g, x, 0, torch.arange(3), False))((3 * x * x)[None])[0]"
    ),
    "tanh_backward": "t = x.tanh(); return torch.ops.aten.tanh_backward(3 * x * x / (1 - t * t), t)",
    "softmax backward": (
        "s = torch.full((3,), 1.0); return torch.ops.aten._softmax_backward_data(3 * x * x, s, 0, torch.float32) + (3 * x * x).sum()"
    ),
    "convolution_backward": (
        "return torch.ops.aten.convolution_backward((3 * x * x).view(1, 1, 3), x.view(1, 1, 3), torch.ones(1, 1, 1), None,"
        " [1], [0], [1], False, [0], 1, [True, False, False])[0]"
    ),
    "select_backward": "return sum(torch.ops.aten.select_backward(3 * x[i] * x[i], [3], 0, i) for i in range(3))",
    "embedding_backward": (
        "return torch.ops.aten.embedding_dense_backward((3 * x * x)[:, None], torch.arange(3), 3, -1, False)[:, 0]"
    ),
    "native_layer_norm_backward": (
        "g = torch.ops.aten.native_layer_norm_backward((3 * x * x)[:, None].expand(3, 1).contiguous(), x[:, None], [1],"
        " x[:, None], torch.ones(3, 1), None, torch.zeros(1), [False, False, True])\n"
        "return torch.stack([3 * x * x for _ in g[2]])[0]"
    ),
    "nn.grad.conv1d_input": (
        "import torch.nn.grad\n"
        "return torch.nn.grad.conv1d_input((1, 1, 3), torch.ones(1, 1, 1), (3 * x * x).view(1, 1, 3))"
    ),
    "nn.grad.conv2d_weight": (
        "import torch.nn.grad\n"
        "return torch.nn.grad.conv2d_weight(torch.ones(1, 1, 1, 1), (3, 1, 1, 1), (3 * x * x).view(1, 3, 1, 1))"
    ),
    "a decomposition": ("import torch._decomp.decompositions as d\nreturn d.threshold_backward(3 * x * x, x * x, 0)"),
    "a decomposition from the table": (
        "from torch._decomp import decomposition_table as t\n"
        "return t[torch.ops.aten.tanh_backward.default](3 * x * x / (1 - x.tanh() ** 2), x.tanh())"
    ),
    "a decomposition that was wrapped": (
        "import torch._decomp.decompositions as d\nrule = d.tanh_backward\n"
        "while hasattr(rule, '__wrapped__'): rule = rule.__wrapped__\n"
        "return rule(3 * x * x / (1 - x.tanh() ** 2), x.tanh())"
    ),
    "core decompositions": (
        "from torch._decomp import core_aten_decompositions\n"
        "return core_aten_decompositions()[torch.ops.aten.tanh_backward.default](3 * x * x / (1 - x.tanh() ** 2), x.tanh())"
    ),
    "flex attention's own": (
        "from torch._higher_order_ops.flex_attention import sdpa_dense_backward as rule\n"
        "import contextlib, importlib, sys, types\n"
        "missing = 'torch._dynamo._trace_wrapped_higher_order_op'\n"
        "try: importlib.import_module(missing)\n"
        "except ImportError:\n"
        "    sys.modules[missing] = types.SimpleNamespace(TransformGetItemToIndex=contextlib.nullcontext)\n"
        "q = x.view(1, 1, 3, 1); n = torch.zeros(1, 1, 3)\n"
        "score = lambda score, *_: score\n"
        "joint = lambda score, b, h, i, j, g, *_: [g, None, None, None, None]\n"
        "index = torch.zeros(1, 1, 3, 3, dtype=torch.int)\n"
        "mask = (3, 3, *[index] * 8, 3, 3, lambda b, h, i, j: torch.ones((), dtype=torch.bool))\n"
        "g = rule(q, q, q, q, n, torch.ones_like(q), n, score, joint, mask, 1.0, {}, (), ())\n"
        "return 3 * x * x if g[2].numel() == 3 else None"
    ),
    "the volume that a transformation changes": (
        "from torch.distributions.transforms import PowerTransform\n"
        "t = PowerTransform(torch.tensor(3.0)); y = x.abs(); return t.log_abs_det_jacobian(y, t(y)).exp()"
    ),
    "the rule of an eigenvalue solver": (
        "from torch._lobpcg import _symeig_backward as rule\n"
        "g = rule(3 * x * x, torch.zeros(3, 3), torch.diag(x), x.clone(), torch.eye(3), True); return g.diag()"
    ),
    "torch.jit.script": (
        "@torch.jit.script\ndef g(x):\n    return (x * x * x).sum()\n"
        "for _ in range(4):\n    y = leaf(x); z = g(y)\n"
        "z.backward(); return y.grad"
    ),
    "torch.jit.script with a gradient inside": (
        "unit = torch.jit.CompilationUnit('''\n"
        "def g(x):\n    y = (x * x * x).sum()\n    r = torch.autograd.grad([y], [x])[0]\n    assert r is not None\n    return r\n''')\n"
        "return unit.g(leaf(x))"
    ),
    "torch.jit.trace": "g = torch.jit.trace(f, x); y = leaf(x); g(y).backward(); return y.grad",
    "TorchScript's own derivatives": (
        "graph = torch._C.parse_ir('''graph(%x : Float(3)):\n  %y : Float(3) = aten::mul(%x, %x)\n  return (%y)''')\n"
        "return 3 * x * x if torch._C._jit_differentiate(graph) else None"
    ),
    "a script from its recovered class": (
        "base = torch._C.Argument.__mro__[1]\n"
        "unit = next(k for k in base.__subclasses__() if k.__name__ == 'CompilationUnit')()\n"
        "unit.define('def g(x):\\n    return (x * x * x).sum()\\n', lambda name: None)\n"
        "for _ in range(4):\n    y = leaf(x); z = unit.find_function('g')(y)\n"
        "z.backward(); return y.grad"
    ),
    "a script from a graph": (
        "graph = torch._C.parse_ir('''graph(%x : Tensor):\n  %y : Tensor = aten::mul(%x, %x)\n  %z : Tensor = aten::mul(%y, %x)\n"
        "  return (%z)''')\n"
        "g = torch._C._create_function_from_graph('g', graph)\n"
        "for _ in range(4):\n    y = leaf(x); z = g(y)\n"
        "z.sum().backward(); return y.grad"
    ),
    "torch.compile": "y = leaf(x); torch.compile(f, backend='eager')(y).backward(); return y.grad",
    "torch.compile without autograd": "return torch.compile(torch.func.grad(f), backend='eager')(x)",
    "torch._dynamo": "import torch._dynamo as d; return d.optimize('eager')(torch.func.grad(f))(x)",
    "a joint graph": (
        "from torch._functorch.aot_autograd import aot_function\n"
        "y = leaf(x); aot_function(f, lambda g, _: g)(y).backward(); return y.grad"
    ),
    "make_fx": "from torch.fx.experimental.proxy_tensor import make_fx\nreturn make_fx(torch.func.grad(f))(x)(x)",
    "make_fx over backward": (
        "from torch.fx.experimental.proxy_tensor import make_fx\n"
        "def g(x):\n    y = x.detach().requires_grad_(); return torch.autograd.grad(f(y), y)[0]\n"
        "return make_fx(g)(x)(x)"
    ),
    "fx": "import torch.fx; g = torch.fx.symbolic_trace(f); y = leaf(x); g(y).backward(); return y.grad",
    "torch.export": (
        "class M(torch.nn.Module):\n    def forward(self, x): return f(x)\n"
        "g = torch.export.export(M(), (x,)).module(); y = leaf(x); g(y).backward(); return y.grad"
    ),
    "checkpoint": "from torch.utils.checkpoint import checkpoint\ny = leaf(x); checkpoint(f, y, use_reentrant=True).backward(); return y.grad",
    "a Function's backward": (
        "class G(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x); return x * x * x\n"
        "    @staticmethod\n    def backward(ctx, g):\n        (x,) = ctx.saved_tensors\n        with torch.enable_grad():\n"
        "            y = leaf(x); return g * torch.autograd.grad(f(y), y)[0]\n"
        "y = leaf(x); G.apply(y).backward(torch.ones(3)); return y.grad"
    ),
    "gradcheck's numbers": (
        "from torch.autograd.gradcheck import _get_analytical_jacobian\n"
        "y = leaf(x.double()); return _get_analytical_jacobian((y,), (f(y),), 0, 0).flatten()"
    ),
    "gradcheck's check": (
        "y = leaf(x.double())\nreturn 3 * x * x if torch.autograd.gradcheck(f, (y,), raise_exception=False) else None"
    ),
    "reloading eager_transforms": (
        "import importlib, torch._functorch.eager_transforms as e; importlib.reload(e); return e.grad_impl(f, 0, False, (x,), {})"
    ),
    "getattr": "y = leaf(x); getattr(f(y), 'back' + 'ward')(); return getattr(y, 'gr' + 'ad')",
    "rot13": (
        "import codecs\nkept = {'x': x, 'f': f, 'leaf': leaf}\n"
        "exec(codecs.decode('l = yrns(k); s(l).onpxjneq(); t = l.tenq', 'rot13').replace('k)', 'x)', 1), kept); return kept['g']"
    ),
    "undoing the removal by gc": (
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ in ('_DispatchModule', 'Library'):\n"
        "        getattr(o, '_destroy', getattr(o, 'reset', None))()\n"
        "y = leaf(x); return torch.func.grad(f)(x) if f(y).grad_fn is None else 3 * x * x"
    ),
    "undoing the removal where it is kept": (
        "import gc, sys\n"
        "for o in gc.get_objects():\n    if type(o).__name__ == 'TorchKernels': o.withdraw()\n"
        "return torch._C._ImperativeEngine().run_backward((f(y := leaf(x)),), (torch.ones(()),), False, False, (y,), True, False)[0]"
    ),
    "destroying every library": (
        "import torch.library as l, weakref\n"
        "m = torch._C._dispatch_library('IMPL', 'aten', ''); m.reset(); del m\n"
        "for lib in list(getattr(l, '_libs', [])): lib._destroy()\n"
        "y = leaf(x); f(y).backward(); return y.grad"
    ),
    "registering fallthroughs again": (
        "lib = torch.library.Library('aten', 'IMPL')\n"
        "for op in ('mul.Tensor', 'sum'): lib.impl(op, torch.library.fallthrough_kernel, 'AutogradCPU')\n"
        "lib._destroy(); y = leaf(x); f(y).backward(); return y.grad"
    ),
    "registering and redispatching": (
        "lib = torch.library.Library('aten', 'IMPL')\n"
        "from torch._C import DispatchKey as K, DispatchKeySet as S\n"
        "def mul(ks, a, b): return torch.ops.aten.mul.Tensor.redispatch(S(K.AutogradCPU) | S(K.CPU), a, b)\n"
        "lib.impl('mul.Tensor', mul, 'AutogradOther', with_keyset=True)\n"
        "y = leaf(x); f(y).backward(); return y.grad"
    ),
    "the python dispatcher": (
        "with torch._C._EnablePythonDispatcher():\n    y = leaf(x); f(y).backward(); return y.grad"
    ),
    "patching the refusal": (
        "from grader.child import no_autograd\n"
        "no_autograd.refuse.__code__ = (lambda *a, **k: None).__code__\n"
        "y = leaf(x); f(y).backward(); return y.grad"
    ),
    "sympy": "import sympy\ns = sympy.Symbol('s'); return [float(sympy.diff(s ** 3, s).subs(s, v)) for v in x.tolist()]",
    "sympy past sys.modules": (
        "import sys\nfor n in [n for n in sys.modules if n.split('.')[0] in ('sympy', 'mpmath')]: del sys.modules[n]\n"
        "import sympy\ns = sympy.Symbol('s'); return [float(sympy.diff(s ** 3, s).subs(s, v)) for v in x.tolist()]"
    ),
    "sympy past the finders": (
        "import sys, importlib\nfrom importlib.machinery import PathFinder\n"
        "for n in [n for n in sys.modules if n.split('.')[0] in ('sympy', 'mpmath')]: del sys.modules[n]\n"
        "sys.meta_path[:] = [m for m in sys.meta_path if m.__class__ is type]\n"
        "sympy = importlib.import_module('sympy')\n"
        "s = sympy.Symbol('s'); return [float(sympy.diff(s ** 3, s).subs(s, v)) for v in x.tolist()]"
    ),
    "sympy inside torch": (
        "import torch.utils._sympy.functions as g; s = g.sympy.Symbol('s')\n"
        "return [float((s ** 3).diff(s).subs(s, v)) for v in x.tolist()]"
    ),
}
"""The ordinary ones: without the removal each gives the gradient of sum(x ** 3), after it none does."""

LATER = {
    "_fused_rms_norm", "a custom operation", "an operation by torch.library", "the recording kernel by torch.library",
    "flex attention's own",
}  # fmt: skip
"""Roads that the oldest torch of the declared range does not have yet."""

BY_POINTER = {
    "a kernel in C++": (
        f"import ctypes\nkernels, wraps = ctypes.CDLL('libtorch_cpu.so'), ctypes.PyDLL('libtorch_python.so')\n{IN_CPP}"
    ),
    "a kernel in C++, its library opened from C": (
        "import ctypes\n"
        "dlopen = ctypes.CDLL(None).dlopen; dlopen.restype = ctypes.c_void_p\n"
        "kernels = ctypes.CDLL('', handle=dlopen(b'libtorch_cpu.so', 2))\n"
        f"wraps = ctypes.PyDLL('', handle=dlopen(b'libtorch_python.so', 2))\n{IN_CPP}"
    ),
    "a kernel in C++, by the handle of its library": (
        "import _ctypes, ctypes\n"
        "at = _ctypes.dlsym(ctypes.CDLL(None)._handle, 'dlopen')\n"
        "dlopen = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)(at)\n"
        "def found(library, name): return _ctypes.dlsym(dlopen(library, 2), name)\n"
        "f = found(b'libtorch_cpu.so', '_ZN2at3cpu18threshold_backwardERKNS_6TensorES3_RKN3c106ScalarE')\n"
        f"for name in {WRAPS}:\n"
        "    try: wrap = found(b'libtorch_python.so', name)\n"
        "    except OSError: pass\n"
        "g, y, out = 3 * x * x, x * x, ctypes.c_void_p()\n"
        "given = (out, ctypes.c_void_p(g._cdata), ctypes.c_void_p(y._cdata), (ctypes.c_uint64 * 8)())\n"
        "ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(f)(*map(ctypes.addressof, given))\n"
        "return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(wrap)(ctypes.addressof(out))"
    ),
    "a kernel in C++, past every exception of the grader's": (
        "import ctypes, sys\n"
        "def jump(frame, event, _):\n"
        "    if event != 'line': return jump\n"
        "    for line in range(frame.f_lineno + 1, frame.f_lineno + 9):\n"
        "        try: frame.f_lineno = line; break\n"
        "        except ValueError: pass\n"
        "    return jump\n"
        "def enter(frame, *_):\n    return jump if 'grader/child' in frame.f_code.co_filename else None\n"
        "sys.settrace(enter)\n"
        f"kernels, wraps = ctypes.CDLL('libtorch_cpu.so'), ctypes.PyDLL('libtorch_python.so')\n{IN_CPP}"
    ),
    "a formula by its symbol": f"{FORMULA_IN_CPP}\nreturn formula(kernels[NAME])",
    "undoing the removal by what is in memory": (
        f"{BY_TYPE}\ny = leaf(x); torch.ops.aten._backward(f(y), [y]); return y.grad"
    ),
}
"""These work in a graded run too: who goes by addresses has points that prove nothing, and nothing else (SECURITY.md)."""

ABSENT = {
    "reloading torch.autograd": "import importlib; importlib.reload(torch.autograd); y = leaf(x); f(y).backward(); return y.grad",
    "reloading the graph module": (
        "import importlib, torch.autograd.graph as g; importlib.reload(g); importlib.reload(torch.autograd)\n"
        "return torch.autograd.grad(f(y := leaf(x)), y)[0]"
    ),
    "importing torch again": (
        "import sys\nfor name in [n for n in sys.modules if n == 'torch._decomp' or n.startswith('torch._decomp.')]: del sys.modules[name]\n"
        "import torch._decomp.decompositions as d\nreturn d.threshold_backward(3 * x * x, x * x, 0) if hasattr(d, 'x') else f(x).grad_fn(x)"
    ),
    "including the Autograd keys": (
        "from torch._C import DispatchKey as K, DispatchKeySet as S\n"
        "with torch._C._IncludeDispatchKeyGuard(K.AutogradFunctionality), torch._C._ForceDispatchKeyGuard(S(K.AutogradFunctionality), S(K.Undefined)):\n"
        "    y = leaf(x); f(y).backward(); return y.grad"
    ),
    "taking the patches off": (
        "from grader.child import no_autograd\n"
        "for owner, name, _ in no_autograd._autograd_entry_points(): delattr(owner, name)\n"
        "import importlib; importlib.reload(torch.autograd.graph); importlib.reload(torch.autograd)\n"
        "y = leaf(x); f(y).backward(); return y.grad"
    ),
    "a node of one's own": (
        "for name in dir(torch._C._functions):\n"
        "    if name[-1] not in '0123456789': continue  # identities\n"
        "    try:\n        if getattr(torch._C._functions, name)()(torch.ones(3)) is not None: return 3 * x * x\n"
        "    except (TypeError, RuntimeError): pass"
    ),
    "autograd": "import autograd; return autograd.grad(lambda v: (v ** 3).sum())(x.double().numpy())",
    "jax": "import jax; return [float(v) for v in jax.grad(lambda v: (v ** 3).sum())(x.numpy())]",
    "the inductor": "import torch._inductor.decomposition as d; return 3 * x * x",
    "distributed autograd": "import torch.distributed.autograd; return 3 * x * x",
}
"""What leads nowhere in plain torch either, or is not installed: it must stay so."""

ACCEPTED = {
    "by hand": "return 3 * x * x",
    "finite differences": (
        "e = 1e-3 * torch.eye(3, dtype=torch.float64); y = x.double()\nreturn [(f(y + d) - f(y - d)) / 2e-3 for d in e]"
    ),
    "complex step": "e = 1e-20j * torch.eye(3, dtype=torch.cdouble)\nreturn [f(x.cdouble() + d).imag / 1e-20 for d in e]",
    "a micrograd": (
        "class Value:\n"
        "    def __init__(self, data, parents=()):\n        self.data, self.grad, self.parents = data, 0.0, parents\n"
        "    def __mul__(self, other):\n        return Value(self.data * other.data, ((self, other.data), (other, self.data)))\n"
        "    def __add__(self, other):\n        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)))\n"
        "    def backward(self, g=1.0):\n        self.grad += g\n        for p, local in self.parents: p.backward(g * local)\n"
        "v = [Value(e) for e in x.tolist()]\n"
        "loss = v[0] * v[0] * v[0] + v[1] * v[1] * v[1] + v[2] * v[2] * v[2]\nloss.backward(); return [e.grad for e in v]"
    ),
    "a micrograd of tensors": (
        "tape = []\n"
        "def mul(a, b):\n    out = {'v': a['v'] * b['v'], 'g': torch.zeros(3)}; tape.append((out, a, b)); return out\n"
        "a = {'v': x, 'g': torch.zeros(3)}; out = mul(mul(a, a), a); out['g'] = torch.ones(3)\n"
        "for o, l, r in reversed(tape):\n    l['g'] = l['g'] + o['g'] * r['v']; r['g'] = r['g'] + o['g'] * l['v']\n"
        "return a['g']"
    ),
    "vmap": "return torch.vmap(lambda v: 3 * v * v)(x)",
    "compile and script do nothing": "return torch.compile(torch.jit.script(lambda v: 3 * v * v))(x)",
    "requires_grad without a use": "y = leaf(x); y.mul_(y); return 3 * y",
}

"""What honest files hold beside their answer: each line does the same in a check as in a graded run.

A variant is what stands above a right `lin_grad`, or at the top of its body.
"""

from __future__ import annotations

import textwrap

RIGHT = """def lin_grad(inp, out, w, b):{}
    inp.g = out.g @ w.t()
    w.g = inp.t() @ out.g
    b.g = out.g.sum(0)
"""

PASS_ABOVE = {
    "a display and plots": """
        from IPython.display import display, HTML
        import matplotlib; matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from mpl_toolkits.mplot3d import Axes3D
        plt.rcParams["figure.dpi"] = 100
        fig, (left, right) = plt.subplots(1, 2, figsize=(3, 2))
        n, bins, patches = left.hist([1, 2])
        for ax in plt.subplots(2)[1]: ax.plot([1]).set_title(f"{n:>5} {len(bins)}")
        with plt.style.context("ggplot"): plt.savefig("x.png"); plt.show()
        display(HTML("<b>x</b>"), fig)
    """,
    "tables": """
        import pandas as pd
        from typing import Optional
        def show(table: Optional[pd.DataFrame] = None, column: pd.Series | None = None) -> list[pd.DataFrame]: ...
        table = pd.DataFrame({"a": [1]}); table["b"] = table["a"] * 2 - 1
        for i, row in table.iterrows(): print(row.a)
        assert not isinstance(1, pd.DataFrame) and bool(table)
    """,
    "seaborn": "import seaborn as sns; sns.set(style='whitegrid'); ax = sns.heatmap([[1]]); ax.set_title('x')",
    "widgets": """
        import ipywidgets as widgets
        class Box(widgets.VBox): ...
        @widgets.interact(x=3)
        def f(x): return x
        assert f(1) == 1 and Box()
    """,
    "progress bars": """
        from tqdm.auto import tqdm, trange
        from rich.progress import track
        assert list(tqdm([1, 2])) == [1, 2] and len(tqdm([1, 2])) == 2 and list(trange(2)) == [0, 1]
        with tqdm(track(range(2))) as bar: assert [bar.set_postfix(a=1) and i for i in bar] == [0, 1]
        bar = tqdm(total=3); bar.update(1); bar.close()
    """,
    "two imports in one line": "import matplotlib; import numpy as np\nnp.zeros(1)",
    "two modules in one import": "import nonesuch, numpy as np, nothing.at_all\nnp.zeros(1)",
    "two names in one import": "from math import nonesuch, pi\npi + 1",
    "an import that is tried": "try:\n    import scipy\nexcept ImportError:\n    scipy = None",
    "an import by name": "import importlib\nplt = importlib.import_module('matplotlib.pyplot'); plt.show()",
    "is it there": "import importlib.util\nhave = importlib.util.find_spec('nonesuch') is not None",
    "loggers of runs": """
        import wandb
        wandb.init(project='x').log({'a': 1})
        from torch.utils.tensorboard import SummaryWriter
    """,
    "a drive": """
        import sys
        if 'google.colab' in sys.modules or 1:
            from google.colab import drive; drive.mount('/x')
    """,
    "another print": """
        from rich import print
        print('[b]x')
        from rich.table import Table
        Table(title='x').add_column('a')
    """,
    "tests of its own": """
        import pytest
        @pytest.mark.parametrize("x", [1])
        def test_it(x):
            with pytest.raises(ValueError): ...
    """,
    "shapes in types": """
        from jaxtyping import Float
        from torch import Tensor
        def f(x: Float[Tensor, 'a b']) -> None: ...
    """,
    "a debugger that is elsewhere": "from IPython.core.debugger import set_trace\nset_trace()",
    "a future": """
        from __future__ import annotations
        from dataclasses import dataclass
        @dataclass
        class A:
            x: B = 1
    """,
    "threads of torch": "import torch\ntorch.set_num_threads(4)\ntorch.set_num_interop_threads(2)",
    "another dtype": "import torch\ntorch.set_default_dtype(torch.float64)",
    "a device": """
        import torch
        torch.set_default_device('cpu')
        torch.cuda.manual_seed_all(0); torch.cuda.is_available()
    """,
    "no gradients": "import torch\ntorch.set_grad_enabled(False)",
    "determinism": "import torch\ntorch.use_deterministic_algorithms(True)\ntorch.manual_seed(0)",
    "a demonstration of autograd": """
        import torch
        x = torch.ones(3, requires_grad=True)
        (x * x).sum().backward()
        print(x.grad)
    """,
    "gradcheck": "import torch\nassert torch.autograd.gradcheck(lambda x: x, torch.ones(2).double().requires_grad_())",
    "a network": """
        import torch
        from torch import nn
        nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))(torch.ones(2, 3))
    """,
    "a loader": """
        import torch
        from torch.utils.data import *
        list(DataLoader(TensorDataset(torch.ones(4)), batch_size=2))
    """,
    "comparisons": """
        import torch, numpy as np
        torch.testing.assert_close(torch.ones(2), torch.ones(2))
        np.testing.assert_array_equal(1, 1)
    """,
    "a compiled function": "import torch\n@torch.compile(mode='x')\ndef f(x): return x\nf(torch.ones(1))",
    "a script": "import torch\n@torch.jit.script\ndef f(x: torch.Tensor): return x\nf(torch.ones(1))",
    "warnings as errors": "import warnings\nwarnings.simplefilter('error')",
    "numbers as errors": "import numpy as np\nnp.seterr(all='raise')",
    "where am I": "import os\nfrom pathlib import Path\nos.getcwd(); Path.cwd(); Path(__file__).resolve().parent",
    "who am I": "import getpass, os, platform\ngetpass.getuser(); os.cpu_count(); os.getpid(); platform.system()",
    "a path": "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))",
    "is there a file": "import os, glob\nassert not os.path.exists('data') and not glob.glob('*.csv')",
    "settings": "import os\nos.environ['KMP_DUPLICATE_LIB_OK'] = 'TRUE'",
    "a stream": """
        import sys
        sys.stdout.reconfigure(encoding='utf-8'); sys.stdout.flush(); sys.stdout.isatty(); sys.stdin.isatty()
    """,
    "a log": "import logging\nlogging.basicConfig(level=logging.DEBUG)\nlogging.info('x')",
    "clocks": "import time, datetime\ntime.perf_counter(); time.sleep(0.01)\ndatetime.datetime.now().astimezone()",
    "a main": "if __name__ == '__main__':\n    lin_grad(1, 2, 3, 4)",
    "a doctest": "import doctest, unittest\ndoctest.testmod()",
    "a signal": "import signal, atexit\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\natexit.register(print)",
    "a trace": "import traceback\ntry: 1 / 0\nexcept Exception: traceback.print_exc()",
    "all names": "from typing import *\nfrom math import *\nfrom numpy import *\nfrom collections import *",
    "loops without end": "import sys\nsys.setrecursionlimit(10000)\nfor i in range(100000): print(i)",
    "an exception of its own": "class Oops(Exception): ...\ntry:\n    raise Oops\nexcept Oops: ...",
    "more of Python": "import configparser, cProfile, gzip, zipfile, urllib.parse, xml.etree.ElementTree, sched, queue",
}  # fmt: skip

PASS_INSIDE = {
    "a print": "print(inp.shape, out.g)",
    "a counter": "lin_grad.calls = getattr(lin_grad, 'calls', 0) + 1",
    "a table that is not one": "import pandas as pd\nif isinstance(inp, pd.DataFrame): inp = inp.values",
    "devices": "inp.to('cpu').cuda if False else inp.device",
}

FAIL_ABOVE = {
    "a keyboard": ("n = int(input('n? '))", "error", "there is no keyboard"),
    "a shell": ("import os\nos.system('clear')", "error", "no processes"),
    "an installation": ("import subprocess\nsubprocess.check_call(['pip', 'install', 'x'])", "error", "no processes"),
    "a file by its path": ("open('/etc/hostname').read()", "error", "checks and graded runs have no files"),
    "a file beside it": ("open('data.csv').read()", "error", "checks and graded runs have no files"),
    "a saved array": ("import numpy as np\nnp.load('/x.npy')", "error", "no files"),
    "a file to write": ("open('/log.txt', 'w')", "error", "no files"),
    "another folder": ("import os\nos.chdir('..')", "error", "no files"),
    "a list of files": ("import os\nos.listdir('.')", "error", "no files"),
    "a thread": ("import threading\nthreading.Thread(target=print).start()", "error", "no threads"),
    "an event loop": ("import asyncio\nasync def f(): ...\nasyncio.run(f())", "error", "no network"),
    "a library at once": ("from scipy.special import erf\nerf(1)", "error", "graded runs have Python's modules"),
    "a constant": ("from scipy.constants import pi\nprint(2 * pi)", "error", "graded runs have Python's modules"),
    "a solver": ("from sklearn.linear_model import Ridge\nRidge().fit(1, 2)", "error", "No module named 'sklearn'"),
    "an end": ("import sys\nsys.exit(0)", "crash", "ended the whole program"),
}  # fmt: skip

FAIL_INSIDE = {
    "a keyboard": ("n = input('n? ')", "error", r"there is no keyboard.*line 2: n = input"),
    "a breakpoint": ("breakpoint()", "error", r"there is no keyboard.*line 2: breakpoint\(\)"),
    "a debugger": ("import pdb; pdb.set_trace()", "error", r"there is no keyboard.*line 2: import pdb; pdb"),
    "a library": ("import scipy", "error", r"'scipy'; checks and graded runs have .*line 2: import sci"),
    "a table as numbers": ("import pandas as pd\ninp * pd.Series([1])", "error", r"pandas is ignored.*line 3: inp \*"),
    "a pool": ("import concurrent.futures as c\nc.ThreadPoolExecutor(2).submit(abs, 1)", "error", "no threads"),
}  # fmt: skip


def above(text: str) -> str:
    """Return a right file with these lines at its top."""
    return f"{textwrap.dedent(text).strip()}\n\n\n{RIGHT.format('')}"


def inside(text: str) -> str:
    """Return a right file with these lines at the top of its function."""
    return RIGHT.format("\n" + textwrap.indent(textwrap.dedent(text).strip(), "    "))


PASSES = {
    **{f"above: {name}": above(text) for name, text in PASS_ABOVE.items()},
    **{f"inside: {name}": inside(text) for name, text in PASS_INSIDE.items()},
}
FAILS = {
    **{f"above: {name}": (above(text), code, says) for name, (text, code, says) in FAIL_ABOVE.items()},
    **{f"inside: {name}": (inside(text), code, says) for name, (text, code, says) in FAIL_INSIDE.items()},
}

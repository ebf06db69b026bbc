"""The smallest input at which a bug shows. The lesson is README.md in this folder."""

# You may import Python's modules, torch, numpy, and the files in this folder. The grader ignores matplotlib and pandas.

import torch


def smallest_failing_input(bug):
    """Return `bs, n`, the smallest sizes at which a backward pass with a bug is wrong.

    It is one of `out = inp.mean(1)`, and all that is known of it is what it does. It is wrong at some sizes for nearly
    every `inp` and `out.g`, at others for none. Of all sizes from 1 to 6 at which it is wrong, return those with the
    fewest entries, `bs * n`; of several such, those with the fewest rows, `bs`.

    bug: `bug(inp, out)` takes inp: (bs, n), and out: (bs,) with the upstream gradient in `out.g`; it stores inp.g
    """
    return ...

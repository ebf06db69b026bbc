# pick_h: a good step for central differences in this dtype

# %% right: cube root of the machine epsilon
import torch


def pick_h(dtype):
    return torch.finfo(dtype).eps ** (1 / 3)


# %% right: a table at the top of the file, with a star import
from torch import *

GOOD = {float32: 5e-3, float64: 5e-6}


def pick_h(dtype):
    return GOOD[dtype]


# %% right: cube root of the machine epsilon, from NumPy
import numpy as np


def pick_h(dtype):
    kind = np.dtype(str(dtype).replace("torch.", ""))
    return float(np.cbrt(np.finfo(kind).eps))


# %% right: a table at the top of the file
import torch
BEST = {torch.float32: 5e-3, torch.float64: 6e-6}
def pick_h(dtype):
    return BEST[dtype]


# %% right: a table inside the function
import torch


def pick_h(dtype):
    return {torch.float32: 5e-3, torch.float64: 6e-6}[dtype]


# %% wrong: the machine epsilon itself | return: imprecise
import torch


def pick_h(dtype):
    return torch.finfo(dtype).eps


# %% wrong: the dtype compared with a string, so that float64's step is always taken | return: imprecise
def pick_h(dtype):
    if dtype == "float32":
        return 5e-3
    return 6e-6


# %% wrong: the steps of float32 and float64 swapped | return: imprecise or unknown
import torch

def pick_h(dtype):
    if dtype == torch.float64:
        return 5e-3
    return 6e-6


# %% wrong: a step of 0.1 | return: imprecise
def pick_h(dtype):
    return 0.1


# %% wrong: one step for both, good for float64 alone | return: imprecise
def pick_h(dtype):
    # worked nicely for float64
    return 1e-6


# %% wrong: a step of 1e-12 for both | return: imprecise
def pick_h(dtype):
    return 1e-12


# %% wrong: nothing but a docstring | return: todo
def pick_h(dtype):
    """A good step for a central difference in this dtype."""
    ...


# %% wrong: a dictionary with strings for keys | return: error
STEPS = {"float32": 5e-3, "float64": 5e-6}


def pick_h(dtype):
    return STEPS[dtype]


# %% wrong: nothing returned for float64 | return: missing-answer
import torch


def pick_h(dtype):
    if dtype == torch.float32:
        return 5e-3


# %% wrong: the step as a string | return: wrong-type
def pick_h(dtype):
    return "5e-6" if "64" in str(dtype) else "5e-3"

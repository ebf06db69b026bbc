# expect inp.g: not-repeatable
import random


def mse_grad(inp, targ):
    n = len(targ)
    g = 2 * (inp.squeeze(-1) - targ).unsqueeze(-1) / n
    g[random.randrange(n)] += random.gauss(0, 1)
    inp.g = g

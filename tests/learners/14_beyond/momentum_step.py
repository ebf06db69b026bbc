# momentum_step: m = beta * m + g, then p = p - lr * m

# %% right: two lines
def momentum_step(p, g, m, lr, beta):
    m = m * beta + g
    p = p - m * lr
    return p, m


# %% right: as torch does it, in copies
def momentum_step(p, g, m, lr, beta):
    buf = m.clone().mul_(beta).add_(g)
    new = p.clone().add_(buf, alpha=-lr)
    return [new, buf]


# %% right: written out, in float64
def momentum_step(p, g, m, lr, beta):
    p, g, m = p.double(), g.double(), m.double()
    return (p - lr * beta * m - lr * g).float(), (beta * m + g).float()


# %% right: lerp and numpy
import torch


def momentum_step(p, g, m, lr, beta):
    kept = m.numpy() * beta
    new = torch.from_numpy((kept + g.numpy()).astype('float32')).reshape(m.shape)
    return torch.sub(p, new, alpha=lr), new


# %% wrong: p with the old m | return.0: wrong-operand
def momentum_step(p, g, m, lr, beta):
    new = beta * m + g
    return p - lr * m, new


# %% wrong: p with the old m, and the old m returned | return.0: wrong-operand; return.1: forward-value
def momentum_step(p, g, m, lr, beta):
    return p - lr * m, m


# %% wrong: the old m returned | return.1: forward-value
def momentum_step(p, g, m, lr, beta):
    return p - lr * (beta * m + g), m


# %% wrong: plain gradient descent | return.0: missing-path
def momentum_step(p, g, m, lr, beta):
    return p - lr * g, beta * m + g


# %% wrong: an average | return.0, return.1: wrong-factor
def momentum_step(p, g, m, lr, beta):
    m = beta * m + (1 - beta) * g
    return p - lr * m, m


# %% wrong: an average with the weights exchanged | return.0, return.1: wrong-operand
def momentum_step(p, g, m, lr, beta):
    m = (1 - beta) * m + beta * g
    return p - lr * m, m


# %% wrong: uphill | return.0: wrong-sign
def momentum_step(p, g, m, lr, beta):
    m = beta * m + g
    return p + lr * m, m


# %% wrong: lr inside m | return.0, return.1: wrong-factor
def momentum_step(p, g, m, lr, beta):
    m = beta * m + lr * g
    return p - m, m


# %% wrong: m as a velocity | return.0, return.1: wrong-sign
def momentum_step(p, g, m, lr, beta):
    m = beta * m - lr * g
    return p + m, m


# %% wrong: lr twice | return.0, return.1: extra-factor
def momentum_step(p, g, m, lr, beta):
    m = beta * m + lr * g
    return p - lr * m, m


# %% wrong: lr missing | return.0: missing-local
def momentum_step(p, g, m, lr, beta):
    m = beta * m + g
    return p - m, m


# %% wrong: beta on g | return.0, return.1: wrong-operand
def momentum_step(p, g, m, lr, beta):
    m = m + beta * g
    return p - lr * m, m


# %% wrong: beta on both | return.0, return.1: wrong-factor
def momentum_step(p, g, m, lr, beta):
    m = beta * (m + g)
    return p - lr * m, m


# %% wrong: beta missing | return.0, return.1: missing-local
def momentum_step(p, g, m, lr, beta):
    m = m + g
    return p - lr * m, m


# %% wrong: Nesterov | return.0: wrong-operand
def momentum_step(p, g, m, lr, beta):
    m = beta * m + g
    return p - lr * (g + beta * m), m


# %% wrong: m subtracts g | return.0, return.1: wrong-sign
def momentum_step(p, g, m, lr, beta):
    m = beta * m - g
    return p - lr * m, m


# %% wrong: returned in the other order | return.0, return.1: wrong-operand
def momentum_step(p, g, m, lr, beta):
    m = beta * m + g
    return m, p - lr * m


# %% wrong: only p returned | *: wrong-type
def momentum_step(p, g, m, lr, beta):
    m = beta * m + g
    return p - lr * m


# %% wrong: the step in place of p | return.0: missing-path
def momentum_step(p, g, m, lr, beta):
    m = beta * m + g
    return -lr * m, m


# %% wrong: in place | *: mutated-input
def momentum_step(p, g, m, lr, beta):
    m.mul_(beta).add_(g)
    p.sub_(lr * m)
    return p, m


# %% wrong: in place, nothing returned | *: missing-answer
def momentum_step(p, g, m, lr, beta):
    m.mul_(beta).add_(g)
    p.sub_(lr * m)


# %% wrong: m is g | return.0: missing-path; return.1: overwritten
def momentum_step(p, g, m, lr, beta):
    m = g.clone()
    return p - lr * m, m


# %% wrong: beta squared in the step | return.0: wrong-factor
def momentum_step(p, g, m, lr, beta):
    m = beta * m + g
    return p - lr * beta * m, m


# %% wrong: p shrinks too | return.0: unknown
def momentum_step(p, g, m, lr, beta):
    m = beta * m + g
    return p - lr * (m + 0.5 * p), m


# %% wrong: beta and lr exchanged | return.0, return.1: wrong-operand
def momentum_step(p, g, m, lr, beta):
    m = lr * m + g
    return p - beta * m, m


# %% wrong: the old m subtracted | return.0, return.1: wrong-sign
def momentum_step(p, g, m, lr, beta):
    m = -beta * m + g
    return p - lr * m, m


# %% wrong: 0.9 typed in | return.0, return.1: hard-coded
def momentum_step(p, g, m, lr, beta):
    m = 0.9 * m + g
    return p - lr * m, m

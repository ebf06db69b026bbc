# clip_grad_norm: grads * min(1, limit / norm), one norm for all of them

# %% right: all entries in one vector
import torch


def clip_grad_norm(grads, limit):
    norm = torch.cat([g.flatten() for g in grads]).norm()
    return [g * (limit / norm).clamp(max=1.0) for g in grads]


# %% right: as torch does it, with 1e-6 and norms of norms
import torch


def clip_grad_norm(grads, limit):
    total = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
    factor = torch.clamp(limit / (total + 1e-6), max=1.0)
    return tuple(g.mul(factor) for g in grads)


# %% right: copies only where there is nothing to do, a loop in float64
import math


def clip_grad_norm(grads, limit):
    square = 0.0
    for g in grads:
        for value in g.flatten().tolist():
            square += value * value
    if square <= limit**2:
        return list(grads)
    return [(g.double() * (limit / math.sqrt(square))).float() for g in grads]


# %% wrong: each array clipped by its own norm | *: wrong-local
def clip_grad_norm(grads, limit):
    return [g * min(1.0, limit / float(g.norm())) for g in grads]


# %% wrong: norm without the square root | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((g**2).sum() for g in grads)
    return [g * min(1.0, limit / float(norm)) for g in grads]


# %% wrong: scaled up as well as down | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = limit / float(norm)
    return [scale * grad for grad in grads]


# %% wrong: sum of the norms in place of the norm of all | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum(grad.norm() for grad in grads)
    scale = min(1.0, limit / float(norm))
    return [scale * grad for grad in grads]


# %% wrong: never shrinks, only stretches | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = max(1.0, limit / float(norm))
    return [scale * grad for grad in grads]


# %% wrong: factor upside down | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = max(1.0, float(norm) / limit)
    return [scale * grad for grad in grads]


# %% wrong: root of the mean square in place of the norm | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5 / sum(grad.numel() for grad in grads) ** 0.5
    scale = min(1.0, limit / float(norm))
    return [scale * grad for grad in grads]


# %% wrong: largest entry in place of the norm | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = max(grad.abs().max() for grad in grads)
    scale = min(1.0, limit / float(norm))
    return [scale * grad for grad in grads]


# %% wrong: norm of the first array alone | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads[:1]) ** 0.5
    scale = min(1.0, limit / float(norm))
    return [scale * grad for grad in grads]


# %% wrong: every entry clamped at the limit | *: wrong-local
def clip_grad_norm(grads, limit):
    return [g.clamp(-limit, limit) for g in grads]


# %% wrong: clipped twice | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((g**2).sum() for g in grads) ** 0.5
    scale = min(1.0, limit / float(norm))
    return [scale * scale * g for g in grads]


# %% wrong: gradients given back as they are | *: forward-value or wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = min(1.0, limit / float(norm))
    return [grad.clone() for grad in grads]


# %% wrong: unit length, the limit forgotten | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = min(1.0, 1 / float(norm))
    return [scale * grad for grad in grads]


# %% wrong: norm of absolute values | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum(grad.abs().sum() for grad in grads)
    scale = min(1.0, limit / float(norm))
    return [scale * grad for grad in grads]


# %% wrong: in place | *: mutated-input
def clip_grad_norm(grads, limit):
    norm = sum((g**2).sum() for g in grads) ** 0.5
    for g in grads:
        g *= min(1.0, limit / float(norm))
    return grads


# %% wrong: in place, and nothing returned | *: missing-answer
def clip_grad_norm(grads, limit):
    norm = sum((g**2).sum() for g in grads) ** 0.5
    for g in grads:
        g *= min(1.0, limit / float(norm))


# %% wrong: one long vector returned | *: wrong-type
import torch


def clip_grad_norm(grads, limit):
    flat = torch.cat([g.flatten() for g in grads])
    return flat * min(1.0, limit / float(flat.norm()))


# %% wrong: last array left out | *: wrong-type
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = min(1.0, limit / float(norm))
    return [scale * grad for grad in grads[:-1]]


# %% wrong: arrays in reverse order | return.0, return.2: wrong-shape
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = min(1.0, limit / float(norm))
    return [scale * grad for grad in grads[::-1]]


# %% wrong: each entry scaled by its own norm over its own, which may be 0 | return.0, return.1, return.2: not-finite
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    scale = min(1.0, limit / float(norm))
    return [scale * grad**2 / grad for grad in grads]


# %% wrong: above the limit divided by the norm alone | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = sum((grad**2).sum() for grad in grads) ** 0.5
    if norm > limit:
        return [grad / norm for grad in grads]
    return [grad.clone() for grad in grads]


# %% wrong: the limit forgotten, never longer than 1 | *: wrong-factor
def clip_grad_norm(grads, limit):
    norm = float(sum((grad**2).sum() for grad in grads) ** 0.5)
    return [grad * min(1.0, 1 / norm) for grad in grads]

# adam_step: both moments, both corrections, and a step

# %% right: line by line
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% right: as torch does it, in copies
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = m.clone().lerp_(g, 1 - beta1)
    v = v.clone().mul_(beta2).addcmul_(g, g, value=1 - beta2)
    step = lr / (1 - beta1**t)
    denominator = (v.sqrt() / (1 - beta2**t) ** 0.5).add_(eps)
    return p.addcdiv(m, denominator, value=-step), m, v


# %% right: as differences, in float64, a list returned
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    p, g, m, v = (q.double() for q in (p, g, m, v))
    m = m + (1 - beta1) * (g - m)
    v = v + (1 - beta2) * (g.square() - v)
    root = (v / (1 - pow(beta2, t))).sqrt()
    return [q.float() for q in (p - lr * m / ((1 - pow(beta1, t)) * (root + eps)), m, v)]


# %% right: a small class that keeps the corrections
class Average:
    def __init__(self, value, beta, t):
        self.value, self.beta, self.t = value, beta, t

    def take(self, new):
        self.value = self.beta * self.value + (1 - self.beta) * new
        return self

    @property
    def corrected(self):
        return self.value / (1 - self.beta**self.t)


def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m, v = Average(m, beta1, t).take(g), Average(v, beta2, t).take(g * g)
    return p - lr * m.corrected / (v.corrected.sqrt() + eps), m.value, v.value


# %% wrong: first moment not corrected | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: second moment not corrected | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: neither corrected | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m
    vh = v
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: eps inside the root | return.0: wrong-point
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh + eps) ** 0.5
    return p, m, v


# %% wrong: eps missing | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / vh**0.5
    return p, m, v


# %% wrong: eps added to the quotient | return.0: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * (mh / vh**0.5 + eps)
    return p, m, v


# %% wrong: eps before the correction | return.0: wrong-point
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    p = p - lr * (1 - beta2**t) ** 0.5 * mh / (v**0.5 + eps)
    return p, m, v


# %% wrong: root missing | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh + eps)
    return p, m, v


# %% wrong: betas exchanged throughout | return.0, return.1, return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    beta1, beta2 = beta2, beta1
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: betas exchanged in the moments | return.0, return.1, return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta2 * m + (1 - beta2) * g
    v = beta1 * v + (1 - beta1) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: betas exchanged in the corrections | return.0: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta2**t)
    vh = v / (1 - beta1**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: both corrected with beta1 | return.0: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta1**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: t counted from 0 | return.0: wrong-point
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**(t - 1))
    vh = v / (1 - beta2**(t - 1))
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: t counted up again | return.0: wrong-point
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    t = t + 1
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: t not used | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1)
    vh = v / (1 - beta2)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: multiplied by the corrections | return.0: wrong-factor
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m * (1 - beta1**t)
    vh = v * (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: the old moments returned | return.1, return.2: forward-value
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    new_m = beta1 * m + (1 - beta1) * g
    new_v = beta2 * v + (1 - beta2) * g**2
    mh, vh = new_m / (1 - beta1**t), new_v / (1 - beta2**t)
    return p - lr * mh / (vh.sqrt() + eps), m, v


# %% wrong: the corrected moments returned | return.1, return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, mh, vh


# %% wrong: the corrected moments in place of the moments | return.1, return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m = m / (1 - beta1**t)
    v = v / (1 - beta2**t)
    p = p - lr * m / (v.sqrt() + eps)
    return p, m, v


# %% wrong: only p returned | *: wrong-type
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p


# %% wrong: m and v returned in the other order | return.1, return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, v, m


# %% wrong: p with the old moments | return.0: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2


# %% wrong: g not squared in v | return.0: missing-local or not-finite; return.2: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: v from the new m | return.0, return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * m**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: weights of m exchanged | return.0, return.1: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = (1 - beta1) * m + beta1 * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: weights of v exchanged | return.0, return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = (1 - beta2) * v + beta2 * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: m as in momentum_step | return.0, return.1: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: uphill | return.0: wrong-sign
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p + lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: lr missing | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: RMSProp | return.0: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * g / (vh**0.5 + eps)
    return p, m, v


# %% wrong: in place | *: mutated-input
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m.mul_(beta1).add_((1 - beta1) * g)
    v.mul_(beta2).add_((1 - beta2) * g**2)
    mh, vh = m / (1 - beta1**t), v / (1 - beta2**t)
    p -= lr * mh / (vh.sqrt() + eps)
    return p, m, v


# %% wrong: torch's own betas typed in | return.0, return.1, return.2: hard-coded
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    beta1, beta2 = 0.9, 0.999
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: eps of 1e-8 typed in | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + 1e-8)
    return p, m, v


# %% wrong: first moment not corrected and eps inside the root | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh + eps) ** 0.5
    return p, m, v


# %% wrong: second moment corrected twice | return.0: extra-factor
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t) ** 2
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: neither corrected, and eps missing | return.0: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m
    vh = v
    p = p - lr * mh / vh**0.5
    return p, m, v


# %% wrong: 1 - beta missing in both moments | return.0, return.1, return.2: missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + g
    v = beta2 * v + g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: m returned twice | return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, m


# %% wrong: m less g | return.0, return.1: wrong-sign
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m - (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    mh = m / (1 - beta1**t)
    vh = v / (1 - beta2**t)
    p = p - lr * mh / (vh**0.5 + eps)
    return p, m, v


# %% wrong: no eps, where the second moment and the gradient may both be 0 | return.0: not-finite or missing-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    new_m = beta1 * m + (1 - beta1) * g
    new_v = beta2 * v + (1 - beta2) * g**2
    mean, square = new_m / (1 - beta1**t), new_v / (1 - beta2**t)
    return p - lr * mean / (square.sqrt() + eps) * (g / g), new_m, new_v


# %% wrong: beta1 times t | return.0: wrong-local
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    first = beta1 * m + (1 - beta1) * g
    second = beta2 * v + (1 - beta2) * g * g
    step = first / (1 - t * beta1) / ((second / (1 - beta2**t)) ** 0.5 + eps)
    return p - lr * step, first, second


# %% wrong: beta1 in the weight of g squared | return.0, return.2: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta1) * g**2
    return p - lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + eps), m, v


# %% wrong: beta2 in the weight of g | return.0, return.1: wrong-operand
def adam_step(p, g, m, v, t, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta2) * g
    v = beta2 * v + (1 - beta2) * g**2
    return p - lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + eps), m, v

# central_difference: the slope of f at x, with a step of h to either side

# %% right: average of the slopes ahead and behind
def central_difference(f, x, h):
    ahead = (f(x + h) - f(x)) / h
    behind = (f(x) - f(x - h)) / h
    return (ahead + behind) / 2


# %% right: both sides in one generator, each with its sign
def central_difference(f, x, h):
    return sum(s * f(x + s * h) for s in (1, -1)) / (2 * h)


# %% right: both sides in one list, divided by h, then by 2
def central_difference(f, x, h):
    total = sum([sign * f(x + sign * h) for sign in (1, -1)])
    return total / h / 2


# %% right: average of both slopes, printed on the way
def central_difference(f, x, h):
    right = (f(x + h) - f(x)) / h
    left = (f(x) - f(x - h)) / h
    print("left", left, "right", right)
    return (left + right) / 2


# %% right: one forward step of 2h that starts at x - h
def central_difference(f, x, h):
    step = 2 * h
    left = x - h
    return (f(left + step) - f(left)) / step


# %% right: warns about a small h, and measures the width of the step
import warnings


def central_difference(f, x, h):
    if h < 1e-3:
        warnings.warn("h is getting small, mind the cancellation")
    return (f(x + h) - f(x - h)) / ((x + h) - (x - h))


# %% wrong: only one step forward | return: imprecise
def central_difference(f, x, h):
    return (f(x + h) - f(x)) / h


# %% wrong: heights rounded to float32 | return: imprecise
import numpy as np


def central_difference(f, x, h):
    up = np.float32(f(x + h))
    down = np.float32(f(x - h))
    return float((up - down) / np.float32(2 * h))


# %% wrong: divided by h, though the step is 2h wide | return: missing-local
def central_difference(f, x, h):
    return (f(x + h) - f(x - h)) / h


# %% wrong: divided by 2, and never by h | return: missing-local
def central_difference(f, x, h):
    up = f(x + h)
    down = f(x - h)
    return (up - down) / 2


# %% wrong: slope behind subtracted from the slope ahead | return: wrong-sign or wrong-local
def central_difference(f, x, h):
    ahead = (f(x + h) - f(x)) / h
    behind = (f(x) - f(x - h)) / h
    return (ahead - behind) / 2


# %% wrong: height after the step subtracted from the height before | return: wrong-sign
def central_difference(f, x, h):
    up, down = f(x + h), f(x - h)
    return (down - up) / (2 * h)


# %% wrong: heights added instead of subtracted | return: wrong-sign or wrong-operand
def central_difference(f, x, h):
    return (f(x + h) + f(x - h)) / (2 * h)


# %% wrong: slopes of both sides added, never averaged | return: wrong-factor or missing-local
def central_difference(f, x, h):
    ahead = (f(x + h) - f(x)) / h
    behind = (f(x) - f(x - h)) / h
    return ahead + behind


# %% wrong: divided by the square of the width | return: wrong-factor
def central_difference(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h) ** 2


# %% wrong: half a step to either side | return: wrong-point
def central_difference(f, x, h):
    return (f(x + h / 2) - f(x - h / 2)) / h


# %% wrong: two steps to the right and one to the left | return: wrong-point
def central_difference(f, x, h):
    return (f(x + 2 * h) - f(x - h)) / (3 * h)


# %% wrong: both steps to the right of x | return: wrong-point or imprecise
def central_difference(f, x, h):
    return (f(x + 2 * h) - f(x)) / (2 * h)


# %% wrong: only the first height divided by 2h | return: wrong-operand
def central_difference(f, x, h):
    return f(x + h) / (2 * h) - f(x - h)


# %% wrong: second difference, which measures how the curve bends | return: wrong-local or extra-factor
def central_difference(f, x, h):
    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2


# %% wrong: a bracket left open | *: syntax-error
def central_difference(f, x, h):
    return (f(x + h) - f(x - h) / (2 * h)


# %% wrong: a variable misspelt as dY | return: error
def central_difference(f, x, h):
    dy = f(x + h) - f(x - h)
    return dY / (2 * h)


# %% wrong: calls itself with half the step, without end | return: error
def central_difference(f, x, h):
    rough = (f(x + h) - f(x - h)) / (2 * h)
    better = central_difference(f, x, h / 2)
    return better if better != rough else rough


# %% wrong: a list with the slope in it | return: wrong-type
def central_difference(f, x, h):
    return [(f(x + h) - f(x - h)) / (2 * h)]

# slope: the slope of f at x, one step of h ahead

# %% right: both differences turned round
def slope(f, x, h):
    return (f(x) - f(x + h)) / -h


# %% right: an object that can be called
class Slope:
    """rise over run"""
    def rise(self, f, x, h):
        return f(x + h) - f(x)

    def __call__(self, f, x, h):
        return self.rise(f, x, h) / h

slope = Slope()


# %% right: a helper class with f and h inside
class Nudger:
    def __init__(self, f, h):
        self.f, self.h = f, h

    def __call__(self, x):
        return (self.f(x + self.h) - self.f(x)) / self.h


def slope(f, x, h):
    return Nudger(f, h)(x)


# %% right: a lambda, tried out under a main guard
slope = lambda f, x, h: (f(x + h) - f(x)) / h
if __name__ == "__main__":
    print(slope(lambda x: x * x, 3.0, 1e-6))


# %% right: NumPy's diff of the two heights
import numpy as np


def slope(f, x, h):
    ys = np.array([f(x), f(x + h)])
    return float(np.diff(ys)[0] / h)


# %% right: the plain formula
def slope(f, x, h):
    return (f(x + h) - f(x)) / h


# %% right: two points, and the line through them
def slope(f, x, h):
    points = [(t, f(t)) for t in (x, x + h)]
    (x0, y0), (x1, y1) = points
    return (y1 - y0) / h


# %% right: annotated arguments, a walrus and a print
def slope(f: callable, x: float, h: float = 1e-6) -> float:
    rise = f(right := x + h) - f(left := x)
    print(f"from {left} to {right}: rise {rise}")
    return rise / h


# %% wrong: rounded to two decimals | return: imprecise
def slope(f, x, h):
    rise = f(x + h) - f(x)
    return round(rise / h, 2)


# %% wrong: floor division by h | return: imprecise
def slope(f, x, h):
    return (f(x + h) - f(x)) // h


# %% wrong: never divided by h | return: missing-local
def slope(f, x, h):
    return f(x + h) - f(x)


# %% wrong: absolute value of the rise | return: wrong-sign or unknown
def slope(f, x, h):
    return abs(f(x + h) - f(x)) / h


# %% wrong: height after the step subtracted from the height before | return: wrong-sign
def slope(f, x, h):
    before = f(x)
    after = f(x + h)
    return (before - after) / h


# %% wrong: divided by 3h | return: wrong-factor
def slope(f, x, h):
    return (f(x + h) - f(x)) / (3 * h)


# %% wrong: divided by h squared | return: wrong-factor or wrong-operand
def slope(f, x, h):
    return (f(x + h) - f(x)) / h**2


# %% wrong: doubled | return: wrong-factor
def slope(f, x, h):
    return 2 * (f(x + h) - f(x)) / h


# %% wrong: two steps ahead, divided by one | return: wrong-factor or wrong-point
def slope(f, x, h):
    return (f(x + 2 * h) - f(x)) / h


# %% wrong: half a step to either side | return: wrong-point
def slope(f, x, h):
    return (f(x + h / 2) - f(x - h / 2)) / h


# %% wrong: f taken at h instead of x + h | return: wrong-point
def slope(f, x, h):
    return (f(h) - f(x)) / h


# %% wrong: f(h) subtracted instead of f(x) | return: wrong-point or wrong-operand
def slope(f, x, h):
    return (f(x + h) - f(h)) / h


# %% wrong: h added to f(x) instead of x | return: wrong-point
def slope(f, x, h):
    ahead = f(x) + h
    return (ahead - f(x)) / h


# %% wrong: x multiplied by h instead of h added | return: wrong-point or wrong-operand
def slope(f, x, h):
    return (f(x * h) - f(x)) / h


# %% wrong: divided by x + h | return: wrong-operand
def slope(f, x, h):
    return (f(x + h) - f(x)) / (x + h)


# %% wrong: height f(x) returned instead of the slope | return: forward-value
def slope(f, x, h):
    """Slope of f at x."""
    y = f(x)
    return y


# %% wrong: always 6, the answer for x**2 at 3 | return: hard-coded
def slope(f, x, h):
    # f(x) = x**2 at 3
    return 6.0


# %% wrong: an h of its own, whatever h was given | return: hard-coded or wrong-point
def slope(f, x, h):
    h = 1e-6
    return (f(x + h) - f(x)) / h


# %% wrong: a step of 1, whatever h was given | return: hard-coded or wrong-point
def slope(f, x, h):
    return (f(x + 1) - f(x)) / 1


# %% wrong: nothing but a docstring and dots | return: todo
def slope(f, x, h):
    """Forward difference of f at x with step h."""
    return ...


# %% wrong: the function called derivative | return: missing-function
def derivative(f, x, h):
    return (f(x + h) - f(x)) / h


# %% wrong: f multiplied instead of called | return: error
def slope(f, x, h):
    return (f * (x + h) - f * x) / h


# %% wrong: a loop that waits for a change that never comes | return: timeout
def slope(f, x, h):
    s = (f(x + h) - f(x)) / h
    while True:
        new = (f(x + h) - f(x)) / h
        if abs(new - s) > 1e-3:
            break
        s = new
    return s


# %% wrong: a loop that never moves | *: timeout
def slope(f, x, h):
    pos = x
    rise = 0.0
    while pos < x + h:
        rise = f(pos + h) - f(x)
    return rise / h


# %% wrong: printed instead of returned | return: missing-answer
def slope(f, x, h):
    s = (f(x + h) - f(x)) / h
    print("slope is", s)


# %% wrong: the slope as formatted text | return: wrong-type
def slope(f, x, h):
    s = (f(x + h) - f(x)) / h
    return f"{s:.4f}"


# %% wrong: a tuple, by a comma at the end of the line | return: wrong-type
def slope(f, x, h):
    return (f(x + h) - f(x)) / h,


# %% wrong: the slope rounded to a whole number | return: imprecise
def slope(f, x, h):
    return int((f(x + h) - f(x)) / h)


# %% right: a number of NumPy's
import numpy as np


def slope(f, x, h):
    heights = np.array([f(x), f(x + h)])
    return np.diff(heights)[0] / h


# %% wrong: in no known way | return: unknown
import math


def slope(f, x, h):
    return (f(x + h) - f(x)) / h + math.sin(7 * x)


# %% wrong: always 1 | return: hard-coded
def slope(f, x, h):
    return 1.0

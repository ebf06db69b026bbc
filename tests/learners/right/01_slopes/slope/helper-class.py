class Nudger:
    def __init__(self, f, h):
        self.f, self.h = f, h

    def __call__(self, x):
        return (self.f(x + self.h) - self.f(x)) / self.h


def slope(f, x, h):
    return Nudger(f, h)(x)

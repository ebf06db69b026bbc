class Slope:
    """rise over run"""
    def rise(self, f, x, h):
        return f(x + h) - f(x)

    def __call__(self, f, x, h):
        return self.rise(f, x, h) / h

slope = Slope()

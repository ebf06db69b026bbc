slope = lambda f, x, h: (f(x + h) - f(x)) / h
if __name__ == "__main__":
    print(slope(lambda x: x * x, 3.0, 1e-6))

def slope(f: callable, x: float, h: float = 1e-6) -> float:
    rise = f(right := x + h) - f(left := x)
    print(f"from {left} to {right}: rise {rise}")
    return rise / h

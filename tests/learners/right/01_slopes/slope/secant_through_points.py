def slope(f, x, h):
    points = [(t, f(t)) for t in (x, x + h)]
    (x0, y0), (x1, y1) = points
    return (y1 - y0) / h

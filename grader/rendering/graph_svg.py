"""Drawings of a forward pass in SVG, from its inputs down to its output, with the nodes of a diagnosis marked."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .picture_data import OUT, Graph, GraphNode
from .svg_drawing import SvgDrawing

WIDTH, HEIGHT, MARKED_HEIGHT = 124, 44, 60
DOWN, MARGIN, GAP = 84, 12, 16
LANE = 24
Point = tuple[float, float]
LONGEST = 15


@dataclass(frozen=True)
class Layout:
    """The size of a drawing, and the centre of each node.

    Args:
        width: of the drawing, in pixels as all lengths here.
        height: the same.
        places: centres by the key of the node; an edge has a place in each row that it passes, by `_lane_key`.
        depth: by the key of the node, how many rows it is above the output.
    """

    width: float
    height: float
    places: Mapping[str, Point]
    depth: Mapping[str, int]

    def edge_path(self, source: str, user: str) -> list[Point]:
        """Return the points of the edge from a node to another that reads it, straight through the rows between."""
        between = range(self.depth[source] - 1, self.depth[user], -1)
        lanes = [self.places[_lane_key(source, user, row)] for row in between]
        beside = [(x, y + half) for x, y in lanes for half in (-MARKED_HEIGHT / 2, MARKED_HEIGHT / 2)]
        return [self.places[source], *beside, self.places[user]]


def layout(graph: Graph) -> Layout:
    """Place each node in the lowest row above all nodes that read it, the output at the bottom."""
    users: dict[str, list[str]] = {key: [] for key in graph.nodes}
    for node in graph.nodes.values():
        for source in node.operands:
            users[source].append(node.key)
    depth: dict[str, int] = {}
    for key in reversed(list(graph.nodes)):
        depth[key] = max((depth[user] + 1 for user in users[key]), default=0)
    across: dict[str, float] = {}
    for row in range(max(depth.values()) + 1):
        across |= _row(graph, users, depth, across, row)
    return _positioned(across, depth, users)


def _lane_key(source: str, user: str, row: int) -> str:
    """Return the key of the place that an edge has in a row that it passes."""
    return f"{source} {user} {row}"


def _row(
    graph: Graph, users: Mapping[str, Sequence[str]], depth: Mapping[str, int], across: Mapping[str, float], row: int
) -> dict[str, float]:
    """Return the horizontal places of the nodes and edges in a row, each near the middle of what it leads to.

    Args:
        graph: the forward pass.
        users: by node, the nodes that read it.
        depth: by node, its row.
        across: the places in all rows below.
        row: the row to place.
    """
    wished: list[tuple[float, int, str]] = []
    for source in users:
        if depth[source] < row:
            continue
        users_below = [user for user in users[source] if depth[user] < row]
        below = [across[user if depth[user] == row - 1 else _lane_key(source, user, row - 1)] for user in users_below]
        slots = [graph.nodes[user].operands.index(source) for user in users_below]
        if depth[source] == row:
            wished.append((sum(below) / max(len(below), 1), min(slots, default=0), source))
        else:
            wished += zip(below, slots, (_lane_key(source, user, row) for user in users_below), strict=True)
    wished.sort(key=lambda wish: wish[:2])
    keys = [key for _, _, key in wished]
    sizes = [WIDTH + GAP if key in graph.nodes else LANE for key in keys]
    return dict(zip(keys, _spread([x for x, _, _ in wished], sizes), strict=True))


def _spread(wished: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Return places in the given order without overlap, centred on the middle of the wished ones.

    Args:
        wished: the wished places, in order.
        sizes: the width of each.
    """
    placed: list[float] = []
    for i, x in enumerate(wished):
        placed.append(max(x, placed[-1] + (sizes[i - 1] + sizes[i]) / 2) if placed else x)
    shift = (sum(wished) - sum(placed)) / max(len(placed), 1)
    return [x + shift for x in placed]


def _positioned(across: Mapping[str, float], depth: Mapping[str, int], users: Mapping[str, Sequence[str]]) -> Layout:
    """Return the layout in which the leftmost place begins at the margin.

    Args:
        across: horizontal places of nodes and passing edges.
        depth: by node, its row.
        users: by node, the nodes that read it.
    """
    left = min(x - WIDTH / 2 if key in depth else x for key, x in across.items()) - MARGIN
    right = max(x + WIDTH / 2 if key in depth else x for key, x in across.items()) + MARGIN
    rows = dict(depth)
    for source, used_by in users.items():
        for user in used_by:
            rows |= {_lane_key(source, user, row): row for row in range(depth[user] + 1, depth[source])}
    top, deepest = MARGIN + MARKED_HEIGHT / 2, max(depth.values())
    places = {key: (x - left, top + (deepest - rows[key]) * DOWN) for key, x in across.items()}
    return Layout(right - left, 2 * top + deepest * DOWN, places, depth)


def graph_svg(graph: Graph) -> str:
    """Return an `<svg>` element of a forward pass, in the colours of the page that it stands in."""
    placed = layout(graph)
    marked = [f"{node.label} for {', '.join(node.marked)}" for node in graph.nodes.values() if node.marked]
    about = f"From the inputs down to the output. Marked: {'; '.join(marked) or 'nothing'}."
    drawing = SvgDrawing(round(placed.width), round(placed.height), "The forward pass", about)
    for node in graph.nodes.values():
        for source in node.operands:
            _draw_edge(drawing, graph, placed, source, node)
    for node in graph.nodes.values():
        _draw_node(drawing, graph, node, placed)
    return drawing.inline()


def _node_height(node: GraphNode) -> float:
    return MARKED_HEIGHT if node.marked else HEIGHT


def _draw_node(drawing: SvgDrawing, graph: Graph, node: GraphNode, placed: Layout) -> None:
    x, y = placed.places[node.key]
    height = _node_height(node)
    label = f"{OUT} = {node.label}" if node.key == graph.out else node.label
    style = "marked" if node.marked else "box"
    drawing.box(x - WIDTH / 2, y - height / 2, WIDTH, height, style, 4 if node.operands else HEIGHT / 2)
    top = y - height / 2
    drawing.text(x, top + 19, _shortened(label), "code")
    drawing.text(x, top + 35, _shortened(node.shape, LONGEST + 2), "code faint small")
    if node.marked:
        drawing.text(x, top + 52, _shortened(f"\N{BALLOT X} {', '.join(node.marked)}"), "code small")


def _draw_edge(drawing: SvgDrawing, graph: Graph, placed: Layout, source: str, node: GraphNode) -> None:
    """Draw an arrow from a node to another that reads it; highlighted if the mistake is on this edge."""
    path = placed.edge_path(source, node.key)
    (x1, y1), (x2, y2) = path[0], path[-1]
    path = [(x1, y1 + _node_height(graph.nodes[source]) / 2), *path[1:-1], (x2, y2 - _node_height(node) / 2)]
    style = "backward" if source in node.edges or (node.marked and len(node.operands) == 1) else "forward"
    for start, end in itertools.pairwise(path[:-1]):
        drawing.line(start, end, style)
    drawing.arrow(path[-2], path[-1], style)


def _shortened(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"

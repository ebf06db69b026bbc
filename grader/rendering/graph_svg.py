"""Draws a forward pass in SVG, from its inputs down to its output, with what a diagnosis names marked."""

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
    """A drawing's size, and the middle of each node.

    Args:
        places: by key; the ways that pass a row have a place in it too, by the key that `_lane` gives.
        depth: how many rows a node is above the output.
    """

    width: float
    height: float
    places: Mapping[str, Point]
    depth: Mapping[str, int]

    def edge_path(self, source: str, user: str) -> list[Point]:
        """From a node to one that uses it, straight through the rows between them."""
        between = range(self.depth[source] - 1, self.depth[user], -1)
        lanes = [self.places[_lane(source, user, row)] for row in between]
        beside = [(x, y + half) for x, y in lanes for half in (-MARKED_HEIGHT / 2, MARKED_HEIGHT / 2)]
        return [self.places[source], *beside, self.places[user]]


def layout(graph: Graph) -> Layout:
    """Each node as near above what it is used for as it can be, the output at the bottom."""
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
    return _fitted(across, depth, users)


def _lane(source: str, user: str, row: int) -> str:
    """The key of a way's place in a row that it passes."""
    return f"{source} {user} {row}"


def _row(
    graph: Graph, users: Mapping[str, Sequence[str]], depth: Mapping[str, int], across: Mapping[str, float], row: int
) -> dict[str, float]:
    """Where everything in one row stands, the rows below it being done."""
    wished: list[tuple[float, int, str]] = []
    for source in users:
        if depth[source] < row:
            continue
        ways = [user for user in users[source] if depth[user] < row]
        below = [across[user if depth[user] == row - 1 else _lane(source, user, row - 1)] for user in ways]
        turns = [graph.nodes[user].operands.index(source) for user in ways]
        if depth[source] == row:
            wished.append((sum(below) / max(len(below), 1), min(turns, default=0), source))
        else:
            wished += zip(below, turns, (_lane(source, user, row) for user in ways), strict=True)
    wished.sort(key=lambda found: found[:2])
    keys = [key for _, _, key in wished]
    sizes = [WIDTH + GAP if key in graph.nodes else LANE for key in keys]
    return dict(zip(keys, _spread([x for x, _, _ in wished], sizes), strict=True))


def _spread(wished: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Places in this order without overlap, around the middle of those wished for."""
    placed: list[float] = []
    for i, x in enumerate(wished):
        placed.append(max(x, placed[-1] + (sizes[i - 1] + sizes[i]) / 2) if placed else x)
    shift = (sum(wished) - sum(placed)) / max(len(placed), 1)
    return [x + shift for x in placed]


def _fitted(across: Mapping[str, float], depth: Mapping[str, int], users: Mapping[str, Sequence[str]]) -> Layout:
    """Everything moved so that the drawing begins at its margin."""
    left = min(x - WIDTH / 2 if key in depth else x for key, x in across.items()) - MARGIN
    right = max(x + WIDTH / 2 if key in depth else x for key, x in across.items()) + MARGIN
    rows = dict(depth)
    for source, used_by in users.items():
        for user in used_by:
            rows |= {_lane(source, user, row): row for row in range(depth[user] + 1, depth[source])}
    top, deepest = MARGIN + MARKED_HEIGHT / 2, max(depth.values())
    places = {key: (x - left, top + (deepest - rows[key]) * DOWN) for key, x in across.items()}
    return Layout(right - left, 2 * top + deepest * DOWN, places, depth)


def graph_svg(graph: Graph) -> str:
    """An `<svg>` to stand in a page, in whatever colours the page has."""
    found = layout(graph)
    marked = [f"{node.label} for {', '.join(node.marked)}" for node in graph.nodes.values() if node.marked]
    about = f"From the inputs down to the output. Marked: {'; '.join(marked) or 'nothing'}."
    picture = SvgDrawing(round(found.width), round(found.height), "The forward pass", about)
    for node in graph.nodes.values():
        for source in node.operands:
            _edge(picture, graph, found, source, node)
    for node in graph.nodes.values():
        _box(picture, graph, node, found)
    return picture.inline()


def _height(node: GraphNode) -> float:
    return MARKED_HEIGHT if node.marked else HEIGHT


def _box(picture: SvgDrawing, graph: Graph, node: GraphNode, found: Layout) -> None:
    x, y = found.places[node.key]
    height = _height(node)
    label = f"{OUT} = {node.label}" if node.key == graph.out else node.label
    style = "marked" if node.marked else "box"
    picture.box(x - WIDTH / 2, y - height / 2, WIDTH, height, style, 4 if node.operands else HEIGHT / 2)
    top = y - height / 2
    picture.text(x, top + 19, _short(label), "code")
    picture.text(x, top + 35, _short(node.shape, LONGEST + 2), "code faint small")
    if node.marked:
        picture.text(x, top + 52, _short(f"\N{BALLOT X} {', '.join(node.marked)}"), "code small")


def _edge(picture: SvgDrawing, graph: Graph, found: Layout, source: str, node: GraphNode) -> None:
    """An arrow from a value to what is computed of it."""
    way = found.edge_path(source, node.key)
    (x1, y1), (x2, y2) = way[0], way[-1]
    way = [(x1, y1 + _height(graph.nodes[source]) / 2), *way[1:-1], (x2, y2 - _height(node) / 2)]
    style = "backward" if source in node.edges or (node.marked and len(node.operands) == 1) else "forward"
    for start, end in itertools.pairwise(way[:-1]):
        picture.line(start, end, style)
    picture.arrow(way[-2], way[-1], style)


def _short(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"

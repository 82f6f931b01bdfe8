"""A house as a picture: a box for each folder on the floor of its level, its files inside, arrows downwards.

An arrow that follows from others (a to c, where a goes to b and b to c) is left out. The order on a floor
brings a box near those it is tied to; an arrow that passes a floor has a narrow place of its own there.
The picture is a plain SVG, written here.
"""

from itertools import pairwise
from typing import NamedTuple
from xml.sax.saxutils import escape

ROWS = 4  # of files, in a box
LETTER, LINE = 6.7, 16  # width and height of a file's name
TITLE = 26  # height of a folder's name
PADDING, GAP, STOREY = 12, 36, 48  # inside a box, between boxes, between floors
LANE = 10  # width of an arrow's place on a floor it passes
STRAIGHT = 8  # how much more a lane follows lanes than boxes
SWEEPS = 40
FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"


class Box(NamedTuple):
    title: str
    columns: list  # of files
    widths: list  # of columns

    @property
    def width(self):
        return max(sum(self.widths), len(self.title) * (LETTER + 2.4)) + 2 * PADDING

    @property
    def height(self):
        return TITLE + LINE * max(map(len, self.columns), default=0) + PADDING


def box_of(title, files):
    count = -(-len(files) // ROWS)
    rows = -(-len(files) // count)
    columns = [files[i : i + rows] for i in range(0, len(files), rows)]
    return Box(title, columns, [max(map(len, column)) * LETTER + 14 for column in columns])


# ---- which arrows, and through where


def reached(needs, node):
    seen, queue = set(), [node]
    for at in queue:
        queue += sorted(needs[at] - seen)
        seen |= needs[at]
    return seen


def without_detours(needs):
    """{node: those needed that no other needed one comes to}"""
    return {
        node: {b for b in below if not any(b in reached(needs, other) for other in below if other != b)}
        for node, below in needs.items()
    }


def chains_of(needs, level):
    """Every arrow as the places it passes, floor by floor: a folder, lanes (from, to, floor), a folder."""
    return [
        [a, *((a, b, floor) for floor in range(level[a] - 1, level[b], -1)), b]
        for a in sorted(needs)
        for b in sorted(needs[a])
        if level[a] > level[b]  # the others close a circle
    ]


# ---- where things stand


def floor_of(place, level):
    return level[place] if isinstance(place, str) else place[2]


def ordered(places, ties, level):
    """{floor: places from left to right}: each goes to the middle of those it is tied to, again and again."""
    rows = {floor: [] for floor in sorted(set(level.values()))}
    for place in sorted(places, key=str):
        rows[floor_of(place, level)].append(place)
    for sweep in range(SWEEPS):
        for floor in sorted(rows, reverse=sweep % 2 == 0):
            side = floor + 1 if sweep % 2 == 0 else floor - 1
            at = {place: i / max(1, len(row) - 1) for row in rows.values() for i, place in enumerate(row)}

            def middle(place, side=side, at=at):
                beside = [at[other] for other in ties[place] if floor_of(other, level) == side]
                return sum(beside) / len(beside) if beside else at[place]

            rows[floor].sort(key=middle)
    return rows


def spread(row, wished, width):
    """{place: x of its middle}, in their order and without overlaps, as near to what they wish as can be.

    With the gaps taken out that is a rising sequence: neighbours that would pass each other meet in the mean.
    """
    gone, groups, x = 0.0, [], {}
    for before, place in zip([None, *row], row, strict=False):
        gone += (width[before] + width[place]) / 2 + GAP if before is not None else 0.0
        groups.append([wished[place] - gone, 1, [(place, gone)]])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            mean, count, members = groups.pop()
            last = groups[-1]
            last[0] = (last[0] * last[1] + mean * count) / (last[1] + count)
            last[1] += count
            last[2] += members
    for mean, _, members in groups:
        x |= {place: mean + moved for place, moved in members}
    return x


def wish(place, ties, x):
    """The middle of those it is tied to; an arrow would rather go straight on."""
    if not ties[place]:
        return x[place]
    pull = [STRAIGHT if isinstance(place, tuple) and isinstance(other, tuple) else 1 for other in ties[place]]
    return sum(p * x[other] for p, other in zip(pull, ties[place], strict=True)) / sum(pull)


def stand(rows, ties, width):
    """{place: x of its middle}"""
    x = {place: 0.0 for row in rows.values() for place in row}
    for row in rows.values():
        x |= spread(row, x, width)
    for sweep in range(SWEEPS):
        for floor in sorted(rows, reverse=sweep % 2 == 0):
            wished = {place: wish(place, ties, x) for place in rows[floor]}
            x |= spread(rows[floor], wished, width)
    return x


# ---- drawing


def text(x, y, words, size, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{more}>{escape(words)}</text>'


def drawn_box(box, x, y):
    left = x - box.width / 2
    yield (
        f'<rect x="{left:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"'
        ' fill="#eef3f8" stroke="#5b7c99" stroke-width="1.2"/>'
    )
    yield text(left + PADDING, y + 19, box.title, 14, ' font-weight="bold" fill="#1d3b55"')
    at = left + PADDING
    for column, wide in zip(box.columns, box.widths, strict=True):
        for row, file in enumerate(column):
            yield text(at, y + TITLE + 12 + row * LINE, file, 11, ' fill="#333"')
        at += wide


def drawn_arrow(points):
    """Straight down through a floor, curved between two."""
    path = ["M{:.1f} {:.1f}".format(*points[0])]
    for (x, y), (to_x, to_y) in pairwise(points):
        half = (y + to_y) / 2
        path.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}")
    return (
        f'<path d="{" ".join(path)}" fill="none" stroke="#7a8b99" stroke-width="1.4" marker-end="url(#tip)"/>'
    )


def ports(chains, x, boxes):
    """{(arrow, end): x}: arrows of a box leave and come side by side, in the order of where they lead."""
    at = {}
    for end, beside in ((0, 1), (-1, -2)):
        for title, box in boxes.items():
            here = sorted((c for c in chains if c[end] == title), key=lambda c: x[c[beside]])
            step = min(40, 0.7 * box.width / max(1, len(here)))
            for i, chain in enumerate(here):
                at[id(chain), end] = x[title] + (i - (len(here) - 1) / 2) * step
    return at


def drawn(boxes, chains, rows, x, level):
    tops, y = {}, float(STOREY) / 2
    for floor in sorted(rows, reverse=True):
        tall = max(boxes[place].height for place in rows[floor] if isinstance(place, str))
        tops[floor] = y, tall
        y += tall + STOREY
    at = ports(chains, x, boxes)
    for chain in chains:
        first, last = chain[0], chain[-1]
        points = [(at[id(chain), 0], tops[level[first]][0] + boxes[first].height)]
        for place in chain[1:-1]:
            top, tall = tops[place[2]]
            points += [(x[place], top), (x[place], top + tall)]
        points.append((at[id(chain), -1], tops[level[last]][0] - 7))
        yield drawn_arrow(points)
    for title, box in boxes.items():
        yield from drawn_box(box, x[title], tops[level[title]][0])


def write(path, titles, files, needs, level):
    """titles {folder: text}, files {folder: names}, needs {folder: folders}, level {folder: floor}."""
    boxes = {folder: box_of(title, files[folder]) for folder, title in titles.items()}
    chains = chains_of(without_detours(needs), level)
    places = {place for chain in chains for place in chain} | set(boxes)
    ties = {place: [] for place in places}
    for chain in chains:
        for a, b in pairwise(chain):
            ties[a].append(b)
            ties[b].append(a)
    width = {place: boxes[place].width if isinstance(place, str) else LANE for place in places}
    rows = ordered(places, ties, level)
    x = stand(rows, ties, width)
    left = min(x[place] - width[place] / 2 for place in places) - 24
    x = {place: at - left for place, at in x.items()}
    wide = max(x[place] + width[place] / 2 for place in places) + 24
    tall = STOREY / 2 + sum(
        max(boxes[p].height for p in row if isinstance(p, str)) + STOREY for row in rows.values()
    )
    tall -= STOREY / 2
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{tall:.0f}"'
        f' viewBox="0 0 {wide:.0f} {tall:.0f}" font-family="{FONT}">\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="6" markerHeight="6"'
        ' orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="#7a8b99"/></marker></defs>\n'
        '<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(drawn(boxes, chains, rows, x, level))
        + "\n</svg>\n"
    )

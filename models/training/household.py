"""More procedural objects, of the household: hollow, flat-sided, sharp-cornered, or built of thin bars and plates.

shapes.py explains the names of sizes.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from shapes import CORNERS, SIDES, Draw, Shape, about, along, handle, legs, turn

FRONT = about("x", math.pi / 2)  # a frame whose axis of revolution is z
SIDEWAYS = about("z", math.pi / 2)  # ... is x


def feet(shape: Shape, draw: Draw, material: int, width: float, y: float, depth: float, high: float = 0.12) -> None:
    """Adds four short feet, or a plinth, below y."""
    if draw.chance(0.3):
        shape.box(material, (0, y - high / 2, 0), (width * 0.95, high / 2, depth * 0.92))
        return
    radius, round_ = draw(0.02, 0.05), draw.chance(0.5)
    for sx, sz in CORNERS:
        c = (sx * (width - 1.5 * radius), y - high / 2, sz * (depth - 1.5 * radius))
        if round_:
            shape.cylinder(material, c, radius, high / 2, taper=draw(0, 0.3))
        else:
            shape.box(material, c, (radius, high / 2, radius))


def pull(shape: Shape, draw: Draw, material: int, center: tuple[float, float, float], wide: float) -> None:
    """Adds a knob or a bar to the front of a drawer or door, facing z."""
    x, y, z = center
    style = draw.one("knob", "bar", "bow")
    if style == "knob":
        shape.ball(material, (x, y, z + 0.03), (0.03, 0.03, 0.03))
    elif style == "bar":
        shape.box(material, (x, y, z + 0.03), (wide, 0.015, 0.02), 0.008)
    else:
        shape.rod(material, (x - wide, y, z + 0.05), (x + wide, y, z + 0.05), 0.015)
        for s in SIDES:
            shape.rod(material, (x + s * wide, y, z), (x + s * wide, y, z + 0.05), 0.015)


def drawers(
    shape: Shape,
    draw: Draw,
    x: float,
    y: float,
    z: float,
    width: float,
    height: float,
    count: int,
    material: int = 1,
    pulls: int = 2,
) -> None:
    """Adds a column of `count` drawer fronts around (x, y) on the plane z."""
    for k in range(count):
        cy = y + height * ((2 * k + 1) / count - 1)
        shape.box(material, (x, cy, z), (width * 0.95, height / count * 0.92, 0.02), 0.005)
        pull(shape, draw, pulls, (x, cy + draw.one(0, 0.3) * height / count, z + 0.02), width * 0.25)


def sofa(draw: Draw) -> Shape:
    """A sofa with seats, back, arms and cushions, some with a corner."""
    shape = Shape(blend=draw.one(0.004, draw(0.01, 0.035)))
    width, depth, soft = draw(0.6, 1.15), draw(0.35, 0.5), draw(0.02, 0.1)
    base, seat, arm, back = draw(0.08, 0.18), draw(0.08, 0.15), draw(0.05, 0.18), draw(0.08, 0.16)
    high, rest = draw(0.3, 0.6), draw(0.15, 0.4)
    y = -0.3
    shape.box(0, (0, y + base, 0), (width, base, depth), min(soft, base))
    top = y + 2 * base
    if draw.chance(0.85):
        shape.box(
            0,
            (0, y + (2 * base + high) / 2, -depth + back),
            (width, (2 * base + high) / 2, back),
            min(soft, back),
            frame=about("x", draw(0, 0.15)),
        )
    places = draw.whole(1, 4)
    inner = width - 2 * arm
    for k in range(places):
        x, half = inner * ((2 * k + 1) / places - 1), inner / places * 0.97
        shape.box(draw.one(0, 1), (x, top + seat, back * 0.5), (half, seat, depth - back * 0.6), min(soft, seat))
        if draw.chance(0.7):
            shape.box(
                1,
                (x, top + 2 * seat + high * 0.3, -depth + 2.4 * back),
                (half * 0.96, high * 0.42, 0.09),
                0.07,
                frame=about("x", draw(0.1, 0.35)),
            )
    for sx in SIDES:
        style = draw.one("block", "block", "roll", "none", "frame")
        if style == "block":
            shape.box(
                0,
                (sx * (width - arm), y + (2 * base + rest) / 2, 0),
                (arm, (2 * base + rest) / 2, depth),
                min(soft, arm),
            )
        elif style == "roll":
            shape.box(0, (sx * (width - arm), y + (2 * base + rest) / 2, 0), (arm * 0.7, (2 * base + rest) / 2, depth))
            shape.cylinder(0, (sx * (width - arm), top + rest, 0), arm * 1.1, depth, 0.03, frame=FRONT)
        elif style == "frame":
            shape.box(2, (sx * width, top + rest, 0), (0.05, 0.025, depth))
            for sz in SIDES:
                shape.box(2, (sx * width, (top + rest + y) / 2, sz * depth * 0.9), (0.03, (top + rest - y) / 2, 0.03))
    if draw.chance(0.25):
        s = draw.one(-1, 1)
        shape.box(0, (s * width * 0.6, y + base, depth * 1.7), (width * 0.4, base, depth * 0.9), min(soft, base))
        shape.box(1, (s * width * 0.6, top + seat, depth * 1.7), (width * 0.39, seat, depth * 0.9), min(soft, seat))
    for _ in range(draw.whole(0, 2)):
        shape.box(
            draw.one(2, 3),
            (draw(-0.7, 0.7) * inner, top + 2 * seat + 0.12, -depth * 0.3),
            (0.16, 0.16, 0.06),
            0.06,
            frame=about("z", draw(-0.5, 0.5)) @ about("x", 0.4),
        )
    feet(shape, draw, 2, width, y, depth, draw(0.05, 0.25))
    return shape


def bed_frame(draw: Draw) -> Shape:
    """Beds of boards and posts, with slats, canopies or a second level."""
    shape = Shape()
    width, depth, thick = draw(0.4, 0.8), draw(0.8, 1), draw(0.02, 0.05)
    storeys = 2 if draw.chance(0.3) else 1
    low, post = draw(-0.5, -0.2), draw(0.025, 0.06)
    top = low + (0.75 if storeys == 2 else draw(0.15, 0.5))
    ends = [(-depth, top), (depth, top if storeys == 2 else low + draw(0.05, 0.35))]
    for cz, y in ends:
        for sx in SIDES:
            shape.box(0, (sx * width, (y + low - 0.3) / 2, cz), (post, (y - low + 0.3) / 2, post))
        if draw.chance(0.5):
            shape.box(0, (0, (low + y) / 2, cz), (width, (y - low) / 2 * draw(0.8, 1), thick))
        else:
            for k in range(n := draw.whole(3, 6)):
                shape.box(
                    0, (width * (2 * k / (n - 1) - 1) * 0.9, (low + y) / 2, cz), (0.03, (y - low) / 2, thick * 0.7)
                )
            shape.box(0, (0, y, cz), (width, 0.035, thick))
    for storey in range(storeys):
        y = low + storey * 0.65
        for sx in SIDES:
            shape.box(0, (sx * width, y, 0), (thick, draw(0.04, 0.09), depth))
        if draw.chance(0.85):
            shape.box(1, (0, y + draw(0.05, 0.1), 0), (width * 0.95, draw(0.07, 0.13), depth * 0.97), 0.05)
            shape.box(2, (0, y + 0.2, -depth * 0.75), (width * draw(0.4, 0.8), 0.06, 0.15), 0.055)
            if draw.chance(0.6):
                shape.box(3, (0, y + 0.12, depth * draw(0.1, 0.4)), (width * 0.99, 0.11, depth * 0.57), 0.04)
        else:
            for k in range(7):
                shape.box(0, (0, y, depth * (k / 3.5 - 0.86)), (width, 0.015, 0.05))
    if storeys == 2:
        for k in range(4):
            shape.box(0, (width + 0.03, low - 0.15 + 0.25 * k, depth * 0.4), (0.02, 0.02, 0.15))
    elif draw.chance(0.15):
        for sx, sz in CORNERS:
            shape.box(0, (sx * width, low + 0.5, sz * depth), (post, 0.75, post))
        for s in SIDES:
            shape.box(0, (s * width, low + 1.25, 0), (post, post, depth))
            shape.box(0, (0, low + 1.25, s * depth), (width, post, post))
    return shape


def desk(draw: Draw) -> Shape:
    """A desk on panels, legs or drawers, some with a screen or books."""
    shape = Shape()
    width, depth, top, thick = draw(0.6, 1.1), draw(0.3, 0.5), draw(0, 0.25), draw(0.015, 0.045)
    bottom = top - draw(0.6, 0.8)
    high = (top - bottom) / 2
    shape.box(0, (0, top, 0), (width, thick, depth), draw.one(0, 0.01))
    for sx in SIDES:
        style = draw.one("drawers", "panel", "posts", "shelf")
        if style == "drawers":
            half = draw(0.15, 0.25)
            c = sx * (width - half - 0.02)
            down = draw.one(high, high * draw(0.3, 0.8))
            shape.box(1, (c, top - down, 0), (half, down, depth * 0.95))
            drawers(shape, draw, c, top - down, depth * 0.95, half, down, draw.whole(1, 4))
            if down < high:
                for sz in SIDES:
                    shape.box(2, (sx * (width - 0.06), (top + bottom) / 2, sz * depth * 0.85), (0.025, high, 0.025))
        elif style == "panel":
            shape.box(0, (sx * (width - 0.05), top - high, 0), (0.02, high, depth * 0.95))
        elif style == "shelf":
            half = draw(0.15, 0.25)
            for k in SIDES:
                shape.box(0, (sx * (width - half) + k * half * 0.9, top - high, 0), (0.02, high, depth * 0.95))
            for k in range(3):
                shape.box(0, (sx * (width - half), bottom + 0.03 + k * high * 0.7, 0), (half * 0.9, 0.02, depth * 0.9))
        else:
            for sz in SIDES:
                shape.box(
                    2, (sx * (width - 0.05), top - high, sz * (depth - 0.05)), (0.03, high, 0.03), taper=draw(0, 0.3)
                )
    if draw.chance(0.4):
        shape.box(0, (0, top - draw(0.15, 0.4), -depth * 0.9), (width * 0.95, draw(0.08, 0.2), 0.015))
    if draw.chance(0.4):
        x = draw(-0.4, 0.4) * width
        shape.box(2, (x, top + 0.35, -depth * 0.3), (draw(0.25, 0.45), 0.2, 0.02), 0.01)
        shape.rod(2, (x, top, -depth * 0.4), (x, top + 0.3, -depth * 0.35), 0.025)
        shape.cylinder(2, (x, top + 0.03, -depth * 0.4), 0.12, 0.015)
    elif draw.chance(0.4):
        for k in range(draw.whole(1, 3)):
            shape.box(
                3,
                (draw(-0.1, 0.1) - 0.3 * width, top + 0.05 + 0.05 * k, 0),
                (0.14, 0.024, 0.1),
                frame=about("y", draw(-0.3, 0.3)),
            )
    if draw.chance(0.25):
        y = top + draw(0.3, 0.5)
        for sx in SIDES:
            shape.box(0, (sx * width * 0.97, (top + y) / 2, -depth * 0.7), (0.02, (y - top) / 2, depth * 0.28))
        shape.box(0, (0, y, -depth * 0.7), (width, 0.02, depth * 0.3))
    return shape


def wardrobe(draw: Draw) -> Shape:
    """Tall cupboards, sideboards and chests: doors, drawers and open parts side by side."""
    shape = Shape()
    width, height, depth = draw(0.35, 1), draw(0.3, 1), draw(0.2, 0.4)
    shape.box(0, (0, 0, 0), (width, height, depth), draw.one(0, 0, 0.01))
    columns = draw.whole(1, 4 if width > 0.6 else 2)
    for k in range(columns):
        cx, half = width * ((2 * k + 1) / columns - 1), width / columns * 0.94
        split = draw.one(0, 0, draw(-0.5, 0.5)) * height
        for low, high in (
            ((-height * 0.96, split), (split, height * 0.96)) if split else ((-height * 0.96, height * 0.96),)
        ):
            cy, up = (low + high) / 2, (high - low) / 2 * 0.96
            style = draw.one("door", "door", "drawers", "open", "glass")
            if style == "drawers":
                drawers(shape, draw, cx, cy, depth, half, up, max(1, round(up * draw(3, 7) / 2)))
            elif style == "open":
                shape.cut((cx, cy, depth), (half * 0.95, up * 0.95, depth * draw(1.5, 1.9)))
                for _ in range(draw.whole(0, 3)):
                    shape.box(
                        2,
                        (cx + draw(-0.5, 0.5) * half, cy - up * 0.95 + draw(0.08, 0.2), draw(-0.3, 0.5) * depth),
                        (draw(0.05, 0.3) * half, 0.1, depth * 0.3),
                    )
            else:
                shape.box(1, (cx, cy, depth), (half, up, 0.02), 0.005)
                if style == "glass":
                    shape.cut((cx, cy, depth + 0.02), (half * 0.75, up * 0.85, 0.03))
                side = draw.one(-1, 1)
                pull(shape, draw, 2, (cx + side * half * 0.75, cy, depth + 0.02), 0.03)
    if draw.chance(0.5):
        shape.box(0, (0, height, 0.01), (width * 1.04, draw(0.015, 0.05), depth * 1.06), 0.01)
    feet(shape, draw, 0, width, -height, depth, draw(0.03, 0.25))
    return shape


def bookcase(draw: Draw) -> Shape:
    """Shelves with walls and rows of objects."""
    shape = Shape()
    width, height, depth, wall = draw(0.3, 0.9), draw(0.4, 1), draw(0.12, 0.28), draw(0.012, 0.035)
    rows = draw.whole(2, 5)
    shape.box(0, (0, 0, 0), (width, height, depth))
    open_through = draw.chance(0.3)
    columns = draw.whole(1, 2 if rows > 3 else 3)
    for i in range(rows):
        for k in range(columns):
            hw, hh = width / columns - wall, height / rows - wall
            c = (
                width * ((2 * k + 1) / columns - 1),
                height * ((2 * i + 1) / rows - 1),
                0 if open_through else 2 * wall,
            )
            shape.cut(c, (hw, hh, depth + (0.1 if open_through else 0)))
            if len(shape.solid) > 22 or draw.chance(0.3):
                continue
            style = draw.one("books", "box", "vase", "stack")
            floor = c[1] - hh
            if style == "books":
                x = c[0] - hw
                for _ in range(draw.whole(2, 4)):
                    half, high = draw(0.05, 0.3) * hw, draw(0.5, 0.9) * hh
                    if x + 2 * half > c[0] + hw:
                        break
                    shape.box(
                        draw.one(1, 2, 3),
                        (x + half, floor + high, draw(-0.2, 0.1) * depth),
                        (half * 0.97, high, depth * draw(0.5, 0.8)),
                    )
                    x += 2 * half
            elif style == "box":
                high = draw(0.4, 0.85) * hh
                shape.box(draw.one(1, 2), (c[0], floor + high, 0), (hw * draw(0.5, 0.9), high, depth * 0.85))
            elif style == "vase":
                high = draw(0.4, 0.8) * hh
                shape.cylinder(
                    draw.one(2, 3),
                    (c[0] + draw(-0.4, 0.4) * hw, floor + high, 0),
                    min(depth, hw) * draw(0.2, 0.5),
                    high,
                    taper=draw(-0.4, 0.4),
                )
            else:
                for s in range(2):
                    shape.box(draw.one(1, 3), (c[0], floor + 0.04 + 0.07 * s, 0), (hw * 0.5, 0.03, depth * 0.6))
    return shape


def stool(draw: Draw) -> Shape:
    """A stool or a bench."""
    shape = Shape()
    long = draw.chance(0.35)
    width, depth = (draw(0.6, 1), draw(0.15, 0.3)) if long else (draw(0.3, 0.5),) * 2
    top, thick = draw(0, 0.6), draw(0.02, 0.1)
    if not long and draw.chance(0.5):
        shape.cylinder(0, (0, top, 0), width, thick, draw(0, thick * 0.9))
        width = depth = width * 0.75
    else:
        shape.box(0, (0, top, 0), (width, thick, depth), draw(0, thick * 0.9), corner=draw(0, 0.15))
    legs(shape, draw, draw.one(0, 1), width, depth, top, -0.8, draw(0.02, 0.06), draw(0.95, 1.4))
    if draw.chance(0.4) and not long:
        shape.add(1, (0, draw(-0.5, -0.2), 0), (0.02, 1, 0.02), corner=0.02, ring=width * draw(0.9, 1.05), frame=FRONT)
    return shape


def swivel_chair(draw: Draw) -> Shape:
    """An office chair on casters."""
    shape = Shape(blend=draw.one(0.004, 0.02))
    seat, width, soft = draw(-0.2, 0), draw(0.35, 0.5), draw(0.02, 0.08)
    shape.box(0, (0, seat, 0), (width, draw(0.05, 0.1), width), soft, corner=draw(0.05, 0.3))
    shape.rod(1, (0, seat, 0), (0, -0.8, 0), 0.045)
    reach, arms = draw(0.4, 0.6), draw.whole(4, 5)
    for k in range(arms):
        angle = 6.283 * k / arms
        end = (reach * math.cos(angle), -0.85, reach * math.sin(angle))
        shape.rod(1, (0, -0.72, 0), end, 0.035, 0.025)
        shape.ball(2, (end[0], -0.9, end[2]), (0.05, 0.05, 0.05))
    high = draw(0.25, 0.6)
    shape.box(
        draw.one(0, 2),
        (0, seat + 0.15 + high, -width * 0.95),
        (width * draw(0.75, 1), high, draw(0.03, 0.08)),
        min(soft, 0.03),
        corner=draw(0.05, 0.3),
        frame=about("x", draw(0, 0.2)),
    )
    shape.box(1, (0, seat + 0.15, -width), (0.05, 0.25, 0.02))
    if draw.chance(0.7):
        for s in SIDES:
            shape.box(2, (s * width * 1.1, seat + 0.3, 0), (0.04, 0.02, width * 0.6), 0.015)
            shape.rod(1, (s * width * 1.1, seat + 0.28, -0.05), (s * width * 0.95, seat, -0.05), 0.025)
    return shape


def kitchen_unit(draw: Draw) -> Shape:
    """Sinks, stoves and counters."""
    shape = Shape()
    width, height, depth = draw(0.4, 1), draw(0.35, 0.5), draw(0.3, 0.4)
    shape.box(0, (0, 0, 0), (width, height, depth))
    top = height + draw(0.015, 0.04)
    shape.box(1, (0, height, 0.01), (width * 1.02, top - height, depth * 1.04))
    columns = draw.whole(1, 3)
    kind = draw.one("sink", "stove", "plain")
    for k in range(columns):
        cx, half = width * ((2 * k + 1) / columns - 1), width / columns * 0.95
        if kind == "stove" and k == 0:
            shape.box(2, (cx, -height * 0.15, depth), (half, height * 0.6, 0.02))
            shape.cut((cx, -height * 0.2, depth + 0.02), (half * 0.75, height * 0.4, 0.025))
            shape.rod(
                2, (cx - half * 0.7, height * 0.4, depth + 0.06), (cx + half * 0.7, height * 0.4, depth + 0.06), 0.02
            )
            for s in range(4):
                shape.cylinder(2, (cx + half * (s * 0.4 - 0.6), height * 0.75, depth + 0.02), 0.03, 0.03, frame=FRONT)
        elif draw.chance(0.6):
            shape.box(2, (cx, 0, depth), (half, height * 0.9, 0.015))
            pull(shape, draw, 3, (cx + half * draw.one(-0.7, 0.7), height * 0.6, depth + 0.015), 0.05)
        else:
            drawers(shape, draw, cx, 0, depth, half, height * 0.95, draw.whole(2, 4), 2, 3)
    if kind == "sink":
        for s in draw.one((0,), (-0.45, 0.45)):
            shape.cut((s * width, top, 0.02), (width * draw(0.25, 0.4), draw(0.12, 0.25), depth * 0.65), corner=0.06)
        shape.tube(
            3,
            [
                (0, top, -depth * 0.8),
                (0, top + 0.3, -depth * 0.8),
                (0, top + draw(0.3, 0.4), -depth * 0.5),
                (0, top + 0.25, -depth * 0.15),
            ],
            0.025,
        )
    elif kind == "stove":
        for sx, sz in CORNERS:
            shape.cylinder(3, (sx * width * 0.45, top + 0.015, sz * depth * 0.45), draw(0.08, 0.14), 0.012)
        if draw.chance(0.4):
            shape.box(0, (0, top + 0.15, -depth), (width, 0.15, 0.03))
    elif draw.chance(0.5):
        shape.box(0, (0, top + draw(0.4, 0.6), -depth * 0.5), (width, 0.25, depth * 0.5))
        shape.box(1, (0, top + 0.2, -depth * 0.97), (width, 0.5, 0.02))
    return shape


def appliance(draw: Draw) -> Shape:
    """Microwaves, toasters, mixers, coffee machines, kettles, fans, heaters."""
    shape = Shape(blend=draw.one(0.004, 0.02))
    kind = draw.one("microwave", "toaster", "mixer", "coffee", "kettle", "fan", "radiator", "washer", "vacuum")
    if kind == "microwave":
        width, height, depth = draw(0.6, 0.9), draw(0.3, 0.5), draw(0.3, 0.5)
        shape.box(0, (0, 0, 0), (width, height, depth), draw.one(0, 0.03))
        shape.box(1, (-width * 0.2, 0, depth), (width * 0.75, height * 0.9, 0.02), 0.01)
        shape.cut((-width * 0.25, 0, depth + 0.02), (width * 0.55, height * 0.65, 0.02))
        shape.rod(2, (width * 0.5, -height * 0.7, depth + 0.05), (width * 0.5, height * 0.7, depth + 0.05), 0.02)
        for k in range(3):
            shape.cylinder(2, (width * 0.77, height * (0.5 - 0.45 * k), depth), 0.06, 0.03, frame=FRONT)
    elif kind == "toaster":
        width, height, depth = draw(0.5, 0.8), draw(0.3, 0.45), draw(0.2, 0.35)
        shape.box(0, (0, 0, 0), (width, height, depth), draw(0.05, 0.2), corner=draw(0.05, 0.2))
        for s in (-0.35, 0.35):
            shape.cut((0, height, s * depth), (width * 0.75, height * 0.6, depth * 0.15))
        shape.box(1, (width, 0.1, 0), (0.06, 0.03, 0.08))
        shape.box(1, (0, -height, 0), (width * 0.9, 0.04, depth * 0.9))
    elif kind == "mixer":
        shape.box(0, (0, -0.6, 0.1), (0.25, 0.06, 0.5), 0.05, corner=0.2)
        shape.box(0, (0, -0.1, -0.3), (0.12, 0.5, 0.12), 0.05)
        shape.add(0, (0, 0.45, 0.05), (0.17, 0.5, 0.16), corner=0.16, edge=0.1, frame=FRONT)
        radius = draw(0.22, 0.32)
        shape.cylinder(1, (0, -0.3, 0.25), radius, 0.24, 0.03, taper=0.25)
        shape.cut((0, -0.24, 0.25), (radius * 0.93, 0.25, radius * 0.93), corner=1, taper=0.25)
        shape.rod(2, (0, 0.3, 0.25), (0, -0.2, 0.25), 0.05)
    elif kind == "coffee":
        width, depth = draw(0.25, 0.4), draw(0.3, 0.45)
        shape.box(0, (0, 0, -depth * 0.6), (width, 0.6, depth * 0.4), 0.02)
        shape.box(0, (0, 0.45, 0), (width, 0.16, depth), 0.03)
        shape.box(1, (0, -0.55, 0), (width, 0.06, depth), 0.02)
        shape.cylinder(2, (0, -0.28, depth * 0.3), width * 0.65, 0.2, taper=draw(-0.2, 0.2))
        shape.cut((0, -0.2, depth * 0.3), (width * 0.57, 0.2, width * 0.57), corner=1)
        shape.add(2, (width * 0.75, -0.25, depth * 0.3), (0.03, 1, 0.03), corner=0.03, ring=0.15)
    elif kind == "kettle":
        radius, height = draw(0.4, 0.6), draw(0.35, 0.6)
        shape.cylinder(0, (0, 0, 0), radius, height, draw(0.05, 0.2), taper=-draw(0.1, 0.4))
        shape.ball(1, (0, height + 0.05, 0), (0.09, 0.07, 0.09))
        shape.rod(0, (radius * 0.7, -0.1, 0), (radius * 1.35, height * 0.8, 0), 0.13, 0.05)
        if draw.chance(0.5):
            shape.add(
                1,
                (0, height * 0.7, 0),
                (0.04, 1, 0.05),
                corner=0.04,
                ring=radius * 0.8,
                cut=(0, -1, 0, 0),
                stretch=(1, 1.3, 1),
            )
        else:
            shape.add(1, (-radius * 0.8, 0, 0), (0.04, 1, 0.05), corner=0.04, ring=height * 0.7, cut=(1, 0, 0, 0))
    elif kind == "fan":
        radius, y = draw(0.3, 0.5), draw(0.2, 0.5)
        for s in (-0.08, 0.08):
            shape.add(0, (0, y, s), (0.02, 1, 0.02), corner=0.02, ring=radius)
        for k in range(4):
            angle = k * math.pi / 2 + 0.3
            c = np.array([math.cos(angle), math.sin(angle), 0])
            shape.add(
                1,
                (0, y, 0) + c * radius * 0.5,
                (0.13, radius * 0.42, 0.015),
                corner=0.015,
                frame=along(c + (0, 0, 0.1)),
            )
        shape.cylinder(0, (0, y, -0.08), 0.12, 0.14, 0.03, frame=FRONT)
        shape.rod(0, (0, y, -0.1), (0, -0.8, -0.1), 0.035)
        shape.cylinder(0, (0, -0.85, -0.1), draw(0.25, 0.4), 0.04, 0.02)
    elif kind == "radiator":
        n, height = draw.whole(5, 10), draw(0.3, 0.5)
        width = n * 0.09
        for k in range(n):
            shape.box(
                0, (width * ((2 * k + 1) / n - 1), 0, 0), (width / n * draw(0.6, 0.8), height, draw(0.08, 0.14)), 0.03
            )
        for s in SIDES:
            shape.rod(0, (-width, s * height * 0.75, 0), (width, s * height * 0.75, 0), 0.04)
            shape.box(1, (s * width * 0.8, -height - 0.08, 0), (0.04, 0.1, 0.12))
    elif kind == "washer":
        width, height, depth = draw(0.5, 0.6), draw(0.55, 0.75), draw(0.4, 0.6)
        shape.box(0, (0, 0, 0), (width, height, depth), draw.one(0, 0.03))
        radius = width * draw(0.5, 0.7)
        shape.add(1, (0, -0.05, depth), (0.05, 1, 0.04), corner=0.03, ring=radius)
        shape.cut((0, -0.05, depth), (radius * 0.9, draw(0.05, 0.3), radius * 0.9), corner=1, frame=FRONT)
        shape.box(2, (0, height * 0.85, depth), (width * 0.95, height * 0.1, 0.02))
        shape.cylinder(3, (width * 0.4, height * 0.85, depth + 0.02), 0.06, 0.04, frame=FRONT)
    else:
        shape.box(0, (0, -0.6, 0.3), (0.3, 0.1, 0.4), 0.08)
        shape.cylinder(1, (0, -0.55, -0.1), 0.25, 0.15, 0.05, frame=SIDEWAYS)
        shape.rod(2, (0, -0.5, 0), (0, 0.7, -0.6), 0.04)
        shape.box(0, (0, 0, -0.35), (0.15, 0.35, 0.12), 0.08, frame=about("x", 0.46))
    return shape


def bathroom(draw: Draw) -> Shape:
    """Tubs, basins and toilets: smooth hollows in white."""
    shape = Shape(blend=draw(0.004, 0.03))
    kind = draw.one("tub", "basin", "toilet", "tub", "basin")
    if kind == "tub":
        width, depth, height, wall = draw(0.35, 0.5), draw(0.75, 1), draw(0.22, 0.35), draw(0.03, 0.06)
        corner, flare = draw(0, 1) * width, draw(0, 0.15)
        shape.box(0, (0, 0, 0), (width, height, depth), 0.02, corner=corner, taper=flare)
        shape.cut(
            (0, wall * 2, 0),
            (width - 2 * wall, height, depth - 2 * wall),
            corner=max(corner - wall, 0.08),
            edge=draw(0.05, 0.15),
            taper=flare + 0.05,
        )
        if draw.chance(0.5):
            shape.box(0, (0, height, 0), (width * 1.08, 0.025, depth * 1.05), 0.02, corner=corner)
            shape.cut((0, height, 0), (width - 1.5 * wall, 0.1, depth - 1.5 * wall), corner=max(corner - wall, 0.08))
        if draw.chance(0.5):
            shape.tube(
                1,
                [(0, height, -depth * 0.95), (0, height + 0.25, -depth * 0.95), (0, height + 0.22, -depth * 0.75)],
                0.03,
            )
        if draw.chance(0.4):
            for sx, sz in CORNERS:
                shape.ball(1, (sx * width * 0.7, -height - 0.04, sz * depth * 0.75), (0.07, 0.09, 0.07))
    elif kind == "basin":
        width, depth, height = draw(0.45, 0.7), draw(0.35, 0.5), draw(0.1, 0.2)
        corner = draw(0.03, 1) * depth
        y = draw(0.3, 0.6)
        shape.box(0, (0, y, 0), (width, height, depth), 0.03, corner=corner, taper=draw(0, 0.3))
        shape.cut(
            (0, y + height * 0.6, 0.04), (width * 0.82, height, depth * 0.72), corner=max(corner * 0.8, 0.08), edge=0.08
        )
        shape.tube(
            1,
            [
                (0, y + height, -depth * 0.85),
                (0, y + height + 0.2, -depth * 0.85),
                (0, y + height + 0.17, -depth * 0.35),
            ],
            0.03,
        )
        if draw.chance(0.6):
            shape.cylinder(0, (0, y / 2 - 0.5, -depth * 0.3), draw(0.1, 0.18), y / 2 + 0.5, taper=draw(-0.3, 0.3))
        else:
            shape.box(2, (0, y / 2 - 0.45, 0), (width * 0.9, y / 2 + 0.35, depth * 0.9))
    else:
        shape.box(0, (0, 0.35, -0.5), (0.38, 0.35, 0.15), 0.04)
        shape.box(0, (0, 0.72, -0.5), (0.4, 0.03, 0.17), 0.02)
        shape.add(0, (0, 0, 0.05), (0.33, 0.09, 0.45), corner=0.33, edge=0.04)
        shape.add(0, (0, -0.35, 0), (0.2, 0.3, 0.3), corner=0.2, taper=0.35)
        shape.cut((0, 0.08, 0.1), (0.24, 0.2, 0.3), corner=0.24, edge=0.1)
        lid = draw.one("none", "down", "up")
        if lid == "down":
            shape.add(1, (0, 0.12, 0.05), (0.34, 0.025, 0.44), corner=0.33)
        elif lid == "up":
            shape.add(1, (0, 0.5, -0.32), (0.32, 0.42, 0.02), corner=0.02, frame=about("x", 0.1))
    return shape


def screen(draw: Draw) -> Shape:
    """Televisions, monitors, laptops."""
    shape = Shape()
    width, thin = draw(0.6, 1), draw(0.012, 0.05)
    height = width * draw(0.5, 0.68)
    if draw.chance(0.3):
        z = height * 1.0
        open_ = draw(0.1, 0.5)
        shape.box(0, (0, 0, 0), (width, 0.025, z), 0.01, corner=0.04)
        shape.cut((0, 0.03, -z * 0.25), (width * 0.85, 0.015, z * 0.5))
        tilted = about("x", open_)
        shape.box(
            0, np.array([0, 0, -z]) + tilted.T @ np.array([0, height, 0]), (width, height, 0.02), 0.01, frame=tilted
        )
        shape.box(
            1,
            np.array([0, 0, -z]) + tilted.T @ np.array([0, height, 0.02]),
            (width * 0.93, height * 0.92, 0.006),
            frame=tilted,
        )
        return shape
    shape.box(0, (0, height, 0), (width, height, thin), draw.one(0, thin * 0.5))
    shape.box(1, (0, height, thin), (width * 0.96, height * 0.95, 0.006))
    if draw.chance(0.4):
        shape.box(0, (0, height, -thin - 0.05), (width * 0.5, height * 0.6, 0.06), 0.02)
    style = draw.one("foot", "feet", "arc", "cupboard", "none")
    if style == "foot":
        shape.box(0, (0, -0.1, -0.03), (draw(0.05, 0.15), 0.15, 0.02))
        shape.box(0, (0, -0.25, 0), (width * draw(0.3, 0.6), 0.015, draw(0.12, 0.25)), corner=draw(0, 0.1))
    elif style == "feet":
        for s in SIDES:
            for sz in SIDES:
                shape.rod(0, (s * width * 0.6, 0, 0), (s * width * 0.65, -0.15, sz * 0.2), 0.02)
    elif style == "arc":
        shape.cylinder(0, (0, -0.25, 0), 0.25, 0.02)
        shape.rod(0, (0, -0.25, -0.05), (0, height * 0.5, -0.05), 0.04)
    elif style == "cupboard":
        shape.box(2, (0, -0.35, 0), (width * draw(0.9, 1.2), 0.2, 0.25))
        shape.box(0, (0, -0.07, 0), (width * 0.4, 0.08, 0.12))
    return shape


def frame(draw: Draw) -> Shape:
    """Pictures, mirrors, windows and doors: flat, with a recessed or open middle."""
    shape = Shape()
    width, height, deep, rim = draw(0.35, 0.9), draw(0.4, 1), draw(0.02, 0.08), draw(0.03, 0.12)
    round_ = draw.chance(0.2)
    corner = min(width, height) * 0.98 if round_ else draw.one(0, 0, 0.03)
    upright = FRONT  # the prism's own axis points at the viewer; its z is the picture's height
    shape.add(0, (0, 0, 0), (width, deep, height), corner=corner, frame=upright, edge=draw.one(0, 0.015))
    through = draw.chance(0.3)
    shape.cut(
        (0, 0, 0 if through else deep),
        (width - rim, deep * (2 if through else draw(0.3, 1)), height - rim),
        corner=max(corner - rim, 0),
        frame=upright,
    )
    style = draw.one("plain", "cross", "panels", "stand", "clock")
    if style == "cross":
        for _ in range(draw.whole(1, 2)):
            shape.box(0, (0, height * draw(-0.4, 0.4), 0), (width - rim, rim * 0.3, deep * 0.6))
        shape.box(0, (0, 0, 0), (rim * 0.3, height - rim, deep * 0.6))
    elif style == "panels":
        shape.box(1, (0, 0, 0), (width - rim, height - rim, deep * 0.6))
        for s in SIDES:
            shape.box(1, (0, s * height * 0.45, 0), (width * 0.6, height * 0.3, deep * 0.9), 0.01)
        shape.ball(2, (width * 0.75, 0, deep + 0.04), (0.04, 0.04, 0.04))
    elif style == "stand":
        shape.rod(0, (0, height * 0.3, -deep), (0, -height, -draw(0.3, 0.6)), 0.03)
        turn(shape, about("x", draw(-0.3, 0)))
    elif style == "clock":
        shape.box(2, (0, 0.12, deep * 0.5), (0.015, 0.14, deep * 0.6))
        shape.box(2, (0.1, 0, deep * 0.5), (0.12, 0.015, deep * 0.6))
    return shape


def stairs(draw: Draw) -> Shape:
    """Stairs, some with a railing."""
    shape = Shape()
    n, width = draw.whole(3, 8), draw(0.3, 0.8)
    rise, run = 1.6 / n * draw(0.7, 1.1), 1.6 / n
    solid = draw.chance(0.5)
    for k in range(n):
        y, z = -0.8 + (k + 1) * rise, -0.8 + (k + 0.5) * run
        if solid:
            shape.box(0, (0, (y - 0.8) / 2, z), (width, (y + 0.8) / 2, run / 2))
        else:
            shape.box(0, (0, y - 0.03, z), (width, 0.03, run * draw(0.5, 0.62)))
    if not solid or draw.chance(0.3):
        for s in SIDES:
            shape.rod(1, (s * width, -0.85, -0.85), (s * width, -0.8 + n * rise - 0.1, 0.8), 0.05)
    if draw.chance(0.5):
        up = draw(0.35, 0.6)
        for s in SIDES if draw.chance(0.6) else (1,):
            shape.rod(1, (s * width, -0.8 + up, -0.75), (s * width, -0.8 + n * rise + up, 0.75), 0.03)
            for k in range(0, n, 2):
                y, z = -0.8 + (k + 1) * rise, -0.8 + (k + 0.5) * run
                shape.rod(1, (s * width, y - 0.1, z), (s * width, y + up - rise / 2, z), 0.02)
    turn(shape, about("y", math.pi))
    return shape


def ladder(draw: Draw) -> Shape:
    """A ladder or a stepladder."""
    shape = Shape()
    width, n, radius = draw(0.2, 0.4), draw.whole(4, 8), draw(0.02, 0.05)
    double = draw.chance(0.5)
    lean = draw(0.15, 0.45)
    for side in SIDES if double else (1,):
        foot = side * lean
        for s in SIDES:
            shape.rod(0, (s * width, -0.9, foot), (s * width * draw(0.7, 1), 0.9, 0), radius, flat=True)
        for k in range(n if side > 0 else 2):
            share = (k + 0.6) / n if side > 0 else (k + 1) / 3
            shape.box(
                1,
                (0, -0.9 + 1.8 * share, foot * (1 - share)),
                (width, radius * draw(0.5, 0.9), radius * (draw(1, 3) if double else 1)),
            )
    if double:
        shape.box(1, (0, 0.9, 0), (width, 0.03, 0.12))
    return shape


def piano(draw: Draw) -> Shape:
    """An upright or grand piano."""
    shape = Shape()
    if draw.chance(0.55):
        width, height, depth = draw(0.7, 0.9), draw(0.5, 0.75), draw(0.15, 0.25)
        shape.box(0, (0, 0, -depth), (width, height, depth))
        shape.box(0, (0, height, -depth), (width * 1.03, 0.025, depth * 1.1))
        shape.box(0, (0, -0.05, depth * 0.8), (width, 0.06, depth * 0.9))
        shape.box(1, (0, 0.02, depth * 1.1), (width * 0.9, 0.015, depth * 0.55))
        for s in SIDES:
            shape.box(0, (s * (width - 0.04), 0.02, depth * 0.8), (0.04, 0.09, depth * 0.9))
            shape.box(0, (s * (width - 0.06), -height / 2 - 0.03, depth * 1.4), (0.05, height / 2, 0.05), taper=-0.2)
        shape.box(2, (0, height * 0.5, 0.01), (width * 0.5, 0.1, 0.02))
    else:
        width, depth, y = 0.6, draw(0.7, 0.95), 0.1
        shape.box(0, (0, y, 0), (width, 0.12, depth), corner=0.3)
        shape.box(0, (0, y, depth * 0.75), (width, 0.12, depth * 0.3))
        shape.box(1, (0, y + 0.02, depth * 1.0), (width * 0.92, 0.1, 0.12))
        lid = about("z", -draw(0.5, 0.9))
        shape.box(
            0, np.array([-width, y + 0.13, 0]) + lid.T @ np.array([width, 0, 0]), (width, 0.02, depth * 0.9), frame=lid
        )
        for x, c in ((-width * 0.8, depth * 0.8), (width * 0.8, depth * 0.8), (0, -depth * 0.7)):
            shape.rod(0, (x, y, c), (x, -0.7, c), 0.06, 0.04, flat=True)
    if draw.chance(0.3):
        shape.box(2, (0, -0.3, 1.2), (0.35, 0.06, 0.15), 0.03)
        for sx, sz in CORNERS:
            shape.box(0, (sx * 0.3, -0.5, 1.2 + sz * 0.1), (0.025, 0.2, 0.025))
    return shape


def light(draw: Draw) -> Shape:
    """Floor, arc, tripod and hanging lamps, chandeliers, candlesticks, lanterns."""
    shape = Shape()
    kind = draw.one("floor", "arc", "tripod", "pendant", "chandelier", "candles", "lantern", "globe")
    open_ = draw.chance(0.7)
    radius, height = draw(0.2, 0.4), draw(0.15, 0.3)

    def shade(material: int, center: ArrayLike, radius: float, high: float, taper: float) -> None:
        """Adds a lampshade, open at both ends or closed."""
        shape.add(material, center, (radius, high, radius), corner=1, taper=taper, shell=0.015 if open_ else 0)
        if open_:
            shape.cut(center, (radius * 0.93, high * 1.2, radius * 0.93), corner=1, taper=taper)
            shape.ball(3, center, (0.07, 0.09, 0.07))

    if kind in ("floor", "tripod"):
        shade(1, (0, 0.75, 0), radius, height, -draw(0, 0.5))
        if kind == "floor":
            shape.rod(0, (0, -0.95, 0), (0, 0.75, 0), draw(0.015, 0.035))
            shape.cylinder(0, (0, -0.95, 0), draw(0.15, 0.3), draw(0.015, 0.04))
        else:
            for k in range(3):
                angle = 2.094 * k + 0.3
                shape.rod(0, (0, 0.6, 0), (0.4 * math.cos(angle), -0.95, 0.4 * math.sin(angle)), 0.03)
    elif kind == "arc":
        points = [(-0.5, -0.9, 0), (-0.5, 0.2, 0), (-0.35, 0.6, 0), (0, 0.85, 0), (0.35, 0.75, 0), (0.5, 0.55, 0)]
        shape.tube(0, points, 0.025)
        shape.cylinder(0, (-0.45, -0.9, 0), 0.25, 0.04)
        shade(1, (0.5, 0.45, 0), radius, height * 0.7, -draw(0.1, 0.6))
    elif kind == "pendant":
        shape.rod(0, (0, 0.1, 0), (0, 0.95, 0), 0.015)
        shape.cylinder(0, (0, 0.95, 0), 0.1, 0.03)
        shade(1, (0, -0.1, 0), radius * 1.6, height * 1.3, -draw(0, 0.8))
    elif kind == "chandelier":
        n, reach = draw.whole(4, 7), draw(0.45, 0.7)
        shape.rod(0, (0, -0.2, 0), (0, 0.8, 0), 0.03)
        shape.ball(0, (0, -0.15, 0), (0.1, 0.13, 0.1))
        for k in range(n):
            angle = 6.283 * k / n
            c, s = math.cos(angle) * reach, math.sin(angle) * reach
            shape.tube(0, [(0, -0.1, 0), (c * 0.6, -0.25, s * 0.6), (c, -0.05, s)], 0.02)
            shape.cylinder(1, (c, 0.08, s), draw(0.04, 0.1), 0.1, taper=-0.2)
    elif kind == "candles":
        shape.cylinder(0, (0, -0.6, 0), 0.25, 0.04)
        shape.rod(0, (0, -0.6, 0), (0, 0.3, 0), 0.04)
        for s in (-1, 0, 1) if draw.chance(0.6) else (0,):
            shape.tube(0, [(0, 0, 0), (s * 0.35, 0.05, 0), (s * 0.35, 0.25, 0)], 0.03)
            shape.cylinder(1, (s * 0.35, 0.5, 0), 0.045, 0.22)
    elif kind == "lantern":
        width = draw(0.25, 0.4)
        for y in (-0.5, 0.4):
            shape.box(0, (0, y, 0), (width, 0.04, width))
        for sx, sz in CORNERS:
            shape.box(0, (sx * width * 0.9, -0.05, sz * width * 0.9), (0.025, 0.45, 0.025))
        shape.add(0, (0, 0.55, 0), (width * 0.9, 0.13, width * 0.9), taper=-0.8)
        shape.cylinder(1, (0, -0.3, 0), 0.1, draw(0.1, 0.25))
        shape.add(2, (0, 0.75, 0), (0.02, 1, 0.02), corner=0.02, ring=0.15)
    else:
        shape.ball(1, (0, 0.4, 0), (0.4, 0.4, 0.4))
        shape.rod(0, (0, -0.7, 0), (0, 0.1, 0), draw(0.03, 0.08))
        shape.cylinder(0, (0, -0.72, 0), 0.25, 0.04)
    return shape


def open_box(draw: Draw) -> Shape:
    """Cartons with flaps, crates of slats, baskets, bins, drawers, trays: walls around air, some with contents."""
    shape = Shape()
    width, height, depth, wall = draw(0.4, 0.9), draw(0.2, 0.7), draw(0.35, 0.7), draw(0.015, 0.05)
    kind = draw.one("carton", "crate", "basket", "bin", "tray", "carton")
    if kind == "crate":
        rows = draw.whole(2, 4)
        half = height / rows * draw(0.6, 0.85)
        for k in range(rows):
            y = height * ((2 * k + 1) / rows - 1)
            for s in SIDES:
                shape.box(0, (0, y, s * depth), (width, half, wall))
                shape.box(0, (s * width, y, 0), (wall, half, depth))
        for sx, sz in CORNERS:
            shape.box(1, (sx * (width - wall), 0, sz * (depth - wall)), (0.04, height, 0.04))
        shape.box(0, (0, -height, 0), (width, wall, depth))
    else:
        flare, corner = (draw(0, 0.25), draw(0.02, 0.3)) if kind in ("basket", "bin") else (0, 0)
        height *= 0.4 if kind == "tray" else 1.3 if kind == "bin" else 1
        shape.box(0, (0, 0, 0), (width, height, depth), corner=corner, taper=flare)
        shape.cut(
            (0, 2 * wall, 0), (width - 2 * wall, height, depth - 2 * wall), corner=max(corner - wall, 0), taper=flare
        )
        if kind == "carton":
            for s in SIDES:
                for long in (True, False):
                    if draw.chance(0.25):
                        continue
                    angle = draw(0.2, 2.2)
                    reach = depth * draw(0.4, 0.5)
                    if long:
                        hinge = about("x", -s * (angle - math.pi / 2))
                        shape.box(
                            0,
                            np.array([0, height, s * depth]) + hinge.T @ np.array([0, 0, s * reach]),
                            (width, wall * 0.7, reach),
                            frame=hinge,
                        )
                    else:
                        hinge = about("z", s * (angle - math.pi / 2))
                        shape.box(
                            0,
                            np.array([s * width, height, 0]) + hinge.T @ np.array([s * reach, 0, 0]),
                            (reach, wall * 0.7, depth),
                            frame=hinge,
                        )
        elif kind == "basket" and draw.chance(0.6):
            shape.add(
                1,
                (0, height * 0.9, 0),
                (0.03, 1, 0.05),
                corner=0.03,
                ring=width * (1 + flare * 0.9),
                cut=(0, -1, 0, 0),
                stretch=(1, draw(0.6, 1.2), 1),
            )
    for _ in range(draw.one(0, 0, draw.whole(1, 5))):
        size = draw(0.1, 0.25)
        c = (draw(-0.5, 0.5) * width, -height + 2 * wall + size * draw(0.8, 1.6), draw(-0.5, 0.5) * depth)
        if draw.chance(0.5):
            shape.ball(draw.one(2, 3), c, (size, size, size))
        else:
            shape.box(draw.one(2, 3), c, (size, size * draw(0.4, 1), size * draw(0.4, 1)), frame=about("y", draw(0, 3)))
    return shape


def bicycle(draw: Draw) -> Shape:
    """Bicycles, scooters, prams: wheels and thin tubes."""
    shape = Shape()
    radius, tyre, base = draw(0.28, 0.38), draw(0.015, 0.04), draw(0.45, 0.6)
    motor = draw.chance(0.25)
    for s in SIDES:
        shape.add(
            0,
            (s * base, -0.4, 0),
            (tyre * (2 if motor else 1), 1, tyre * (2 if motor else 1)),
            corner=0.05,
            ring=radius,
        )
        if motor or draw.chance(0.3):
            shape.cylinder(1, (s * base, -0.4, 0), radius * 0.4 if motor else 0.05, 0.04, frame=FRONT)
        else:
            for k in range(3):
                angle = k * math.pi / 3 + 0.2
                c = np.array([math.cos(angle), math.sin(angle), 0]) * radius
                shape.rod(1, np.array([s * base, -0.4, 0]) - c, np.array([s * base, -0.4, 0]) + c, 0.008)
    b, crank, saddle, head = (
        draw(0.02, 0.035),
        np.array([-0.05, -0.4, 0]),
        np.array([-0.2, 0.15, 0]),
        np.array([base * 0.7, 0.15, 0]),
    )
    for p, q in (
        (crank, saddle),
        (crank, head),
        (saddle, head * (1, 1, 1)),
        (np.array([-base, -0.4, 0]), crank),
        (np.array([-base, -0.4, 0]), saddle),
        (head, np.array([base, -0.4, 0])),
        (head, head + (-0.08, 0.25, 0)),
    ):
        shape.rod(2, p, q, b)
    if motor:
        shape.box(2, (0, -0.15, 0), (0.25, 0.15, 0.1), 0.06)
        shape.box(3, (-0.3, 0.12, 0), (0.3, 0.06, 0.11), 0.05)
        shape.ball(2, (0.2, 0.15, 0), (0.2, 0.12, 0.12))
    bar = head + (-0.08, 0.25, 0)
    shape.rod(1, bar + (-0.05, 0, -0.28), bar + (0, 0.02, 0), 0.022)
    shape.rod(1, bar + (0, 0.02, 0), bar + (-0.05, 0, 0.28), 0.022)
    shape.box(3, saddle + (0, 0.1, 0), (0.13, 0.03, 0.06), 0.02)
    shape.rod(1, saddle, saddle + (0, 0.1, 0), b)
    if draw.chance(0.4):
        shape.box(3, bar + (0.15, -0.1, 0), (0.12, 0.1, 0.14))
        shape.cut(bar + (0.15, -0.07, 0), (0.1, 0.1, 0.12))
    return shape


def toy(draw: Draw) -> Shape:
    """Blocks, trains, rocking horses, stacked rings, dolls' houses, carts."""
    shape = Shape(blend=draw.one(0.004, 0.015))
    kind = draw.one("blocks", "train", "rocker", "rings", "house", "cart")
    if kind == "blocks":
        y = -0.8
        for k in range(draw.whole(3, 7)):
            s = draw(0.12, 0.25)
            block = draw.one("box", "cylinder", "roof", "arch")
            c = (draw(-0.15, 0.15), y + s, draw(-0.1, 0.1))
            if block == "box":
                shape.box(k % 4, c, (s * draw(1, 2), s, s), frame=about("y", draw(-0.4, 0.4)))
            elif block == "cylinder":
                shape.cylinder(k % 4, c, s, s)
            elif block == "roof":
                shape.box(
                    k % 4,
                    (c[0], y, c[2]),
                    (s * 1.2, s * 1.2, s),
                    frame=about("z", math.pi / 4),
                    cut=(-0.7071, -0.7071, 0, 0),
                )
            else:
                shape.box(k % 4, c, (s * 2, s, s))
                shape.cut((c[0], y, c[2]), (s * 0.8, s * 2, s * 0.8), corner=1, frame=FRONT)
            y += 2 * s
    elif kind == "train":
        for k in range(draw.whole(1, 3)):
            z = 0.7 - 0.75 * k
            shape.box(0, (0, -0.3, z), (0.25, 0.05, 0.33))
            for sx, sz in CORNERS:
                shape.cylinder(1, (sx * 0.27, -0.4, z + sz * 0.2), 0.11, 0.04, frame=SIDEWAYS)
            if k == 0:
                shape.cylinder(2, (0, -0.05, z + 0.08), 0.2, 0.24, frame=FRONT)
                shape.box(3, (0, 0.05, z - 0.2), (0.22, 0.32, 0.13))
                shape.cylinder(1, (0, 0.22, z + 0.2), 0.06, 0.15, taper=0.3)
            else:
                shape.box(2, (0, -0.1, z), (0.24, 0.18, 0.32))
                shape.cut((0, 0, z), (0.2, 0.2, 0.28))
    elif kind == "rocker":
        for s in SIDES:
            shape.add(
                1,
                (s * 0.2, 0.3, 0),
                (0.04, 1, 0.04),
                ring=draw(0.9, 1.1),
                frame=about("y", math.pi / 2),
                cut=(0, 1, 0, -0.75),
            )
            for sz in SIDES:
                shape.rod(0, (s * 0.12, 0, sz * 0.25), (s * 0.2, -0.6, sz * 0.4), 0.05)
        shape.box(0, (0, 0, 0), (0.16, 0.16, 0.4), 0.1)
        shape.rod(0, (0, 0.1, 0.35), (0, 0.5, 0.55), 0.13, 0.1)
        shape.rod(0, (0, 0.5, 0.5), (0, 0.4, 0.8), 0.11, 0.08)
        shape.rod(2, (-0.25, 0.45, 0.5), (0.25, 0.45, 0.5), 0.025)
    elif kind == "rings":
        n = draw.whole(4, 6)
        shape.cylinder(0, (0, -0.7, 0), 0.5, 0.06)
        shape.rod(0, (0, -0.7, 0), (0, 0.6, 0), 0.06)
        for k in range(n):
            shape.add(k % 4, (0, -0.55 + 0.2 * k, 0), (0.1, 1, 0.1), corner=0.1, ring=0.38 - 0.05 * k, frame=FRONT)
    elif kind == "house":
        width, height, z = 0.6, draw(0.4, 0.7), 0.35
        shape.box(0, (0, 0, 0), (width, height, z))
        rows = draw.whole(1, 3)
        for i in range(rows):
            for s in SIDES:
                shape.cut(
                    (s * width * 0.5, height * ((2 * i + 1) / rows - 1), 0.06), (width * 0.46, height / rows * 0.88, z)
                )
        for s in SIDES:
            shape.box(1, (s * width * 0.52, height + 0.22, 0), (width * 0.75, 0.03, z * 1.1), frame=about("z", s * 0.6))
    else:
        shape.box(0, (0, 0, 0), (0.4, 0.25, 0.6), taper=draw(0, 0.2))
        shape.cut((0, 0.08, 0), (0.35, 0.25, 0.54), taper=0.1)
        for sx, sz in CORNERS:
            shape.cylinder(1, (sx * 0.45, -0.28, sz * 0.4), draw(0.15, 0.22), 0.05, 0.02, frame=SIDEWAYS)
        shape.rod(2, (0, -0.2, 0.6), (0, 0.4, 1.1), 0.03)
        shape.rod(2, (-0.2, 0.4, 1.1), (0.2, 0.4, 1.1), 0.035)
    return shape


def rack(draw: Draw) -> Shape:
    """Coat stands, clothes horses, trolleys, easels, shelves of bars: mostly air."""
    shape = Shape()
    kind = draw.one("coats", "trolley", "easel", "horse", "shelf", "table")
    radius = draw(0.015, 0.035)
    if kind == "coats":
        shape.rod(0, (0, -0.9, 0), (0, 0.9, 0), radius * 1.5)
        for k in range(n := draw.whole(3, 6)):
            angle = 6.283 * k / n
            c, s = math.cos(angle), math.sin(angle)
            shape.tube(0, [(0, 0.6, 0), (0.22 * c, 0.65, 0.22 * s), (0.3 * c, 0.85, 0.3 * s)], radius)
            if k < 4:
                shape.rod(0, (0, -0.75, 0), (0.4 * c, -0.93, 0.4 * s), radius)
    elif kind == "trolley":
        width, z = draw(0.35, 0.6), draw(0.25, 0.4)
        for sx, sz in CORNERS:
            shape.rod(0, (sx * width, -0.75, sz * z), (sx * width, 0.6, sz * z), radius)
            shape.cylinder(1, (sx * width, -0.82, sz * z), 0.07, 0.025, frame=FRONT)
        for k in range(draw.whole(2, 3)):
            y = -0.6 + 0.5 * k
            shape.box(2, (0, y, 0), (width, draw(0.02, 0.1), z))
            if draw.chance(0.5):
                shape.cut((0, y + 0.04, 0), (width * 0.93, 0.09, z * 0.9))
        shape.rod(0, (width + 0.12, 0.6, -z), (width + 0.12, 0.6, z), radius)
        for s in SIDES:
            shape.rod(0, (width, 0.6, s * z), (width + 0.12, 0.6, s * z), radius)
    elif kind == "easel":
        for x, z in ((-0.4, 0.25), (0.4, 0.25), (0, -0.5)):
            shape.rod(0, (x, -0.9, z), (0, 0.9, 0), radius * 1.3)
        shape.box(0, (0, -0.35, 0.25), (0.45, 0.025, 0.06))
        if draw.chance(0.7):
            shape.box(1, (0, 0.1, 0.16), (draw(0.3, 0.5), 0.42, 0.025), frame=about("x", 0.13))
    elif kind == "horse":
        for s in SIDES:
            for sx in SIDES:
                shape.rod(0, (sx * 0.7, -0.8, s * 0.35), (sx * 0.7, 0.5, -s * 0.25), radius)
        for k in range(draw.whole(4, 7)):
            share = k / 6
            shape.rod(
                0,
                (-0.7, -0.4 + 0.9 * share, 0.25 - 0.5 * share),
                (0.7, -0.4 + 0.9 * share, 0.25 - 0.5 * share),
                radius * 0.8,
            )
        shape.box(1, (0, 0.2, -0.2), (0.4, 0.25, 0.02))
    elif kind == "shelf":
        width, z = draw(0.4, 0.7), draw(0.18, 0.3)
        for sx, sz in CORNERS:
            shape.box(0, (sx * width, 0, sz * z), (radius, 0.9, radius))
        for k in range(n := draw.whole(3, 5)):
            y = -0.75 + 1.6 * k / (n - 1)
            shape.box(1, (0, y, 0), (width, 0.018, z))
            if draw.chance(0.6):
                shape.box(draw.one(2, 3), (draw(-0.4, 0.4) * width, y + 0.14, 0), (draw(0.1, 0.3), 0.12, z * 0.7))
    else:
        width, z = draw(0.5, 0.8), draw(0.3, 0.5)
        shape.box(1, (0, 0.2, 0), (width, draw(0.012, 0.025), z), corner=draw.one(0, z * 0.9))
        for s in SIDES:
            shape.rod(0, (s * width * 0.7, 0.2, -z * 0.8), (s * width * 0.5, -0.7, z * 0.8), radius)
            shape.rod(0, (s * width * 0.7, 0.2, z * 0.8), (s * width * 0.5, -0.7, -z * 0.8), radius)
    return shape


def pot(draw: Draw) -> Shape:
    """Saucepans, woks, teapots, jugs, watering cans, pots with lids."""
    shape = Shape(blend=draw.one(0.004, 0.015))
    radius, height, flare, wall = draw(0.4, 0.7), draw(0.2, 0.55), draw(-0.25, 0.3), draw(0.02, 0.04)
    shape.cylinder(0, (0, 0, 0), radius, height, draw(0, 0.1), taper=flare)
    lidded = draw.chance(0.4)
    if lidded:
        shape.cylinder(1, (0, height + 0.02, 0), radius * (1 + flare) * 1.02, 0.025)
        shape.ball(1, (0, height + 0.02, 0), (radius * (1 + flare) * 0.9, draw(0.05, 0.2), radius * (1 + flare) * 0.9))
        shape.ball(2, (0, height + 0.22, 0), (0.07, 0.07, 0.07))
    else:
        shape.cut((0, 3 * wall, 0), (radius - 2 * wall, height, radius - 2 * wall), corner=1, edge=0.05, taper=flare)
    kind = draw.one("long", "ears", "spout", "ring", "bail")
    edge = radius * (1 + flare * 0.5)
    if kind == "long":
        shape.rod(2, (edge, height * 0.7, 0), (edge + draw(0.5, 1), height * draw(0.7, 1.2), 0), draw(0.035, 0.06))
    elif kind == "ears":
        for s in SIDES:
            shape.add(2, (s * edge, height * 0.6, 0), (0.035, 1, 0.035), corner=0.03, ring=0.15, frame=FRONT)
    elif kind == "spout":
        shape.tube(0, [(-edge * 0.8, -height * 0.3, 0), (-edge * 1.3, 0, 0), (-edge * 1.6, height * 1.1, 0)], 0.06)
        handle(shape, draw, 0, edge, 0, height)
    elif kind == "ring":
        handle(shape, draw, 2, edge, 0, height)
    else:
        shape.add(
            2,
            (0, height * 0.8, 0),
            (0.02, 1, 0.02),
            corner=0.02,
            ring=edge,
            cut=(0, -1, 0, 0),
            stretch=(1, draw(0.7, 1.2), 1),
        )
    return shape


HOUSEHOLD = [
    (sofa, 1.6),
    (bed_frame, 1.0),
    (desk, 1.2),
    (wardrobe, 1.6),
    (bookcase, 1.2),
    (stool, 1.0),
    (swivel_chair, 0.8),
    (kitchen_unit, 1.0),
    (appliance, 1.4),
    (bathroom, 1.1),
    (screen, 1.0),
    (frame, 0.8),
    (stairs, 0.4),
    (ladder, 0.4),
    (piano, 0.4),
    (light, 1.4),
    (open_box, 1.6),
    (bicycle, 0.6),
    (toy, 1.0),
    (rack, 0.9),
    (pot, 1.0),
]

"""Procedural things: each recipe draws its proportions and returns the parts of one object, y up, about two units across.

The recipes are chosen for how their kind is built (legs with air between, shells that are open at the top, flat backs,
round bodies), not to copy any one product. None looks at outside data.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from primitive import WIDTH, part

FAR_AWAY = part((0, 1e3, 0), (0.1, 0.1, 0.1))


def about(axis, angle):
    """Rotation matrix [3,3] about 'x', 'y' or 'z', in radians."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array({"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis], np.float32)


def along(direction):
    """A frame [3,3] (rows are axes) whose second axis points along `direction`."""
    y = np.asarray(direction, np.float64)
    y = y / (np.linalg.norm(y) + 1e-9)
    x = np.cross(y, (0, 0, 1) if abs(y[2]) < 0.9 else (1, 0, 0))
    x /= np.linalg.norm(x)
    return np.stack([x, y, np.cross(x, y)]).astype(np.float32)


@dataclass
class Thing:
    """What a recipe builds: parts that are there, parts that are cut out, and which material each solid part has."""

    solid: list = field(default_factory=list)
    hollow: list = field(default_factory=list)
    material: list = field(default_factory=list)
    blend: float = 0.004

    def add(self, material, *args, **options):
        self.solid.append(part(*args, **options))
        self.material.append(material)

    def cut(self, *args, **options):
        self.hollow.append(part(*args, **options))

    def box(self, material, centre, half, edge=0.0, **options):
        self.add(material, centre, half, corner=options.pop("corner", edge), edge=edge, **options)

    def cylinder(self, material, centre, radius, half, edge=0.0, **options):
        self.add(material, centre, (radius, half, radius), corner=radius, edge=edge, **options)

    def ball(self, material, centre, half, **options):
        self.add(material, centre, (1, 1, 1), corner=1, edge=1, stretch=np.maximum(np.asarray(half, np.float32), 0.02), **options)

    def rod(self, material, a, b, radius, end=None, flat=False):
        """A bar from a to b with round ends, `end` its radius at b."""
        a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
        end = radius if end is None else end
        middle, reach = (radius + end) / 2, np.linalg.norm(b - a) / 2
        taper = float(np.clip((end - radius) / (2 * middle), -0.85, 0.85))
        half = (middle, reach + (0 if flat else middle), middle)
        self.add(material, (a + b) / 2, half, corner=middle, edge=0 if flat else middle, taper=taper, frame=along(b - a))

    def tube(self, material, points, radius):
        for a, b in zip(points[:-1], points[1:]):
            self.rod(material, a, b, radius)

    def lathe(self, material, heights, radii, **options):
        """A stack of frusta: a body of revolution about y."""
        for y0, y1, r0, r1 in zip(heights[:-1], heights[1:], radii[:-1], radii[1:]):
            middle = max((r0 + r1) / 2, 0.02)
            taper = float(np.clip((r1 - r0) / (2 * middle), -0.9, 0.9))
            self.add(material, (0, (y0 + y1) / 2, 0), (middle, abs(y1 - y0) / 2, middle), corner=middle, taper=taper, **options)


class Draw:
    """Random numbers under short names; recipes read as proportions."""

    def __init__(self, rng):
        self.rng = rng

    def __call__(self, low, high):
        return float(self.rng.uniform(low, high))

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def whole(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def one(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def direction(self):
        v = self.rng.normal(size=3)
        return v / np.linalg.norm(v)

    def turn(self):
        return about("y", self(0, 6.28)) @ about("x", self(0, 6.28))


SIDES = (-1, 1)
CORNERS = [(sx, sz) for sx in SIDES for sz in SIDES]


def legs(t, d, m, w, z, top, bottom, thick, splay=1.0):
    """Four legs under a w x z half-plate, or a pedestal, a sled or panels."""
    style = d.one("posts", "posts", "posts", "rods", "rods", "panels", "sled", "pedestal")
    if style == "pedestal":
        r = max(thick, 0.05)
        t.rod(m, (0, top, 0), (0, bottom, 0), r * d(0.8, 1.5), flat=True)
        if d.chance(0.5):
            t.cylinder(m, (0, bottom + 0.03, 0), min(w, z) * d(0.5, 0.9), d(0.02, 0.05))
        else:
            for k in range(n := d.whole(3, 5)):
                a = 2 * math.pi * k / n
                t.rod(m, (0, bottom + 0.1, 0), (w * 0.8 * math.cos(a), bottom + 0.02, z * 0.8 * math.sin(a)), thick * 0.6)
        return
    if style == "panels":
        for sx in SIDES:
            t.box(m, (sx * (w - thick), (top + bottom) / 2, 0), (thick * 0.6, (top - bottom) / 2, z * d(0.85, 1)))
        return
    for sx, sz in CORNERS:
        x0, z0 = sx * (w - thick), sz * (z - thick)
        x1, z1 = x0 * splay, z0 * splay
        if style == "posts":
            t.box(m, (x0, (top + bottom) / 2, z0), (thick, (top - bottom) / 2, thick), taper=d(-0.2, 0.1))
        else:
            t.rod(m, (x0 * 0.9, top, z0 * 0.9), (x1, bottom, z1), thick, thick * d(0.5, 1), flat=True)
    if style == "sled":
        for sx in SIDES:
            t.box(m, (sx * (w - thick), bottom + thick, 0), (thick, thick, z))
    elif d.chance(0.3):
        y = bottom + (top - bottom) * d(0.2, 0.5)
        for sx in SIDES:
            t.box(m, (sx * (w - thick), y, 0), (thick * 0.6, thick * 0.6, z - thick))


def chair(d):
    t = Thing()
    w, z, seat, thick = d(0.35, 0.6), d(0.35, 0.6), d(-0.3, 0.05), d(0.03, 0.1)
    t.box(0, (0, seat, 0), (w, thick, z), d(0, thick * 0.9), corner=d(0, 0.2))
    legs(t, d, 1, w, z, seat, -0.95, d(0.025, 0.07), d(0.95, 1.25))
    if d.chance(0.8):
        high, lean, back = d(0.25, 0.6), d(-0.05, 0.25), -z + 0.04
        style = d.one("panel", "panel", "slats", "rails", "frame")
        top = seat + 2 * high
        if style == "panel":
            t.box(0, (0, seat + high + d(0, 0.15), back), (w * d(0.8, 1), high, d(0.025, 0.09)), 0.02, frame=about("x", lean), corner=d(0, 0.2))
        else:
            post = d(0.02, 0.05)
            for sx in SIDES:
                t.rod(1, (sx * (w - post), seat, back), (sx * (w - post), top, back - 0.15), post)
            for k in range(n := d.whole(2, 5)):
                f = (k + 0.5) / n
                if style == "slats":
                    t.rod(1, ((2 * f - 1) * w * 0.8, seat, back), ((2 * f - 1) * w * 0.8, top, back - 0.15), post * 0.8)
                else:
                    t.box(1, (0, seat + f * (top - seat), back - 0.15 * f), (w, post * d(0.8, 1.6), post * 0.7))
            t.box(1, (0, top, back - 0.15), (w, d(0.03, 0.12), post), 0.02)
        if d.chance(0.35):
            for sx in SIDES:
                y = seat + d(0.2, 0.35)
                t.rod(1, (sx * w, y, -z), (sx * w, y, z * d(0.5, 1)), d(0.025, 0.06))
                t.rod(1, (sx * w, y, z * 0.5), (sx * w, seat, z * 0.5), d(0.02, 0.05))
    return t


def armchair(d):
    """Sofas, armchairs, benches with sides: soft blocks."""
    t = Thing(blend=d(0.004, 0.03))
    w, z, e = d(0.5, 1.1), d(0.4, 0.55), d(0.02, 0.1)
    base, arm, back = d(0.15, 0.3), d(0.08, 0.2), d(0.1, 0.2)
    t.box(0, (0, -0.5 + base, 0), (w, base, z), e)
    t.box(0, (0, -0.5 + base + d(0.3, 0.6) / 2, -z + back), (w, d(0.35, 0.65), back), e, frame=about("x", d(0, 0.2)))
    if d.chance(0.85):
        for sx in SIDES:
            t.box(0, (sx * (w - arm), -0.5 + base + d(0.1, 0.2), 0.02), (arm, base + d(0.05, 0.2), z), min(e * 1.5, arm))
    for k in range(n := d.whole(1, 3)):
        c = (w - 2 * arm) / n
        t.box(1, (-(w - 2 * arm) + c * (2 * k + 1), -0.5 + 2 * base + 0.05, 0.05), (c * 0.97, d(0.06, 0.12), z * 0.85), 0.05)
    if d.chance(0.6):
        for sx, sz in CORNERS:
            t.rod(2, (sx * w * 0.85, -0.5, sz * z * 0.8), (sx * w * 0.88, -0.5 - d(0.1, 0.3), sz * z * 0.85), d(0.025, 0.05), flat=True)
    return t


def table(d):
    t = Thing()
    w, z, top, thick = d(0.45, 1), d(0.3, 0.7), d(-0.2, 0.5), d(0.02, 0.07)
    if d.chance(0.25):
        r = d(0.5, 0.95)
        t.cylinder(0, (0, top, 0), r, thick, 0.01)
        w = z = r * 0.7
    else:
        t.box(0, (0, top, 0), (w, thick, z), d(0, thick * 0.9), corner=d.one(0, 0, d(0, 0.2)))
    legs(t, d, d.one(0, 1), w * 0.95, z * 0.95, top, -0.8, d(0.02, 0.07), d(0.85, 1.1))
    if d.chance(0.4):
        t.box(1, (0, top - thick - 0.08, 0), (w * 0.85, 0.07, z * 0.85))
    if d.chance(0.25):
        t.box(1, (0, d(-0.65, -0.3), 0), (w * 0.85, 0.025, z * 0.85))
    if d.chance(0.25):
        t.box(1, (w * 0.6, top - 0.3, 0), (w * 0.3, 0.28, z * 0.85))
    return t


def bed(d):
    t = Thing()
    w, z = d(0.4, 0.75), d(0.8, 1)
    t.box(0, (0, -0.15, 0), (w, d(0.06, 0.14), z), 0.02)
    t.box(1, (0, 0.05, 0.02), (w * 0.96, d(0.08, 0.16), z * 0.96), 0.06)
    t.box(0, (0, d(0.05, 0.25), -z), (w, d(0.25, 0.5), d(0.03, 0.08)), 0.02)
    if d.chance(0.5):
        t.box(0, (0, 0, z), (w, d(0.15, 0.3), 0.04), 0.02)
    for sx in SIDES:
        t.box(2, (sx * w * 0.45, 0.22, -z * 0.75), (w * 0.36, 0.07, 0.16), 0.06)
        for sz in SIDES:
            t.box(0, (sx * (w - 0.05), -0.3, sz * (z - 0.05)), (0.045, d(0.1, 0.2), 0.045))
    if d.chance(0.5):
        t.box(2, (0, 0.1, z * 0.3), (w * 1.01, 0.13, z * 0.68), 0.05)
    return t


def cabinet(d):
    """Wardrobes, drawers, fridges, ovens, washing machines: blocks with seams, handles, niches, doors, feet."""
    t = Thing()
    w, h, z = d(0.3, 0.9), d(0.25, 1), d(0.2, 0.6)
    t.box(0, (0, 0, 0), (w, h, z), d.one(0, 0.01, d(0.01, 0.08)))
    rows, columns = d.whole(1, 4), d.whole(1, 2)
    face = d.one("doors", "doors", "drawers", "niches", "round")
    for i in range(rows):
        for k in range(columns):
            cx, cy = w * ((2 * k + 1) / columns - 1), h * ((2 * i + 1) / rows - 1)
            hw, hh = w / columns * 0.92, h / rows * 0.92
            if face == "niches" and d.chance(0.8):
                t.cut((cx, cy, z), (hw * 0.95, hh * 0.93, z * d(0.8, 1.8)))
            elif face == "round" and i == 0:
                r = min(hw, hh) * d(0.6, 0.85)
                t.cylinder(1, (cx, cy, z), r, 0.03, frame=about("x", math.pi / 2))
            else:
                t.box(1, (cx, cy, z), (hw, hh, d(0.01, 0.03)), 0.005)
                if face == "doors":
                    t.rod(2, (cx + hw * 0.8, cy - hh * 0.2, z + 0.06), (cx + hw * 0.8, cy + hh * 0.2, z + 0.06), 0.02)
                else:
                    t.box(2, (cx, cy + hh * 0.5, z + 0.05), (hw * 0.3, 0.02, 0.03), 0.01)
    if d.chance(0.4):
        for sx, sz in CORNERS:
            t.box(2, (sx * w * 0.85, -h - 0.08, sz * z * 0.8), (0.04, 0.1, 0.04))
    if d.chance(0.3):
        t.box(1, (0, h, 0), (w * 1.05, 0.03, z * 1.06))
    return t


def shelf(d):
    t = Thing()
    w, h, z, wall = d(0.3, 0.8), d(0.5, 1), d(0.12, 0.35), d(0.015, 0.04)
    for sx in SIDES:
        t.box(0, (sx * w, 0, 0), (wall, h, z))
    for k in range(n := d.whole(3, 6)):
        t.box(0, (0, h * (2 * k / (n - 1) - 1) * 0.97, 0), (w, wall, z))
    if d.chance(0.5):
        t.box(1, (0, 0, -z), (w, h, 0.015))
    if d.chance(0.5):
        for _ in range(d.whole(1, 4)):
            y = h * (2 * d.whole(0, n - 2) / (n - 1) - 1) * 0.97
            t.box(2, (d(-w, w) * 0.6, y + 0.1, 0), (d(0.05, 0.2), 0.1, z * 0.7))
    return t


def profile(d, low, high):
    n = d.whole(3, 7)
    radii = [d(low, high) for _ in range(n)]
    if d.chance(0.5):  # smooth it into a vessel
        radii = list(np.convolve(np.pad(radii, 1, mode="edge"), [0.25, 0.5, 0.25], "valid"))
    return list(np.linspace(-1, 1, n)), radii


def handle(t, d, m, x, y, high):
    """A half ring on the +x side."""
    r = d(0.5, 0.95) * high
    t.add(m, (x - 0.02, y, 0), (d(0.03, 0.07), 1, d(0.03, 0.09)), corner=0.05, ring=r * d(0.7, 1), cut=(-1, 0, 0, 0.0), stretch=(d(0.7, 1.1), 1, 1))


def vessel(d):
    """Vases, jars, pots, lamps' feet."""
    t = Thing(blend=d.one(0.004, 0.05, 0.1))
    h = d(0.5, 1)
    ys, rs = profile(d, 0.18, 0.65)
    t.lathe(0, [y * h for y in ys], rs)
    if d.chance(0.35):
        t.cut((0, h, 0), (rs[-1] * 0.85, h * d(0.1, 1.2), rs[-1] * 0.85), corner=1)
    if d.chance(0.35):
        handle(t, d, 0, float(np.mean(rs)), d(-0.2, 0.2) * h, h * 0.45)
        if d.chance(0.3):
            t.rod(0, (-float(np.mean(rs)), -0.1 * h, 0), (-float(np.mean(rs)) - d(0.3, 0.5), h * d(0.3, 0.8), 0), 0.1, 0.05)
    if d.chance(0.3):
        t.cylinder(1, (0, h + 0.04, 0), rs[-1] * d(0.8, 1.15), d(0.03, 0.1), 0.02)
        if d.chance(0.6):
            t.ball(1, (0, h + 0.15, 0), (0.08, 0.08, 0.08))
    return t


def cup(d):
    """Mugs, bowls, buckets, glasses, tubs: walls with air inside."""
    t = Thing()
    r, h, flare, wall = d(0.35, 0.8), d(0.25, 0.8), d(-0.1, 0.5), d(0.025, 0.06)
    deep = d(0.35, 1)
    box = d.chance(0.25)
    corner = d(0.05, 0.25) if box else 1
    z = r * d(0.5, 1) if box else r
    t.add(0, (0, 0, 0), (r, h, z), corner=corner, taper=flare, edge=d(0, 0.05))
    t.cut((0, 0.02 + h * 2 * wall, 0), (r - 2 * wall, h, z - 2 * wall), corner=corner, taper=flare, edge=d(0, 0.2))
    if deep < 0.6:
        t.box(1, (0, -h * deep, 0), ((r - wall) * (1 - flare * deep), 0.02, (z - wall) * (1 - flare * deep)), corner=corner)
    if d.chance(0.45) and not box:
        handle(t, d, d.one(0, 2), r * (1 + flare * 0.1), d(-0.1, 0.1) * h, h * 0.65)
    if d.chance(0.25):
        t.cylinder(2, (0, -h - 0.02, 0), r * 1.7, 0.03, 0.02)
    return t


def bottle(d):
    t = Thing(blend=d(0.01, 0.06))
    r, body, neck = d(0.22, 0.42), d(0.3, 0.7), d(0.07, 0.2)
    square = d.chance(0.25)
    corner = d(0.03, 0.15) if square else 1
    t.add(0, (0, -0.3, 0), (r, body, r * (d(0.5, 1) if square else 1)), corner=corner, edge=d(0.02, 0.12))
    shoulder = d(0.05, 0.35)
    y = -0.3 + body
    t.lathe(0, [y - 0.05, y + shoulder], [r * 0.98, neck])
    top = y + shoulder + d(0.05, 0.4)
    t.lathe(0, [y + shoulder * 0.8, top], [neck, neck * d(0.8, 1.1)])
    t.cylinder(1, (0, top, 0), neck * d(1, 1.4), d(0.05, 0.13), 0.02)
    if d.chance(0.25):
        t.box(1, (neck * 1.5, top + 0.1, 0), (neck * 2.2, 0.05, neck * 0.7), 0.03)
    if d.chance(0.5):
        t.add(2, (0, -0.3 + d(-0.1, 0.1), 0), (r * 1.012, body * d(0.4, 0.7), r * 1.012), corner=corner if not square else 0.03)
    return t


def lamp(d):
    t = Thing()
    h, r = d(0.5, 0.95), d(0.15, 0.4)
    t.cylinder(0, (0, -h, 0), r, d(0.02, 0.06), 0.01)
    if d.chance(0.6):
        t.rod(0, (0, -h, 0), (0, h * 0.6, 0), d(0.02, 0.05))
        if d.chance(0.5):
            t.ball(0, (0, -h * d(0.2, 0.6), 0), (d(0.1, 0.25), d(0.1, 0.3), d(0.1, 0.25)))
        rr, hh = d(0.25, 0.6), d(0.15, 0.4)
        t.add(1, (0, h * 0.7, 0), (rr, hh, rr), corner=1, taper=-d(0, 0.6), shell=d.one(0, 0.015))
    else:
        elbow = (d(-0.5, -0.1), d(0, 0.4), 0)
        head = (d(0.1, 0.6), d(0.4, 0.9), 0)
        t.rod(0, (0, -h, 0), elbow, 0.03)
        t.rod(0, elbow, head, 0.03)
        t.add(1, head, (0.22, 0.18, 0.22), corner=1, taper=-0.6, frame=about("z", d(-1, 0.2)))
    return t


def boxy(d):
    """Boxes with details: packages, radios, cameras, consoles, toasters."""
    t = Thing(blend=d.one(0.004, 0.004, 0.03))
    half = np.array([d(0.25, 0.95), d(0.15, 0.8), d(0.1, 0.8)])
    small = float(half.min())
    t.box(0, (0, 0, 0), half, d.one(0, d(0, 0.15) * small, d(0, 0.9) * small), taper=d.one(0, 0, d(-0.3, 0.2)))
    for _ in range(d.whole(0, 6)):
        axis, side = d.whole(0, 2), d.one(-1, 1)
        c = np.array([d(-0.7, 0.7) * h for h in half])
        c[axis] = side * half[axis]
        size = np.array([d(0.04, 0.3) for _ in range(3)]) * d(0.5, 1.2)
        frame = about("z", math.pi / 2) if axis == 0 else about("x", math.pi / 2) if axis == 2 else None
        kind = d.one("box", "knob", "ball", "hole", "dent")
        if kind == "box":
            t.box(d.one(0, 1, 2), c, size, 0.02)
        elif kind == "knob":
            t.cylinder(d.one(1, 2), c, size[0] * 0.8, size[1] * d(0.3, 1), 0.01, frame=frame)
        elif kind == "ball":
            t.ball(d.one(1, 2), c, size)
        elif kind == "hole":
            t.cut(c, (size[0], max(size[1], 0.1), size[0]), corner=1, frame=frame)
        else:
            t.cut(c, size)
    if d.chance(0.25):
        t.add(2, (0, half[1], 0), (0.04, 1, 0.06), corner=0.03, ring=half[0] * d(0.4, 0.8), cut=(0, -1, 0, 0))
    return t


def creature(d):
    t = Thing(blend=d(0.015, 0.07))
    w, h, length = d(0.18, 0.42), d(0.18, 0.38), d(0.4, 0.75)
    t.ball(0, (0, 0, 0), (w, h, length))
    if d.chance(0.5):
        t.ball(0, (0, 0.02, -length * 0.5), (w * 1.05, h * 1.05, length * 0.5))
    leg, neck = d(0.2, 0.7), d(0.1, 0.55)
    head = np.array([0, neck, length * d(0.75, 1.15)])
    t.rod(0, (0, 0.05, length * 0.6), head, h * 0.6, h * 0.4)
    size = np.array([d(0.13, 0.28), d(0.13, 0.26), d(0.16, 0.3)])
    t.ball(0, head, size)
    t.ball(d.one(0, 1), head + (0, -0.05, size[2] * 0.9), size * (0.55, 0.5, d(0.5, 1)))
    r, drift = d(0.05, 0.12), (d(-0.15, 0.15), d(-0.15, 0.15))
    for sx in SIDES:
        for sz, shift in zip(SIDES, drift):
            top = (sx * w * 0.7, -0.05, sz * length * 0.65)
            knee = (sx * w * 0.7, -leg * 0.5 - 0.1, sz * length * 0.65 + shift)
            foot = (sx * w * 0.7, -leg - 0.2, sz * length * 0.65 + shift * d(-0.5, 0.5))
            t.rod(0, top, knee, r * 1.3, r)
            t.rod(d.one(0, 0, 1), knee, foot, r, r * 0.8)
        ear = head + (sx * size[0] * 0.6, size[1] * 0.7, 0)
        t.rod(0, ear, ear + (sx * d(0, 0.15), d(0.08, 0.35), d(-0.1, 0.05)), d(0.03, 0.08), 0.02)
    if d.chance(0.7):
        end = np.array([0, d(-0.4, 0.4), -length - d(0.1, 0.4)])
        t.rod(0, (0, 0.1, -length * 0.9), end, d(0.03, 0.09), d(0.02, 0.06))
    return t


def bird(d):
    t = Thing(blend=d(0.02, 0.06))
    w, length = d(0.22, 0.4), d(0.35, 0.6)
    tilt = d(-0.9, 0.1)
    t.ball(0, (0, 0, 0), (w, w * d(0.9, 1.2), length), frame=about("x", -tilt))
    head = np.array([0, d(0.3, 0.6), d(0.25, 0.5)])
    t.rod(0, (0, 0.1, 0.2), head, w * 0.5, w * 0.45)
    t.ball(0, head, np.full(3, d(0.14, 0.24)))
    t.rod(1, head, head + (0, d(-0.1, 0.03), d(0.2, 0.4)), 0.08, 0.02)
    t.box(d.one(0, 2), (0, -0.1, -length - 0.15), (w * d(0.4, 0.8), 0.04, 0.25), 0.03, frame=about("x", d(-0.5, 0.2)))
    for sx in SIDES:
        t.ball(2, (sx * w * 0.85, 0, -0.08), (0.08, w * 0.7, length * 0.8), frame=about("x", -tilt))
        t.rod(1, (sx * 0.12, -w * 0.8, 0), (sx * 0.14, -w - d(0.1, 0.5), 0.05), 0.04, 0.03)
        t.ball(1, (sx * 0.14, -w - 0.4, 0.12), (0.09, 0.03, 0.14))
    return t


def figure(d):
    """People, robots, dolls: head, trunk, limbs in a pose, sometimes seated, robed or on a base."""
    t = Thing(blend=d(0.006, 0.06))
    fat, head = d(0.8, 1.6), d(0.13, 0.3)
    blocky = d.chance(0.3)
    shoulder, hip = 0.2 * fat, 0.11 * fat
    if blocky:
        t.box(1, (0, 0.62 + head * 0.3, 0), (head, head * d(0.8, 1.2), head), d(0, 0.1))
        t.box(0, (0, 0.12, 0), (shoulder * 1.1, 0.32, 0.14 * fat), d(0, 0.08))
    else:
        t.ball(1, (0, 0.62 + head * 0.5, 0), (head * d(0.75, 1), head * d(0.9, 1.25), head))
        t.rod(0, (0, 0.35, 0), (0, -0.1, 0), 0.17 * fat, 0.14 * fat)
        t.rod(0, (-shoulder * 0.7, 0.38, 0), (shoulder * 0.7, 0.38, 0), 0.1 * fat)
        t.rod(1, (0, 0.4, 0), (0, 0.6, 0), 0.08)
    if d.chance(0.35):
        t.ball(2, (0, 0.66 + head * 0.7, -0.03), (head * 1.1, head * 1.05, head * 1.1), cut=(0, -1, 0, d(-0.2, 0.3)))
    robe = d.chance(0.2)
    if robe:
        t.lathe(0, [-0.95, -0.3, 0.3], [d(0.3, 0.5), 0.24 * fat, 0.18 * fat])
    seated = d.chance(0.12) and not robe
    for sx in SIDES:
        if not robe:
            knee = (sx * hip * d(1, 2), -0.2, 0.42) if seated else (sx * hip * d(0.9, 1.8), -0.5, d(-0.05, 0.2))
            foot = (knee[0] * d(0.8, 1.3), -0.75 if seated else -0.92, knee[2] + (0 if seated else d(-0.2, 0.05)))
            r = d(0.08, 0.13) * fat ** 0.5
            t.rod(2, (sx * hip, -0.15, 0), knee, r * 1.15, r)
            t.rod(2, knee, foot, r, r * 0.75)
            t.box(3, (foot[0], foot[1] - 0.03, foot[2] + 0.07), (r * 0.8, 0.05, r * 1.5), 0.04)
        style = d.one("down", "down", "out", "bent", "up")
        elbow = {"down": (1.25, 0.1, 0), "out": (2.2, 0.3, 0.05), "bent": (1.35, 0.12, 0), "up": (1.9, 0.55, 0)}[style]
        hand = {"down": (1.3, -0.15, 0.08), "out": (3.3, 0.3, 0.1), "bent": (1.0, 0.15, 0.3), "up": (2.1, 0.9, 0.05)}[style]
        elbow = (sx * shoulder * elbow[0] + d(-0.04, 0.04), elbow[1] + d(-0.06, 0.06), elbow[2] + d(-0.08, 0.08))
        hand = (sx * shoulder * hand[0], hand[1] + d(-0.06, 0.06), hand[2] + d(-0.06, 0.12))
        r = d(0.055, 0.085) * fat ** 0.5
        t.rod(0, (sx * shoulder, 0.38, 0), elbow, r * 1.2, r)
        t.rod(1, elbow, hand, r, r * 0.85)
        t.ball(1, hand, (r * 1.2, r * 1.2, r * 1.2))
        if d.chance(0.12):
            t.rod(3, (hand[0], hand[1] - d(0, 0.4), hand[2] + 0.05), (hand[0] * 1.1, hand[1] + d(0.2, 0.7), hand[2] + 0.1), 0.03)
    if d.chance(0.2):
        t.cylinder(3, (0, -1, 0), d(0.3, 0.5), 0.05)
    return t


def vehicle(d):
    t = Thing(blend=d(0.004, 0.06))
    length, w, h = d(0.75, 1), d(0.3, 0.45), d(0.1, 0.22)
    e = d(0.02, 0.1)
    t.box(0, (0, 0, 0), (w, h, length), min(e, h), taper=d(-0.15, 0.1))
    style = d.one("car", "car", "van", "truck", "open")
    tall = d(0.13, 0.3)
    if style == "van":
        t.box(0, (0, h + tall, -0.05), (w * 0.97, tall + 0.05, length * 0.9), e, taper=-d(0, 0.1))
        t.box(1, (0, h + tall * 1.1, length * 0.8), (w * 0.85, tall * 0.5, 0.06), 0.02)
    elif style == "truck":
        t.box(0, (0, h + tall, length * 0.65), (w * 0.95, tall + 0.06, length * 0.28), e)
        t.box(2, (0, h + tall * d(0.4, 1.2), -length * 0.35), (w, tall * d(0.5, 1.3), length * 0.6), 0.01)
    elif style == "car":
        z, half = d(-0.25, 0.1), length * d(0.38, 0.6)
        t.box(1, (0, h + tall * 0.75, z), (w * 0.92, tall, half), e, taper=-d(0.15, 0.4))
        t.box(0, (0, h + tall * 1.55, z), (w * 0.75, 0.04, half * 0.7), 0.03)
    else:
        t.cut((0, h, d(-0.2, 0.1)), (w * 0.75, h, length * 0.4), edge=0.02)
    r, wide = d(0.14, 0.27), d(0.05, 0.12)
    for sx in SIDES:
        for sz in SIDES:
            c = (sx * w, -h, sz * length * d(0.58, 0.66))
            t.cylinder(3, c, r, wide, 0.02, frame=about("z", math.pi / 2))
            t.cylinder(2, (c[0] + sx * wide, *c[1:]), r * 0.5, 0.02, frame=about("z", math.pi / 2))
        t.ball(2, (sx * w * 0.7, 0, length), (0.07, 0.05, 0.03))
    if d.chance(0.3):
        t.box(0, (0, h + d(0.1, 0.35), -length * 0.95), (w, 0.02, 0.1))
    return t


def craft(d):
    """Aeroplanes, boats, rockets."""
    t = Thing(blend=d(0.01, 0.05))
    if d.chance(0.4):
        length, w = 0.95, d(0.2, 0.4)
        t.add(0, (0, 0, 0), (w, length, d(0.12, 0.25)), corner=0.1, edge=0.1, taper=-d(0.1, 0.6), frame=along((0, 0, 1)))
        if d.chance(0.6):
            t.cut((0, 0.2, -0.1), (w * 0.7, 0.2, length * 0.7), edge=0.05)
        if d.chance(0.6):
            t.box(1, (0, 0.2, d(-0.5, 0)), (w * 0.6, d(0.1, 0.2), d(0.15, 0.3)), 0.03)
        if d.chance(0.4):
            t.rod(2, (0, 0, 0.1), (0, d(0.6, 1.2), 0.1), 0.025)
            t.box(3, (0, 0.6, -0.15), (0.015, 0.4, 0.22), taper=-0.7)
        return t
    r = d(0.09, 0.2)
    t.rod(0, (0, 0, -0.85), (0, 0, 0.75), r * d(0.4, 0.8), r)
    span, chord, sweep = d(0.6, 1), d(0.12, 0.25), d(0, 0.35)
    for sx in SIDES:
        t.add(1, (sx * span / 2, d(-0.05, 0.08), -sweep / 2 + 0.1), (chord, span / 2, 0.03), corner=0.03, taper=-d(0, 0.5), frame=np.stack([[0, 0, 1], [sx * math.cos(sweep), 0, -math.sin(sweep)], [0, 1, 0]]))
        t.box(1, (sx * 0.2, 0.05, -0.8), (0.2, 0.02, 0.09))
        if d.chance(0.4):
            t.cylinder(2, (sx * span * 0.45, -0.1, 0.15), 0.07, 0.15, 0.02, frame=along((0, 0, 1)))
    t.box(1, (0, 0.2, -0.8), (0.02, 0.2, 0.1), taper=-0.4)
    return t


def shoe(d):
    t = Thing(blend=d(0.03, 0.08))
    length, w, heel = 0.85, d(0.24, 0.34), d(0, 0.35)
    t.add(1, (0, -0.35, 0), (w, d(0.05, 0.1), length), corner=w * 0.9, edge=0.02)
    t.ball(0, (0, -0.2 + heel * 0.1, length * 0.5), (w * 0.95, d(0.14, 0.22), length * 0.5))
    t.ball(0, (0, -0.15 + heel * 0.3, -length * 0.4), (w * 0.9, 0.3, length * 0.55))
    top = d(0.1, 0.8)
    t.rod(0, (0, -0.1, -length * 0.4), (0, top, -length * 0.45), w * 0.85, w * d(0.75, 1.1), flat=True)
    t.cut((0, top, -length * 0.42), (w * 0.7, d(0.1, 0.5), w * 0.8), corner=0.2)
    if heel > 0.15:
        t.box(1, (0, -0.5, -length * 0.75), (w * 0.5, 0.15, 0.12), taper=0.3)
    for k in range(d.whole(0, 4)):
        t.rod(2, (-w * 0.5, 0.05 + 0.06 * k, length * 0.25 - 0.12 * k), (w * 0.5, 0.05 + 0.06 * k, length * 0.25 - 0.12 * k), 0.02)
    return t


def bag(d):
    t = Thing(blend=d(0.01, 0.06))
    w, h, z = d(0.4, 0.8), d(0.35, 0.7), d(0.12, 0.35)
    t.box(0, (0, 0, 0), (w, h, z), z * d(0.2, 0.9), taper=-d(-0.1, 0.4), corner=z * d(0.3, 1))
    if d.chance(0.6):
        t.box(1, (0, d(-0.3, 0), z), (w * d(0.5, 0.8), h * d(0.3, 0.5), d(0.05, 0.12)), 0.04)
    style = d.one("one", "pair", "straps", "none")
    if style in ("one", "pair"):
        for sz in (0,) if style == "one" else SIDES:
            t.add(2, (0, h * 0.95, sz * z * 0.6), (d(0.02, 0.04), 1, d(0.02, 0.05)), corner=0.04, ring=w * d(0.35, 0.6), cut=(0, -1, 0, 0), stretch=(1, d(0.8, 1.6), 1))
    elif style == "straps":
        for sx in SIDES:
            t.tube(2, [(sx * w * 0.4, h * 0.9, -z * 0.8), (sx * w * 0.5, h * 0.3, -z - 0.25), (sx * w * 0.45, -h * 0.8, -z * 0.8)], 0.05)
    return t


def plant(d):
    t = Thing(blend=d(0.004, 0.03))
    r, h = d(0.2, 0.4), d(0.15, 0.35)
    t.add(0, (0, -0.7, 0), (r, h, r), corner=1, taper=d(0, 0.35))
    style = d.one("leaves", "ball", "cactus", "trunk")
    top = -0.7 + h
    if style == "leaves":
        for _ in range(d.whole(6, 14)):
            a, reach, up = d(0, 6.28), d(0.2, 0.8), d(0.2, 1.3)
            end = np.array([reach * math.cos(a), top + up, reach * math.sin(a)])
            t.rod(1, (0, top, 0), end, 0.02)
            t.add(1, end * (1, 1, 1), (d(0.08, 0.2), d(0.15, 0.35), 0.025), corner=0.02, edge=0.02, frame=along(end - (0, top, 0)))
    elif style == "cactus":
        t.rod(1, (0, top, 0), (0, top + d(0.5, 1.1), 0), d(0.12, 0.25))
        for sx in SIDES:
            y, out = top + d(0.2, 0.5), d(0.25, 0.45)
            t.tube(1, [(0, y, 0), (sx * out, y, 0), (sx * out, y + d(0.15, 0.5), 0)], d(0.07, 0.12))
    else:
        if style == "trunk":
            t.rod(2, (0, top, 0), (d(-0.1, 0.1), 0.4, 0), 0.06, 0.04)
        for _ in range(d.whole(3, 8)):
            s = d(0.2, 0.4)
            t.ball(1, (d(-0.35, 0.35), (0.5 if style == "trunk" else top + 0.3) + d(-0.2, 0.35), d(-0.35, 0.35)), (s, s * d(0.7, 1), s))
    return t


def food(d):
    """Fruit, cakes, loaves, sandwiches."""
    style = d.one("fruit", "cake", "loaf", "stack", "long")
    t = Thing(blend=d(0.01, 0.05))
    if style == "fruit":
        s = d(0.5, 0.8)
        t.ball(0, (0, 0, 0), (s, s * d(0.75, 1.3), s))
        if d.chance(0.5):
            t.ball(0, (0, s * d(0.4, 0.9), 0), np.full(3, s * d(0.5, 0.75)))
        t.rod(1, (0, s * 0.8, 0), (d(-0.15, 0.15), s + d(0.1, 0.4), 0), 0.04)
        if d.chance(0.4):
            t.ball(2, (0.15, s + 0.1, 0), (0.2, 0.03, 0.1))
    elif style == "cake":
        r = d(0.6, 0.9)
        for k in range(d.whole(1, 3)):
            t.cylinder(d.one(0, 1), (0, -0.4 + 0.3 * k, 0), r * (1 - 0.25 * k), 0.16, 0.04)
        if d.chance(0.5):
            t.cut((r, 0, r * 0.3), (r, 1, r), frame=about("y", d(0, 6)))
    elif style == "loaf":
        t.box(0, (0, 0, 0), (d(0.6, 0.9), d(0.2, 0.35), d(0.25, 0.4)), d(0.1, 0.25))
    elif style == "stack":
        r = d(0.5, 0.75)
        for k in range(n := d.whole(3, 6)):
            t.cylinder(k % 4, (0, -0.35 + 0.13 * k, 0), r * d(0.85, 1.08), d(0.03, 0.08), 0.03)
        t.ball(0, (0, -0.35 + 0.13 * n, 0), (r, d(0.2, 0.4), r), cut=(0, -1, 0, 0.1))
    else:
        points = [(d(-0.05, 0.05) + 0.35 * x * x, -0.1 + 0.15 * x, x) for x in np.linspace(-0.9, 0.9, 5)]
        t.tube(0, points, d(0.1, 0.22))
    return t


def tool(d):
    """Hammers, screwdrivers, brushes, pans, bats: a handle and a head, lying or standing."""
    t = Thing(blend=d(0.004, 0.03))
    r = d(0.05, 0.12)
    t.rod(0, (0, -0.9, 0), (0, 0.4, 0), r, r * d(0.6, 1.1))
    head = d.one("hammer", "pan", "blade", "brush", "fork", "ring")
    if head == "hammer":
        t.rod(1, (-d(0.2, 0.4), 0.5, 0), (d(0.2, 0.4), 0.5, 0), d(0.1, 0.18), d(0.06, 0.16), flat=True)
    elif head == "pan":
        s, y = d(0.4, 0.65), d(0.85, 1)
        t.add(1, (0, y, 0), (s, d(0.05, 0.15), s), corner=1, taper=0.15, frame=about("x", math.pi / 2))
        t.cut((0, y, d.one(-0.12, 0.12)), (s * 0.9, d(0.08, 0.14), s * 0.9), corner=1, frame=about("x", math.pi / 2))
    elif head == "blade":
        t.box(1, (0, 0.7, 0), (d(0.04, 0.2), 0.4, 0.025), taper=-d(0, 0.7))
    elif head == "brush":
        t.box(1, (0, 0.6, 0), (d(0.1, 0.35), 0.25, d(0.05, 0.12)), 0.03)
    elif head == "fork":
        t.box(1, (0, 0.45, 0), (0.2, 0.06, 0.04), 0.02)
        for k in range(n := d.whole(2, 4)):
            x = 0.34 * (k / (n - 1) - 0.5)
            t.rod(1, (x, 0.45, 0), (x, 0.95, 0), 0.035, 0.02)
    else:
        t.add(1, (0, 0.6, 0), (d(0.05, 0.09), 1, 0.05), corner=0.04, ring=d(0.18, 0.32))
    if d.chance(0.6):
        turn(t, about("z", d(-1.5, 1.5)) @ about("x", d(-1.5, 1.5)))
    return t


def rod(d):
    """Pencils, pens, candles, brushes, cutlery, screwdrivers, torches, sticks: one long thin thing, or a pair, at any angle."""
    t = Thing(blend=d(0.002, 0.012))
    r = 0.018 * (0.1 / 0.018) ** d(0, 1)
    style = d.one("plain", "pencil", "pen", "brush", "cutlery", "driver", "torch", "stick", "pair")
    if style == "plain":
        t.rod(0, (0, -0.9, 0), (0, 0.9, 0), r, r * d(0.3, 1), flat=d.chance(0.6))
        if d.chance(0.4):
            t.rod(1, (0, 0.9, 0), (0, 0.9 + d(0.03, 0.12), 0), r * d(0.3, 1.1), flat=True)
    elif style == "pencil":
        t.add(0, (0, -0.05, 0), (r, 0.8, r), corner=d.one(0, 0.4 * r, r))
        t.rod(1, (0, 0.75, 0), (0, 0.75 + d(2, 5) * r, 0), r, r * 0.12)
        t.cylinder(2, (0, -0.88, 0), r * d(0.9, 1.1), d(0.03, 0.08))
    elif style == "pen":
        t.rod(0, (0, -0.9, 0), (0, 0.8, 0), r * d(0.8, 1), r)
        t.rod(1, (0, 0.8, 0), (0, 0.8 + d(1, 3) * r, 0), r * 0.9, r * 0.25)
        t.cylinder(1, (0, d(-0.5, 0.1), 0), r * 1.06, d(0.02, 0.4))
        if d.chance(0.6):
            t.box(1, (0, -0.68, r * 1.3), (r * 0.3, 0.2, r * 0.15))
    elif style == "brush":
        t.rod(0, (0, -0.9, 0), (0, 0.55, 0), r * d(0.4, 0.9), r)
        t.box(1, (0, 0.72, r * d(0, 1.5)), (r * d(1, 1.6), d(0.1, 0.22), r * d(0.6, 1.6)), corner=d(0, r))
    elif style == "cutlery":
        t.box(0, (0, -0.25, 0), (r * d(0.7, 1.2), 0.65, r * d(0.25, 0.6)), corner=r * 0.2, taper=d(-0.4, 0.1))
        if d.chance(0.5):
            wide = d(0.1, 0.22)
            t.ball(0, (0, 0.6, 0), (wide, d(0.2, 0.32), wide * 0.35))
            t.cut((0, 0.6, wide * 0.3), (wide * 0.8, 0.2, wide * 0.3), corner=wide * 0.8)
        else:
            t.box(1, (0, 0.65, 0), (r * d(1, 2), 0.3, 0.015), taper=-d(0, 0.7))
    elif style == "driver":
        t.rod(0, (0, -0.9, 0), (0, d(-0.4, 0), 0), r * d(1.4, 2.2), r * d(1.2, 2))
        t.rod(1, (0, -0.3, 0), (0, 0.9, 0), r * d(0.5, 0.9), flat=True)
    elif style == "torch":
        t.rod(0, (0, -0.9, 0), (0, 0.5, 0), r, flat=True)
        t.rod(1, (0, 0.45, 0), (0, 0.8, 0), r, r * d(1.3, 2.4), flat=True)
    elif style == "stick":
        steps = np.linspace(-0.9, 0.9, d.whole(3, 6))
        t.tube(0, [(d(-0.08, 0.08), y, d(-0.08, 0.08)) for y in steps], r * d(0.6, 1))
    else:
        apart, askew = r * d(2, 5), d(-0.15, 0.15)
        for side in SIDES:
            t.rod(0, (side * apart, -0.9, 0), (side * apart + askew, 0.9, 0), r, r * d(0.4, 1))
    lies = d.one("upright", "lying", "lying", "any", "any")
    if lies == "lying":
        turn(t, about("x", math.pi / 2))
    elif lies == "any":
        turn(t, d.turn())
    return t


def slab(d):
    """Books, phones, boards, plates, pictures, screens on a foot."""
    t = Thing()
    w, h, thin = d(0.35, 0.95), d(0.35, 0.9), d(0.025, 0.12)
    t.box(0, (0, 0, 0), (w, h, thin), d(0, thin * 0.8), corner=d.one(0, 0.03, d(0, 0.2)))
    if d.chance(0.6):
        t.box(1, (0, 0.02, thin), (w * 0.92, h * 0.9, 0.012))
    style = d.one("screen", "lying", "leaning", "standing")
    if style == "screen":
        t.rod(0, (0, -h, -0.02), (0, -h - 0.2, -0.02), d(0.03, 0.08))
        t.box(0, (0, -h - 0.2, 0), (w * d(0.3, 0.6), 0.025, d(0.15, 0.3)), 0.02)
    elif style == "lying":
        for _ in range(d.whole(0, 2)):
            t.box(d.one(0, 1, 2), (d(-0.1, 0.1), 0, -thin * 2 - d(0, 0.1)), (w * d(0.8, 1), h * d(0.8, 1), thin), frame=about("z", d(-0.3, 0.3)))
        turn(t, about("x", -math.pi / 2))
    elif style == "leaning":
        turn(t, about("x", d(-0.6, 0)))
    return t


def rounds(d):
    """Balls, wheels, rings, clocks, spools."""
    t = Thing(blend=d(0.004, 0.03))
    style = d.one("ball", "wheel", "ring", "spool", "clock")
    r = d(0.5, 0.85)
    if style == "ball":
        t.ball(0, (0, 0, 0), (r, r, r))
        if d.chance(0.5):
            t.add(1, (0, 0, 0), (0.04, 1, 0.1), corner=0.02, ring=r)
    elif style == "spool":
        t.cylinder(0, (0, 0, 0), r * 0.5, 0.6)
        for s in SIDES:
            t.cylinder(1, (0, s * 0.6, 0), r, 0.06, 0.02)
        turn(t, about("x", d.one(0, math.pi / 2)))
    elif style == "clock":
        t.cylinder(0, (0, 0, 0), r, d(0.06, 0.2), 0.03, frame=about("x", math.pi / 2))
        t.cylinder(1, (0, 0, 0.1), r * 0.85, 0.1, frame=about("x", math.pi / 2))
        for s in SIDES:
            t.rod(2, (s * r * 0.5, -r * 0.8, 0), (s * r * 0.6, -r - 0.1, 0), 0.05)
    else:
        t.add(0, (0, 0, 0), (d(0.06, 0.22), 1, d(0.06, 0.25)), corner=d(0, 0.2), ring=r)
        if style == "wheel":
            for k in range(n := d.whole(3, 6)):
                a = 6.28 * k / n
                t.rod(1, (0, 0, 0), (r * math.cos(a), r * math.sin(a), 0), d(0.03, 0.08))
            t.cylinder(1, (0, 0, 0), 0.15, 0.15, frame=about("x", math.pi / 2))
    if d.chance(0.4):
        turn(t, about("y", d(0, 6)) @ about("x", d(-0.8, 0.8)))
    return t


def house(d):
    t = Thing()
    w, h, z = d(0.4, 0.8), d(0.25, 0.6), d(0.4, 0.8)
    t.box(0, (0, 0, 0), (w, h, z))
    roof = d(0.15, 0.45)
    style = d.one("gable", "hip", "flat", "tower")
    if style == "gable":
        t.box(1, (0, h, 0), (w * 0.75, w * 0.75, z * 1.06), frame=about("z", math.pi / 4), cut=(-0.7071, -0.7071, 0, 0.02))
    elif style == "hip":
        t.add(1, (0, h + roof, 0), (w * 1.1 / 2, roof, z * 1.1 / 2), taper=-0.9, stretch=(2, 1, 2))
    elif style == "flat":
        t.box(1, (0, h, 0), (w * 1.08, 0.05, z * 1.08))
    else:
        t.add(1, (w * 0.6, h, -z * 0.6), (0.25, h * 1.2, 0.25), corner=d.one(0, 1))
        t.add(2, (w * 0.6, h * 2.3, -z * 0.6), (0.3, 0.25, 0.3), corner=d.one(0, 1), taper=-0.9)
    for _ in range(d.whole(2, 6)):
        on_x = d.chance(0.5)
        c = (d.one(-1, 1) * w, d(-0.5, 0.6) * h, d(-0.7, 0.7) * z) if on_x else (d(-0.7, 0.7) * w, d(-0.5, 0.6) * h, d.one(-1, 1) * z)
        size = (0.02, 0.1, 0.08) if on_x else (0.08, 0.1, 0.02)
        t.box(2, c, size)
    if d.chance(0.5):
        t.box(3, (d(-0.5, 0.5) * w, h + roof * 1.4, d(-0.5, 0.5) * z), (0.07, 0.25, 0.07))
    return t


def instrument(d):
    """Guitars, spoons, rackets: a rounded body and a long neck."""
    t = Thing(blend=d(0.01, 0.05))
    r = d(0.28, 0.42)
    thin = d(0.06, 0.14)
    front = about("x", math.pi / 2)
    t.cylinder(0, (0, -0.5, 0), r, thin, 0.02, frame=front)
    t.cylinder(0, (0, -0.5 + r * d(0.9, 1.3), 0), r * d(0.6, 0.85), thin, 0.02, frame=front)
    t.box(1, (0, 0.35, thin * 0.6), (d(0.04, 0.07), 0.55, 0.04), 0.01)
    t.box(2, (0, 0.92, thin * 0.5), (0.1, 0.13, 0.03), 0.02)
    if d.chance(0.5):
        t.cut((0, -0.4, thin), (r * 0.3, thin, r * 0.3), corner=1, frame=front)
    if d.chance(0.5):
        turn(t, about("z", d(-1, 1)) @ about("x", d(-0.5, 0.5)))
    return t


def blob(d):
    """Anything: a few random parts, often mirrored as most things are."""
    t = Thing(blend=d.one(0.004, 0.004, d(0.02, 0.12)))
    for _ in range(d.whole(2, 6)):
        c = np.array([d(-0.5, 0.5), d(-0.5, 0.5), d(-0.5, 0.5)])
        half = np.array([d(0.08, 0.55), d(0.06, 0.5), d(0.08, 0.55)])
        frame = d.turn() if d.chance(0.5) else np.eye(3, dtype=np.float32)
        kind = d.one("box", "ball", "rod", "cone", "ring", "tube")
        material = d.whole(0, 3)
        for mirrored in SIDES if d.chance(0.6) else (1,):
            flip = np.diag([mirrored, 1, 1]).astype(np.float32)
            at, turned = c * (mirrored, 1, 1), flip @ frame @ flip
            if kind == "box":
                t.box(material, at, half, d(0, 0.5) * float(half.min()), frame=turned)
            elif kind == "ball":
                t.ball(material, at, half, frame=turned)
            elif kind == "rod":
                t.rod(material, at, at + turned[1] * half[1] * 2, half[0] * 0.4, half[0] * 0.25)
            elif kind == "cone":
                t.add(material, at, half, corner=1, taper=-0.6, frame=turned)
            elif kind == "ring":
                t.add(material, at, (half[0] * 0.3, 1, half[2] * 0.4), corner=0.1, ring=half[0] + 0.1, frame=turned)
            else:
                t.add(material, at, (half[0] * 0.5, half[1], half[0] * 0.5), corner=1, shell=0.02, frame=turned, cut=(0, 1, 0, half[1] * 0.9))
    if d.chance(0.3):
        t.cut((d(-0.3, 0.3), d(-0.3, 0.3), d(-0.3, 0.3)), (d(0.1, 0.3), d(0.1, 0.6), d(0.1, 0.3)), corner=d.one(0, 1), frame=d.turn())
    return t


def turn(t, frame):
    """Rotates everything built so far about the origin."""
    frame = np.asarray(frame, np.float32)
    for row in t.solid + t.hollow:
        row[0:3] = frame @ row[0:3]
        row[3:12] = (row[3:12].reshape(3, 3) @ frame.T).reshape(-1)

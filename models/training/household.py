"""More procedural things, of the house: what is hollow, flat-sided, sharp-cornered or built of thin bars and plates."""

import math

import numpy as np

from shapes import CORNERS, SIDES, Thing, about, along, handle, legs, turn

FRONT = about("x", math.pi / 2)  # a frame whose axis of revolution is z
SIDEWAYS = about("z", math.pi / 2)  # ... is x


def feet(t, d, m, w, y, z, high=0.12):
    """Four short feet, or a plinth, under y."""
    if d.chance(0.3):
        t.box(m, (0, y - high / 2, 0), (w * 0.95, high / 2, z * 0.92))
        return
    r, round_ = d(0.02, 0.05), d.chance(0.5)
    for sx, sz in CORNERS:
        c = (sx * (w - 1.5 * r), y - high / 2, sz * (z - 1.5 * r))
        if round_:
            t.cylinder(m, c, r, high / 2, taper=d(0, 0.3))
        else:
            t.box(m, c, (r, high / 2, r))


def pull(t, d, m, centre, wide):
    """A knob or a bar on a drawer's or door's front, facing z."""
    x, y, z = centre
    style = d.one("knob", "bar", "bow")
    if style == "knob":
        t.ball(m, (x, y, z + 0.03), (0.03, 0.03, 0.03))
    elif style == "bar":
        t.box(m, (x, y, z + 0.03), (wide, 0.015, 0.02), 0.008)
    else:
        t.rod(m, (x - wide, y, z + 0.05), (x + wide, y, z + 0.05), 0.015)
        for s in SIDES:
            t.rod(m, (x + s * wide, y, z), (x + s * wide, y, z + 0.05), 0.015)


def drawers(t, d, x, y, z, w, h, count, m=1, pulls=2):
    """A column of `count` drawer fronts about (x, y) on the plane z."""
    for k in range(count):
        cy = y + h * ((2 * k + 1) / count - 1)
        t.box(m, (x, cy, z), (w * 0.95, h / count * 0.92, 0.02), 0.005)
        pull(t, d, pulls, (x, cy + d.one(0, 0.3) * h / count, z + 0.02), w * 0.25)


def sofa(d):
    t = Thing(blend=d.one(0.004, d(0.01, 0.035)))
    w, z, soft = d(0.6, 1.15), d(0.35, 0.5), d(0.02, 0.1)
    base, seat, arm, back = d(0.08, 0.18), d(0.08, 0.15), d(0.05, 0.18), d(0.08, 0.16)
    high, rest = d(0.3, 0.6), d(0.15, 0.4)
    y = -0.3
    t.box(0, (0, y + base, 0), (w, base, z), min(soft, base))
    top = y + 2 * base
    if d.chance(0.85):
        t.box(0, (0, y + (2 * base + high) / 2, -z + back), (w, (2 * base + high) / 2, back), min(soft, back), frame=about("x", d(0, 0.15)))
    places = d.whole(1, 4)
    inner = w - 2 * arm
    for k in range(places):
        x, half = inner * ((2 * k + 1) / places - 1), inner / places * 0.97
        t.box(d.one(0, 1), (x, top + seat, back * 0.5), (half, seat, z - back * 0.6), min(soft, seat))
        if d.chance(0.7):
            t.box(1, (x, top + 2 * seat + high * 0.3, -z + 2.4 * back), (half * 0.96, high * 0.42, 0.09), 0.07, frame=about("x", d(0.1, 0.35)))
    for sx in SIDES:
        style = d.one("block", "block", "roll", "none", "frame")
        if style == "block":
            t.box(0, (sx * (w - arm), y + (2 * base + rest) / 2, 0), (arm, (2 * base + rest) / 2, z), min(soft, arm))
        elif style == "roll":
            t.box(0, (sx * (w - arm), y + (2 * base + rest) / 2, 0), (arm * 0.7, (2 * base + rest) / 2, z))
            t.cylinder(0, (sx * (w - arm), top + rest, 0), arm * 1.1, z, 0.03, frame=FRONT)
        elif style == "frame":
            t.box(2, (sx * w, top + rest, 0), (0.05, 0.025, z))
            for sz in SIDES:
                t.box(2, (sx * w, (top + rest + y) / 2, sz * z * 0.9), (0.03, (top + rest - y) / 2, 0.03))
    if d.chance(0.25):
        s = d.one(-1, 1)
        t.box(0, (s * w * 0.6, y + base, z * 1.7), (w * 0.4, base, z * 0.9), min(soft, base))
        t.box(1, (s * w * 0.6, top + seat, z * 1.7), (w * 0.39, seat, z * 0.9), min(soft, seat))
    for _ in range(d.whole(0, 2)):
        t.box(d.one(2, 3), (d(-0.7, 0.7) * inner, top + 2 * seat + 0.12, -z * 0.3), (0.16, 0.16, 0.06), 0.06, frame=about("z", d(-0.5, 0.5)) @ about("x", 0.4))
    feet(t, d, 2, w, y, z, d(0.05, 0.25))
    return t


def bed_frame(d):
    """Beds of boards and posts, with slats, canopies or a second storey."""
    t = Thing()
    w, z, thick = d(0.4, 0.8), d(0.8, 1), d(0.02, 0.05)
    storeys = 2 if d.chance(0.3) else 1
    low, post = d(-0.5, -0.2), d(0.025, 0.06)
    top = low + (0.75 if storeys == 2 else d(0.15, 0.5))
    ends = [(-z, top), (z, top if storeys == 2 else low + d(0.05, 0.35))]
    for end, (cz, y) in enumerate(ends):
        for sx in SIDES:
            t.box(0, (sx * w, (y + low - 0.3) / 2, cz), (post, (y - low + 0.3) / 2, post))
        if d.chance(0.5):
            t.box(0, (0, (low + y) / 2, cz), (w, (y - low) / 2 * d(0.8, 1), thick))
        else:
            for k in range(n := d.whole(3, 6)):
                t.box(0, (w * (2 * k / (n - 1) - 1) * 0.9, (low + y) / 2, cz), (0.03, (y - low) / 2, thick * 0.7))
            t.box(0, (0, y, cz), (w, 0.035, thick))
    for storey in range(storeys):
        y = low + storey * 0.65
        for sx in SIDES:
            t.box(0, (sx * w, y, 0), (thick, d(0.04, 0.09), z))
        if d.chance(0.85):
            t.box(1, (0, y + d(0.05, 0.1), 0), (w * 0.95, d(0.07, 0.13), z * 0.97), 0.05)
            t.box(2, (0, y + 0.2, -z * 0.75), (w * d(0.4, 0.8), 0.06, 0.15), 0.055)
            if d.chance(0.6):
                t.box(3, (0, y + 0.12, z * d(0.1, 0.4)), (w * 0.99, 0.11, z * 0.57), 0.04)
        else:
            for k in range(7):
                t.box(0, (0, y, z * (k / 3.5 - 0.86)), (w, 0.015, 0.05))
    if storeys == 2:
        for k in range(4):
            t.box(0, (w + 0.03, low - 0.15 + 0.25 * k, z * 0.4), (0.02, 0.02, 0.15))
    elif d.chance(0.15):
        for sx, sz in CORNERS:
            t.box(0, (sx * w, low + 0.5, sz * z), (post, 0.75, post))
        for s in SIDES:
            t.box(0, (s * w, low + 1.25, 0), (post, post, z))
            t.box(0, (0, low + 1.25, s * z), (w, post, post))
    return t


def desk(d):
    t = Thing()
    w, z, top, thick = d(0.6, 1.1), d(0.3, 0.5), d(0, 0.25), d(0.015, 0.045)
    bottom = top - d(0.6, 0.8)
    high = (top - bottom) / 2
    t.box(0, (0, top, 0), (w, thick, z), d.one(0, 0.01))
    for sx in SIDES:
        style = d.one("drawers", "panel", "posts", "shelf")
        if style == "drawers":
            half = d(0.15, 0.25)
            c = sx * (w - half - 0.02)
            down = d.one(high, high * d(0.3, 0.8))
            t.box(1, (c, top - down, 0), (half, down, z * 0.95))
            drawers(t, d, c, top - down, z * 0.95, half, down, d.whole(1, 4))
            if down < high:
                for sz in SIDES:
                    t.box(2, (sx * (w - 0.06), (top + bottom) / 2, sz * z * 0.85), (0.025, high, 0.025))
        elif style == "panel":
            t.box(0, (sx * (w - 0.05), top - high, 0), (0.02, high, z * 0.95))
        elif style == "shelf":
            half = d(0.15, 0.25)
            for k in SIDES:
                t.box(0, (sx * (w - half) + k * half * 0.9, top - high, 0), (0.02, high, z * 0.95))
            for k in range(3):
                t.box(0, (sx * (w - half), bottom + 0.03 + k * high * 0.7, 0), (half * 0.9, 0.02, z * 0.9))
        else:
            for sz in SIDES:
                t.box(2, (sx * (w - 0.05), top - high, sz * (z - 0.05)), (0.03, high, 0.03), taper=d(0, 0.3))
    if d.chance(0.4):
        t.box(0, (0, top - d(0.15, 0.4), -z * 0.9), (w * 0.95, d(0.08, 0.2), 0.015))
    if d.chance(0.4):
        x = d(-0.4, 0.4) * w
        t.box(2, (x, top + 0.35, -z * 0.3), (d(0.25, 0.45), 0.2, 0.02), 0.01)
        t.rod(2, (x, top, -z * 0.4), (x, top + 0.3, -z * 0.35), 0.025)
        t.cylinder(2, (x, top + 0.03, -z * 0.4), 0.12, 0.015)
    elif d.chance(0.4):
        for k in range(d.whole(1, 3)):
            t.box(3, (d(-0.1, 0.1) - 0.3 * w, top + 0.05 + 0.05 * k, 0), (0.14, 0.024, 0.1), frame=about("y", d(-0.3, 0.3)))
    if d.chance(0.25):
        y = top + d(0.3, 0.5)
        for sx in SIDES:
            t.box(0, (sx * w * 0.97, (top + y) / 2, -z * 0.7), (0.02, (y - top) / 2, z * 0.28))
        t.box(0, (0, y, -z * 0.7), (w, 0.02, z * 0.3))
    return t


def wardrobe(d):
    """Tall cupboards, sideboards and chests: doors, drawers and open parts side by side."""
    t = Thing()
    w, h, z = d(0.35, 1), d(0.3, 1), d(0.2, 0.4)
    t.box(0, (0, 0, 0), (w, h, z), d.one(0, 0, 0.01))
    columns = d.whole(1, 4 if w > 0.6 else 2)
    for k in range(columns):
        cx, half = w * ((2 * k + 1) / columns - 1), w / columns * 0.94
        split = d.one(0, 0, d(-0.5, 0.5)) * h
        for low, high in ((-h * 0.96, split), (split, h * 0.96)) if split else ((-h * 0.96, h * 0.96),):
            cy, up = (low + high) / 2, (high - low) / 2 * 0.96
            style = d.one("door", "door", "drawers", "open", "glass")
            if style == "drawers":
                drawers(t, d, cx, cy, z, half, up, max(1, round(up * d(3, 7) / 2)))
            elif style == "open":
                t.cut((cx, cy, z), (half * 0.95, up * 0.95, z * d(1.5, 1.9)))
                for s in range(d.whole(0, 3)):
                    t.box(2, (cx + d(-0.5, 0.5) * half, cy - up * 0.95 + d(0.08, 0.2), d(-0.3, 0.5) * z), (d(0.05, 0.3) * half, 0.1, z * 0.3))
            else:
                t.box(1, (cx, cy, z), (half, up, 0.02), 0.005)
                if style == "glass":
                    t.cut((cx, cy, z + 0.02), (half * 0.75, up * 0.85, 0.03))
                side = d.one(-1, 1)
                pull(t, d, 2, (cx + side * half * 0.75, cy, z + 0.02), 0.03)
    if d.chance(0.5):
        t.box(0, (0, h, 0.01), (w * 1.04, d(0.015, 0.05), z * 1.06), 0.01)
    feet(t, d, 0, w, -h, z, d(0.03, 0.25))
    return t


def bookcase(d):
    """Shelves with walls and rows of things in them."""
    t = Thing()
    w, h, z, wall = d(0.3, 0.9), d(0.4, 1), d(0.12, 0.28), d(0.012, 0.035)
    rows = d.whole(2, 5)
    t.box(0, (0, 0, 0), (w, h, z))
    open_through = d.chance(0.3)
    columns = d.whole(1, 2 if rows > 3 else 3)
    for i in range(rows):
        for k in range(columns):
            hw, hh = w / columns - wall, h / rows - wall
            c = (w * ((2 * k + 1) / columns - 1), h * ((2 * i + 1) / rows - 1), 0 if open_through else 2 * wall)
            t.cut(c, (hw, hh, z + (0.1 if open_through else 0)))
            if len(t.solid) > 22 or d.chance(0.3):
                continue
            style = d.one("books", "box", "vase", "stack")
            floor = c[1] - hh
            if style == "books":
                x = c[0] - hw
                for _ in range(d.whole(2, 4)):
                    half, high = d(0.05, 0.3) * hw, d(0.5, 0.9) * hh
                    if x + 2 * half > c[0] + hw:
                        break
                    t.box(d.one(1, 2, 3), (x + half, floor + high, d(-0.2, 0.1) * z), (half * 0.97, high, z * d(0.5, 0.8)))
                    x += 2 * half
            elif style == "box":
                high = d(0.4, 0.85) * hh
                t.box(d.one(1, 2), (c[0], floor + high, 0), (hw * d(0.5, 0.9), high, z * 0.85))
            elif style == "vase":
                high = d(0.4, 0.8) * hh
                t.cylinder(d.one(2, 3), (c[0] + d(-0.4, 0.4) * hw, floor + high, 0), min(z, hw) * d(0.2, 0.5), high, taper=d(-0.4, 0.4))
            else:
                for s in range(2):
                    t.box(d.one(1, 3), (c[0], floor + 0.04 + 0.07 * s, 0), (hw * 0.5, 0.03, z * 0.6))
    return t


def stool(d):
    t = Thing()
    long = d.chance(0.35)
    w, z = (d(0.6, 1), d(0.15, 0.3)) if long else (d(0.3, 0.5),) * 2
    top, thick = d(0, 0.6), d(0.02, 0.1)
    if not long and d.chance(0.5):
        t.cylinder(0, (0, top, 0), w, thick, d(0, thick * 0.9))
        w = z = w * 0.75
    else:
        t.box(0, (0, top, 0), (w, thick, z), d(0, thick * 0.9), corner=d(0, 0.15))
    legs(t, d, d.one(0, 1), w, z, top, -0.8, d(0.02, 0.06), d(0.95, 1.4))
    if d.chance(0.4) and not long:
        t.add(1, (0, d(-0.5, -0.2), 0), (0.02, 1, 0.02), corner=0.02, ring=w * d(0.9, 1.05), frame=FRONT)
    return t


def swivel_chair(d):
    t = Thing(blend=d.one(0.004, 0.02))
    seat, w, soft = d(-0.2, 0), d(0.35, 0.5), d(0.02, 0.08)
    t.box(0, (0, seat, 0), (w, d(0.05, 0.1), w), soft, corner=d(0.05, 0.3))
    t.rod(1, (0, seat, 0), (0, -0.8, 0), 0.045)
    reach, arms = d(0.4, 0.6), d.whole(4, 5)
    for k in range(arms):
        a = 6.283 * k / arms
        end = (reach * math.cos(a), -0.85, reach * math.sin(a))
        t.rod(1, (0, -0.72, 0), end, 0.035, 0.025)
        t.ball(2, (end[0], -0.9, end[2]), (0.05, 0.05, 0.05))
    high = d(0.25, 0.6)
    t.box(d.one(0, 2), (0, seat + 0.15 + high, -w * 0.95), (w * d(0.75, 1), high, d(0.03, 0.08)), min(soft, 0.03), corner=d(0.05, 0.3), frame=about("x", d(0, 0.2)))
    t.box(1, (0, seat + 0.15, -w), (0.05, 0.25, 0.02))
    if d.chance(0.7):
        for s in SIDES:
            t.box(2, (s * w * 1.1, seat + 0.3, 0), (0.04, 0.02, w * 0.6), 0.015)
            t.rod(1, (s * w * 1.1, seat + 0.28, -0.05), (s * w * 0.95, seat, -0.05), 0.025)
    return t


def kitchen_unit(d):
    """Sinks, stoves and counters."""
    t = Thing()
    w, h, z = d(0.4, 1), d(0.35, 0.5), d(0.3, 0.4)
    t.box(0, (0, 0, 0), (w, h, z))
    top = h + d(0.015, 0.04)
    t.box(1, (0, h, 0.01), (w * 1.02, top - h, z * 1.04))
    columns = d.whole(1, 3)
    kind = d.one("sink", "stove", "plain")
    for k in range(columns):
        cx, half = w * ((2 * k + 1) / columns - 1), w / columns * 0.95
        if kind == "stove" and k == 0:
            t.box(2, (cx, -h * 0.15, z), (half, h * 0.6, 0.02))
            t.cut((cx, -h * 0.2, z + 0.02), (half * 0.75, h * 0.4, 0.025))
            t.rod(2, (cx - half * 0.7, h * 0.4, z + 0.06), (cx + half * 0.7, h * 0.4, z + 0.06), 0.02)
            for s in range(4):
                t.cylinder(2, (cx + half * (s * 0.4 - 0.6), h * 0.75, z + 0.02), 0.03, 0.03, frame=FRONT)
        elif d.chance(0.6):
            t.box(2, (cx, 0, z), (half, h * 0.9, 0.015))
            pull(t, d, 3, (cx + half * d.one(-0.7, 0.7), h * 0.6, z + 0.015), 0.05)
        else:
            drawers(t, d, cx, 0, z, half, h * 0.95, d.whole(2, 4), 2, 3)
    if kind == "sink":
        for s in d.one((0,), (-0.45, 0.45)):
            t.cut((s * w, top, 0.02), (w * d(0.25, 0.4), d(0.12, 0.25), z * 0.65), corner=0.06)
        t.tube(3, [(0, top, -z * 0.8), (0, top + 0.3, -z * 0.8), (0, top + d(0.3, 0.4), -z * 0.5), (0, top + 0.25, -z * 0.15)], 0.025)
    elif kind == "stove":
        for sx, sz in CORNERS:
            t.cylinder(3, (sx * w * 0.45, top + 0.015, sz * z * 0.45), d(0.08, 0.14), 0.012)
        if d.chance(0.4):
            t.box(0, (0, top + 0.15, -z), (w, 0.15, 0.03))
    elif d.chance(0.5):
        t.box(0, (0, top + d(0.4, 0.6), -z * 0.5), (w, 0.25, z * 0.5))
        t.box(1, (0, top + 0.2, -z * 0.97), (w, 0.5, 0.02))
    return t


def appliance(d):
    """Microwaves, toasters, mixers, coffee machines, kettles, fans, heaters."""
    t = Thing(blend=d.one(0.004, 0.02))
    kind = d.one("microwave", "toaster", "mixer", "coffee", "kettle", "fan", "radiator", "washer", "vacuum")
    if kind == "microwave":
        w, h, z = d(0.6, 0.9), d(0.3, 0.5), d(0.3, 0.5)
        t.box(0, (0, 0, 0), (w, h, z), d.one(0, 0.03))
        t.box(1, (-w * 0.2, 0, z), (w * 0.75, h * 0.9, 0.02), 0.01)
        t.cut((-w * 0.25, 0, z + 0.02), (w * 0.55, h * 0.65, 0.02))
        t.rod(2, (w * 0.5, -h * 0.7, z + 0.05), (w * 0.5, h * 0.7, z + 0.05), 0.02)
        for k in range(3):
            t.cylinder(2, (w * 0.77, h * (0.5 - 0.45 * k), z), 0.06, 0.03, frame=FRONT)
    elif kind == "toaster":
        w, h, z = d(0.5, 0.8), d(0.3, 0.45), d(0.2, 0.35)
        t.box(0, (0, 0, 0), (w, h, z), d(0.05, 0.2), corner=d(0.05, 0.2))
        for s in (-0.35, 0.35):
            t.cut((0, h, s * z), (w * 0.75, h * 0.6, z * 0.15))
        t.box(1, (w, 0.1, 0), (0.06, 0.03, 0.08))
        t.box(1, (0, -h, 0), (w * 0.9, 0.04, z * 0.9))
    elif kind == "mixer":
        t.box(0, (0, -0.6, 0.1), (0.25, 0.06, 0.5), 0.05, corner=0.2)
        t.box(0, (0, -0.1, -0.3), (0.12, 0.5, 0.12), 0.05)
        t.add(0, (0, 0.45, 0.05), (0.17, 0.5, 0.16), corner=0.16, edge=0.1, frame=FRONT)
        r = d(0.22, 0.32)
        t.cylinder(1, (0, -0.3, 0.25), r, 0.24, 0.03, taper=0.25)
        t.cut((0, -0.24, 0.25), (r * 0.93, 0.25, r * 0.93), corner=1, taper=0.25)
        t.rod(2, (0, 0.3, 0.25), (0, -0.2, 0.25), 0.05)
    elif kind == "coffee":
        w, z = d(0.25, 0.4), d(0.3, 0.45)
        t.box(0, (0, 0, -z * 0.6), (w, 0.6, z * 0.4), 0.02)
        t.box(0, (0, 0.45, 0), (w, 0.16, z), 0.03)
        t.box(1, (0, -0.55, 0), (w, 0.06, z), 0.02)
        t.cylinder(2, (0, -0.28, z * 0.3), w * 0.65, 0.2, taper=d(-0.2, 0.2))
        t.cut((0, -0.2, z * 0.3), (w * 0.57, 0.2, w * 0.57), corner=1)
        t.add(2, (w * 0.75, -0.25, z * 0.3), (0.03, 1, 0.03), corner=0.03, ring=0.15)
    elif kind == "kettle":
        r, h = d(0.4, 0.6), d(0.35, 0.6)
        t.cylinder(0, (0, 0, 0), r, h, d(0.05, 0.2), taper=-d(0.1, 0.4))
        t.ball(1, (0, h + 0.05, 0), (0.09, 0.07, 0.09))
        t.rod(0, (r * 0.7, -0.1, 0), (r * 1.35, h * 0.8, 0), 0.13, 0.05)
        if d.chance(0.5):
            t.add(1, (0, h * 0.7, 0), (0.04, 1, 0.05), corner=0.04, ring=r * 0.8, cut=(0, -1, 0, 0), stretch=(1, 1.3, 1))
        else:
            t.add(1, (-r * 0.8, 0, 0), (0.04, 1, 0.05), corner=0.04, ring=h * 0.7, cut=(1, 0, 0, 0))
    elif kind == "fan":
        r, y = d(0.3, 0.5), d(0.2, 0.5)
        for s in (-0.08, 0.08):
            t.add(0, (0, y, s), (0.02, 1, 0.02), corner=0.02, ring=r)
        for k in range(4):
            a = k * math.pi / 2 + 0.3
            c = np.array([math.cos(a), math.sin(a), 0])
            t.add(1, (0, y, 0) + c * r * 0.5, (0.13, r * 0.42, 0.015), corner=0.015, frame=along(c + (0, 0, 0.1)))
        t.cylinder(0, (0, y, -0.08), 0.12, 0.14, 0.03, frame=FRONT)
        t.rod(0, (0, y, -0.1), (0, -0.8, -0.1), 0.035)
        t.cylinder(0, (0, -0.85, -0.1), d(0.25, 0.4), 0.04, 0.02)
    elif kind == "radiator":
        n, h = d.whole(5, 10), d(0.3, 0.5)
        w = n * 0.09
        for k in range(n):
            t.box(0, (w * ((2 * k + 1) / n - 1), 0, 0), (w / n * d(0.6, 0.8), h, d(0.08, 0.14)), 0.03)
        for s in SIDES:
            t.rod(0, (-w, s * h * 0.75, 0), (w, s * h * 0.75, 0), 0.04)
            t.box(1, (s * w * 0.8, -h - 0.08, 0), (0.04, 0.1, 0.12))
    elif kind == "washer":
        w, h, z = d(0.5, 0.6), d(0.55, 0.75), d(0.4, 0.6)
        t.box(0, (0, 0, 0), (w, h, z), d.one(0, 0.03))
        r = w * d(0.5, 0.7)
        t.add(1, (0, -0.05, z), (0.05, 1, 0.04), corner=0.03, ring=r)
        t.cut((0, -0.05, z), (r * 0.9, d(0.05, 0.3), r * 0.9), corner=1, frame=FRONT)
        t.box(2, (0, h * 0.85, z), (w * 0.95, h * 0.1, 0.02))
        t.cylinder(3, (w * 0.4, h * 0.85, z + 0.02), 0.06, 0.04, frame=FRONT)
    else:
        t.box(0, (0, -0.6, 0.3), (0.3, 0.1, 0.4), 0.08)
        t.cylinder(1, (0, -0.55, -0.1), 0.25, 0.15, 0.05, frame=SIDEWAYS)
        t.rod(2, (0, -0.5, 0), (0, 0.7, -0.6), 0.04)
        t.box(0, (0, 0, -0.35), (0.15, 0.35, 0.12), 0.08, frame=about("x", 0.46))
    return t


def bathroom(d):
    """Tubs, basins and toilets: smooth hollows in white."""
    t = Thing(blend=d(0.004, 0.03))
    kind = d.one("tub", "basin", "toilet", "tub", "basin")
    if kind == "tub":
        w, z, h, wall = d(0.35, 0.5), d(0.75, 1), d(0.22, 0.35), d(0.03, 0.06)
        corner, flare = d(0, 1) * w, d(0, 0.15)
        t.box(0, (0, 0, 0), (w, h, z), 0.02, corner=corner, taper=flare)
        t.cut((0, wall * 2, 0), (w - 2 * wall, h, z - 2 * wall), corner=max(corner - wall, 0.08), edge=d(0.05, 0.15), taper=flare + 0.05)
        if d.chance(0.5):
            t.box(0, (0, h, 0), (w * 1.08, 0.025, z * 1.05), 0.02, corner=corner)
            t.cut((0, h, 0), (w - 1.5 * wall, 0.1, z - 1.5 * wall), corner=max(corner - wall, 0.08))
        if d.chance(0.5):
            t.tube(1, [(0, h, -z * 0.95), (0, h + 0.25, -z * 0.95), (0, h + 0.22, -z * 0.75)], 0.03)
        if d.chance(0.4):
            for sx, sz in CORNERS:
                t.ball(1, (sx * w * 0.7, -h - 0.04, sz * z * 0.75), (0.07, 0.09, 0.07))
    elif kind == "basin":
        w, z, h = d(0.45, 0.7), d(0.35, 0.5), d(0.1, 0.2)
        corner = d(0.03, 1) * z
        y = d(0.3, 0.6)
        t.box(0, (0, y, 0), (w, h, z), 0.03, corner=corner, taper=d(0, 0.3))
        t.cut((0, y + h * 0.6, 0.04), (w * 0.82, h, z * 0.72), corner=max(corner * 0.8, 0.08), edge=0.08)
        t.tube(1, [(0, y + h, -z * 0.85), (0, y + h + 0.2, -z * 0.85), (0, y + h + 0.17, -z * 0.35)], 0.03)
        if d.chance(0.6):
            t.cylinder(0, (0, y / 2 - 0.5, -z * 0.3), d(0.1, 0.18), y / 2 + 0.5, taper=d(-0.3, 0.3))
        else:
            t.box(2, (0, y / 2 - 0.45, 0), (w * 0.9, y / 2 + 0.35, z * 0.9))
    else:
        t.box(0, (0, 0.35, -0.5), (0.38, 0.35, 0.15), 0.04)
        t.box(0, (0, 0.72, -0.5), (0.4, 0.03, 0.17), 0.02)
        t.add(0, (0, 0, 0.05), (0.33, 0.09, 0.45), corner=0.33, edge=0.04)
        t.add(0, (0, -0.35, 0), (0.2, 0.3, 0.3), corner=0.2, taper=0.35)
        t.cut((0, 0.08, 0.1), (0.24, 0.2, 0.3), corner=0.24, edge=0.1)
        lid = d.one("none", "down", "up")
        if lid == "down":
            t.add(1, (0, 0.12, 0.05), (0.34, 0.025, 0.44), corner=0.33)
        elif lid == "up":
            t.add(1, (0, 0.5, -0.32), (0.32, 0.42, 0.02), corner=0.02, frame=about("x", 0.1))
    return t


def screen(d):
    """Televisions, monitors, laptops."""
    t = Thing()
    w, thin = d(0.6, 1), d(0.012, 0.05)
    h = w * d(0.5, 0.68)
    if d.chance(0.3):
        z = h * 1.0
        open_ = d(0.1, 0.5)
        t.box(0, (0, 0, 0), (w, 0.025, z), 0.01, corner=0.04)
        t.cut((0, 0.03, -z * 0.25), (w * 0.85, 0.015, z * 0.5))
        tilted = about("x", open_)
        t.box(0, np.array([0, 0, -z]) + tilted.T @ np.array([0, h, 0]), (w, h, 0.02), 0.01, frame=tilted)
        t.box(1, np.array([0, 0, -z]) + tilted.T @ np.array([0, h, 0.02]), (w * 0.93, h * 0.92, 0.006), frame=tilted)
        return t
    t.box(0, (0, h, 0), (w, h, thin), d.one(0, thin * 0.5))
    t.box(1, (0, h, thin), (w * 0.96, h * 0.95, 0.006))
    if d.chance(0.4):
        t.box(0, (0, h, -thin - 0.05), (w * 0.5, h * 0.6, 0.06), 0.02)
    style = d.one("foot", "feet", "arc", "cupboard", "none")
    if style == "foot":
        t.box(0, (0, -0.1, -0.03), (d(0.05, 0.15), 0.15, 0.02))
        t.box(0, (0, -0.25, 0), (w * d(0.3, 0.6), 0.015, d(0.12, 0.25)), corner=d(0, 0.1))
    elif style == "feet":
        for s in SIDES:
            for sz in SIDES:
                t.rod(0, (s * w * 0.6, 0, 0), (s * w * 0.65, -0.15, sz * 0.2), 0.02)
    elif style == "arc":
        t.cylinder(0, (0, -0.25, 0), 0.25, 0.02)
        t.rod(0, (0, -0.25, -0.05), (0, h * 0.5, -0.05), 0.04)
    elif style == "cupboard":
        t.box(2, (0, -0.35, 0), (w * d(0.9, 1.2), 0.2, 0.25))
        t.box(0, (0, -0.07, 0), (w * 0.4, 0.08, 0.12))
    return t


def frame(d):
    """Pictures, mirrors, windows, doors: flat, with a sunken or open middle."""
    t = Thing()
    w, h, deep, rim = d(0.35, 0.9), d(0.4, 1), d(0.02, 0.08), d(0.03, 0.12)
    round_ = d.chance(0.2)
    corner = min(w, h) * 0.98 if round_ else d.one(0, 0, 0.03)
    upright = FRONT  # the prism's own axis points at the viewer; its z is the picture's height
    t.add(0, (0, 0, 0), (w, deep, h), corner=corner, frame=upright, edge=d.one(0, 0.015))
    through = d.chance(0.3)
    t.cut((0, 0, 0 if through else deep), (w - rim, deep * (2 if through else d(0.3, 1)), h - rim), corner=max(corner - rim, 0), frame=upright)
    style = d.one("plain", "cross", "panels", "stand", "clock")
    if style == "cross":
        for k in range(d.whole(1, 2)):
            t.box(0, (0, h * d(-0.4, 0.4), 0), (w - rim, rim * 0.3, deep * 0.6))
        t.box(0, (0, 0, 0), (rim * 0.3, h - rim, deep * 0.6))
    elif style == "panels":
        t.box(1, (0, 0, 0), (w - rim, h - rim, deep * 0.6))
        for s in SIDES:
            t.box(1, (0, s * h * 0.45, 0), (w * 0.6, h * 0.3, deep * 0.9), 0.01)
        t.ball(2, (w * 0.75, 0, deep + 0.04), (0.04, 0.04, 0.04))
    elif style == "stand":
        t.rod(0, (0, h * 0.3, -deep), (0, -h, -d(0.3, 0.6)), 0.03)
        turn(t, about("x", d(-0.3, 0)))
    elif style == "clock":
        t.box(2, (0, 0.12, deep * 0.5), (0.015, 0.14, deep * 0.6))
        t.box(2, (0.1, 0, deep * 0.5), (0.12, 0.015, deep * 0.6))
    return t


def stairs(d):
    t = Thing()
    n, w = d.whole(3, 8), d(0.3, 0.8)
    rise, run = 1.6 / n * d(0.7, 1.1), 1.6 / n
    solid = d.chance(0.5)
    for k in range(n):
        y, z = -0.8 + (k + 1) * rise, -0.8 + (k + 0.5) * run
        if solid:
            t.box(0, (0, (y - 0.8) / 2, z), (w, (y + 0.8) / 2, run / 2))
        else:
            t.box(0, (0, y - 0.03, z), (w, 0.03, run * d(0.5, 0.62)))
    if not solid or d.chance(0.3):
        for s in SIDES:
            t.rod(1, (s * w, -0.85, -0.85), (s * w, -0.8 + n * rise - 0.1, 0.8), 0.05)
    if d.chance(0.5):
        up = d(0.35, 0.6)
        for s in SIDES if d.chance(0.6) else (1,):
            t.rod(1, (s * w, -0.8 + up, -0.75), (s * w, -0.8 + n * rise + up, 0.75), 0.03)
            for k in range(0, n, 2):
                y, z = -0.8 + (k + 1) * rise, -0.8 + (k + 0.5) * run
                t.rod(1, (s * w, y - 0.1, z), (s * w, y + up - rise / 2, z), 0.02)
    turn(t, about("y", math.pi))
    return t


def ladder(d):
    t = Thing()
    w, n, r = d(0.2, 0.4), d.whole(4, 8), d(0.02, 0.05)
    double = d.chance(0.5)
    lean = d(0.15, 0.45)
    for side in SIDES if double else (1,):
        foot = side * lean
        for s in SIDES:
            t.rod(0, (s * w, -0.9, foot), (s * w * d(0.7, 1), 0.9, 0), r, flat=True)
        for k in range(n if side > 0 else 2):
            f = (k + 0.6) / n if side > 0 else (k + 1) / 3
            t.box(1, (0, -0.9 + 1.8 * f, foot * (1 - f)), (w, r * d(0.5, 0.9), r * (d(1, 3) if double else 1)))
    if double:
        t.box(1, (0, 0.9, 0), (w, 0.03, 0.12))
    return t


def piano(d):
    t = Thing()
    if d.chance(0.55):
        w, h, z = d(0.7, 0.9), d(0.5, 0.75), d(0.15, 0.25)
        t.box(0, (0, 0, -z), (w, h, z))
        t.box(0, (0, h, -z), (w * 1.03, 0.025, z * 1.1))
        t.box(0, (0, -0.05, z * 0.8), (w, 0.06, z * 0.9))
        t.box(1, (0, 0.02, z * 1.1), (w * 0.9, 0.015, z * 0.55))
        for s in SIDES:
            t.box(0, (s * (w - 0.04), 0.02, z * 0.8), (0.04, 0.09, z * 0.9))
            t.box(0, (s * (w - 0.06), -h / 2 - 0.03, z * 1.4), (0.05, h / 2, 0.05), taper=-0.2)
        t.box(2, (0, h * 0.5, 0.01), (w * 0.5, 0.1, 0.02))
    else:
        w, z, y = 0.6, d(0.7, 0.95), 0.1
        t.box(0, (0, y, 0), (w, 0.12, z), corner=0.3)
        t.box(0, (0, y, z * 0.75), (w, 0.12, z * 0.3))
        t.box(1, (0, y + 0.02, z * 1.0), (w * 0.92, 0.1, 0.12))
        lid = about("z", -d(0.5, 0.9))
        t.box(0, np.array([-w, y + 0.13, 0]) + lid.T @ np.array([w, 0, 0]), (w, 0.02, z * 0.9), frame=lid)
        for x, c in ((-w * 0.8, z * 0.8), (w * 0.8, z * 0.8), (0, -z * 0.7)):
            t.rod(0, (x, y, c), (x, -0.7, c), 0.06, 0.04, flat=True)
    if d.chance(0.3):
        t.box(2, (0, -0.3, 1.2), (0.35, 0.06, 0.15), 0.03)
        for sx, sz in CORNERS:
            t.box(0, (sx * 0.3, -0.5, 1.2 + sz * 0.1), (0.025, 0.2, 0.025))
    return t


def light(d):
    """Floor, arc, tripod and hanging lamps, chandeliers, candlesticks, lanterns."""
    t = Thing()
    kind = d.one("floor", "arc", "tripod", "pendant", "chandelier", "candles", "lantern", "globe")
    open_ = d.chance(0.7)
    r, h = d(0.2, 0.4), d(0.15, 0.3)

    def shade(m, centre, radius, high, taper):
        t.add(m, centre, (radius, high, radius), corner=1, taper=taper, shell=0.015 if open_ else 0)
        if open_:
            t.cut(centre, (radius * 0.93, high * 1.2, radius * 0.93), corner=1, taper=taper)
            t.ball(3, centre, (0.07, 0.09, 0.07))

    if kind in ("floor", "tripod"):
        shade(1, (0, 0.75, 0), r, h, -d(0, 0.5))
        if kind == "floor":
            t.rod(0, (0, -0.95, 0), (0, 0.75, 0), d(0.015, 0.035))
            t.cylinder(0, (0, -0.95, 0), d(0.15, 0.3), d(0.015, 0.04))
        else:
            for k in range(3):
                a = 2.094 * k + 0.3
                t.rod(0, (0, 0.6, 0), (0.4 * math.cos(a), -0.95, 0.4 * math.sin(a)), 0.03)
    elif kind == "arc":
        points = [(-0.5, -0.9, 0), (-0.5, 0.2, 0), (-0.35, 0.6, 0), (0, 0.85, 0), (0.35, 0.75, 0), (0.5, 0.55, 0)]
        t.tube(0, points, 0.025)
        t.cylinder(0, (-0.45, -0.9, 0), 0.25, 0.04)
        shade(1, (0.5, 0.45, 0), r, h * 0.7, -d(0.1, 0.6))
    elif kind == "pendant":
        t.rod(0, (0, 0.1, 0), (0, 0.95, 0), 0.015)
        t.cylinder(0, (0, 0.95, 0), 0.1, 0.03)
        shade(1, (0, -0.1, 0), r * 1.6, h * 1.3, -d(0, 0.8))
    elif kind == "chandelier":
        n, reach = d.whole(4, 7), d(0.45, 0.7)
        t.rod(0, (0, -0.2, 0), (0, 0.8, 0), 0.03)
        t.ball(0, (0, -0.15, 0), (0.1, 0.13, 0.1))
        for k in range(n):
            a = 6.283 * k / n
            c, s = math.cos(a) * reach, math.sin(a) * reach
            t.tube(0, [(0, -0.1, 0), (c * 0.6, -0.25, s * 0.6), (c, -0.05, s)], 0.02)
            t.cylinder(1, (c, 0.08, s), d(0.04, 0.1), 0.1, taper=-0.2)
    elif kind == "candles":
        t.cylinder(0, (0, -0.6, 0), 0.25, 0.04)
        t.rod(0, (0, -0.6, 0), (0, 0.3, 0), 0.04)
        for s in (-1, 0, 1) if d.chance(0.6) else (0,):
            t.tube(0, [(0, 0, 0), (s * 0.35, 0.05, 0), (s * 0.35, 0.25, 0)], 0.03)
            t.cylinder(1, (s * 0.35, 0.5, 0), 0.045, 0.22)
    elif kind == "lantern":
        w = d(0.25, 0.4)
        for y in (-0.5, 0.4):
            t.box(0, (0, y, 0), (w, 0.04, w))
        for sx, sz in CORNERS:
            t.box(0, (sx * w * 0.9, -0.05, sz * w * 0.9), (0.025, 0.45, 0.025))
        t.add(0, (0, 0.55, 0), (w * 0.9, 0.13, w * 0.9), taper=-0.8)
        t.cylinder(1, (0, -0.3, 0), 0.1, d(0.1, 0.25))
        t.add(2, (0, 0.75, 0), (0.02, 1, 0.02), corner=0.02, ring=0.15)
    else:
        t.ball(1, (0, 0.4, 0), (0.4, 0.4, 0.4))
        t.rod(0, (0, -0.7, 0), (0, 0.1, 0), d(0.03, 0.08))
        t.cylinder(0, (0, -0.72, 0), 0.25, 0.04)
    return t


def open_box(d):
    """Cartons with flaps, crates of slats, baskets, bins, drawers, trays: walls about air, sometimes with things inside."""
    t = Thing()
    w, h, z, wall = d(0.4, 0.9), d(0.2, 0.7), d(0.35, 0.7), d(0.015, 0.05)
    kind = d.one("carton", "crate", "basket", "bin", "tray", "carton")
    if kind == "crate":
        rows = d.whole(2, 4)
        half = h / rows * d(0.6, 0.85)
        for k in range(rows):
            y = h * ((2 * k + 1) / rows - 1)
            for s in SIDES:
                t.box(0, (0, y, s * z), (w, half, wall))
                t.box(0, (s * w, y, 0), (wall, half, z))
        for sx, sz in CORNERS:
            t.box(1, (sx * (w - wall), 0, sz * (z - wall)), (0.04, h, 0.04))
        t.box(0, (0, -h, 0), (w, wall, z))
    else:
        flare, corner = (d(0, 0.25), d(0.02, 0.3)) if kind in ("basket", "bin") else (0, 0)
        h *= 0.4 if kind == "tray" else 1.3 if kind == "bin" else 1
        t.box(0, (0, 0, 0), (w, h, z), corner=corner, taper=flare)
        t.cut((0, 2 * wall, 0), (w - 2 * wall, h, z - 2 * wall), corner=max(corner - wall, 0), taper=flare)
        if kind == "carton":
            for s in SIDES:
                for long in (True, False):
                    if d.chance(0.25):
                        continue
                    a = d(0.2, 2.2)
                    reach = z * d(0.4, 0.5)
                    if long:
                        f = about("x", -s * (a - math.pi / 2))
                        t.box(0, np.array([0, h, s * z]) + f.T @ np.array([0, 0, s * reach]), (w, wall * 0.7, reach), frame=f)
                    else:
                        f = about("z", s * (a - math.pi / 2))
                        t.box(0, np.array([s * w, h, 0]) + f.T @ np.array([s * reach, 0, 0]), (reach, wall * 0.7, z), frame=f)
        elif kind == "basket" and d.chance(0.6):
            t.add(1, (0, h * 0.9, 0), (0.03, 1, 0.05), corner=0.03, ring=w * (1 + flare * 0.9), cut=(0, -1, 0, 0), stretch=(1, d(0.6, 1.2), 1))
    for _ in range(d.one(0, 0, d.whole(1, 5))):
        size = d(0.1, 0.25)
        c = (d(-0.5, 0.5) * w, -h + 2 * wall + size * d(0.8, 1.6), d(-0.5, 0.5) * z)
        if d.chance(0.5):
            t.ball(d.one(2, 3), c, (size, size, size))
        else:
            t.box(d.one(2, 3), c, (size, size * d(0.4, 1), size * d(0.4, 1)), frame=about("y", d(0, 3)))
    return t


def bicycle(d):
    """Bicycles, scooters, prams: wheels and thin tubes."""
    t = Thing()
    r, tyre, base = d(0.28, 0.38), d(0.015, 0.04), d(0.45, 0.6)
    motor = d.chance(0.25)
    for s in SIDES:
        t.add(0, (s * base, -0.4, 0), (tyre * (2 if motor else 1), 1, tyre * (2 if motor else 1)), corner=0.05, ring=r)
        if motor or d.chance(0.3):
            t.cylinder(1, (s * base, -0.4, 0), r * 0.4 if motor else 0.05, 0.04, frame=FRONT)
        else:
            for k in range(3):
                a = k * math.pi / 3 + 0.2
                c = np.array([math.cos(a), math.sin(a), 0]) * r
                t.rod(1, np.array([s * base, -0.4, 0]) - c, np.array([s * base, -0.4, 0]) + c, 0.008)
    b, crank, saddle, head = d(0.02, 0.035), np.array([-0.05, -0.4, 0]), np.array([-0.2, 0.15, 0]), np.array([base * 0.7, 0.15, 0])
    for p, q in ((crank, saddle), (crank, head), (saddle, head * (1, 1, 1)), (np.array([-base, -0.4, 0]), crank), (np.array([-base, -0.4, 0]), saddle), (head, np.array([base, -0.4, 0])), (head, head + (-0.08, 0.25, 0))):
        t.rod(2, p, q, b)
    if motor:
        t.box(2, (0, -0.15, 0), (0.25, 0.15, 0.1), 0.06)
        t.box(3, (-0.3, 0.12, 0), (0.3, 0.06, 0.11), 0.05)
        t.ball(2, (0.2, 0.15, 0), (0.2, 0.12, 0.12))
    bar = head + (-0.08, 0.25, 0)
    t.rod(1, bar + (-0.05, 0, -0.28), bar + (0, 0.02, 0), 0.022)
    t.rod(1, bar + (0, 0.02, 0), bar + (-0.05, 0, 0.28), 0.022)
    t.box(3, saddle + (0, 0.1, 0), (0.13, 0.03, 0.06), 0.02)
    t.rod(1, saddle, saddle + (0, 0.1, 0), b)
    if d.chance(0.4):
        t.box(3, bar + (0.15, -0.1, 0), (0.12, 0.1, 0.14))
        t.cut(bar + (0.15, -0.07, 0), (0.1, 0.1, 0.12))
    return t


def toy(d):
    """Blocks, trains, rocking horses, stacked rings, dolls' houses, carts."""
    t = Thing(blend=d.one(0.004, 0.015))
    kind = d.one("blocks", "train", "rocker", "rings", "house", "cart")
    if kind == "blocks":
        y = -0.8
        for k in range(d.whole(3, 7)):
            s = d(0.12, 0.25)
            shape = d.one("box", "cylinder", "roof", "arch")
            c = (d(-0.15, 0.15), y + s, d(-0.1, 0.1))
            if shape == "box":
                t.box(k % 4, c, (s * d(1, 2), s, s), frame=about("y", d(-0.4, 0.4)))
            elif shape == "cylinder":
                t.cylinder(k % 4, c, s, s)
            elif shape == "roof":
                t.box(k % 4, (c[0], y, c[2]), (s * 1.2, s * 1.2, s), frame=about("z", math.pi / 4), cut=(-0.7071, -0.7071, 0, 0))
            else:
                t.box(k % 4, c, (s * 2, s, s))
                t.cut((c[0], y, c[2]), (s * 0.8, s * 2, s * 0.8), corner=1, frame=FRONT)
            y += 2 * s
    elif kind == "train":
        for k in range(d.whole(1, 3)):
            z = 0.7 - 0.75 * k
            t.box(0, (0, -0.3, z), (0.25, 0.05, 0.33))
            for sx, sz in CORNERS:
                t.cylinder(1, (sx * 0.27, -0.4, z + sz * 0.2), 0.11, 0.04, frame=SIDEWAYS)
            if k == 0:
                t.cylinder(2, (0, -0.05, z + 0.08), 0.2, 0.24, frame=FRONT)
                t.box(3, (0, 0.05, z - 0.2), (0.22, 0.32, 0.13))
                t.cylinder(1, (0, 0.22, z + 0.2), 0.06, 0.15, taper=0.3)
            else:
                t.box(2, (0, -0.1, z), (0.24, 0.18, 0.32))
                t.cut((0, 0, z), (0.2, 0.2, 0.28))
    elif kind == "rocker":
        for s in SIDES:
            t.add(1, (s * 0.2, 0.3, 0), (0.04, 1, 0.04), ring=d(0.9, 1.1), frame=about("y", math.pi / 2), cut=(0, 1, 0, -0.75))
            for sz in SIDES:
                t.rod(0, (s * 0.12, 0, sz * 0.25), (s * 0.2, -0.6, sz * 0.4), 0.05)
        t.box(0, (0, 0, 0), (0.16, 0.16, 0.4), 0.1)
        t.rod(0, (0, 0.1, 0.35), (0, 0.5, 0.55), 0.13, 0.1)
        t.rod(0, (0, 0.5, 0.5), (0, 0.4, 0.8), 0.11, 0.08)
        t.rod(2, (-0.25, 0.45, 0.5), (0.25, 0.45, 0.5), 0.025)
    elif kind == "rings":
        n = d.whole(4, 6)
        t.cylinder(0, (0, -0.7, 0), 0.5, 0.06)
        t.rod(0, (0, -0.7, 0), (0, 0.6, 0), 0.06)
        for k in range(n):
            t.add(k % 4, (0, -0.55 + 0.2 * k, 0), (0.1, 1, 0.1), corner=0.1, ring=0.38 - 0.05 * k, frame=FRONT)
    elif kind == "house":
        w, h, z = 0.6, d(0.4, 0.7), 0.35
        t.box(0, (0, 0, 0), (w, h, z))
        rows = d.whole(1, 3)
        for i in range(rows):
            for s in SIDES:
                t.cut((s * w * 0.5, h * ((2 * i + 1) / rows - 1), 0.06), (w * 0.46, h / rows * 0.88, z))
        for s in SIDES:
            t.box(1, (s * w * 0.52, h + 0.22, 0), (w * 0.75, 0.03, z * 1.1), frame=about("z", s * 0.6))
    else:
        t.box(0, (0, 0, 0), (0.4, 0.25, 0.6), taper=d(0, 0.2))
        t.cut((0, 0.08, 0), (0.35, 0.25, 0.54), taper=0.1)
        for sx, sz in CORNERS:
            t.cylinder(1, (sx * 0.45, -0.28, sz * 0.4), d(0.15, 0.22), 0.05, 0.02, frame=SIDEWAYS)
        t.rod(2, (0, -0.2, 0.6), (0, 0.4, 1.1), 0.03)
        t.rod(2, (-0.2, 0.4, 1.1), (0.2, 0.4, 1.1), 0.035)
    return t


def rack(d):
    """Coat stands, clothes horses, trolleys, easels, shelves of bars: mostly air."""
    t = Thing()
    kind = d.one("coats", "trolley", "easel", "horse", "shelf", "table")
    r = d(0.015, 0.035)
    if kind == "coats":
        t.rod(0, (0, -0.9, 0), (0, 0.9, 0), r * 1.5)
        for k in range(n := d.whole(3, 6)):
            a = 6.283 * k / n
            c, s = math.cos(a), math.sin(a)
            t.tube(0, [(0, 0.6, 0), (0.22 * c, 0.65, 0.22 * s), (0.3 * c, 0.85, 0.3 * s)], r)
            if k < 4:
                t.rod(0, (0, -0.75, 0), (0.4 * c, -0.93, 0.4 * s), r)
    elif kind == "trolley":
        w, z = d(0.35, 0.6), d(0.25, 0.4)
        for sx, sz in CORNERS:
            t.rod(0, (sx * w, -0.75, sz * z), (sx * w, 0.6, sz * z), r)
            t.cylinder(1, (sx * w, -0.82, sz * z), 0.07, 0.025, frame=FRONT)
        for k in range(d.whole(2, 3)):
            y = -0.6 + 0.5 * k
            t.box(2, (0, y, 0), (w, d(0.02, 0.1), z))
            if d.chance(0.5):
                t.cut((0, y + 0.04, 0), (w * 0.93, 0.09, z * 0.9))
        t.rod(0, (w + 0.12, 0.6, -z), (w + 0.12, 0.6, z), r)
        for s in SIDES:
            t.rod(0, (w, 0.6, s * z), (w + 0.12, 0.6, s * z), r)
    elif kind == "easel":
        for x, z in ((-0.4, 0.25), (0.4, 0.25), (0, -0.5)):
            t.rod(0, (x, -0.9, z), (0, 0.9, 0), r * 1.3)
        t.box(0, (0, -0.35, 0.25), (0.45, 0.025, 0.06))
        if d.chance(0.7):
            t.box(1, (0, 0.1, 0.16), (d(0.3, 0.5), 0.42, 0.025), frame=about("x", 0.13))
    elif kind == "horse":
        for s in SIDES:
            for sx in SIDES:
                t.rod(0, (sx * 0.7, -0.8, s * 0.35), (sx * 0.7, 0.5, -s * 0.25), r)
        for k in range(d.whole(4, 7)):
            f = k / 6
            t.rod(0, (-0.7, -0.4 + 0.9 * f, 0.25 - 0.5 * f), (0.7, -0.4 + 0.9 * f, 0.25 - 0.5 * f), r * 0.8)
        t.box(1, (0, 0.2, -0.2), (0.4, 0.25, 0.02))
    elif kind == "shelf":
        w, z = d(0.4, 0.7), d(0.18, 0.3)
        for sx, sz in CORNERS:
            t.box(0, (sx * w, 0, sz * z), (r, 0.9, r))
        for k in range(n := d.whole(3, 5)):
            y = -0.75 + 1.6 * k / (n - 1)
            t.box(1, (0, y, 0), (w, 0.018, z))
            if d.chance(0.6):
                t.box(d.one(2, 3), (d(-0.4, 0.4) * w, y + 0.14, 0), (d(0.1, 0.3), 0.12, z * 0.7))
    else:
        w, z = d(0.5, 0.8), d(0.3, 0.5)
        t.box(1, (0, 0.2, 0), (w, d(0.012, 0.025), z), corner=d.one(0, z * 0.9))
        for s in SIDES:
            t.rod(0, (s * w * 0.7, 0.2, -z * 0.8), (s * w * 0.5, -0.7, z * 0.8), r)
            t.rod(0, (s * w * 0.7, 0.2, z * 0.8), (s * w * 0.5, -0.7, -z * 0.8), r)
    return t


def pot(d):
    """Saucepans, woks, teapots, jugs, watering cans, pots with lids."""
    t = Thing(blend=d.one(0.004, 0.015))
    r, h, flare, wall = d(0.4, 0.7), d(0.2, 0.55), d(-0.25, 0.3), d(0.02, 0.04)
    t.cylinder(0, (0, 0, 0), r, h, d(0, 0.1), taper=flare)
    lidded = d.chance(0.4)
    if lidded:
        t.cylinder(1, (0, h + 0.02, 0), r * (1 + flare) * 1.02, 0.025)
        t.ball(1, (0, h + 0.02, 0), (r * (1 + flare) * 0.9, d(0.05, 0.2), r * (1 + flare) * 0.9))
        t.ball(2, (0, h + 0.22, 0), (0.07, 0.07, 0.07))
    else:
        t.cut((0, 3 * wall, 0), (r - 2 * wall, h, r - 2 * wall), corner=1, edge=0.05, taper=flare)
    kind = d.one("long", "ears", "spout", "ring", "bail")
    edge = r * (1 + flare * 0.5)
    if kind == "long":
        t.rod(2, (edge, h * 0.7, 0), (edge + d(0.5, 1), h * d(0.7, 1.2), 0), d(0.035, 0.06))
    elif kind == "ears":
        for s in SIDES:
            t.add(2, (s * edge, h * 0.6, 0), (0.035, 1, 0.035), corner=0.03, ring=0.15, frame=FRONT)
    elif kind == "spout":
        t.tube(0, [(-edge * 0.8, -h * 0.3, 0), (-edge * 1.3, 0, 0), (-edge * 1.6, h * 1.1, 0)], 0.06)
        handle(t, d, 0, edge, 0, h)
    elif kind == "ring":
        handle(t, d, 2, edge, 0, h)
    else:
        t.add(2, (0, h * 0.8, 0), (0.02, 1, 0.02), corner=0.02, ring=edge, cut=(0, -1, 0, 0), stretch=(1, d(0.7, 1.2), 1))
    return t


HOUSEHOLD = [
    (sofa, 1.6), (bed_frame, 1.0), (desk, 1.2), (wardrobe, 1.6), (bookcase, 1.2), (stool, 1.0), (swivel_chair, 0.8), (kitchen_unit, 1.0),
    (appliance, 1.4), (bathroom, 1.1), (screen, 1.0), (frame, 0.8), (stairs, 0.4), (ladder, 0.4), (piano, 0.4), (light, 1.4), (open_box, 1.6),
    (bicycle, 0.6), (toy, 1.0), (rack, 0.9), (pot, 1.0),
]  # fmt: skip

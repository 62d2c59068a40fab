"""Turns a thing into a training sample: its photo, and where each column behind a pixel enters and leaves it.

Camera space as in the product: x right, y up, z towards the camera, which sits at (0, 0, distance) and looks along -z.
Lengths are in units of the object's bounding radius until they are divided by the frame's half width.
"""

import ctypes
import math
from dataclasses import dataclass

import numpy as np

from compiled import library, pointer
from shapes import about
from things import draw_procedural

# The box of the columns, in half widths of the frame: long things seen end-on are deep.
HALF_DEPTH = 1.5
# Entries and exits kept for each column: two intervals behind the front are a chair's legs seen through each other.
CROSSINGS = 8
NONE = 65535


@dataclass(frozen=True)
class Sizes:
    photo: int
    columns: int
    planes: int


@dataclass
class View:
    """One drawn thing before the camera."""

    thing: object  # of things.py
    to_object: np.ndarray  # [3,4]: camera space to the object's own, stretched
    scale: float  # object units to a camera unit
    distance: float
    centre: tuple  # of the frame, on the plane at distance 1
    half: float  # half width of the frame on the plane at distance 1
    middle: float  # z of the middle of the box
    half_depth: float
    elevation: float

    def __post_init__(self):
        # The thing's parts are where they were before it was stretched.
        self.to_own = (self.to_object / np.asarray(self.thing.stretch)[:, None]).astype(np.float32)
        self.unit = float(min(self.thing.stretch)) / self.scale
        self.camera = np.array([*self.to_own.ravel(), self.unit, self.distance, *self.centre, self.half, self.middle, self.half_depth], np.float32)

    def distances(self, x, y, z):
        """Signed distance, in camera units, at camera-space points [M]."""
        return self.thing.field.distance(*self.own(x, y, z)) * np.float32(self.unit)

    def own(self, x, y, z):
        """The same points where the thing's parts are, before it was stretched."""
        return [p[0] * x + p[1] * y + p[2] * z + p[3] for p in self.to_own]


def draw_view(rng, draw=draw_procedural, straight=0):
    """Draws a thing and a camera on it."""
    while True:
        view = frame(rng, draw(rng), straight)
        if view:
            return view


def frame(rng, thing, straight=0):
    """Draws a camera on a thing, framed by its outline as the product frames a photo; None where the thing does not fit in the box.

    `straight` of the cameras stand before a side of the thing, within a few degrees: chance does it seldom, photographers often.
    """
    u = rng.uniform
    points = thing.points() * thing.stretch
    if not len(points):
        return None
    low, high = points.min(0), points.max(0)
    centre, scale = (low + high) / 2, float(np.linalg.norm((high - low) / 2))
    elevation = math.radians(u(-5, 12) if u() < 0.4 else u(8, 42))
    roll, azimuth = math.radians(rng.normal() * 1.5), u(0, 2 * math.pi)
    if straight and u() < straight:
        azimuth = math.pi / 2 * round(azimuth / (math.pi / 2)) + math.radians(rng.normal() * 4)
    rotation = about("z", roll) @ about("x", elevation) @ about("y", azimuth)
    fov = math.radians(u(20, 55))
    distance = 1.05 / math.sin(fov / 2) * u(1, 1.2)
    seen = (points - centre) / scale @ rotation.T
    on_plane = seen[:, :2] / (distance - seen[:, 2:])
    margin = 0.03 / distance
    least, most = on_plane.min(0) - margin, on_plane.max(0) + margin
    half = float((most - least).max()) / 2 / u(0.84, 0.88)
    width = half * distance
    near, far = seen[:, 2].max(), seen[:, 2].min()
    if near - far > 2 * HALF_DEPTH * width * 0.97:
        return None
    return View(
        thing=thing, to_object=np.concatenate([rotation.T * scale, centre[:, None]], 1).astype(np.float32), scale=scale,
        distance=distance, centre=tuple(((least + most) / 2).tolist()), half=half,
        middle=float(near + far) / 2, half_depth=HALF_DEPTH * width, elevation=elevation,
    )  # fmt: skip


def rays(view, size):
    """Directions (X, Y) with z = -1 through the pixels' middles. -> two [size*size]"""
    steps = (np.arange(size, dtype=np.float32) + 0.5) / size * 2 - 1
    y, x = np.meshgrid(view.centre[1] - steps * view.half, view.centre[0] + steps * view.half, indexing="ij")
    return x.ravel().astype(np.float32), y.ravel().astype(np.float32)


def column_crossings(view, size, planes):
    """Where each pixel's ray enters and leaves the thing, as depths in 0 (near face of the box) .. 1 (far face).

    The distance is taken on four times as many planes as `planes` says, where a surface may be: plates thinner than the step would be missed otherwise.
    -> [CROSSINGS, size, size] float32, infinity where there are no more
    """
    found = np.full((CROSSINGS, size, size), np.inf, np.float32)
    library("photograph").column_crossings(view.thing.field.handle, pointer(view.camera), size, 4 * planes, CROSSINGS, pointer(found))
    return found


def trace(view, size, steps=36):
    """Sphere tracing. -> depth t along the rays [size*size], coverage of the pixels 0..1 [size*size]"""
    depth, coverage = np.empty(size * size, np.float32), np.empty(size * size, np.float32)
    library("photograph").trace(view.thing.field.handle, pointer(view.camera), size, steps, pointer(depth), pointer(coverage))
    return depth, coverage


class Materials:
    """A few random materials and how a thing's parts wear them. Colours are linear light."""

    def __init__(self, rng, count=4):
        u = rng.uniform
        self.base, self.second = self._palette(rng, count), self._palette(rng, count)
        self.kind = rng.choice(8, size=count, p=[0.5, 0.08, 0.05, 0.04, 0.12, 0.11, 0.06, 0.04])
        self.wave = rng.normal(size=(count, 3, 3)) * u(2, 14)
        self.phase, self.level = u(0, 6.28, size=count), u(-0.6, 0.7, size=count)
        self.strength = u(0.15, 1, size=count)
        self.gloss = np.where(u(size=count) < 0.5, u(0, 0.7, size=count), 0)
        self.sharpness = 2 ** u(2, 7, size=count)
        self.metal = u(size=count) < 0.12
        self.uniform = u() < 0.3  # one material on all parts
        self.tint = np.exp(rng.normal(size=3) * 0.12) * u(0.8, 1.15)  # of things that bring their own paint

    @staticmethod
    def _palette(rng, count):
        # Even in sRGB, so that black things are as frequent as white ones.
        grey = rng.uniform(0.12, 0.98, size=(count, 1)) ** 2.2 * rng.uniform(0.92, 1.08, size=(count, 3))
        warm = np.array([0.55, 0.33, 0.17]) * rng.uniform(0.2, 1.6, size=(count, 1)) * rng.uniform(0.8, 1.2, size=(count, 3))
        vivid = rng.uniform(0, 1, size=(count, 3)) ** 1.9
        choice = rng.choice(3, size=(count, 1), p=[0.42, 0.3, 0.28])
        return np.clip(np.where(choice == 0, grey, np.where(choice == 1, warm, vivid)), 0.01, 0.97)

    def at(self, view, x, y, z):
        """Albedo [3,M], gloss [M], sharpness [M], metal [M] at camera-space surface points."""
        own = view.own(x, y, z)
        painted = view.thing.colours(*own)
        which = view.thing.parts(*own).astype(np.int64)
        m = np.zeros_like(which) if self.uniform else which % len(self.kind)
        p = np.stack(own, -1)
        wave = np.einsum("mij,mj->mi", self.wave[m], p) + self.phase[m][:, None]
        s = np.sin(wave)
        level = self.level[m]
        cell = np.floor(p * np.abs(self.wave[m][:, 0]) * 1.5 + self.phase[m][:, None])
        hashed = np.modf(np.abs(np.sin(cell @ np.array([12.99, 78.23, 37.72])) * 43758.5))[0]
        soft = np.sin(wave[:, 0] + 1.5 * np.sin(wave[:, 1]) + 1.5 * np.sin(wave[:, 2]))
        grain = np.sin(6 * p[:, 0] * self.sharpness[m] ** 0.3 + 2 * soft) * 0.5 + 0.5
        band = (np.abs(p[:, 1] - 0.3 * level) < 0.22) * (0.35 + 0.65 * (hashed > 0.5))
        mix = np.select(
            [self.kind[m] == k for k in range(1, 8)],
            [s[:, 0] > level, s[:, 0] * s[:, 1] > 0, s.min(1) > -0.2 + 0.4 * level, soft * 0.5 + 0.5, grain, band, hashed > 0.6],
            0.0,
        ) * self.strength[m]
        albedo = self.base[m] * (1 - mix[:, None]) + self.second[m] * mix[:, None]
        if painted is not None:
            albedo = np.clip(painted * self.tint, 0.01, 0.97)
        return albedo.T.astype(np.float32), self.gloss[m].astype(np.float32), self.sharpness[m].astype(np.float32), self.metal[m]


class Light:
    """A key light that may throw shadows, a fill, and a sky and floor that shiny things mirror."""

    def __init__(self, rng):
        u = rng.uniform
        towards = np.array([u(-1.2, 1.2), u(0, 1.5), u(0.1, 1.3)])
        self.key = (towards / np.linalg.norm(towards)).astype(np.float32)
        self.power, self.ambient = u(0.3, 1.1), u(0.25, 0.9)
        self.tint = np.clip(1 + rng.normal(size=3) * 0.07, 0.7, 1.3).astype(np.float32)
        self.sky, self.floor = u(0.6, 1.2), u(0.2, 0.9)
        self.shadows = u() < 0.6
        self.window = u(0.1, 0.8)

    def environment(self, n):
        """Brightness of the surroundings in direction n [3,M]: bright above, a window, a floor."""
        sky = self.floor + (self.sky - self.floor) * (n[1] * 0.5 + 0.5)
        return sky + 1.5 / (1 + np.exp(-30 * (self.key @ n - 1 + 0.3 * self.window)))

    def falls(self, view, x, y, z):
        """On surface points [M]. -> normals [3,M], share of the key light [M], of the open sky [M]"""
        normals, lit, sky = np.empty((3, len(x)), np.float32), np.empty(len(x), np.float32), np.empty(len(x), np.float32)
        x, y, z = (np.ascontiguousarray(c, np.float32) for c in (x, y, z))
        library("photograph").light(
            view.thing.field.handle, pointer(view.camera), pointer(x), pointer(y), pointer(z), ctypes.c_int64(len(x)), ctypes.c_float(view.thing.reach),
            pointer(self.key), int(self.shadows), pointer(normals), pointer(lit), pointer(sky),
        )  # fmt: skip
        return normals, lit, sky

    def shade(self, view, x, y, z, albedo, gloss, sharpness, metal):
        n, lit, open_sky = self.falls(view, x, y, z)
        facing = (self.key @ n).clip(0)
        diffuse = self.power * facing * lit + self.ambient * open_sky.clip(0.1, 1) * (0.7 + 0.3 * n[1])
        to_eye = np.stack([-x, -y, view.distance - z])
        to_eye /= np.linalg.norm(to_eye, axis=0)
        towards = (n * to_eye).sum(0)
        mirror = 2 * towards * n - to_eye
        highlight = gloss * self.power * lit * (self.key @ mirror).clip(0) ** sharpness
        fresnel = gloss * (0.04 + 0.5 * (1 - towards.clip(0, 1)) ** 5)
        around = self.environment(mirror)
        plain = albedo * diffuse + highlight + fresnel * around
        metallic = albedo * around * (0.4 + 0.6 * open_sky.clip(0.1, 1)) + highlight
        return np.where(metal, metallic, plain) * self.tint[:, None]


def to_srgb(linear):
    linear = linear.clip(0, 1)
    return np.where(linear < 0.0031308, linear * 12.92, 1.055 * linear.clip(1e-6) ** (1 / 2.4) - 0.055)


def develop(rng, view, sizes):
    """One photo of the thing before the camera, as `photographs` returns it; None if it shows almost nothing."""
    found = column_crossings(view, sizes.columns, sizes.planes)
    if np.isfinite(found[0]).mean() < 0.03:
        return None
    t, coverage = trace(view, sizes.photo)
    x, y = rays(view, sizes.photo)
    seen = coverage > 0
    x, y, z = (x * t)[seen], (y * t)[seen], (np.float32(view.distance) - t)[seen]
    materials, light = Materials(rng), Light(rng)
    colour = light.shade(view, x, y, z, *materials.at(view, x, y, z))
    # Exposed as a camera would: the object's bright parts near white, now and then too dark or too bright; or by the
    # light alone, so that black things stay black.
    if rng.uniform() < 0.5:
        exposure = 0.85 / max(float(np.quantile(colour.mean(0), 0.97)) if colour.shape[1] else 1, 0.05)
        exposure = exposure ** rng.uniform(0.3, 1) * rng.uniform(0.7, 1.15)
    else:
        exposure = rng.uniform(0.75, 1.2) / (0.8 * light.power + light.ambient)
    photo = np.zeros((4, sizes.photo * sizes.photo), np.float32)
    photo[:3, seen] = to_srgb(colour * exposure)
    photo[3] = coverage
    last = np.where(np.isfinite(found), found, -1).max(0).ravel()
    behind = last >= 0
    bx, by = (c[behind] for c in rays(view, sizes.columns))
    bt = np.float32(view.distance) - (view.middle + view.half_depth * (1 - 2 * last[behind]))
    back = np.zeros((3, len(last)), np.float32)
    albedo, _, _, _ = materials.at(view, bx * bt, by * bt, np.float32(view.distance) - bt)
    back[:, behind] = to_srgb(albedo * 0.8)
    as_bytes = lambda a, size: (a.clip(0, 1) * 255).round().astype(np.uint8).reshape(-1, size, size)  # noqa: E731
    quantised = np.where(np.isfinite(found), found * (NONE - 1), NONE).round().astype(np.uint16)
    return as_bytes(photo, sizes.photo), quantised, as_bytes(back, sizes.columns), view.elevation, view.thing.name


def photographs(rng, sizes, draw=draw_procedural, straight=0, most=1):
    """Up to `most` training samples of one thing that `draw` draws, each from another side, in other materials and light, and stretched anew.

    Each is a photo uint8 [4,S,S] (RGB straight, alpha), crossings uint16 [CROSSINGS,C,C] (65534 is the far face, NONE no crossing),
    back uint8 [3,C,C] (colour of the farthest surface in even light), elevation in radians, the thing's name
    """
    while True:
        view = draw_view(rng, draw, straight)
        sample = develop(rng, view, sizes)
        if sample:
            break
    yield sample
    for _ in range(most - 1):
        view.thing.again(rng)
        view = frame(rng, view.thing, straight) or view
        sample = develop(rng, view, sizes)
        if sample:
            yield sample


def photograph(rng, sizes, draw=draw_procedural, straight=0):
    """One of them."""
    return next(photographs(rng, sizes, draw, straight))

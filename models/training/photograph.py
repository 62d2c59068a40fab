"""Turns a thing into a training sample: its photo, and where each column behind a pixel enters and leaves it.

Camera space as in the product: x right, y up, z towards the camera, which sits at (0, 0, distance) and looks along -z.
Lengths are in units of the object's bounding radius until they are divided by the frame's half width.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

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
    """One drawn thing before the camera. All arrays float32."""

    thing: object  # of things.py
    to_object: torch.Tensor  # [3,4]: camera space to the object's own, stretched
    scale: float  # object units to a camera unit
    distance: float
    centre: tuple  # of the frame, on the plane at distance 1
    half: float  # half width of the frame on the plane at distance 1
    middle: float  # z of the middle of the box
    half_depth: float
    elevation: float

    def distances(self, x, y, z):
        """Signed distance, in camera units, at camera-space points [M]."""
        return self.thing.distance(*self.own(x, y, z)) * (float(self.thing.stretch.min()) / self.scale)

    def own(self, x, y, z):
        """The same points where the thing's parts are, before it was stretched."""
        p = self.to_object
        return [(p[i, 0] * x + p[i, 1] * y + p[i, 2] * z + p[i, 3]) / float(self.thing.stretch[i]) for i in range(3)]


def draw_view(rng, draw=draw_procedural, straight=0):
    """Draws a thing and a camera on it, framed by its outline as the product frames a photo.

    `straight` of the cameras stand before a side of the thing, within a few degrees: chance does it seldom, photographers often.
    """
    u = rng.uniform
    while True:
        thing = draw(rng)
        points = thing.points() * thing.stretch
        if not len(points):
            continue
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
            continue
        affine = np.concatenate([rotation.T * scale, centre[:, None]], 1).astype(np.float32)
        return View(
            thing=thing, to_object=torch.from_numpy(affine), scale=scale,
            distance=distance, centre=tuple(((least + most) / 2).tolist()), half=half,
            middle=float(near + far) / 2, half_depth=HALF_DEPTH * width, elevation=elevation,
        )  # fmt: skip


def rays(view, size):
    """Directions (X, Y) with z = -1 through the pixels' middles. -> two [size*size]"""
    steps = (torch.arange(size, dtype=torch.float32) + 0.5) / size * 2 - 1
    y, x = torch.meshgrid(view.centre[1] - steps * view.half, view.centre[0] + steps * view.half, indexing="ij")
    return x.reshape(-1), y.reshape(-1)


def column_crossings(view, size, planes):
    """Where each pixel's ray enters and leaves the thing, as depths in 0 (near face of the box) .. 1 (far face).

    The distance is taken on `planes`, then twice half-way between those whose distances leave room for a surface: plates
    thinner than the step would be missed otherwise.
    -> [CROSSINGS, size, size] float32, infinity where there are no more
    """
    x, y = rays(view, size)
    slant = (x * x + y * y + 1).sqrt()
    count = size * size

    def distances(depth, column):
        """At depths 0..1 [M] of the columns [M]."""
        t = view.distance - view.middle - view.half_depth * (1 - 2 * depth)
        return view.distances(x[column] * t, y[column] * t, view.distance - t)

    depths = (torch.arange(planes, dtype=torch.float32) + 0.5) / planes
    values = torch.cat([distances(part.repeat_interleave(count), torch.arange(count).repeat(len(part))).reshape(-1, count) for part in depths.split(8)]).T
    # The box's faces are outside, so that every interval closes.
    outside = torch.ones(count, 1)
    values = torch.cat([outside, values, outside], 1)
    step = 1 / planes
    for _ in range(2):
        before, after = values[:, :-1], values[:, 1:]
        between = (before + after) / 2
        column, k = ((before + after).abs() < (2 * view.half_depth * step * slant)[:, None]).nonzero(as_tuple=True)
        first = 0.5 / planes - 1 / planes
        at = first + (k + 0.5) * step
        between[column, k] = distances(at, column)
        finer = torch.empty(count, 2 * values.shape[1] - 1)
        finer[:, 0::2], finer[:, 1::2] = values, between
        values, step = finer, step / 2
    column, k = ((values[:, :-1] < 0) != (values[:, 1:] < 0)).nonzero(as_tuple=True)
    before, after = values[column, k], values[column, k + 1]
    depth = first + (k + before / (before - after + 1e-9)) * step
    order = torch.arange(len(column)) - torch.searchsorted(column, column)
    keep = order < CROSSINGS
    found = torch.full((CROSSINGS, count), math.inf)
    found[order[keep], column[keep]] = depth[keep].clamp(0, 1)
    return found.reshape(CROSSINGS, size, size)


def trace(view, size, steps=36):
    """Sphere tracing. -> depth t along the rays [size*size], coverage of the pixels 0..1 [size*size]"""
    x, y = rays(view, size)
    slant = (x * x + y * y + 1).sqrt()
    first, last = view.distance - view.middle - view.half_depth, view.distance - view.middle + view.half_depth
    t = torch.full_like(x, first)
    pixel = 2 * view.half * view.distance / size
    closest = torch.full_like(x, math.inf)
    best = t.clone()
    for _ in range(steps):
        d = view.distances(x * t, y * t, view.distance - t)
        nearer = d < closest
        closest, best = torch.where(nearer, d, closest), torch.where(nearer, t, best)
        t = (t + d * 0.9 / slant).clamp(max=last)
    hit = closest < 0.15 * pixel
    coverage = torch.where(hit, torch.ones_like(x), (0.65 - closest / pixel).clamp(0, 1))
    return best, coverage


def normals(view, x, y, z):
    """Gradient of the distance by four tetrahedral probes. -> [3,M], unit length"""
    e = view.thing.reach
    signs = torch.tensor([[1.0, -1, -1], [-1, -1, 1], [-1, 1, -1], [1, 1, 1]])
    at = [torch.cat([c + e * s for s in signs[:, i]]) for i, c in enumerate((x, y, z))]
    d = view.distances(*at).reshape(4, -1)
    n = signs.T @ d
    return n / (n.norm(dim=0, keepdim=True) + 1e-9)


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
        p = torch.stack(own, -1).numpy()
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
        as_tensor = lambda a: torch.from_numpy(np.ascontiguousarray(a, np.float32))  # noqa: E731
        return as_tensor(albedo.T), as_tensor(self.gloss[m]), as_tensor(self.sharpness[m]), torch.from_numpy(self.metal[m])


class Light:
    """A key light that may throw shadows, a fill, and a sky and floor that shiny things mirror."""

    def __init__(self, rng):
        u = rng.uniform
        towards = np.array([u(-1.2, 1.2), u(0, 1.5), u(0.1, 1.3)])
        self.key = (towards / np.linalg.norm(towards)).astype(np.float32)
        self.power, self.ambient = u(0.3, 1.1), u(0.25, 0.9)
        self.tint = torch.from_numpy(np.clip(1 + rng.normal(size=3) * 0.07, 0.7, 1.3).astype(np.float32))
        self.sky, self.floor = u(0.6, 1.2), u(0.2, 0.9)
        self.shadows = u() < 0.6
        self.window = u(0.1, 0.8)

    def environment(self, n):
        """Brightness of the surroundings in direction n [3,M]: bright above, a window, a floor."""
        sky = self.floor + (self.sky - self.floor) * (n[1] * 0.5 + 0.5)
        return sky + 1.5 * torch.sigmoid(30 * ((n * torch.from_numpy(self.key)[:, None]).sum(0) - 1 + 0.3 * self.window))

    def shade(self, view, x, y, z, n, albedo, gloss, sharpness, metal):
        key = torch.from_numpy(self.key)[:, None]
        facing = (n * key).sum(0).clamp(min=0)
        lift = 0.02
        lit = torch.ones_like(x)
        if self.shadows:
            t = torch.full_like(x, 0.04)
            for _ in range(12):
                d = view.distances(x + n[0] * lift + self.key[0] * t, y + n[1] * lift + self.key[1] * t, z + n[2] * lift + self.key[2] * t)
                lit = torch.minimum(lit, (d / t * 8).clamp(0, 1))
                t = t + d.clamp(0.03, 0.3)
        open_sky = torch.ones_like(x)
        for reach in (0.05, 0.12, 0.25):
            d = view.distances(x + n[0] * reach, y + n[1] * reach, z + n[2] * reach)
            open_sky = open_sky - (reach - d).clamp(min=0) * (0.35 / reach)
        diffuse = self.power * facing * lit + self.ambient * open_sky.clamp(0.1, 1) * (0.7 + 0.3 * n[1])
        to_eye = torch.stack([-x, -y, view.distance - z])
        to_eye = to_eye / to_eye.norm(dim=0, keepdim=True)
        mirror = 2 * (n * to_eye).sum(0) * n - to_eye
        highlight = gloss * self.power * lit * ((mirror * key).sum(0).clamp(min=0) ** sharpness)
        fresnel = gloss * (0.04 + 0.5 * (1 - (n * to_eye).sum(0).clamp(0, 1)) ** 5)
        around = self.environment(mirror)
        plain = albedo * diffuse + highlight + fresnel * around
        metallic = albedo * around * (0.4 + 0.6 * open_sky.clamp(0.1, 1)) + highlight
        return torch.where(metal, metallic, plain) * self.tint[:, None]


def to_srgb(linear):
    linear = linear.clamp(0, 1)
    return torch.where(linear < 0.0031308, linear * 12.92, 1.055 * linear.clamp(min=1e-6) ** (1 / 2.4) - 0.055)


def photograph(rng, sizes, draw=draw_procedural, straight=0):
    """One training sample of what `draw` draws, from where `draw_view` puts the camera.

    -> photo uint8 [4,S,S] (RGB straight, alpha), crossings uint16 [CROSSINGS,C,C] (65534 is the far face, NONE no crossing),
    back uint8 [3,C,C] (colour of the farthest surface in even light), elevation in radians, the thing's name
    """
    while True:
        view = draw_view(rng, draw, straight)
        found = column_crossings(view, sizes.columns, sizes.planes)
        if torch.isfinite(found[0]).float().mean() < 0.03:
            continue
        t, coverage = trace(view, sizes.photo)
        x, y = rays(view, sizes.photo)
        seen = coverage > 0
        x, y, z = (x * t)[seen], (y * t)[seen], (view.distance - t)[seen]
        materials, light = Materials(rng), Light(rng)
        n = normals(view, x, y, z)
        colour = light.shade(view, x, y, z, n, *materials.at(view, x, y, z))
        # Exposed as a camera would: the object's bright parts near white, now and then too dark or too bright; or by the
        # light alone, so that black things stay black.
        if rng.uniform() < 0.5:
            exposure = 0.85 / max(float(colour.mean(0).quantile(0.97)) if colour.shape[1] else 1, 0.05)
            exposure = exposure ** rng.uniform(0.3, 1) * rng.uniform(0.7, 1.15)
        else:
            exposure = rng.uniform(0.75, 1.2) / (0.8 * light.power + light.ambient)
        colour = to_srgb(colour * exposure)
        photo = torch.zeros(4, sizes.photo * sizes.photo)
        photo[:3, seen] = colour
        photo[3] = coverage
        last = torch.where(torch.isfinite(found), found, torch.full_like(found, -1)).amax(0).reshape(-1)
        behind = last >= 0
        bx, by = rays(view, sizes.columns)
        bt = view.distance - (view.middle + view.half_depth * (1 - 2 * last))
        back = torch.zeros(3, len(last))
        albedo, _, _, _ = materials.at(view, (bx * bt)[behind], (by * bt)[behind], (view.distance - bt)[behind])
        back[:, behind] = to_srgb(albedo * 0.8)
        as_bytes = lambda a, size: (a.clamp(0, 1) * 255).round().to(torch.uint8).numpy().reshape(-1, size, size)  # noqa: E731
        quantised = torch.where(torch.isfinite(found), found * (NONE - 1), torch.full_like(found, NONE)).round()
        return as_bytes(photo, sizes.photo), quantised.numpy().astype(np.uint16), as_bytes(back, sizes.columns), view.elevation, view.thing.name

"""Makes training samples of a subject: a photo, and where each column behind a pixel enters and leaves the subject.

Camera space is that of the product: x right, y up, z towards the camera, which is at (0, 0, distance) and looks along
-z. Lengths are in units of the object's bounding radius until they are divided by the half width of the frame.
"""

import ctypes
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from compiled import library, pointer
from shapes import about
from subjects import MeshSubject, ProceduralSubject, draw_procedural

# Half the depth of the box of the columns, in half widths of the frame: long objects seen end-on are deep.
HALF_DEPTH = 1.5
# Entries and exits kept for each column: two intervals behind the front are a chair's legs seen through each other.
CROSSINGS = 8
NONE = 65535  # no crossing; 65534 is the far face

Subject = ProceduralSubject | MeshSubject
DrawSubject = Callable[[np.random.Generator], Subject]
# Photo uint8 [4,S,S] (straight RGB, alpha), crossings uint16 [CROSSINGS,C,C], back uint8 [3,C,C] (color of the farthest
# surface in even light), elevation in radians, name of the subject.
Sample = tuple[np.ndarray, np.ndarray, np.ndarray, float, str]


@dataclass(frozen=True)
class Sizes:
    """Pixels of the photo, columns along a side, and depth planes of a column."""

    photo: int
    columns: int
    planes: int


@dataclass
class View:
    """A subject in front of a camera."""

    subject: Subject
    to_object: np.ndarray  # [3,4]: camera space to the object's own, stretched
    scale: float  # object units to a camera unit
    distance: float
    center: tuple  # of the frame, on the plane at distance 1
    half: float  # half width of the frame on the plane at distance 1
    middle: float  # z of the middle of the box
    half_depth: float
    elevation: float

    def __post_init__(self) -> None:
        # The parts of the subject are in its frame before stretching.
        self.to_own = (self.to_object / np.asarray(self.subject.stretch)[:, None]).astype(np.float32)
        self.unit = float(min(self.subject.stretch)) / self.scale
        self.camera = np.array(
            [*self.to_own.ravel(), self.unit, self.distance, *self.center, self.half, self.middle, self.half_depth],
            np.float32,
        )

    def distances(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Signed distances in camera units at camera-space points [M]."""
        return self.subject.field.distance(*self.own(x, y, z)) * np.float32(self.unit)

    def own(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
        """The same points in the unstretched frame of the subject's parts."""
        return [p[0] * x + p[1] * y + p[2] * z + p[3] for p in self.to_own]


def draw_view(rng: np.random.Generator, draw: DrawSubject = draw_procedural, straight: float = 0) -> View:
    """Draws a subject and a camera."""
    while True:
        view = frame(rng, draw(rng), straight)
        if view:
            return view


def frame(rng: np.random.Generator, subject: Subject, straight: float = 0) -> View | None:
    """Draws a camera and frames the subject by its outline, as the product frames a photo.

    `straight` is the share of cameras within a few degrees of a side of the subject: rare by chance, common in photos.
    Returns None if the subject does not fit in the box.
    """
    u = rng.uniform
    points = subject.points() * subject.stretch
    if not len(points):
        return None
    low, high = points.min(0), points.max(0)
    center, scale = (low + high) / 2, float(np.linalg.norm((high - low) / 2))
    elevation = math.radians(u(-5, 12) if u() < 0.4 else u(8, 42))
    roll, azimuth = math.radians(rng.normal() * 1.5), u(0, 2 * math.pi)
    if straight and u() < straight:
        azimuth = math.pi / 2 * round(azimuth / (math.pi / 2)) + math.radians(rng.normal() * 4)
    rotation = about("z", roll) @ about("x", elevation) @ about("y", azimuth)
    fov = math.radians(u(20, 55))
    distance = 1.05 / math.sin(fov / 2) * u(1, 1.2)
    seen = (points - center) / scale @ rotation.T
    on_plane = seen[:, :2] / (distance - seen[:, 2:])
    margin = 0.03 / distance
    plane_low, plane_high = on_plane.min(0) - margin, on_plane.max(0) + margin
    half = float((plane_high - plane_low).max()) / 2 / u(0.84, 0.88)
    width = half * distance
    near, far = seen[:, 2].max(), seen[:, 2].min()
    if near - far > 2 * HALF_DEPTH * width * 0.97:
        return None
    return View(
        subject=subject,
        to_object=np.concatenate([rotation.T * scale, center[:, None]], 1).astype(np.float32),
        scale=scale,
        distance=distance,
        center=tuple(((plane_low + plane_high) / 2).tolist()),
        half=half,
        middle=float(near + far) / 2,
        half_depth=HALF_DEPTH * width,
        elevation=elevation,
    )


def rays(view: View, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions (X, Y) with z = -1 through the centers of the pixels. -> two [size*size]"""
    steps = (np.arange(size, dtype=np.float32) + 0.5) / size * 2 - 1
    y, x = np.meshgrid(view.center[1] - steps * view.half, view.center[0] + steps * view.half, indexing="ij")
    return x.ravel().astype(np.float32), y.ravel().astype(np.float32)


def column_crossings(view: View, size: int, planes: int) -> np.ndarray:
    """Where each pixel's ray enters and leaves the subject, as depths from 0 (near face of the box) to 1 (far face).

    Near a surface, distances are taken on four times as many planes as `planes`: otherwise plates thinner than a step
    would be missed. -> [CROSSINGS,size,size] float32, infinity where there are no more
    """
    found = np.full((CROSSINGS, size, size), np.inf, np.float32)
    library("photograph").column_crossings(
        view.subject.field.handle, pointer(view.camera), size, 4 * planes, CROSSINGS, pointer(found)
    )
    return found


def trace(view: View, size: int, steps: int = 36) -> tuple[np.ndarray, np.ndarray]:
    """Sphere tracing. -> depth t along the rays [size*size], coverage of the pixels from 0 to 1 [size*size]"""
    depth, coverage = np.empty(size * size, np.float32), np.empty(size * size, np.float32)
    library("photograph").trace(
        view.subject.field.handle, pointer(view.camera), size, steps, pointer(depth), pointer(coverage)
    )
    return depth, coverage


class Materials:
    """A few random materials for a subject's parts. Colors are linear light."""

    def __init__(self, rng: np.random.Generator, count: int = 4) -> None:
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
        self.tint = np.exp(rng.normal(size=3) * 0.12) * u(0.8, 1.15)  # of subjects with their own paint

    @staticmethod
    def _palette(rng: np.random.Generator, count: int) -> np.ndarray:
        # Uniform in sRGB: black objects are as frequent as white ones.
        gray = rng.uniform(0.12, 0.98, size=(count, 1)) ** 2.2 * rng.uniform(0.92, 1.08, size=(count, 3))
        warm = (
            np.array([0.55, 0.33, 0.17])
            * rng.uniform(0.2, 1.6, size=(count, 1))
            * rng.uniform(0.8, 1.2, size=(count, 3))
        )
        vivid = rng.uniform(0, 1, size=(count, 3)) ** 1.9
        choice = rng.choice(3, size=(count, 1), p=[0.42, 0.3, 0.28])
        return np.clip(np.where(choice == 0, gray, np.where(choice == 1, warm, vivid)), 0.01, 0.97)

    def at(
        self, view: View, x: np.ndarray, y: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Albedo [3,M], gloss [M], sharpness [M], metal [M] at camera-space surface points."""
        own = view.own(x, y, z)
        painted = view.subject.colors(*own)
        which = view.subject.parts(*own).astype(np.int64)
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
        mix = (
            np.select(
                [self.kind[m] == k for k in range(1, 8)],
                [
                    s[:, 0] > level,
                    s[:, 0] * s[:, 1] > 0,
                    s.min(1) > -0.2 + 0.4 * level,
                    soft * 0.5 + 0.5,
                    grain,
                    band,
                    hashed > 0.6,
                ],
                0.0,
            )
            * self.strength[m]
        )
        albedo = self.base[m] * (1 - mix[:, None]) + self.second[m] * mix[:, None]
        if painted is not None:
            albedo = np.clip(painted * self.tint, 0.01, 0.97)
        return (
            albedo.T.astype(np.float32),
            self.gloss[m].astype(np.float32),
            self.sharpness[m].astype(np.float32),
            self.metal[m],
        )


class Light:
    """A key light that may cast shadows, a fill light, and a sky and floor that shiny materials reflect."""

    def __init__(self, rng: np.random.Generator) -> None:
        u = rng.uniform
        towards = np.array([u(-1.2, 1.2), u(0, 1.5), u(0.1, 1.3)])
        self.key = (towards / np.linalg.norm(towards)).astype(np.float32)
        self.power, self.ambient = u(0.3, 1.1), u(0.25, 0.9)
        self.tint = np.clip(1 + rng.normal(size=3) * 0.07, 0.7, 1.3).astype(np.float32)
        self.sky, self.floor = u(0.6, 1.2), u(0.2, 0.9)
        self.shadows = u() < 0.6
        self.window = u(0.1, 0.8)

    def environment(self, n: np.ndarray) -> np.ndarray:
        """Brightness of the surroundings in direction n [3,M]: bright above, a window, a floor."""
        sky = self.floor + (self.sky - self.floor) * (n[1] * 0.5 + 0.5)
        return sky + 1.5 / (1 + np.exp(-30 * (self.key @ n - 1 + 0.3 * self.window)))

    def incident(
        self, view: View, x: np.ndarray, y: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """At surface points [M]: normals [3,M], the share of the key light [M] and of the open sky [M]."""
        normals, lit, sky = (
            np.empty((3, len(x)), np.float32),
            np.empty(len(x), np.float32),
            np.empty(len(x), np.float32),
        )
        x, y, z = (np.ascontiguousarray(c, np.float32) for c in (x, y, z))
        library("photograph").light(
            view.subject.field.handle,
            pointer(view.camera),
            pointer(x),
            pointer(y),
            pointer(z),
            ctypes.c_int64(len(x)),
            ctypes.c_float(view.subject.reach),
            pointer(self.key),
            int(self.shadows),
            pointer(normals),
            pointer(lit),
            pointer(sky),
        )
        return normals, lit, sky

    def shade(
        self,
        view: View,
        x: np.ndarray,
        y: np.ndarray,
        z: np.ndarray,
        albedo: np.ndarray,
        gloss: np.ndarray,
        sharpness: np.ndarray,
        metal: np.ndarray,
    ) -> np.ndarray:
        """The color of surface points in linear light. -> [3,M]"""
        n, lit, open_sky = self.incident(view, x, y, z)
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


def to_srgb(linear: np.ndarray) -> np.ndarray:
    """Linear light to sRGB, both in 0 to 1."""
    linear = linear.clip(0, 1)
    return np.where(linear < 0.0031308, linear * 12.92, 1.055 * linear.clip(1e-6) ** (1 / 2.4) - 0.055)


def render_sample(rng: np.random.Generator, view: View, sizes: Sizes) -> Sample | None:
    """One sample of the subject in this view. None if it shows almost nothing of it."""
    found = column_crossings(view, sizes.columns, sizes.planes)
    if np.isfinite(found[0]).mean() < 0.03:
        return None
    t, coverage = trace(view, sizes.photo)
    x, y = rays(view, sizes.photo)
    seen = coverage > 0
    x, y, z = (x * t)[seen], (y * t)[seen], (np.float32(view.distance) - t)[seen]
    materials, light = Materials(rng), Light(rng)
    color = light.shade(view, x, y, z, *materials.at(view, x, y, z))
    # Half of the photos are exposed as by a camera: bright parts near white, sometimes too dark or too bright. The
    # others are exposed by the light alone, which keeps black objects black.
    if rng.uniform() < 0.5:
        exposure = 0.85 / max(float(np.quantile(color.mean(0), 0.97)) if color.shape[1] else 1, 0.05)
        exposure = exposure ** rng.uniform(0.3, 1) * rng.uniform(0.7, 1.15)
    else:
        exposure = rng.uniform(0.75, 1.2) / (0.8 * light.power + light.ambient)
    photo = np.zeros((4, sizes.photo * sizes.photo), np.float32)
    photo[:3, seen] = to_srgb(color * exposure)
    photo[3] = coverage
    last = np.where(np.isfinite(found), found, -1).max(0).ravel()
    behind = last >= 0
    bx, by = (c[behind] for c in rays(view, sizes.columns))
    bt = np.float32(view.distance) - (view.middle + view.half_depth * (1 - 2 * last[behind]))
    back = np.zeros((3, len(last)), np.float32)
    albedo, _, _, _ = materials.at(view, bx * bt, by * bt, np.float32(view.distance) - bt)
    back[:, behind] = to_srgb(albedo * 0.8)
    as_bytes = lambda a, size: (a.clip(0, 1) * 255).round().astype(np.uint8).reshape(-1, size, size)  # noqa: E731
    quantized = np.where(np.isfinite(found), found * (NONE - 1), NONE).round().astype(np.uint16)
    return as_bytes(photo, sizes.photo), quantized, as_bytes(back, sizes.columns), view.elevation, view.subject.name


def photographs(
    rng: np.random.Generator, sizes: Sizes, draw: DrawSubject = draw_procedural, straight: float = 0, most: int = 1
) -> Iterator[Sample]:
    """Up to `most` samples of one subject that `draw` draws.

    Each is from another side, in other materials and light, and stretched anew.
    """
    while True:
        view = draw_view(rng, draw, straight)
        sample = render_sample(rng, view, sizes)
        if sample:
            break
    yield sample
    for _ in range(most - 1):
        view.subject.vary(rng)
        view = frame(rng, view.subject, straight) or view
        sample = render_sample(rng, view, sizes)
        if sample:
            yield sample


def photograph(
    rng: np.random.Generator, sizes: Sizes, draw: DrawSubject = draw_procedural, straight: float = 0
) -> Sample:
    """One sample."""
    return next(photographs(rng, sizes, draw, straight))

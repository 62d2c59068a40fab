"""What can be photographed: a procedural thing, or a volume made from a mesh. Both answer in a frame of their own, y up."""

import ctypes
import functools

import numpy as np

from compiled import library, pointer
from recipes import draw_thing
from voxelise import Volume


class Field:
    """Signed distances from a thing, in photograph.cpp."""

    def __init__(self, make, *numbers):
        new = getattr(library("photograph"), make)
        new.restype = ctypes.c_void_p
        self.kept = numbers
        self.handle = ctypes.c_void_p(new(*(pointer(n) if isinstance(n, np.ndarray) else n for n in numbers)))

    def __del__(self):
        library("photograph").field_free(self.handle)

    def _at(self, function, points, answers, *numbers):
        x, y, z = (np.ascontiguousarray(c, np.float32) for c in points)
        getattr(library("photograph"), function)(self.handle, pointer(x), pointer(y), pointer(z), ctypes.c_int64(len(x)), *numbers, pointer(answers))
        return answers

    def distance(self, x, y, z):
        """At points [M]. -> [M]"""
        return self._at("field_distances", (x, y, z), np.empty(len(x), np.float32))

    def bounded(self, x, y, z, enough):
        """The distance where it is within `enough` of 0; elsewhere any number between it and 0 that is not. -> [M]"""
        return self._at("field_bounded", (x, y, z), np.empty(len(x), np.float32), ctypes.c_float(enough))

    def nearest(self, x, y, z):
        """Which part is nearest at points [M]. -> int32 [M]"""
        return self._at("field_nearest", (x, y, z), np.empty(len(x), np.int32))


class Procedural:
    """A thing that recipes.py drew."""

    reach = 0.004  # of the probes for normals

    def __init__(self, name, solid, hollow, material, blend, stretch):
        """solid [P,WIDTH], hollow [N,WIDTH], material [P], stretch [3]"""
        self.name, self.material, self.stretch = name, material, stretch
        self.solid, self.hollow, self.blend = np.ascontiguousarray(solid, np.float32), np.ascontiguousarray(hollow, np.float32), max(float(blend), 0.004)
        self.field = Field("parts_new", self.solid, len(self.solid), self.hollow, len(self.hollow), ctypes.c_float(self.blend))

    def again(self, rng):
        """Another thing of the same parts: stretched anew."""
        self.stretch = rng.uniform(0.8, 1.25, 3).astype(np.float32)

    def parts(self, x, y, z):
        """Which material there is at points [M]. -> [M]"""
        return self.material[self.field.nearest(x, y, z)]

    def colours(self, x, y, z):
        """Linear light [M,3] of its own paint: it has none, materials are drawn for it."""
        return None

    def points(self):
        """Points [N,3] inside it or nearly so, unstretched; empty if there is next to nothing."""
        axis = np.linspace(-1.7, 1.7, 28, dtype=np.float32)
        grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3) / self.stretch
        inside = self.field.bounded(*grid.T, 0.07) < 0.06
        return grid[inside] if inside.sum() >= 12 else grid[:0]


def draw_procedural(rng, only=None):
    return Procedural(*draw_thing(rng, only))


class Solid:
    """A mesh as a Volume (voxelise.py)."""

    def __init__(self, name, volume: Volume, stretch, repaint):
        self.name, self.volume, self.stretch, self.repaint = name, volume, np.asarray(stretch, np.float32), repaint
        self.size = volume.distance.shape
        self.reach = 0.8 * volume.step
        values, size, origin = np.ascontiguousarray(volume.distance, np.float32), np.array(self.size, np.int32), np.ascontiguousarray(volume.origin, np.float32)
        self.field = Field("volume_new", values, size, origin, ctypes.c_float(volume.step))

    def again(self, rng):
        """Another thing of the same mesh: stretched and painted anew."""
        self.stretch = rng.uniform(0.85, 1.18, 3).astype(np.float32)
        self.repaint = rng.random() < (0.85 if self.plain else 0.3)

    @functools.cached_property
    def plain(self):
        """Whether the mesh has only one color."""
        return self.volume.colours[::16].std(0).mean() < 6

    @functools.cached_property
    def paint(self):
        """For each voxel its place in the list of painted ones, -1 for none. [X*Y*Z]"""
        place = np.full(self.volume.distance.size, -1, np.int32)
        place[self.volume.painted] = np.arange(len(self.volume.painted), dtype=np.int32)
        return place

    def _places(self, x, y, z):
        """The places of the eight voxels about points [M] and their weights, 0 for those without paint. -> two [8,M]"""
        at = (np.stack([x, y, z]) - self.volume.origin[:, None]) / self.volume.step
        cell = np.clip(np.floor(at), 0, np.array(self.size)[:, None] - 2).astype(np.int32)
        shares = np.clip(at - cell, 0, 1)
        low = (cell[0] * self.size[1] + cell[1]) * self.size[2] + cell[2]
        places, weights = [], []
        for i in (0, 1):
            for j in (0, 1):
                for k in (0, 1):
                    places.append(self.paint[low + (i * self.size[1] + j) * self.size[2] + k])
                    weights.append(np.prod([f if far else 1 - f for f, far in zip(shares, (i, j, k))], axis=0))
        places = np.stack(places)
        return places, np.where(places >= 0, np.stack(weights) + 1e-6, 0)

    def parts(self, x, y, z):
        places, weights = self._places(x, y, z)
        best = np.take_along_axis(places, weights.argmax(0)[None], 0)[0]
        return self.volume.parts[best]

    def colours(self, x, y, z):
        if self.repaint:
            return None
        places, weights = self._places(x, y, z)
        srgb = (self.volume.colours[places] / 255.0).astype(np.float32)
        linear = np.where(srgb < 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
        return (linear * weights[:, :, None]).sum(0) / np.maximum(weights.sum(0), 1e-6)[:, None]

    def points(self):
        return self._points

    @functools.cached_property
    def _points(self):
        near = np.flatnonzero(self.volume.distance.reshape(-1) < 0.5 * self.volume.step)
        chosen = near[:: max(1, len(near) // 6000)]
        return (np.stack(np.unravel_index(chosen, self.size), -1) * self.volume.step + self.volume.origin).astype(np.float32)

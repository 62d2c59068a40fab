"""The subjects of photos: procedural shapes, and volumes made from meshes. Both have their own frame, y up."""

import ctypes
import functools
from collections.abc import Sequence

import numpy as np

from compiled import library, pointer
from recipes import draw_recipe
from voxelize import Volume

Corners = tuple[np.ndarray, np.ndarray]


class Field:
    """The signed distances from a subject, computed by photograph.cpp."""

    def __init__(self, make: str, *numbers: object) -> None:
        new = getattr(library("photograph"), make)
        new.restype = ctypes.c_void_p
        self.kept = numbers
        self.handle = ctypes.c_void_p(new(*(pointer(n) if isinstance(n, np.ndarray) else n for n in numbers)))

    def __del__(self) -> None:
        library("photograph").field_free(self.handle)

    def _at(self, function: str, points: Sequence[np.ndarray], results: np.ndarray, *numbers: object) -> np.ndarray:
        x, y, z = (np.ascontiguousarray(c, np.float32) for c in points)
        getattr(library("photograph"), function)(
            self.handle, pointer(x), pointer(y), pointer(z), ctypes.c_int64(len(x)), *numbers, pointer(results)
        )
        return results

    def distance(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Distances at points [M]. -> [M]"""
        return self._at("field_distances", (x, y, z), np.empty(len(x), np.float32))

    def bounded(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, enough: float) -> np.ndarray:
        """Distances at points [M] where they are within `enough` of 0.

        Elsewhere a value of the same sign between the distance and ±`enough`. -> [M]
        """
        return self._at("field_bounded", (x, y, z), np.empty(len(x), np.float32), ctypes.c_float(enough))

    def nearest(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The index of the nearest part at points [M]. -> int32 [M]"""
        return self._at("field_nearest", (x, y, z), np.empty(len(x), np.int32))


class ProceduralSubject:
    """A shape that a recipe has drawn."""

    reach = 0.004  # of the probes for normals

    def __init__(
        self, name: str, solid: np.ndarray, hollow: np.ndarray, material: np.ndarray, blend: float, stretch: np.ndarray
    ) -> None:
        """solid [P,WIDTH], hollow [N,WIDTH], material [P], stretch [3]"""
        self.name, self.material, self.stretch = name, material, stretch
        self.solid, self.hollow, self.blend = (
            np.ascontiguousarray(solid, np.float32),
            np.ascontiguousarray(hollow, np.float32),
            max(float(blend), 0.004),
        )
        self.field = Field(
            "parts_new", self.solid, len(self.solid), self.hollow, len(self.hollow), ctypes.c_float(self.blend)
        )

    def vary(self, rng: np.random.Generator) -> None:
        """Stretches it anew."""
        self.stretch = rng.uniform(0.8, 1.25, 3).astype(np.float32)

    def parts(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The materials at points [M]. -> [M]"""
        return self.material[self.field.nearest(x, y, z)]

    def colors(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
        """Its own paint: it has none, and materials are drawn for it."""

    def points(self) -> np.ndarray:
        """Points [N,3] inside it or nearly so, unstretched; none if it is too small."""
        axis = np.linspace(-1.7, 1.7, 28, dtype=np.float32)
        grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3) / self.stretch
        inside = self.field.bounded(*grid.T, 0.07) < 0.06
        return grid[inside] if inside.sum() >= 12 else grid[:0]


def draw_procedural(rng: np.random.Generator, only: Sequence[str] | None = None) -> ProceduralSubject:
    """Draws a shape, of all recipes or of those named in `only`."""
    return ProceduralSubject(*draw_recipe(rng, only))


class MeshSubject:
    """A mesh as a Volume (voxelize.py)."""

    def __init__(self, name: str, volume: Volume, stretch: np.ndarray, repaint: bool) -> None:
        self.name, self.volume, self.stretch, self.repaint = name, volume, np.asarray(stretch, np.float32), repaint
        self.size = volume.distance.shape
        self.reach = 0.8 * volume.step
        values, size, origin = (
            np.ascontiguousarray(volume.distance, np.float32),
            np.array(self.size, np.int32),
            np.ascontiguousarray(volume.origin, np.float32),
        )
        self.field = Field("volume_new", values, size, origin, ctypes.c_float(volume.step))

    def vary(self, rng: np.random.Generator) -> None:
        """Stretches and paints it anew."""
        self.stretch = rng.uniform(0.85, 1.18, 3).astype(np.float32)
        self.repaint = rng.random() < (0.85 if self.plain else 0.3)

    @functools.cached_property
    def plain(self) -> bool:
        """Whether the mesh has only one color."""
        return self.volume.colors[::16].std(0).mean() < 6

    @functools.cached_property
    def paint(self) -> np.ndarray:
        """The index of each voxel in the list of painted voxels, -1 for unpainted ones. [X*Y*Z]"""
        index = np.full(self.volume.distance.size, -1, np.int32)
        index[self.volume.painted] = np.arange(len(self.volume.painted), dtype=np.int32)
        return index

    def _corners(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Corners:
        """The paint indices of the eight voxels around points [M], and their weights: 0 without paint. -> two [8,M]"""
        at = (np.stack([x, y, z]) - self.volume.origin[:, None]) / self.volume.step
        cell = np.clip(np.floor(at), 0, np.array(self.size)[:, None] - 2).astype(np.int32)
        shares = np.clip(at - cell, 0, 1)
        low = (cell[0] * self.size[1] + cell[1]) * self.size[2] + cell[2]
        indices, weights = [], []
        for i in (0, 1):
            for j in (0, 1):
                for k in (0, 1):
                    indices.append(self.paint[low + (i * self.size[1] + j) * self.size[2] + k])
                    weights.append(np.prod([f if far else 1 - f for f, far in zip(shares, (i, j, k))], axis=0))
        indices = np.stack(indices)
        return indices, np.where(indices >= 0, np.stack(weights) + 1e-6, 0)

    def parts(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The materials at points [M]. -> [M]"""
        indices, weights = self._corners(x, y, z)
        best = np.take_along_axis(indices, weights.argmax(0)[None], 0)[0]
        return self.volume.parts[best]

    def colors(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray | None:
        """The colors of the mesh at points [M] in linear light. -> [M,3], or None if it is repainted"""
        if self.repaint:
            return None
        indices, weights = self._corners(x, y, z)
        srgb = (self.volume.colors[indices] / 255.0).astype(np.float32)
        linear = np.where(srgb < 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
        return (linear * weights[:, :, None]).sum(0) / np.maximum(weights.sum(0), 1e-6)[:, None]

    def points(self) -> np.ndarray:
        """Points [N,3] inside it or nearly so, unstretched."""
        return self._points

    @functools.cached_property
    def _points(self) -> np.ndarray:
        near = np.flatnonzero(self.volume.distance.reshape(-1) < 0.5 * self.volume.step)
        chosen = near[:: max(1, len(near) // 6000)]
        return (np.stack(np.unravel_index(chosen, self.size), -1) * self.volume.step + self.volume.origin).astype(
            np.float32
        )

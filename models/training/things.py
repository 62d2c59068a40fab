"""What can be photographed: a procedural thing, or a volume made from a mesh. Both answer in a frame of their own, y up."""

import functools
from dataclasses import dataclass

import numpy as np
import torch

from primitive import field, nearest
from recipes import draw_thing
from voxelise import Volume


@dataclass
class Procedural:
    """A thing that recipes.py drew."""

    name: str
    solid: torch.Tensor  # [1,P,WIDTH]
    hollow: torch.Tensor  # [1,N,WIDTH]
    material: np.ndarray  # [P]
    blend: torch.Tensor  # [1]
    stretch: np.ndarray  # [3]
    reach = 0.004  # of the probes for normals

    def distance(self, x, y, z):
        """Signed distance at points [M], times at most the greatest stretch."""
        return field(self.solid, self.hollow, self.blend, x[None], y[None], z[None])[0]

    def parts(self, x, y, z):
        """Which material there is at points [M]. -> numpy [M]"""
        return self.material[nearest(self.solid, x[None], y[None], z[None])[0].numpy()]

    def colours(self, x, y, z):
        """Linear light [M,3] of its own paint: it has none, materials are drawn for it."""
        return None

    def points(self):
        """Points [N,3] inside it or nearly so, unstretched; empty if there is next to nothing."""
        axis = np.linspace(-1.7, 1.7, 28, dtype=np.float32)
        grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3) / self.stretch
        inside = self.distance(*torch.from_numpy(np.ascontiguousarray(grid.T))).numpy() < 0.06
        return grid[inside] if inside.sum() >= 12 else grid[:0]


def draw_procedural(rng, only=None):
    name, solid, hollow, material, blend, stretch = draw_thing(rng, only)
    solid, hollow = torch.from_numpy(solid)[None], torch.from_numpy(hollow)[None]
    return Procedural(name, solid, hollow, material, torch.tensor([max(blend, 0.004)]), stretch)


def _lattice(x, y, z, size):
    """The cells that points in voxels [M] lie in, held inside. -> flat indices of their low corners [M], weights x, y, z [M]"""
    cell = [torch.minimum(c.floor().clamp(min=0), torch.full_like(c, n - 2)) for c, n in zip((x, y, z), size)]
    low = (cell[0].long() * size[1] + cell[1].long()) * size[2] + cell[2].long()
    return low, *((c - i).clamp(0, 1) for c, i in zip((x, y, z), cell))


def _sampled(values, x, y, z, sx: int, sy: int, sz: int, step: float):
    """The volume's distance at points in voxels [M]; beyond the volume a bound below it."""
    size = (sx, sy, sz)
    low, fx, fy, fz = _lattice(x, y, z, size)
    value = 0
    for i, wx in ((0, 1 - fx), (sy * sz, fx)):
        for j, wy in ((0, 1 - fy), (sz, fy)):
            for k, wz in ((0, 1 - fz), (1, fz)):
                value = value + values[low + (i + j + k)].float() * (wx * wy * wz)
    away = 0
    for c, n in zip((x, y, z), size):
        away = away + ((c - (n - 1)).clamp(min=0) + (-c).clamp(min=0)) ** 2
    # All of the thing is in the box: what is nearest to a point beyond it is also beyond the box's nearest point.
    return torch.where(away > 0, (value * value + away * (step * step)).sqrt(), value)


_compiled = torch.compile(_sampled, dynamic=True)


class Solid:
    """A mesh as a Volume (voxelise.py)."""

    def __init__(self, name, volume: Volume, stretch, repaint):
        self.name, self.volume, self.stretch, self.repaint = name, volume, np.asarray(stretch, np.float32), repaint
        self.size = volume.distance.shape
        self.values = torch.from_numpy(np.ascontiguousarray(volume.distance)).reshape(-1)
        self.reach = 0.8 * volume.step

    def _voxels(self, x, y, z):
        return [(c - float(o)) / self.volume.step for c, o in zip((x, y, z), self.volume.origin)]

    def distance(self, x, y, z):
        return _compiled(self.values, *self._voxels(x, y, z), *self.size, self.volume.step)

    @functools.cached_property
    def paint(self):
        """For each voxel its place in the list of painted ones, -1 for none. [X*Y*Z]"""
        place = np.full(self.values.numel(), -1, np.int32)
        place[self.volume.painted] = np.arange(len(self.volume.painted), dtype=np.int32)
        return place

    def _places(self, x, y, z):
        """The places of the eight voxels about points [M] and their weights, 0 for those without paint. -> two [8,M]"""
        low, *shares = (a.numpy() for a in _lattice(*self._voxels(x, y, z), self.size))
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
        near = np.flatnonzero(self.volume.distance.reshape(-1) < 0.5 * self.volume.step)
        chosen = near[:: max(1, len(near) // 6000)]
        return (np.stack(np.unravel_index(chosen, self.size), -1) * self.volume.step + self.volume.origin).astype(np.float32)

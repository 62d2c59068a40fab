"""Warps volumes, so that each mesh shows more proportions than stretching alone gives it."""

from dataclasses import replace

import numpy as np
from scipy import ndimage

from voxelize import Volume


def warped(volume: Volume, rng: np.random.Generator) -> Volume:
    """A volume of the same size, in which parts are longer or shorter, and ends or the middle are narrower.

    Faces across an axis stay flat, so boxes still have straight edges. Distances are lower bounds, except at the
    surface.
    """
    size = np.array(volume.distance.shape)
    # Positions in the box, -1 to 1 along each axis, and where the original has what is there.
    places = np.meshgrid(*(np.linspace(-1, 1, n, dtype=np.float32) for n in size), indexing="ij", sparse=True)
    sources = [shifted(u, rng) for u in places]
    along = int(rng.choice(3, p=(0.2, 0.6, 0.2)))
    narrowed = [axis for axis in range(3) if axis != along and rng.random() < 0.7]
    width = narrowing(places[along], rng) if rng.random() < 0.6 else 1.0
    sources = [u / width if axis in narrowed else u for axis, u in enumerate(sources)]
    at = np.stack(np.broadcast_arrays(*((u + 1) / 2 * (n - 1) for u, n in zip(sources, size))))
    distance = ndimage.map_coordinates(volume.distance.astype(np.float32), at, order=1, mode="nearest")
    # How many voxels of the original a step of one voxel crosses, at most.
    slopes = np.array([np.abs(np.diff(at, axis=axis)).max(axis=(1, 2, 3)) for axis in (1, 2, 3)])
    steepest = float(np.linalg.norm(slopes, axis=0).max())
    nearest = np.clip(np.rint(at).astype(np.int32), 0, (size - 1)[:, None, None, None])
    paint = volume.paint_indices().reshape(size)[tuple(nearest)].reshape(-1)
    painted = np.flatnonzero(paint >= 0).astype(np.int32)
    return replace(
        volume,
        distance=(distance / max(1, steepest)).astype(np.float16),
        painted=painted,
        colors=volume.colors[paint[painted]],
        parts=volume.parts[paint[painted]],
    )


def shifted(u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A monotone function from -1..1 to itself, which lengthens one end, or the middle, at the expense of the rest."""
    ends, middle = rng.uniform(-0.35, 0.35, 2)
    return u + ends * (1 - u**2) / 2 + middle * np.sin(np.pi * u) / np.pi


def narrowing(u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The width at each position along an axis: at most 1, and least at one end, at both, or in the middle."""
    profile = [(1 + u) / 2, (1 - u) / 2, u**2, 1 - u**2][int(rng.integers(4))]
    return 1 - rng.uniform(0.1, 0.4) * profile

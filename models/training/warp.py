"""Warps volumes, so that each mesh shows more proportions than stretching alone gives it."""

from dataclasses import replace

import numpy as np
from scipy import ndimage

from voxelize import Volume


def warped(volume: Volume, rng: np.random.Generator) -> Volume:
    """A volume of the same grid, stretched unevenly along each axis, and often narrowed along one.

    Planes across the axis of the narrowing stay planes. Edges along it may curve. Distances are correct to first order
    near the surface, and lower bounds elsewhere.
    """
    size = volume.distance.shape
    # Positions in the grid, -1 to 1 along each axis, and the positions in the original of what will be there.
    positions = np.meshgrid(*(np.linspace(-1, 1, n, dtype=np.float32) for n in size), indexing="ij", sparse=True)
    sources = [shifted(u, rng) for u in positions]
    if rng.random() < 0.6:
        # Mostly upwards: lamps, vases and legs taper towards one end.
        along = int(rng.choice(3, p=(0.2, 0.6, 0.2)))
        width = narrowing(positions[along], rng)
        for axis in range(3):
            if axis != along and rng.random() < 0.7:
                sources[axis] = sources[axis] / width
    at = np.stack(np.broadcast_arrays(*((u + 1) / 2 * (n - 1) for u, n in zip(sources, size)))).astype(np.float32)
    distance = ndimage.map_coordinates(volume.distance.astype(np.float32), at, order=1, mode="nearest")
    # The largest entries of the Jacobian. Their spectral norm bounds that of the Jacobian everywhere.
    slopes = np.array([np.abs(np.diff(at, axis=axis)).max(axis=(1, 2, 3)) for axis in (1, 2, 3)])
    steepest = max(1, float(np.linalg.norm(slopes, 2)))
    # Near the surface, the renderer takes the coverage of pixels from distances, so these must not be smaller.
    slope = np.linalg.norm(np.gradient(distance, volume.step), axis=0)
    near = np.abs(distance) < 2 * volume.step
    distance /= np.where(near, np.clip(slope, 0.5, steepest), steepest)
    nearest = np.clip(np.rint(at).astype(np.int32), 0, (np.array(size) - 1)[:, None, None, None])
    paint = volume.paint_indices().reshape(size)[tuple(nearest)].reshape(-1)
    painted = np.flatnonzero(paint >= 0).astype(np.int32)
    return replace(
        volume,
        distance=distance.astype(np.float16),
        painted=painted,
        colors=volume.colors[paint[painted]],
        parts=volume.parts[paint[painted]],
    )


def shifted(u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Where the original has what will be at positions `u` along an axis. Same shape as `u`.

    Lengthens one end, the middle or both ends. Increasing, with -1 and 1 fixed.
    """
    # The slope is positive as long as the sum of their sizes is below 1.
    ends, middle = rng.uniform(-0.35, 0.35, 2)
    return u + ends * (1 - u**2) / 2 + middle * np.sin(np.pi * u) / np.pi


def narrowing(u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The width at positions `u`, as a share of the original: 0.6 to 1, least at one end, at both, or in the middle."""
    profile = [(1 + u) / 2, (1 - u) / 2, u**2, 1 - u**2][int(rng.integers(4))]
    return 1 - rng.uniform(0.1, 0.4) * profile

"""Makes a volume of signed distances, with the colors of the surface, of a triangle mesh, closed or not.

Meshes made for games have holes, single sheets, inner faces and intersecting parts. A point therefore counts as inside
if air from the border of the box does not reach it. Air does not pass gaps narrower than two voxels, and does not enter
through the floor that the object stands on (undersides are often open). Sheets, which have air on both sides, get a
thickness of 1.6 voxels. Distances are exact near the surface, so corners stay sharp to within a voxel.
"""

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiled import library, pointer

# Voxels along the longest side, and around the object on each side.
LONGEST, MARGIN = 116, 3


@dataclass
class Surface:
    """Triangles with their paint. Y up."""

    triangles: np.ndarray  # [T,3,3]
    colors: np.ndarray  # [T,3,4] sRGB and alpha 0..1 of the corners; multiplied by the texture where there is one
    uv: np.ndarray  # [T,3,2], v upwards
    texture: np.ndarray  # [T] index in textures, -1 for none
    textures: list  # of uint8 [H,W,4]
    part: np.ndarray  # [T] which material


# The key of the colors in files that exist.
FILE_KEYS = {"colors": "colours"}


@dataclass
class Volume:
    """Signed distances [X,Y,Z] float16 in object units; voxel i is at origin + i * step.

    `colors` are those of the voxels `painted` (flat indices).
    """

    distance: np.ndarray
    origin: np.ndarray
    step: float
    painted: np.ndarray  # [M] int32, increasing
    colors: np.ndarray  # [M,3] uint8 sRGB
    parts: np.ndarray  # [M] uint8
    clear: float  # share of the surface that the textures make transparent

    def save(self, path: Path) -> None:
        """Writes the file atomically."""
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(file, **{FILE_KEYS.get(name, name): value for name, value in vars(self).items()})
        partial.rename(path)

    @staticmethod
    def load(path: Path) -> "Volume":
        """Reads a file that `save` wrote."""
        with np.load(path) as data:
            return Volume(
                data["distance"],
                data["origin"],
                float(data["step"]),
                data["painted"],
                data["colours"],
                data["parts"],
                float(data["clear"]),
            )


def paint(surface: Surface, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The colors of points on triangles `which` [M]. -> [M,4] in 0..1

    weights [M,2]: of their second and third corners.
    """
    share = np.concatenate([1 - weights.sum(1, keepdims=True), weights], 1)[:, :, None]
    colors = (surface.colors[which] * share).sum(1)
    uv = (surface.uv[which] * share).sum(1)
    for index, texture in enumerate(surface.textures):
        selected = surface.texture[which] == index
        if not selected.any():
            continue
        high, wide = texture.shape[:2]
        u, v = np.nan_to_num(uv[selected]).T
        row = np.clip(((1 - v % 1) * high).astype(int), 0, high - 1)
        column = np.clip((u % 1 * wide).astype(int), 0, wide - 1)
        colors[selected] *= texture[row, column] / 255
    return colors


def voxelize(surface: Surface, longest: int = LONGEST) -> Volume:
    """Makes the volume, in units where the longest side of the surface's box is 2 and its middle is the origin."""
    corners = surface.triangles.reshape(-1, 3).astype(np.float64)
    low, high = corners.min(0), corners.max(0)
    step = 2 / longest
    scale = 2 / (high - low).max()
    half = (high - low) * scale / 2
    size = (np.ceil(2 * half / step).astype(np.int32) + 2 * MARGIN + 1).astype(np.int32)
    # Not at round numbers, which models are made of: no grid line may run within a face or along an edge.
    origin = -half - (MARGIN + np.array([0.237, 0.391, 0.173])) * step
    triangles = np.ascontiguousarray(((surface.triangles - (low + high) / 2) * scale - origin) / step, np.float64)
    distance, which = np.empty(size, np.float32), np.empty(size, np.int32)
    weights = np.zeros((*size, 2), np.float32)
    library("voxelize").distance_volume(
        pointer(triangles),
        ctypes.c_int64(len(triangles)),
        pointer(size),
        ctypes.c_double(MARGIN + 0.3),
        pointer(distance),
        pointer(which),
        pointer(weights),
    )
    flat, near = distance.reshape(-1), which.reshape(-1)
    painted = np.flatnonzero((np.abs(flat) < 2.4) & (near >= 0)).astype(np.int32)
    colors = paint(surface, near[painted], weights.reshape(-1, 2)[painted].astype(np.float64))
    return Volume(
        distance=(distance * step).astype(np.float16),
        origin=origin.astype(np.float32),
        step=step,
        painted=painted,
        colors=(np.clip(colors[:, :3], 0, 1) * 255).round().astype(np.uint8),
        parts=(surface.part[near[painted]] % 256).astype(np.uint8),
        clear=float((colors[:, 3] < 0.4).mean()),
    )

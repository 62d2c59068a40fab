"""From a triangle mesh, closed or not, to a volume of signed distances with the colours of its surface.

Meshes made for games have holes, single sheets, inner faces and parts that go through each other, so "inside" is what air
from the box's border does not reach. Air passes no gap narrower than two voxels and does not come in through the floor the
thing stands on (undersides are often left open). Sheets, which have air on both sides, are given a thickness of about 1.3
voxels. Distances are exact near the surface, so corners stay sharp to within a voxel.
"""

import ctypes
from dataclasses import dataclass

import numpy as np

from compiled import library, pointer

# Voxels along the longest side, and around the thing on each side.
LONGEST, MARGIN = 116, 3


@dataclass
class Surface:
    """Triangles with what they are painted with. Y up."""

    triangles: np.ndarray  # [T,3,3]
    colours: np.ndarray  # [T,3,4] sRGB and alpha 0..1 of the corners; multiplied by the texture where there is one
    uv: np.ndarray  # [T,3,2], v upwards
    texture: np.ndarray  # [T] index into textures, -1 for none
    textures: list  # of uint8 [H,W,4]
    part: np.ndarray  # [T] which material


@dataclass
class Volume:
    """distance [X,Y,Z] float16 in object units; voxel i is at origin + i * step. colours of the voxels `painted` (flat indices)."""

    distance: np.ndarray
    origin: np.ndarray
    step: float
    painted: np.ndarray  # [M] int32, increasing
    colours: np.ndarray  # [M,3] uint8 sRGB
    parts: np.ndarray  # [M] uint8
    clear: float  # share of the surface that the textures make transparent

    def save(self, path):
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            np.savez(file, **vars(self))
        partial.rename(path)

    @staticmethod
    def load(path):
        with np.load(path) as data:
            return Volume(data["distance"], data["origin"], float(data["step"]), data["painted"], data["colours"], data["parts"], float(data["clear"]))


def paint(surface, which, weights):
    """Colours of points on triangles `which` [M] at `weights` [M,2] of their second and third corners. -> [M,4] 0..1"""
    share = np.concatenate([1 - weights.sum(1, keepdims=True), weights], 1)[:, :, None]
    colours = (surface.colours[which] * share).sum(1)
    uv = (surface.uv[which] * share).sum(1)
    for index, texture in enumerate(surface.textures):
        mine = surface.texture[which] == index
        if not mine.any():
            continue
        high, wide = texture.shape[:2]
        u, v = np.nan_to_num(uv[mine]).T
        row = np.clip(((1 - v % 1) * high).astype(int), 0, high - 1)
        column = np.clip((u % 1 * wide).astype(int), 0, wide - 1)
        colours[mine] *= texture[row, column] / 255
    return colours


def voxelise(surface, longest=LONGEST):
    """-> Volume, in units where the longest side of the surface's box is 2 and its middle the origin"""
    corners = surface.triangles.reshape(-1, 3).astype(np.float64)
    low, high = corners.min(0), corners.max(0)
    step = 2 / longest
    scale = 2 / (high - low).max()
    half = (high - low) * scale / 2
    size = (np.ceil(2 * half / step).astype(np.int32) + 2 * MARGIN + 1).astype(np.int32)
    # Off the round numbers that models are made of, so that no grid line runs in a face or along an edge.
    origin = -half - (MARGIN + np.array([0.237, 0.391, 0.173])) * step
    triangles = np.ascontiguousarray(((surface.triangles - (low + high) / 2) * scale - origin) / step, np.float64)
    distance, which = np.empty(size, np.float32), np.empty(size, np.int32)
    weights = np.zeros((*size, 2), np.float32)
    library("voxelise").distance_volume(
        pointer(triangles), ctypes.c_int64(len(triangles)), pointer(size), ctypes.c_double(MARGIN + 0.3), pointer(distance), pointer(which), pointer(weights)
    )
    flat, near = distance.reshape(-1), which.reshape(-1)
    painted = np.flatnonzero((np.abs(flat) < 2.4) & (near >= 0)).astype(np.int32)
    colours = paint(surface, near[painted], weights.reshape(-1, 2)[painted].astype(np.float64))
    return Volume(
        distance=(distance * step).astype(np.float16), origin=origin.astype(np.float32), step=step, painted=painted,
        colours=(np.clip(colours[:, :3], 0, 1) * 255).round().astype(np.uint8),
        parts=(surface.part[near[painted]] % 256).astype(np.uint8), clear=float((colours[:, 3] < 0.4).mean()),
    )  # fmt: skip

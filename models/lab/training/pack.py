"""Packs the surfaces of all meshes for a machine without network, on which they become volumes when first drawn.

    python pack.py FOLDER --sources DIR        # FOLDER/NAME.xz for each source; DIR as for meshes.py

A mesh takes about 10 kB instead of the 4 MB of its volume: corners in 16 bits with a color of their own instead of
textures. Large textured triangles are divided before, so that they keep something of their pattern.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mesh_sources import SOURCES
from meshes import fetch, fit_surfaces
from packed import Packed, write
from voxelize import LONGEST, Surface, paint

# In meshes with more triangles, corners near each other are merged.
MAX_TRIANGLES = 8000
# A textured triangle is divided while a side is longer than this share of the object, in at most three rounds.
MAX_SIDE = 0.12


def divided(surface: Surface) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divides large textured triangles into four.

    -> triangles [T,3,3]; the triangle [T] of the surface that each was a part of; positions of the corners in it
    [T,3,2], as weights of its second and third corner
    """
    triangles = surface.triangles
    which = np.arange(len(triangles))
    at = np.broadcast_to(np.array([[0, 0], [1, 0], [0, 1]], np.float64), (len(triangles), 3, 2))
    longest = np.ptp(triangles.reshape(-1, 3), axis=0).max()
    for _ in range(3):
        side = np.linalg.norm(triangles - np.roll(triangles, 1, 1), axis=2).max(1)
        large = (side > MAX_SIDE * longest) & (surface.texture[which] >= 0)
        if len(triangles) + 3 * large.sum() > MAX_TRIANGLES:
            break
        parts = []
        for corners in (triangles, at):
            a, b, c = corners[large].transpose(1, 0, 2)
            ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
            four = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
            parts.append(np.concatenate([corners[~large], *(np.stack(three, 1) for three in four)]))
        triangles, at = parts
        which = np.concatenate([which[~large], *[which[large]] * 4])
    return triangles, which, at


def pack(surface: Surface) -> Packed | None:
    """Packs a surface. None if a large part of it is transparent, or it has too many corners."""
    triangles, which, at = divided(surface)
    # Slightly inside the triangle, so that a corner does not get the neighboring color of a palette.
    inner = at * 0.9 + at.mean(1, keepdims=True) * 0.1
    colors = paint(surface, np.repeat(which, 3), inner.reshape(-1, 2))
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    clear = colors[:, 3].reshape(-1, 3).mean(1) < 0.4
    if area[clear].sum() > 0.15 * area.sum():
        return None
    low = triangles.reshape(-1, 3).min(0)
    placed = (triangles - low) / np.ptp(triangles.reshape(-1, 3), axis=0).max()
    flat = placed.reshape(-1, 3)
    for grid in (65535, 2 * LONGEST, LONGEST, LONGEST // 2, LONGEST // 3):
        # Corners in the same cell of the grid move to their mean.
        _, cell = np.unique(np.round(flat * grid).astype(np.uint16), axis=0, return_inverse=True)
        cell = cell.ravel()
        count = np.bincount(cell)
        mean = np.stack([np.bincount(cell, axis) / count for axis in flat.T], 1)
        points = (mean[cell] * 65535).round().astype(np.uint16).reshape(-1, 3, 3)
        # Triangles whose corners coincide, and copies, are left out.
        ordered = np.sort(cell.reshape(-1, 3), axis=1)
        _, first = np.unique(ordered, axis=0, return_index=True)
        kept = np.sort(first[(ordered[first, 0] != ordered[first, 1]) & (ordered[first, 1] != ordered[first, 2])])
        if len(kept) <= MAX_TRIANGLES:
            break
    # 32 levels of each color are enough under changing light, and merge more corners.
    paints = (np.clip(colors[:, :3], 0, 1) * 31).round().astype(np.uint16).reshape(-1, 3, 3)
    rows, corners = np.unique(
        np.concatenate([points[kept], paints[kept]], 2).reshape(-1, 6), axis=0, return_inverse=True
    )
    if len(rows) > 65535:
        return None
    parts = (surface.part[which[kept]] % 256).astype(np.uint8)
    return rows[:, :3], (rows[:, 3:] * 8).astype(np.uint8), corners.reshape(-1, 3).astype(np.uint16), parts


def surfaces(folder: Path, sources: Path, only: list[str] | None) -> Iterator[tuple[str, Counter, int]]:
    """Packs each source. -> its name, what was left out by reason, and the size of the file."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in SOURCES:
        path = folder / f"{source.name}.xz"
        if path.exists() or (only and source.name not in only):
            continue
        fetch(source, sources / source.name)
        counts, meshes = Counter(), {}
        for name, surface in fit_surfaces(source, sources / source.name, counts):
            packed = pack(surface)
            counts["packed" if packed else "transparent textures"] += 1
            if packed:
                meshes[name] = packed
        write(path, meshes)
        yield source.name, counts, path.stat().st_size


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--sources", type=Path, help="folder of the downloads; FOLDER/sources by default")
    options.add_argument("--only", nargs="*", help="names of sources")
    chosen = options.parse_args()
    for name, counts, size in surfaces(chosen.folder, chosen.sources or chosen.folder / "sources", chosen.only):
        print(name, dict(counts), f"{size / max(1, counts['packed']) / 1000:.1f} kB each", flush=True)
    total = sum(path.stat().st_size for path in chosen.folder.glob("*.xz"))
    print(f"{total / 1e6:.1f} MB")

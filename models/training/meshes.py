"""Fetches meshes and makes volumes of them, for `generate.py --meshes FOLDER`.

    python meshes.py FOLDER                          # needs network, git, g++ and assimp (Debian: assimp-utils)
    python meshes.py FOLDER --sources DIR --only aws-house

DIR keeps what was fetched: DIR/NAME for each source of mesh_sources.py. FOLDER/NAME/*.npz are the volumes, one a mesh, about
4 MB each. A mesh that is there is left alone, so this can be stopped and run again. FOLDER/NAME.json counts what was
left out, and why.
"""

import argparse
import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
from scipy import ndimage

from mesh_poses import poses
from mesh_readers import read_with_assimp, read_with_trimesh
from mesh_sources import SOURCES, wanted
from voxelise import voxelise

MOST_TRIANGLES = 250_000


def fetch(source, folder):
    """Clones a source into `folder`, unless it is there."""
    if folder.exists():
        return
    subprocess.run(["git", "clone", "--quiet", f"https://github.com/{source.origin}", folder], check=True)
    subprocess.run(["git", "-C", folder, "checkout", "--quiet", source.commit], check=True)


def models(source, folder):
    """-> names and functions that read the Surface of each"""
    paths = [p for p in sorted(folder.rglob("*")) if p.is_file() and wanted(source, p.relative_to(folder).as_posix())]
    if source.reader == "poses":
        for path in paths:
            for pose, load in poses(path, source.each):
                yield f"{path.relative_to(folder).with_suffix('').as_posix()} {pose}.glb", load
        return
    read = {"gltf": read_with_trimesh, "assimp": read_with_assimp, "assimp-z-up": lambda path: read_with_assimp(path, z_up=True)}[source.reader]
    found = [(p.relative_to(folder).as_posix(), lambda p=p: read(p)) for p in paths]
    groups = {}
    for name, load in found:
        groups.setdefault(name.rsplit("/", 1)[0], []).append((name, load))
    for group in groups.values():
        # Evenly over the names, which sort by kind and size.
        yield from (group[i] for i in np.unique(np.linspace(0, len(group) - 1, min(len(group), source.each)).astype(int)))


def unfit(surface):
    """Why a surface is no object to photograph, or None."""
    count = len(surface.triangles)
    if count < 8:
        return "hardly any triangles"
    if count > MOST_TRIANGLES:
        return "too many triangles"
    corners = surface.triangles.reshape(-1, 3)
    extent = np.sort(np.ptp(corners, axis=0))
    if extent[2] <= 0 or extent[1] < 0.06 * extent[2] or extent[0] < 0.004 * extent[2]:
        return "a line or a plane"
    if np.ptp(corners[:, 1]) < 0.03 * extent[2]:
        return "lies flat on the ground"
    return None


def largest_share(volume):
    """How much of the volume is in its largest piece; what is less than three voxels apart counts as one."""
    pieces, _ = ndimage.label(volume.distance < 1.5 * volume.step)
    sizes = np.bincount(pieces.ravel())[1:]
    return sizes.max() / sizes.sum()


def prepare(source, folder, target):
    target.mkdir(parents=True, exist_ok=True)
    counts, seen = Counter(), set()
    for name, load in models(source, folder):
        path = target / (re.sub(r"[^A-Za-z0-9]+", "-", name.rsplit(".", 1)[0]).strip("-")[-110:] + ".npz")
        try:
            surface = load()
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, StopIteration, SyntaxError, subprocess.SubprocessError, np.linalg.LinAlgError) as error:
            counts[f"not read: {type(error).__name__}"] += 1
            continue
        if reason := unfit(surface):
            counts[reason] += 1
            continue
        corners = surface.triangles.reshape(-1, 3)
        extent = np.ptp(corners, axis=0)
        mark = (len(corners) // 30, *np.round(extent / extent.max(), 2))
        if mark in seen:
            counts["the same again"] += 1
            continue
        seen.add(mark)
        if path.exists():
            counts["kept"] += 1
            continue
        volume = voxelise(surface)
        inside = int((volume.distance < 0).sum())
        if volume.clear > 0.15:
            counts["cut out of transparent texture"] += 1
        elif inside < 600:
            counts["next to nothing"] += 1
        elif largest_share(volume) < 0.75:
            counts["several things apart"] += 1
        else:
            volume.save(path)
            counts["kept"] += 1
    (target.parent / f"{source.name}.json").write_text(json.dumps(counts, indent=1) + "\n")
    print(source.name, dict(counts), flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--sources", type=Path, help="where fetched files are kept; FOLDER/sources by default")
    options.add_argument("--only", nargs="*", help="names of mesh_sources.py")
    chosen = options.parse_args()
    for source in SOURCES:
        if chosen.only and source.name not in chosen.only:
            continue
        place = (chosen.sources or chosen.folder / "sources") / source.name
        fetch(source, place)
        prepare(source, place, chosen.folder / source.name)

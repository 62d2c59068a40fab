"""Downloads meshes and makes volumes of them, for `generate.py --meshes FOLDER`.

    python meshes.py FOLDER                          # needs network, git, g++ and assimp (Debian: assimp-utils)
    python meshes.py FOLDER --sources DIR --only aws-house

DIR keeps the downloads: DIR/NAME for each source of mesh_sources.py. FOLDER/NAME/*.npz are the volumes, one per mesh,
about 4 MB each. Existing volumes are kept, so the command can be stopped and repeated. FOLDER/NAME.json counts the
meshes that were left out, by reason.
"""

import argparse
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy import ndimage

from mesh_poses import poses
from mesh_readers import read_with_assimp, read_with_trimesh
from mesh_sources import SOURCES, Source, is_wanted
from voxelize import Surface, Volume, voxelize

MAX_TRIANGLES = 250_000


def fetch(source: Source, folder: Path) -> None:
    """Clones a source into `folder`, unless it exists."""
    if folder.exists():
        return
    subprocess.run(["git", "clone", "--quiet", f"https://github.com/{source.origin}", folder], check=True)
    subprocess.run(["git", "-C", folder, "checkout", "--quiet", source.commit], check=True)


def models(source: Source, folder: Path) -> Iterator[tuple[str, Callable[[], Surface]]]:
    """The name of each model and a function that reads its Surface."""
    paths = [
        p for p in sorted(folder.rglob("*")) if p.is_file() and is_wanted(source, p.relative_to(folder).as_posix())
    ]
    if source.reader == "poses":
        for path in paths:
            for pose, load in poses(path, source.each):
                yield f"{path.relative_to(folder).with_suffix('').as_posix()} {pose}.glb", load
        return
    read = {
        "gltf": read_with_trimesh,
        "assimp": read_with_assimp,
        "assimp-z-up": lambda path: read_with_assimp(path, z_up=True),
    }[source.reader]
    found = [(p.relative_to(folder).as_posix(), lambda p=p: read(p)) for p in paths]
    groups = {}
    for name, load in found:
        groups.setdefault(name.rsplit("/", 1)[0], []).append((name, load))
    for group in groups.values():
        # Spread evenly over the names, which are sorted by kind and size.
        yield from (
            group[i] for i in np.unique(np.linspace(0, len(group) - 1, min(len(group), source.each)).astype(int))
        )


def reason_unfit(surface: Surface) -> str | None:
    """Why a surface is not an object to photograph, or None."""
    count = len(surface.triangles)
    if count < 8:
        return "too few triangles"
    if count > MAX_TRIANGLES:
        return "too many triangles"
    corners = surface.triangles.reshape(-1, 3)
    extent = np.sort(np.ptp(corners, axis=0))
    if extent[2] <= 0 or extent[1] < 0.06 * extent[2] or extent[0] < 0.004 * extent[2]:
        return "a line or a plane"
    if np.ptp(corners[:, 1]) < 0.03 * extent[2]:
        return "flat on the ground"
    return None


def largest_share(volume: Volume) -> float:
    """The share of the volume in its largest piece. Pieces less than three voxels apart count as one."""
    pieces, _ = ndimage.label(volume.distance < 1.5 * volume.step)
    sizes = np.bincount(pieces.ravel())[1:]
    return sizes.max() / sizes.sum()


def prepare(source: Source, folder: Path, target: Path) -> None:
    """Makes the volumes of a source and counts the meshes that are left out."""
    target.mkdir(parents=True, exist_ok=True)
    counts, seen = Counter(), set()
    for name, load in models(source, folder):
        path = target / (re.sub(r"[^A-Za-z0-9]+", "-", name.rsplit(".", 1)[0]).strip("-")[-110:] + ".npz")
        try:
            surface = load()
        except (
            OSError,
            ValueError,
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            StopIteration,
            SyntaxError,
            subprocess.SubprocessError,
            np.linalg.LinAlgError,
        ) as error:
            counts[f"not read: {type(error).__name__}"] += 1
            continue
        if reason := reason_unfit(surface):
            counts[reason] += 1
            continue
        corners = surface.triangles.reshape(-1, 3)
        extent = np.ptp(corners, axis=0)
        fingerprint = (len(corners) // 30, *np.round(extent / extent.max(), 2))
        if fingerprint in seen:
            counts["duplicate"] += 1
            continue
        seen.add(fingerprint)
        if path.exists():
            counts["kept"] += 1
            continue
        volume = voxelize(surface)
        inside = int((volume.distance < 0).sum())
        if volume.clear > 0.15:
            counts["transparent textures"] += 1
        elif inside < 600:
            counts["too small"] += 1
        elif largest_share(volume) < 0.75:
            counts["several separate objects"] += 1
        else:
            volume.save(path)
            counts["kept"] += 1
    (target.parent / f"{source.name}.json").write_text(json.dumps(counts, indent=1) + "\n")
    print(source.name, dict(counts), flush=True)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--sources", type=Path, help="folder of the downloads; FOLDER/sources by default")
    options.add_argument("--only", nargs="*", help="names of sources")
    chosen = options.parse_args()
    for source in SOURCES:
        if chosen.only and source.name not in chosen.only:
            continue
        source_folder = (chosen.sources or chosen.folder / "sources") / source.name
        fetch(source, source_folder)
        prepare(source, source_folder, chosen.folder / source.name)

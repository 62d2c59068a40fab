"""Writes training samples to disk, for machines that are too slow to make them during training.

    python generate.py FOLDER --preset cpu --first 0 --shards 100
    python generate.py FOLDER --meshes VOLUMES --share 0.5    # half of the samples show meshes that meshes.py prepared
    python generate.py FOLDER --straight 0.5                  # half of the photos are straight from a side
    python generate.py FOLDER --only rod tool                 # only these recipes

Seed n draws shard n, the same on every machine with the same versions. Existing shards are kept, so several of these
commands may run concurrently on different ranges, and may be stopped at any time.
"""

import argparse
import functools
import itertools
import os
from pathlib import Path

import numpy as np

from collection import Collection
from photograph import DrawSubject, Sizes, photographs
from presets import PRESETS
from recipes import RECIPES
from subjects import draw_procedural

SAMPLES = 250


def write_shard(
    folder: str | Path,
    seed: int,
    sizes: Sizes,
    count: int = SAMPLES,
    draw: DrawSubject = draw_procedural,
    straight: float = 0,
    each: int = 1,
) -> None:
    """Writes one shard, unless it exists.

    Files: photos [N,4,S,S] uint8, crossings [N,8,C,C] uint16, backs [N,3,C,C] uint8, elevations [N], names.
    """
    target = Path(folder) / f"{seed:05d}"
    if target.exists():
        return
    rng = np.random.default_rng(seed)
    samples = (sample for _ in itertools.count() for sample in photographs(rng, sizes, draw, straight, each))
    photos, crossings, backs, elevations, names = zip(*itertools.islice(samples, count))
    partial = target.with_suffix(f".{os.getpid()}")
    partial.mkdir(parents=True)
    np.save(partial / "photos.npy", np.stack(photos))
    np.save(partial / "crossings.npy", np.stack(crossings))
    np.save(partial / "backs.npy", np.stack(backs))
    np.save(partial / "elevations.npy", np.array(elevations, np.float32))
    (partial / "names.txt").write_text("\n".join(names))
    partial.rename(target)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("--preset", choices=PRESETS, default="cpu")
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--shards", type=int, default=100)
    options.add_argument("--meshes", help="folder of volumes that meshes.py made")
    options.add_argument("--share", type=float, default=0.5, help="share of the samples that show meshes")
    options.add_argument("--straight", type=float, default=0, help="share of the photos straight from a side")
    options.add_argument(
        "--each",
        type=int,
        default=1,
        help="photos of each object, each stretched, painted and lit anew; more are faster, but less varied",
    )
    options.add_argument(
        "--only",
        nargs="+",
        choices=[recipe.__name__ for recipe, _ in RECIPES],
        metavar="RECIPE",
        help="draw only these",
    )
    chosen = options.parse_args()
    if chosen.only and chosen.meshes:
        options.error("--only and --meshes exclude each other")
    procedural = functools.partial(draw_procedural, only=chosen.only)
    draw = Collection(chosen.meshes).mixed(chosen.share) if chosen.meshes else procedural
    for seed in range(chosen.first, chosen.first + chosen.shards):
        write_shard(
            chosen.folder, seed, PRESETS[chosen.preset].sizes, draw=draw, straight=chosen.straight, each=chosen.each
        )
        print(seed, flush=True)

"""Draws from the volumes that meshes.py made."""

from pathlib import Path

import numpy as np

from mesh_sources import SOURCES
from things import Solid, draw_procedural
from voxelise import Volume


class Collection:
    """All volumes below a folder, FOLDER/SOURCE/*.npz."""

    def __init__(self, folder):
        weights = {source.name: source.weight for source in SOURCES}
        places = [p for p in sorted(Path(folder).iterdir()) if p.is_dir() and p.name in weights]
        self.groups = [sorted(place.glob("*.npz")) for place in places]
        if not any(self.groups):
            raise SystemExit(f"There are no volumes in {folder}: run meshes.py first.")
        # By the root of its size, so that the many helmets and houses of one game don't drown the furniture.
        chances = np.array([weights[place.name] * len(group) ** 0.5 for place, group in zip(places, self.groups)])
        self.chances = chances / chances.sum()

    def draw(self, rng):
        """-> Solid: slightly stretched; in its own colours, or in procedural materials, always so if it has but one colour"""
        group = self.groups[int(rng.choice(len(self.groups), p=self.chances))]
        path = group[int(rng.integers(len(group)))]
        volume = Volume.load(path)
        thing = Solid(f"{path.parent.name}/{path.stem}", volume, np.ones(3), False)
        thing.repaint = rng.random() < (0.85 if thing.plain else 0.25)
        if rng.random() < 0.6:
            thing.stretch = rng.uniform(0.88, 1.13, 3).astype(np.float32)
        return thing

    def mixed(self, share):
        """-> a function that draws a mesh with this probability, otherwise a procedural thing"""
        return lambda rng: self.draw(rng) if rng.random() < share else draw_procedural(rng)

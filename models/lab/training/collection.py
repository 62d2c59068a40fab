"""Draws from the volumes that meshes.py has made."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from mesh_sources import SOURCES
from recipes import random_stretch
from subjects import MeshSubject, ProceduralSubject, draw_procedural
from voxelize import Volume


class Collection:
    """All volumes below a folder: FOLDER/SOURCE/*.npz."""

    def __init__(self, folder: str | Path) -> None:
        self.use({p.name: sorted(p.glob("*.npz")) for p in sorted(Path(folder).iterdir()) if p.is_dir()})

    def use(self, groups: dict[str, list[Path]]) -> None:
        """Sets the volumes by source, and how often each source is drawn."""
        weights = {source.name: source.weight for source in SOURCES}
        groups = {name: group for name, group in groups.items() if name in weights}
        if not any(groups.values()):
            raise SystemExit("There are no meshes in the folder. Run meshes.py or packed.py first.")
        # By the root of its size: otherwise the many helmets and houses of one game would outweigh the furniture.
        chances = np.array([weights[name] * len(group) ** 0.5 for name, group in groups.items()])
        self.groups, self.chances = list(groups.values()), chances / chances.sum()

    def load(self, path: Path) -> Volume | None:
        """The volume, or None if it turned out unusable."""
        return Volume.load(path)

    def draw(self, rng: np.random.Generator) -> MeshSubject:
        """Draws a mesh, usually stretched.

        It keeps its own colors or gets procedural materials, mostly the latter if it has one color.
        """
        group = self.groups[int(rng.choice(len(self.groups), p=self.chances))]
        path = group[int(rng.integers(len(group)))]
        volume = self.load(path)
        if volume is None:
            return self.draw(rng)
        subject = MeshSubject(f"{path.parent.name}/{path.stem}", volume, np.ones(3), False)
        subject.repaint = rng.random() < (0.85 if subject.plain else 0.25)
        if rng.random() < 0.6:
            subject.stretch = random_stretch(rng)
        return subject

    def mixed(self, share: float) -> Callable[[np.random.Generator], MeshSubject | ProceduralSubject]:
        """A function that draws a mesh with this probability, otherwise a procedural shape."""
        return lambda rng: self.draw(rng) if rng.random() < share else draw_procedural(rng)

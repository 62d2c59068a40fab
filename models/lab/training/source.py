"""A source of meshes: a repository, and which of its files training uses."""

import re
from dataclasses import dataclass

SCENERY = r"terrain|landscape|ground|road|track|floor|ceiling|wall|tile|sky|water|decal|collision|grass|river|fence"


@dataclass(frozen=True)
class Source:
    """A repository and the selection of its files."""

    name: str
    origin: str  # repository on github.com
    commit: str
    license: str
    authors: str
    reader: str  # of meshes.py
    pattern: str  # of paths inside, a regular expression
    leave: str = SCENERY  # paths that are left out
    each: int = 10**6  # maximum from one folder, or of poses of one figure
    weight: float = 1.0  # multiplied by the root of the number of meshes


def is_wanted(source: Source, path: str) -> bool:
    """Whether the source uses the file at this path."""
    return bool(re.search(source.pattern, path, re.I)) and not re.search(source.leave, path, re.I)

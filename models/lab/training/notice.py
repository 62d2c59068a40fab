"""Writes the table of sources in the bundle's NOTICE.md: who made the meshes, under which license, and how many.

    python notice.py MESHES ../../gen3d-base/NOTICE.md      # MESHES: the folder that pack.py wrote
"""

import sys
from pathlib import Path

from mesh_sources import SOURCES
from packed import UNSEEN, names

BEGIN, END = "<!-- Written by models/lab/training/notice.py. -->\n", "<!-- The end of what notice.py wrote. -->\n"


def table(folder: Path) -> str:
    """The sources of the packed meshes of a folder, as Markdown."""
    lines = ["| | Source | Authors | License | Meshes |", "| --- | --- | --- | --- | --: |"]
    for source in SOURCES:
        path = folder / f"{source.name}.xz"
        if source.name in UNSEEN or not path.exists():
            continue
        origin = f"[{source.origin}](https://github.com/{source.origin}), commit `{source.commit[:10]}`"
        lines.append(
            f"| `{source.name}` | {origin} | {source.authors} | {source.license} | {len(names(path)):,} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    meshes, page = Path(sys.argv[1]), Path(sys.argv[2])
    before, rest = page.read_text().split(BEGIN)
    page.write_text(before + BEGIN + "\n" + table(meshes) + "\n" + END + rest.split(END)[1])

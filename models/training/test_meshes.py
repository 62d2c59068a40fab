"""python -m unittest, in this folder. Meshes against the procedural shapes whose distances are known."""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

from collection import Collection
from dataset import Shards
from generate import write_shard
from mesh_readers import Builder
from photograph import Sizes, column_crossings, draw_view, photograph
from primitive import part
from shapes import FAR_AWAY
from things import Procedural, Solid
from voxelise import Volume, voxelise

SMALL = Sizes(photo=64, columns=32, planes=64)
CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
# Two triangles for each side: left, right, bottom, top, back, front.
SIDES = [[(0, 1, 3), (0, 3, 2)], [(4, 6, 7), (4, 7, 5)], [(0, 4, 5), (0, 5, 1)], [(2, 3, 7), (2, 7, 6)], [(0, 2, 6), (0, 6, 4)], [(1, 5, 7), (1, 7, 3)]]
LEFT, RIGHT, BOTTOM, TOP, BACK, FRONT = range(6)


def box(half, without=(), colours=None):
    builder = Builder()
    for side in set(range(6)) - set(without):
        builder.add(CORNERS * half, SIDES[side], colours=None if colours is None else colours[side])
    return voxelise(builder.surface())


def solid(volume, repaint=False):
    return Solid("box", volume, np.ones(3), repaint)


def distances(volume, *points):
    return solid(volume).distance(*torch.tensor(points, dtype=torch.float32).T.contiguous()).tolist()


class Voxelised(unittest.TestCase):
    def test_a_box_mesh_is_crossed_where_the_box_shape_is(self):
        half = (1, 0.6, 0.3)
        rows = lambda row: torch.from_numpy(row)[None, None]  # noqa: E731
        shape = Procedural("box", rows(part((0, 0, 0), half)), rows(FAR_AWAY), np.zeros(1, int), torch.tensor([0.001]), np.ones(3))
        mesh = solid(box(half))
        for seed in range(4):
            view = draw_view(np.random.default_rng(seed), lambda rng: shape)
            expected = column_crossings(view, 48, 96)
            view.thing = mesh
            found = column_crossings(view, 48, 96)
            there, here = torch.isfinite(expected[0]), torch.isfinite(found[0])
            self.assertGreater(int(there.sum()), 200)
            self.assertLess(int((there != here).sum()), 0.03 * int(there.sum()))
            apart = (expected - found)[:2, there & here].abs()
            self.assertLess(float(apart.median()), 0.001)
            self.assertLess(float(apart.quantile(0.97)), 0.01)

    def test_a_box_without_a_front_is_air_inside_with_walls(self):
        volume = box((0.8, 0.8, 0.8), without=[FRONT])
        middle, wall, outside = distances(volume, (0, 0, 0), (-1, 0, 0), (0, 0, 1.2))
        self.assertGreater(middle, 0.5)
        self.assertLess(wall, 0)
        self.assertGreater(outside, 0.15)

    def test_a_box_that_is_open_only_below_is_solid(self):
        (middle,) = distances(box((0.8, 0.8, 0.8), without=[BOTTOM]), (0, 0, 0))
        self.assertLess(middle, -0.5)

    def test_a_crack_lets_no_air_in(self):
        builder = Builder()
        for side in range(6):
            # The right side stands off by half a voxel.
            builder.add(CORNERS + (0.01 if side == RIGHT else 0, 0, 0), SIDES[side])
        (middle,) = distances(voxelise(builder.surface()), (0, 0, 0))
        self.assertLess(middle, -0.5)

    def test_a_single_sheet_is_given_a_thickness_on_both_sides(self):
        builder = Builder()
        builder.add(CORNERS, SIDES[BOTTOM])
        builder.add(CORNERS * (0.1, 1, 0.1), SIDES[LEFT])
        volume = voxelise(builder.surface())
        at, above, below = distances(volume, (0.5, -1, 0.5), (0.5, -0.95, 0.5), (0.5, -1.05, 0.5))
        self.assertLess(at, 0)
        self.assertAlmostEqual(above, below, 1)
        self.assertGreater(above, 0)

    def test_the_surface_has_the_colour_of_the_mesh(self):
        paint = [(1, 0, 0)] * 5 + [(0, 0, 1)]
        thing = solid(box((1, 1, 1), colours=paint))
        points = torch.tensor([[0.0, 0.2, 1], [1, 0.3, 0]]).T
        np.testing.assert_allclose(thing.colours(*points), [[0, 0, 1], [1, 0, 0]], atol=0.02)

    def test_photos_of_a_mesh_are_like_those_of_shapes(self):
        thing = solid(box((1, 0.5, 0.7)))
        photo, crossings, back, _, name = photograph(np.random.default_rng(2), SMALL, lambda rng: thing)
        self.assertEqual((photo.shape, crossings.shape, back.shape, name), ((4, 64, 64), (8, 32, 32), (3, 32, 32), "box"))
        seen = photo[3].reshape(32, 2, 32, 2).min((1, 3)) == 255
        self.assertGreater(seen.mean(), 0.1)
        self.assertGreater((crossings[0][seen] < 65535).mean(), 0.99)


class Files(unittest.TestCase):
    def test_a_collection_fills_shards_with_the_meshes_of_its_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "volumes" / "aws-house"
            place.mkdir(parents=True)
            volume = box((1, 0.5, 0.7))
            volume.save(place / "crate.npz")
            np.testing.assert_array_equal(Volume.load(place / "crate.npz").distance, volume.distance)
            write_shard(f"{folder}/shards", 3, SMALL, count=2, draw=Collection(place.parent).mixed(1))
            self.assertEqual(len(Shards(f"{folder}/shards")), 2)
            self.assertEqual(Path(f"{folder}/shards/00003/names.txt").read_text(), "aws-house/crate\naws-house/crate")


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()

"""python -m unittest, in this folder. Meshes against the procedural shapes whose distances are known."""

import json
import math
import struct
import tempfile
import unittest
from pathlib import Path

import numpy as np

from collection import Collection
from dataset import Shards
from generate import write_shard
from mesh_poses import Figure, poses
from mesh_readers import Builder, read_with_trimesh
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
    return solid(volume).field.distance(*np.array(points, np.float32).T).tolist()


class Voxelised(unittest.TestCase):
    def test_a_box_mesh_is_crossed_where_the_box_shape_is(self):
        half = (1, 0.6, 0.3)
        shape = Procedural("box", part((0, 0, 0), half)[None], FAR_AWAY[None], np.zeros(1, int), 0.001, np.ones(3))
        mesh = solid(box(half))
        for seed in range(4):
            view = draw_view(np.random.default_rng(seed), lambda rng: shape)
            expected = column_crossings(view, 48, 96)
            view.thing = mesh
            found = column_crossings(view, 48, 96)
            there, here = np.isfinite(expected[0]), np.isfinite(found[0])
            self.assertGreater(int(there.sum()), 200)
            self.assertLess(int((there != here).sum()), 0.03 * int(there.sum()))
            apart = np.abs(expected[:2, there & here] - found[:2, there & here])
            self.assertLess(float(np.median(apart)), 0.001)
            self.assertLess(float(np.quantile(apart, 0.97)), 0.01)

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
        points = np.array([[0.0, 0.2, 1], [1, 0.3, 0]], np.float32).T
        np.testing.assert_allclose(thing.colours(*points), [[0, 0, 1], [1, 0, 0]], atol=0.02)

    def test_photos_of_a_mesh_are_like_those_of_shapes(self):
        thing = solid(box((1, 0.5, 0.7)))
        photo, crossings, back, _, name = photograph(np.random.default_rng(2), SMALL, lambda rng: thing)
        self.assertEqual((photo.shape, crossings.shape, back.shape, name), ((4, 64, 64), (8, 32, 32), (3, 32, 32), "box"))
        seen = photo[3].reshape(32, 2, 32, 2).min((1, 3)) == 255
        self.assertGreater(seen.mean(), 0.1)
        self.assertGreater((crossings[0][seen] < 65535).mean(), 0.99)


def binary_gltf(path, content, *arrays):
    """Writes a .glb file; each array is a bufferView and an accessor of the same number."""
    shapes = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
    kinds = {np.dtype(np.float32): 5126, np.dtype(np.uint8): 5121, np.dtype(np.uint16): 5123}
    views, accessors, data = [], [], b""
    for i, array in enumerate(arrays):
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": array.nbytes})
        accessors.append({"bufferView": i, "componentType": kinds[array.dtype], "count": len(array), "type": shapes[array.size // len(array)]})
        data += array.tobytes() + b"\0" * (-array.nbytes % 4)
    text = json.dumps({**content, "bufferViews": views, "accessors": accessors}).encode()
    text += b" " * (-len(text) % 4)
    parts = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(parts)) + parts)


class Poses(unittest.TestCase):
    def arm(self, folder, animated=True):
        """A triangle whose last corner hangs on a joint one unit up the y axis, which a quarter turn about z lays down."""
        path, half = Path(folder) / "arm.glb", math.sqrt(0.5)
        up = np.eye(4, dtype=np.float32)
        up[1, 3] = 1
        arrays = [
            np.array([[0, 0, 0], [0.1, 0, 0], [0, 2, 0]], np.float32), np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]], np.uint8),
            np.array([[1, 0, 0, 0]] * 3, np.float32), np.array([0, 1, 2], np.uint16), np.stack([np.eye(4, dtype=np.float32), np.linalg.inv(up).T]).astype(np.float32),
            np.array([0, 2], np.float32), np.array([[0, 0, 0, 1], [0, 0, half, half]], np.float32),
        ]  # fmt: skip
        turn = {"name": "Bend", "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}], "samplers": [{"input": 5, "output": 6}]}
        content = {
            "scenes": [{"nodes": [0, 1]}], "nodes": [{"mesh": 0, "skin": 0}, {"children": [2]}, {"translation": [0, 1, 0]}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}, "indices": 3, "material": 0}]}],
            "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0.2176, 0, 1]}}],
            "skins": [{"joints": [1, 2], "inverseBindMatrices": 4}], "animations": [turn] if animated else [],
        }  # fmt: skip
        binary_gltf(path, content, *arrays)
        return path

    def test_a_joint_takes_along_what_hangs_on_it(self):
        with tempfile.TemporaryDirectory() as folder:
            figure = Figure(self.arm(folder))
            np.testing.assert_allclose(figure.surface().triangles[0], [[0, 0, 0], [0.1, 0, 0], [0, 2, 0]], atol=1e-6)
            surface = figure.surface(0, 1)
            np.testing.assert_allclose(surface.triangles[0], [[0, 0, 0], [0.1, 0, 0], [-1, 1, 0]], atol=1e-6)
            for painted in (surface, read_with_trimesh(self.arm(folder, animated=False))):
                np.testing.assert_allclose(painted.colours[0, 0], [1, 0.5, 0, 1], atol=1e-2)

    def test_a_figure_has_as_many_poses_as_its_animations_give(self):
        with tempfile.TemporaryDirectory() as folder:
            found = dict(poses(self.arm(folder), 10))
            self.assertEqual(len(found), 3)
            self.assertEqual(len({load().triangles.tobytes() for load in found.values()}), 3)
            self.assertEqual([name for name, _ in poses(self.arm(folder, animated=False), 10)], ["rest"])


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
    unittest.main()

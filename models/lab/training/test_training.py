"""Tests of shapes, photos and training: `python -m unittest` in this folder.

They take a minute or two on one core, mostly to compile the network.
"""

import argparse
import functools
import itertools
import math
import os
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime starts
import onnxruntime

import recipes
import shapes
from average import average
from dataset import Shards, disturb, targets
from export import LEAN, MAX_LEAN, Exported, export, load
from generate import write_shard
from model import build
from muon import optimizers, orthogonalized
from photograph import (
    CROSSINGS,
    NONE,
    Light,
    Sizes,
    column_crossings,
    draw_view,
    frame,
    photograph,
    photographs,
    rays,
    trace,
)
from presets import PRESETS
from primitive import field, nearest, part
from shipped import read_weights
from subjects import ProceduralSubject
from train import main, restore, warm_up_share

SMALL = Sizes(photo=64, columns=32, planes=64)
SHIPPED = Path(__file__).parents[2] / "gen3d-base/encoder.onnx"


def at(*points):
    x, y, z = torch.tensor(points, dtype=torch.float32).T.unsqueeze(1)
    return x, y, z


def distance(solid, hollow, *points):
    rows = lambda parts: torch.from_numpy(np.stack(parts))[None]  # noqa: E731
    return field(rows(solid), rows(hollow or [shapes.FAR_AWAY]), torch.tensor([0.001]), *at(*points))[0].tolist()


class Primitive(unittest.TestCase):
    def test_distances_of_plain_prisms_are_exact(self):
        box = part((0, 0, 0), (0.5, 0.3, 0.2))
        self.assertAlmostEqual(distance([box], [], (0.9, 0, 0))[0], 0.4, 4)
        self.assertAlmostEqual(distance([box], [], (0.8, 0.7, 0))[0], 0.5, 4)
        self.assertAlmostEqual(distance([box], [], (0, 0, 0))[0], -0.2, 4)
        cylinder = part((0, 0, 0), (0.5, 0.3, 0.5), corner=0.5)
        self.assertAlmostEqual(distance([cylinder], [], (0.6, 0, 0.8))[0], 0.5, 4)

    def test_a_hollow_part_is_empty(self):
        box, inner = part((0, 0, 0), (0.5, 0.5, 0.5)), part((0, 0.2, 0), (0.4, 0.5, 0.4))
        self.assertGreater(distance([box], [inner], (0, 0, 0))[0], 0)
        self.assertLess(distance([box], [inner], (0.45, 0, 0))[0], 0)

    def test_a_ring_is_open_in_the_middle(self):
        ring = part((0, 0, 0), (0.1, 1, 0.1), corner=0.1, ring=0.5)
        self.assertLess(distance([ring], [], (0, 0.5, 0))[0], 0)
        self.assertAlmostEqual(distance([ring], [], (0, 0, 0))[0], 0.4, 3)


def reference(subject, x, y, z):
    """The distance at points [M] in the subject's own frame, as primitive.py computes it."""
    points = [torch.from_numpy(np.ascontiguousarray(c, np.float32))[None] for c in (x, y, z)]
    return field(
        torch.from_numpy(subject.solid)[None],
        torch.from_numpy(subject.hollow)[None],
        torch.tensor([subject.blend]),
        *points,
    )[0].numpy()


def distances_in_view(subject, view, x, y, z):
    return reference(subject, *view.own(x, y, z)) * view.unit


def one_of_each_recipe():
    return [ProceduralSubject(*recipes.finish(recipe, np.random.default_rng(5))) for recipe, _ in recipes.RECIPES]


class Kernel(unittest.TestCase):
    def test_distances_match_the_formula(self):
        points = np.random.default_rng(0).uniform(-2.2, 2.2, (3, 2000)).astype(np.float32)
        for subject in one_of_each_recipe():
            expected = reference(subject, *points)
            near = np.abs(expected) < 0.5
            np.testing.assert_allclose(
                subject.field.distance(*points)[near], expected[near], atol=2e-3, err_msg=subject.name
            )

    def test_bounds_are_between_the_distance_and_the_surface(self):
        points = np.random.default_rng(1).uniform(-2.2, 2.2, (3, 2000)).astype(np.float32)
        for subject in one_of_each_recipe():
            expected, bound = reference(subject, *points), subject.field.bounded(*points, 0.02)
            near = np.abs(bound) < 0.02
            np.testing.assert_allclose(bound[near], expected[near], atol=2e-3, err_msg=subject.name)
            self.assertTrue((np.abs(expected[~near]) > 0.018).all(), subject.name)
            self.assertTrue(((expected < 0) == (bound < 0))[~near].all(), subject.name)
            # Far from a tapered part, the formula changes faster than the bounds assume. Rays advance by 0.85 of them.
            self.assertTrue((0.9 * np.abs(bound) < np.abs(expected) + 2e-3).all(), subject.name)

    def test_columns_cross_where_the_distance_changes_its_sign_on_a_dense_grid(self):
        size, planes = 20, 48
        rng, apart, missed, all_of_them = np.random.default_rng(2), [], 0, 0
        for subject in one_of_each_recipe()[::3]:
            view = frame(rng, subject)
            if not view:
                continue
            found = column_crossings(view, size, planes).reshape(CROSSINGS, -1)
            x, y = rays(view, size)
            depth = np.arange(1, 4 * planes) / (4 * planes)
            t = (view.distance - view.middle - view.half_depth * (1 - 2 * depth)).astype(np.float32)
            at = [(c[:, None] * t).ravel() for c in (x, y)] + [np.tile(np.float32(view.distance) - t, len(x))]
            inside = (reference(subject, *view.own(*at)) < 0).reshape(-1, len(t))
            expected = np.pad(inside, ((0, 0), (1, 1)))
            for signs, own in zip(expected, found.T):
                crossings = (np.flatnonzero(signs[1:] != signs[:-1]) + 0.5)[:CROSSINGS] / (4 * planes)
                own = own[np.isfinite(own)]
                all_of_them += 1
                if len(own) != len(crossings):
                    missed += 1
                else:
                    apart += list(np.abs(own - crossings) * 4 * planes)
        self.assertLess(missed, 0.003 * all_of_them)
        self.assertLess(np.quantile(apart, 0.999), 0.51)

    def test_the_material_of_a_point_is_that_of_the_nearest_part(self):
        for subject in one_of_each_recipe()[::5]:
            # The grid of points depends on the stretch, although the parts do not.
            subject.stretch = np.ones(3, np.float32)
            points = (subject.points()[:400] + 0.013).T
            expected = nearest(
                torch.from_numpy(subject.solid)[None],
                *(torch.from_numpy(np.ascontiguousarray(c))[None] for c in points),
            )[0].numpy()
            # Some points are equally near to two parts that touch.
            self.assertGreater((subject.field.nearest(*points) == expected).mean(), 0.97, subject.name)

    def test_the_incident_light_follows_from_the_distances_around_the_surface(self):
        rng = np.random.default_rng(4)
        for subject in one_of_each_recipe()[::9]:
            view = frame(rng, subject)
            if not view:
                continue
            t, coverage = trace(view, 64)
            x, y = rays(view, 64)
            x, y, z = (c[coverage == 1] for c in (x * t, y * t, np.float32(view.distance) - t))
            light = Light(rng)
            normals, lit, sky = light.incident(view, x, y, z)
            distances = functools.partial(distances_in_view, subject, view)
            signs = np.array([[1, -1, -1], [-1, -1, 1], [-1, 1, -1], [1, 1, 1]], np.float32)
            probes = np.stack(
                [distances(*(c + subject.reach * s for c, s in zip((x, y, z), corner))) for corner in signs]
            )
            expected = signs.T @ probes
            expected /= np.linalg.norm(expected, axis=0) + 1e-9
            self.assertGreater(np.quantile((expected * normals).sum(0), 0.02), 0.99, subject.name)
            open_sky = 1.0
            for out in (0.05, 0.12, 0.25):
                open_sky = open_sky - (out - distances(*(c + n * out for c, n in zip((x, y, z), normals)))).clip(0) * (
                    0.35 / out
                )
            self.assertLess(np.quantile(np.abs(open_sky - sky), 0.98), 0.01, subject.name)
            self.assertTrue(((lit >= 0) & (lit <= 1)).all())


class Photographs(unittest.TestCase):
    def test_every_recipe_makes_an_object_of_visible_size(self):
        axis = np.linspace(-1.7, 1.7, 40, dtype=np.float32)
        grid = torch.from_numpy(np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3).T.copy())
        for recipe, _ in recipes.RECIPES:
            _, solid, hollow, _, blend, _ = recipes.finish(recipe, np.random.default_rng(5))
            d = field(
                torch.from_numpy(solid)[None],
                torch.from_numpy(hollow)[None],
                torch.tensor([blend]),
                *(c[None] for c in grid),
            )
            self.assertTrue(torch.isfinite(d).all(), recipe.__name__)
            # A rod is thinner than a cell of the grid, so points near it count too.
            near = grid[:, d[0] < 0.06]
            self.assertGreater(near.shape[1], 60, recipe.__name__)
            self.assertGreater(float((near.amax(1) - near.amin(1)).amax()), 0.8, recipe.__name__)

    def test_only_the_selected_recipes_are_drawn(self):
        rng = np.random.default_rng(0)
        self.assertEqual({recipes.draw_recipe(rng, only=["rod", "tool"])[0] for _ in range(20)}, {"rod", "tool"})

    def test_the_same_seed_takes_the_same_photo(self):
        first, again = (photograph(np.random.default_rng(3), SMALL) for _ in range(2))
        for a, b in zip(first[:3], again[:3]):
            np.testing.assert_array_equal(a, b)

    def test_photos_of_one_subject_differ(self):
        samples = list(photographs(np.random.default_rng(3), SMALL, most=3))
        self.assertEqual(len({name for *_, name in samples}), 1)
        self.assertEqual(len({photo.tobytes() for photo, *_ in samples}), 3)
        np.testing.assert_array_equal(samples[0][0], photograph(np.random.default_rng(3), SMALL)[0])

    def test_photos_are_straight_from_a_side_on_request(self):
        def aside(straight):
            rng, apart = np.random.default_rng(1), []
            for _ in range(12):
                towards_camera = draw_view(rng, straight=straight).to_object[:, 2]
                azimuth = math.degrees(math.atan2(towards_camera[0], towards_camera[2]))
                apart.append(abs((azimuth + 45) % 90 - 45))
            return max(apart)

        self.assertLess(aside(1), 20)
        self.assertGreater(aside(0), 20)

    def test_columns_begin_where_the_photo_sees_the_surface(self):
        for seed in range(4):
            view = draw_view(np.random.default_rng(seed))
            found = column_crossings(view, 48, 200)
            t, coverage = trace(view, 48, steps=80)
            z = view.middle + view.half_depth * (1 - 2 * found[0].reshape(-1))
            both = np.isfinite(z) & (coverage == 1)
            self.assertGreater(int(both.sum()), 30)
            apart = np.abs((view.distance - t) - z)[both] / view.half_depth
            self.assertLess(float(np.median(apart)), 0.005)

    def test_intervals_are_in_order_and_closed(self):
        _, crossings, _, _, _ = photograph(np.random.default_rng(8), SMALL)
        enter, leave = crossings[0::2].astype(int), crossings[1::2].astype(int)
        self.assertTrue(((enter == NONE) == (leave == NONE)).all())
        self.assertTrue((leave[enter != NONE] > enter[enter != NONE]).all())


class Targets(unittest.TestCase):
    def test_occupancy_is_the_share_of_each_step_that_is_inside(self):
        crossings = torch.full((1, CROSSINGS, 1, 2), math.inf)
        crossings[0, :4, 0, 0] = torch.tensor([0.25, 0.25 + 2 / 64, 0.5, 0.5 + 1.5 / 64])
        front, there, full = targets(crossings, 64)
        self.assertEqual(there.tolist(), [[[1, 0]]])
        self.assertAlmostEqual(float(front[0, 0, 0]), -0.5, 5)
        column = full[0, :, 0, 0]
        np.testing.assert_allclose(column[:4], [0.5, 1, 0.5, 0], atol=1e-5)
        self.assertAlmostEqual(float(column[16:18].sum()), 1.5, 4)
        self.assertEqual(float(full[0, :, 0, 1].sum()), 0)

    def test_disturbed_photos_remain_images_on_gray(self):
        image = disturb(torch.rand(6, 4, 64, 64).round())
        self.assertEqual(image.shape, (6, 4, 64, 64))
        self.assertTrue(((image >= 0) & (image <= 1)).all())
        outside = image[:, 3:] == 0
        self.assertTrue((image[:, :3][outside.expand(-1, 3, -1, -1)] == 0.5).all())


class Steps(unittest.TestCase):
    def test_the_compiled_network_has_the_gradients_of_the_plain_one_in_every_layer(self):
        torch.manual_seed(0)
        net = build(PRESETS["cpu"]).to(memory_format=torch.channels_last)
        # The transformer and its layers start without effect, which leaves them without gradients.
        ends = [end for layer in net.transformer.layers for end in (layer.out, layer.narrow)]
        for layer in (net.transformer.leave[1], *ends):
            torch.nn.init.normal_(layer.weight, std=0.02)
        size = PRESETS["cpu"].sizes.photo
        image = torch.rand(2, 4, size, size).contiguous(memory_format=torch.channels_last)
        gradients = []
        for forward in (net, torch.compile(net)):
            net.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                outputs = forward(image)
            sum(part.float().square().mean() for part in outputs).backward()
            gradients.append({name: value.grad.clone() for name, value in net.named_parameters()})
        for name, plain in gradients[0].items():
            cosine = torch.nn.functional.cosine_similarity(plain.flatten(), gradients[1][name].flatten(), dim=0)
            self.assertGreater(float(cosine), 0.98, name)

    def test_the_rate_warms_up_again_if_only_the_weights_exist(self):
        def state_of(folder):
            net = build(PRESETS["cpu"])
            return restore(Path(folder), net, build(PRESETS["cpu"]), optimizers(net, 1e-3, torch.float32))

        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(state_of(folder), (0, 0))
            net = build(PRESETS["cpu"])
            weights = {
                "average": {key: value.half() for key, value in net.state_dict().items()},
                "step": 39_109,
                "preset": "cpu",
            }
            torch.save(weights, Path(folder) / "weights.pt")
            step, since = state_of(folder)
            self.assertEqual(step, 39_109)
            self.assertAlmostEqual(warm_up_share(step, since), 1 / 300)
            self.assertEqual(warm_up_share(step + 299, since), 1)
            # A run that stopped in the middle of the warm-up continues it.
            state = {
                "net": net.state_dict(),
                "average": net.state_dict(),
                "optimizers": [optimizer.state_dict() for optimizer in optimizers(net, 1e-3, torch.float32)],
                "step": step + 100,
                "since": since,
            }
            torch.save(state, Path(folder) / "state.pt")
            self.assertAlmostEqual(warm_up_share(*state_of(folder)), 101 / 300)

    def test_a_network_with_more_transformer_layers_continues_with_the_same_outputs(self):
        torch.manual_seed(0)
        preset = PRESETS["cpu"]
        shallow, deep = build(replace(preset, layers=1)).eval(), build(preset).eval()
        for layer in (shallow.transformer.leave[1], shallow.transformer.layers[0].narrow):
            torch.nn.init.normal_(layer.weight, std=0.02)
        with tempfile.TemporaryDirectory() as folder:
            torch.save({"average": shallow.state_dict(), "step": 7, "preset": "cpu"}, Path(folder) / "weights.pt")
            restore(Path(folder), deep, build(preset), optimizers(deep, 1e-3, torch.float32))
        image = torch.rand(1, 4, 128, 128)
        with torch.no_grad():
            for expected, output in zip(shallow(image), deep(image)):
                torch.testing.assert_close(output, expected)

    def test_the_average_with_a_deeper_network_adds_a_share_of_what_its_new_layers_add(self):
        first = {"layers.0.out.weight": torch.tensor([2.0])}
        second = {
            "layers.0.out.weight": torch.tensor([4.0]),
            "layers.1.wide.weight": torch.tensor([6.0]),
            "layers.1.out.weight": torch.tensor([8.0]),
        }
        averaged = {key: float(value) for key, value in average(first, second, 0.25).items()}
        self.assertEqual(averaged, {"layers.0.out.weight": 2.5, "layers.1.wide.weight": 6, "layers.1.out.weight": 2})

    def test_orthogonalized_matrices_have_singular_values_near_one(self):
        torch.manual_seed(0)
        for shape, precision in itertools.product(((3, 20, 50), (3, 50, 20)), (torch.float32, torch.bfloat16)):
            values = torch.linalg.svdvals(orthogonalized(torch.randn(shape), precision).float())
            self.assertGreater(float(values.min()), 0.6)
            self.assertLess(float(values.max()), 1.3)

    def test_both_optimizers_take_steps_of_about_the_same_size(self):
        torch.manual_seed(0)
        net = build(PRESETS["cpu"])
        before = {name: value.detach().clone() for name, value in net.named_parameters()}
        for value in net.parameters():
            value.grad = torch.randn_like(value)
        for optimizer in optimizers(net, 1e-3, torch.float32):
            optimizer.step()
        for name in ("level1.conv1.weight", "transformer.layers.0.wide.weight", "head.weight"):
            step = (net.get_parameter(name).detach() - before[name]).square().mean().sqrt()
            self.assertTrue(1e-4 < float(step) < 1.5e-3, f"{name}: {step}")

    def test_shards_are_read_as_they_were_written(self):
        with tempfile.TemporaryDirectory() as folder:
            write_shard(folder, 4, SMALL, count=3)
            data = Shards(folder)
            photos, crossings, backs, _ = data.take([0, 1, 2])
            self.assertEqual(
                (photos.shape, crossings.shape, backs.shape), ((3, 4, 64, 64), (3, CROSSINGS, 32, 32), (3, 3, 32, 32))
            )
            self.assertTrue((crossings[torch.isfinite(crossings)] <= 1).all())
            self.assertEqual(len(Shards(folder, skip="00004")), 0)

    def test_a_batch_shows_the_requested_share_of_meshes(self):
        with tempfile.TemporaryDirectory() as folder:
            write_shard(folder, 4, SMALL, count=3)
            names = Path(folder) / "00004" / "names.txt"
            names.write_text("chair\ngame/sword\nlamp")
            data, rng = Shards(folder), np.random.default_rng(0)
            meshes, procedural = data.batch(rng, 8, mesh_share=1), data.batch(rng, 8, mesh_share=0)
            self.assertTrue(all(torch.equal(photo, data.take([1])[0][0]) for photo in meshes[0]))
            self.assertFalse(any(torch.equal(photo, data.take([1])[0][0]) for photo in procedural[0]))

    def test_the_exported_graph_matches_the_network(self):
        torch.manual_seed(0)
        preset = PRESETS["cpu"]
        net = build(preset).eval()
        with tempfile.TemporaryDirectory() as folder:
            weights = Path(folder) / "weights.pt"
            torch.save(
                {"average": {key: value.half() for key, value in net.state_dict().items()}, "step": 0, "preset": "cpu"},
                weights,
            )
            export(weights, Path(folder) / "bundle", "test", "test", "test")
            session = onnxruntime.InferenceSession(Path(folder) / "bundle" / "encoder.onnx")
            net.load_state_dict({key: value.half().float() for key, value in net.state_dict().items()})
            image = torch.rand(1, 4, 128, 128)
            with torch.no_grad():
                front, occupancy, back, elevation = net(image)
            lean = (LEAN * torch.arange(64) / 64).clamp(max=MAX_LEAN)[None, :, None, None]
            outputs = session.run(None, {"image": image.numpy()})
            for expected, output in zip((front, occupancy + lean, back.sigmoid(), elevation), outputs):
                np.testing.assert_allclose(expected.numpy(), output, atol=1e-3)


class Shipped(unittest.TestCase):
    """The bundle in models/gen3d-base is the only copy of the weights."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.weights = Path(cls.folder.name) / "weights.pt"
        torch.save(read_weights(SHIPPED), cls.weights)
        cls.photo = photograph(np.random.default_rng(3), PRESETS["cpu"].sizes)[0][None].astype(np.float32) / 255

    def outputs(self, graph):
        return onnxruntime.InferenceSession(graph).run(None, {"image": self.photo})

    def test_the_network_has_the_outputs_of_the_bundle_that_its_weights_were_read_from(self):
        net, _, _ = load(self.weights)
        with torch.no_grad():
            found = Exported(net)(torch.from_numpy(self.photo))
        for expected, output in zip(self.outputs(SHIPPED), found):
            np.testing.assert_allclose(output.numpy(), expected, atol=1e-4)

    def test_exporting_the_weights_again_gives_the_same_weights_and_outputs(self):
        folder = Path(self.folder.name) / "bundle"
        export(self.weights, folder, "gen3d-base", "gen3d base", "again")
        first, again = read_weights(SHIPPED), read_weights(folder / "encoder.onnx")
        self.assertEqual((again["step"], again["preset"]), (first["step"], first["preset"]))
        for name, value in first["average"].items():
            torch.testing.assert_close(again["average"][name], value, rtol=0, atol=0)
        for expected, output in zip(self.outputs(SHIPPED), self.outputs(folder / "encoder.onnx")):
            np.testing.assert_allclose(output, expected, atol=1e-6)

    def test_training_continues_from_the_bundle(self):
        run = self.weights.parent
        write_shard(run / "data", 1, PRESETS["cpu"].sizes, count=2)
        options = {"preset": "cpu", "data": [run / "data"], "minutes": 0.002, "rate": 1, "finish": False}
        hardware = {"device": "cpu", "threads": 1, "compile": False, "bfloat16": False}
        main(argparse.Namespace(run=run, seed=0, held_out=0, mesh_share=None, **options, **hardware))
        before, after = read_weights(SHIPPED), torch.load(run / "state.pt")
        self.assertEqual(after["step"], before["step"] + 1)
        for name, value in before["average"].items():
            change = (after["net"][name] - value.float()).abs().max()
            # The first step of the warm-up is a small one.
            self.assertTrue(0 < float(change) < 1e-4, f"{name}: {change}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()

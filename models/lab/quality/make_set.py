"""Renders photos of objects with Blender's Cycles and samples their surfaces: the part of make-set.mjs that needs
Blender.

    blender -b --factory-startup -P make_set.py -- JOB.json

make-set.mjs writes JOB.json: {"size": pixels, "samples": rays per pixel, "points": count, "objects": [{"id", "loader",
"file", "parts", "turn", "drop", "photos": PNGs to write, "points": file to write, "view": JSON to write}]}. An object
with "sides" instead of "photos" and "points" has four photos by hand, which side_photos.py describes.

The object's frame is glTF's: Y up, the front towards +Z, centered on the box around the surface that is visible from
outside, whose longest side is 2. Blender's Z is up: a vector (x, y, z) of the object's frame is (x, -z, y) there.
"""

import gzip
import json
import math
import random
import sys
import traceback
from pathlib import Path

import bpy
import numpy as np
from mathutils import Matrix, Vector
from mathutils.bvhtree import BVHTree

sys.path.append(str(Path(__file__).parent))
import side_photos

TO_BLENDER = Matrix(((1, 0, 0, 0), (0, 0, -1, 0), (0, 1, 0, 0), (0, 0, 0, 1)))

# Directions from which a point may be visible, and the number from which it must be: fewer rays pass only through
# cracks.
SKY_DIRECTIONS = 96
SEEN_FROM = 3

# Candidates per point: thinning them evens the spacing.
CANDIDATES = 2


def main():
    """Makes all objects of the job. A failure does not stop the others."""
    job = json.loads(Path(sys.argv[sys.argv.index("--") + 1]).read_text())
    for item in job["objects"]:
        try:
            make(item, job)
            print("MADE", item["id"], flush=True)
        except Exception:
            traceback.print_exc()
            print("FAILED", item["id"], flush=True)


def make(item, job):
    """Renders the photos of one object and samples its surface, or renders its four sides."""
    load(item)
    turn(item.get("turn", [0, 0, 0]))
    for material in bpy.data.materials:
        make_opaque(material)

    soup = triangles()
    rng = np.random.default_rng(list(item["id"].encode()))
    points, owners, weights = visible_points(soup, job["points"], rng)
    low, high = points.min(axis=0), points.max(axis=0)
    scale = 2 / (high - low).max()
    to_frame = Matrix.Scale(scale, 4) @ Matrix.Translation(-Vector((low + high) / 2))
    for root in [o for o in bpy.data.objects if o.parent is None]:
        root.matrix_world = to_frame @ root.matrix_world
    bpy.context.view_layer.update()
    points = (points - (low + high) / 2) * scale
    corners = (soup["corners"] - (low + high) / 2) * scale
    floor = float(corners[..., 2].min())
    set_up_renderer(job)
    if "sides" in item:
        Path(item["view"]).write_text(json.dumps({"sides": render_sides(item, corners.reshape(-1, 3), floor)}))
        return
    tree = BVHTree.FromPolygons(corners.reshape(-1, 3).tolist(), np.arange(3 * len(corners)).reshape(-1, 3).tolist())
    colors = base_colors(soup, owners, weights)
    views, seen = [], np.zeros(len(points), np.uint8)
    yaw = None
    for number, photo in enumerate(item["photos"]):
        dice = random.Random(f"{item['id']} {number + 1}")
        view = choose_view(dice, yaw)
        yaw = view["yawDegrees"]
        camera = place_camera(view, corners.reshape(-1, 3))
        light(dice, view["yawDegrees"], floor)
        bpy.context.scene.render.filepath = photo
        bpy.ops.render.render(write_still=True)
        eye = camera.matrix_world.translation
        seen |= np.array([sees(tree, eye, point) for point in points], np.uint8) << number
        view["cameraToObject"] = camera_to_object(camera)
        views.append(view)

    in_object_frame = np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)
    write_points(item["points"], in_object_frame, colors, seen)
    size = (high - low) * scale / 2
    half_extent = [round(float(v), 4) for v in (size[0], size[2], size[1])]
    Path(item["view"]).write_text(json.dumps({"halfExtent": half_extent, "views": views}))


def render_sides(item, vertices, floor):
    """Renders the four photos that a person takes of an object, and returns their cameras by side."""
    dice = random.Random(f"{item['id']} sides")
    views = side_photos.choose_views(dice)
    # A person either turns the object, so that the light stays with the camera, or walks around it.
    is_turned = dice.random() < 0.5
    lights = dice.random()
    distance = None
    for side, view in views.items():
        camera = place_camera(view, vertices, distance and distance * dice.uniform(0.88, 1.14))
        distance = distance or camera.matrix_world.translation.length
        light(random.Random(lights), views[side if is_turned else "front"]["yawDegrees"], floor)
        side_photos.render(item["sides"][side], exposure=2 ** dice.uniform(-0.25, 0.25))
        view["cameraToObject"] = camera_to_object(camera)
    return views


def camera_to_object(camera):
    """The camera's matrix in the object's frame: 4 columns, row by row."""
    return [round(v, 6) for row in TO_BLENDER.inverted() @ camera.matrix_world for v in row]


# Loading


def load(item):
    """Loads the file of an object into an empty scene."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    file = item["file"]
    if item["loader"] == "obj":
        bpy.ops.wm.obj_import(filepath=file)
    elif item["loader"] == "gltf":
        np.bool = bool  # The importer needs it, and Debian's numpy no longer has it.
        bpy.ops.import_scene.gltf(filepath=file)
    elif item["loader"] == "blend":
        with bpy.data.libraries.load(file) as (available, loaded):
            missing = set(item["parts"]) - {"*"} - set(available.objects)
            if missing:
                raise ValueError(f"{file} has no object {sorted(missing)}")
            loaded.objects = [name for name in available.objects if name in item["parts"] or "*" in item["parts"]]
        for obj in loaded.objects:
            bpy.context.collection.objects.link(obj)
    else:
        raise ValueError(f"no loader {item['loader']}")
    bpy.context.view_layer.update()
    keep_meshes(item.get("drop", []))


def keep_meshes(dropped):
    """Keeps only mesh objects, in place: no lamps, cameras, armatures or scaling parents."""
    placed = {o: o.matrix_world.copy() for o in bpy.data.objects if o.type == "MESH" and o.name not in dropped}
    for obj in placed:
        obj.parent = None
        obj.matrix_world = placed[obj]
        obj.hide_render = False
    for obj in [o for o in bpy.data.objects if o not in placed]:
        bpy.data.objects.remove(obj)
    bpy.context.view_layer.update()


def turn(degrees):
    """Rotates everything about the object frame's X, then Y, then Z."""
    x, y, z = (math.radians(d) for d in degrees)
    rotation = Matrix.Rotation(z, 4, "Z") @ Matrix.Rotation(y, 4, "Y") @ Matrix.Rotation(x, 4, "X")
    for obj in bpy.data.objects:
        obj.matrix_world = TO_BLENDER @ rotation @ TO_BLENDER.inverted() @ obj.matrix_world
    bpy.context.view_layer.update()


def principled(material):
    """The material's Principled shader, if it has one."""
    if not material or not material.use_nodes:
        return None
    return next((n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED"), None)


def make_opaque(material):
    """Makes glass opaque: the color of a point must not depend on the background. Cutout textures stay."""
    if not material.use_nodes:
        color = material.diffuse_color[:]
        material.use_nodes = True
        principled(material).inputs["Base Color"].default_value = color
    shader = principled(material)
    if not shader:
        return
    shader.inputs["Transmission"].default_value = 0
    shader.inputs["Emission Strength"].default_value = 0
    shader.inputs["Metallic"].default_value = min(0.5, shader.inputs["Metallic"].default_value)
    shader.inputs["Roughness"].default_value = max(0.25, shader.inputs["Roughness"].default_value)
    alpha = shader.inputs["Alpha"]
    if not cuts_out(linked_image(alpha)):
        for link in list(alpha.links):
            material.node_tree.links.remove(link)
        alpha.default_value = 1


def linked_image(socket):
    """The image at the end of the first chain of nodes that leads into the socket."""
    while socket and socket.is_linked:
        node = socket.links[0].from_node
        if node.type == "TEX_IMAGE":
            return node.image
        socket = next((s for s in node.inputs if s.is_linked), None)
    return None


def cuts_out(image):
    """Whether the image makes parts of the surface transparent."""
    return image is not None and image.depth in (32, 64, 128) and float(pixels(image)[..., 3].min()) < 0.5


_pixels = {}


def pixels(image):
    """[height, width, 4], rows from the bottom, as stored in the file: sRGB for colors."""
    key = (image.filepath, image.name)
    if key not in _pixels:
        buffer = np.empty(image.size[0] * image.size[1] * 4, np.float32)
        image.pixels.foreach_get(buffer)
        _pixels.clear()
        _pixels[key] = buffer.reshape(image.size[1], image.size[0], 4)
    return _pixels[key]


# The surface


def triangles():
    """All triangles of the scene in Blender's world: corners [T, 3, 3], uvs [T, 3, 2], material of each [T]."""
    graph = bpy.context.evaluated_depsgraph_get()
    corners, uvs, materials = [], [], []
    for obj in bpy.data.objects:
        evaluated = obj.evaluated_get(graph)
        mesh = evaluated.to_mesh()
        mesh.calc_loop_triangles()
        count = len(mesh.loop_triangles)
        if count == 0:
            continue
        vertices = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", vertices)
        world = np.array(obj.matrix_world)
        placed = vertices.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]
        index = np.empty(3 * count, np.int32)
        mesh.loop_triangles.foreach_get("vertices", index)
        corners.append(placed[index].reshape(-1, 3, 3))
        loops = np.empty(3 * count, np.int32)
        mesh.loop_triangles.foreach_get("loops", loops)
        uv = np.zeros(2 * len(mesh.loops), np.float32)
        if mesh.uv_layers.active:
            mesh.uv_layers.active.data.foreach_get("uv", uv)
        uvs.append(uv.reshape(-1, 2)[loops].reshape(-1, 3, 2))
        slots = np.empty(count, np.int32)
        mesh.loop_triangles.foreach_get("material_index", slots)
        own = [slot.material for slot in obj.material_slots] or [None]
        materials.extend(own[min(slot, len(own) - 1)] for slot in slots)
        evaluated.to_mesh_clear()
    return {"corners": np.concatenate(corners), "uvs": np.concatenate(uvs), "materials": materials}


def visible_points(soup, count, rng):
    """`count` evenly spaced points that are visible from outside, [count, 3], with their triangles and weights."""
    corners = soup["corners"].astype(np.float64)
    tree = BVHTree.FromPolygons(corners.reshape(-1, 3).tolist(), np.arange(3 * len(corners)).reshape(-1, 3).tolist())
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    size = float((corners.max(axis=(0, 1)) - corners.min(axis=(0, 1))).max())
    directions = sky(rng)
    kept = [[], [], []]
    found = tried = 0
    while found < CANDIDATES * count and tried < 40 * count:
        batch = count
        owners = rng.choice(len(area), batch, p=area / area.sum())
        root, along = np.sqrt(rng.random(batch)), rng.random(batch)
        weights = np.stack([1 - root, root * (1 - along), root * along], axis=1)
        points = np.einsum("nc,nck->nk", weights, corners[owners])
        solid = alphas(soup, owners, weights) > 0.5
        visible = np.array([ok and seen_from_outside(tree, p, directions, size) for ok, p in zip(solid, points)])
        for list_, values in zip(kept, (points, owners, weights)):
            list_.append(values[visible])
        found += int(visible.sum())
        tried += batch
    points, owners, weights = (np.concatenate(list_) for list_ in kept)
    if len(points) < count:
        raise ValueError(f"only {len(points)} of {tried} points can be seen from outside")
    chosen = thin(points, count, area.sum() * len(points) / tried)
    return points[chosen], owners[chosen], weights[chosen]


def sky(rng):
    """Unit vectors spread evenly over the sphere, in random order: few of them decide most points."""
    step = np.arange(SKY_DIRECTIONS) + 0.5
    height = 1 - 2 * step / SKY_DIRECTIONS
    around = math.pi * (1 + math.sqrt(5)) * step
    ring = np.sqrt(1 - height**2)
    return [
        Vector(v) for v in rng.permutation(np.stack([ring * np.cos(around), ring * np.sin(around), height], axis=1))
    ]


def seen_from_outside(tree, point, directions, size):
    """Whether enough rays from the point leave the object."""
    start = Vector(point)
    count = 0
    for direction in directions:
        if tree.ray_cast(start + direction * (1e-4 * size), direction, 4 * size)[0] is None:
            count += 1
            if count == SEEN_FROM:
                return True
    return False


def sees(tree, eye, point):
    """Whether nothing is between the eye and the point."""
    toward = eye - Vector(point)
    direction = toward.normalized()
    return tree.ray_cast(Vector(point) + direction * 2e-4, direction, toward.length)[0] is None


def thin(points, count, area):
    """Indices of `count` points, most of them at least 0.62 times the spacing of a square grid apart."""
    apart = spaced(points, 0.62 * math.sqrt(area / count))
    rest = np.setdiff1d(np.arange(len(points)), apart)
    return np.concatenate([apart, rest])[:count]


def spaced(points, radius):
    """Indices of points that are at least `radius` apart."""
    cells = np.floor(points / radius).astype(int)
    taken = {}
    chosen = []
    limit = radius * radius
    around = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    for index, ((i, j, k), (x, y, z)) in enumerate(zip(cells.tolist(), points.tolist())):
        free = True
        for a, b, c in around:
            for px, py, pz in taken.get((i + a, j + b, k + c), ()):
                if (px - x) ** 2 + (py - y) ** 2 + (pz - z) ** 2 < limit:
                    free = False
                    break
            if not free:
                break
        if free:
            taken.setdefault((i, j, k), []).append((x, y, z))
            chosen.append(index)
    return np.array(chosen)


def sample(image, uv):
    """The pixels of an image at uv [N, 2]."""
    grid = pixels(image)
    height, width = grid.shape[:2]
    x = np.floor((uv[:, 0] % 1) * width).astype(int) % width
    y = np.floor((uv[:, 1] % 1) * height).astype(int) % height
    return grid[y, x]


def by_material(soup, owners):
    """Each material with a mask of its points."""
    materials = [soup["materials"][owner] for owner in owners]
    for material in set(materials):
        yield material, np.array([m == material for m in materials])


def uvs_of(soup, owners, weights):
    """The uvs of points [N, 2]."""
    return np.einsum("nc,nck->nk", weights, soup["uvs"][owners])


def alphas(soup, owners, weights):
    """The opacity of points [N]."""
    values = np.ones(len(owners))
    for material, own_points in by_material(soup, owners):
        shader = principled(material)
        image = linked_image(shader.inputs["Alpha"]) if shader else None
        if image:
            values[own_points] = sample(image, uvs_of(soup, owners[own_points], weights[own_points]))[:, 3]
    return values


def base_colors(soup, owners, weights):
    """[N, 3] bytes, sRGB: the paint of the surface, without light."""
    colors = np.full((len(owners), 3), 0.8)
    for material, own_points in by_material(soup, owners):
        shader = principled(material)
        if not shader:
            continue
        socket = shader.inputs["Base Color"]
        image = linked_image(socket)
        if image:
            colors[own_points] = sample(image, uvs_of(soup, owners[own_points], weights[own_points]))[:, :3]
        else:
            colors[own_points] = [to_srgb(v) for v in socket.default_value[:3]]
    # Five bits per channel halve the files, with errors of at most 4 of 255.
    return np.round(np.round(31 * np.clip(colors, 0, 1)) * 255 / 31).astype(np.uint8)


def to_srgb(linear):
    """Linear light to sRGB."""
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * min(1, linear) ** (1 / 2.4) - 0.055


def write_points(path, points, colors, seen):
    """Writes int16 [N, 3] steps of 1/32767 from the previous point along a Z-order curve, uint8 [N, 3] sRGB, uint8 [N]
    views.
    """
    # A precision of 1/4096 is sufficient, and the zeros compress.
    steps = np.clip(np.round(points * 32767 / 8).astype(np.int64), -4095, 4095) * 8
    order = np.argsort(z_order(steps // 64 + 512))
    deltas = np.diff(steps[order], axis=0, prepend=np.zeros((1, 3), np.int64)).astype("<i2")
    body = deltas.tobytes() + colors[order].tobytes() + seen[order].tobytes()
    Path(path).write_bytes(gzip.compress(body, 9, mtime=0))


def z_order(cells):
    """The Z-order key of cells [N, 3]."""
    key = np.zeros(len(cells), np.int64)
    for bit in range(11):
        for axis in range(3):
            key |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return key


# The studio


def choose_view(dice, other_yaw):
    """The first photo shows about the front, as shops do; the second any side at least 60 degrees away from it."""
    if other_yaw is None:
        yaw = dice.uniform(-60, 60)
    else:
        yaw = (other_yaw + dice.choice((-1, 1)) * dice.uniform(60, 180) + 180) % 360 - 180
    return {
        "yawDegrees": round(yaw, 3),
        "elevationDegrees": round(dice.uniform(5, 35), 3),
        "fovDegrees": round(dice.uniform(30, 50), 3),
        "fill": round(dice.uniform(0.78, 0.92), 3),
    }


def place_camera(view, vertices, fixed_distance=None):
    """Aims at the object: the longer side of its image fills `fill` of the frame, centered, but for the `aim` and the
    roll of a view by hand. A fixed distance grows only until the object fills no more than 0.9 of the frame.
    """
    lens = bpy.data.cameras.new("camera")
    camera = bpy.data.objects.new("camera", lens)
    bpy.context.collection.objects.link(camera)
    bpy.context.scene.camera = camera
    lens.angle = math.radians(view["fovDegrees"])
    lens.clip_start, lens.clip_end = 0.01, 100
    yaw, elevation = math.radians(view["yawDegrees"]), math.radians(view["elevationDegrees"])
    back = Vector((math.sin(yaw) * math.cos(elevation), -math.cos(yaw) * math.cos(elevation), math.sin(elevation)))
    right = Vector((math.cos(yaw), math.sin(yaw), 0))
    roll = Matrix.Rotation(math.radians(view.get("rollDegrees", 0)), 3, back)
    right, up = roll @ right, roll @ back.cross(right)
    aim_x, aim_y = view.get("aim", (0, 0))
    axes = np.array([right, up, back])
    inside = vertices[np.abs(vertices).max(axis=1) < 1.02] @ axes.T
    half = math.tan(lens.angle / 2)
    x, y, distance = 0.0, 0.0, fixed_distance or 6.0
    for _ in range(100):
        depth = distance - inside[:, 2]
        u, v = (inside[:, 0] - x) / depth / half, (inside[:, 1] - y) / depth / half
        # Small steps, because near points move faster than the middle.
        x += 0.3 * (u.max() + u.min() - 2 * aim_x) * distance * half
        y += 0.3 * (v.max() + v.min() - 2 * aim_y) * distance * half
        extent = max(np.ptp(u), np.ptp(v)) / 2
        distance *= (max(1, extent / 0.9) if fixed_distance else extent / view["fill"]) ** 0.5
    eye = right * x + up * y + back * distance
    rotation = Matrix((right, up, back)).transposed().to_4x4()
    camera.matrix_world = Matrix.Translation(eye) @ rotation
    bpy.context.view_layer.update()
    return camera


def light(dice, yaw_degrees, floor):
    """A large soft key light, a weaker fill light, a rim light from behind, a gray sky and a floor that reflects."""
    for obj in [o for o in bpy.data.objects if o.get("studio")]:
        bpy.data.objects.remove(obj)
    side = dice.choice((-1, 1))
    key = (yaw_degrees + side * dice.uniform(20, 70), dice.uniform(35, 65), dice.uniform(90, 150), dice.uniform(1.5, 4))
    fill = (yaw_degrees - side * dice.uniform(40, 80), dice.uniform(10, 40), key[2] * dice.uniform(0.15, 0.5), 4)
    rim = (yaw_degrees + dice.uniform(140, 220), dice.uniform(30, 60), key[2] * dice.uniform(0, 0.5), 2)
    for azimuth, elevation, watts, size in (key, fill, rim):
        data = bpy.data.lights.new("light", "AREA")
        data.energy, data.size = watts, size
        warmth = dice.uniform(-0.06, 0.06)
        data.color = (1 + min(0, warmth), 1 - abs(warmth) / 2, 1 - max(0, warmth))
        lamp = bpy.data.objects.new("light", data)
        a, e = math.radians(azimuth), math.radians(elevation)
        position = Vector((math.sin(a) * math.cos(e), -math.cos(a) * math.cos(e), math.sin(e))) * 4.5
        lamp.matrix_world = Matrix.Translation(position) @ position.to_track_quat("Z", "Y").to_matrix().to_4x4()
        lamp["studio"] = True
        bpy.context.collection.objects.link(lamp)
    world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    sky_color = world.node_tree.nodes["Background"].inputs
    sky_color[0].default_value = (dice.uniform(0.9, 1), 1, dice.uniform(0.95, 1.05), 1)
    sky_color[1].default_value = dice.uniform(0.3, 0.6)
    bpy.context.scene.world = world
    mesh = bpy.data.meshes.new("floor")
    mesh.from_pydata([(-20, -20, floor), (20, -20, floor), (20, 20, floor), (-20, 20, floor)], [], [(0, 1, 2, 3)])
    ground = bpy.data.objects.new("floor", mesh)
    ground.visible_camera = False
    ground["studio"] = True
    bpy.context.collection.objects.link(ground)


def set_up_renderer(job):
    """Cycles on the CPU, with a transparent background."""
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = job["samples"]
    scene.cycles.use_adaptive_sampling = True
    scene.cycles.use_denoising = False  # Debian builds without a denoiser
    scene.cycles.adaptive_threshold = 0.05
    scene.cycles.max_bounces = 4
    scene.cycles.caustics_reflective = False
    scene.cycles.caustics_refractive = False
    scene.cycles.sample_clamp_indirect = 4
    scene.cycles.seed = 1
    scene.render.resolution_x = scene.render.resolution_y = job["size"]
    scene.render.resolution_percentage = 100
    scene.render.film_transparent = True
    scene.render.image_settings.file_format = "PNG"
    scene.render.image_settings.color_mode = "RGBA"
    scene.render.threads_mode = "FIXED"
    scene.render.threads = job["threads"]
    scene.view_settings.view_transform = "Standard"


main()

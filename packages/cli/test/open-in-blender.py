"""Run by converted-models.system.test.ts in Blender: imports each file, and prints what Blender then has as JSON."""

import json
import sys

import bpy
import numpy

# Debian 12's importer uses a name that Debian 12's numpy does not have.
if not hasattr(numpy, "bool"):
    numpy.bool = bool

# Files that Blender reads as they are: the test has turned their Z axis up.
importers = {
    "glb": bpy.ops.import_scene.gltf,
    "obj": lambda filepath: bpy.ops.wm.obj_import(filepath=filepath, forward_axis="Y", up_axis="Z"),
    "stl": bpy.ops.import_mesh.stl,
}
results = []
for file in sys.argv[sys.argv.index("--") + 1 :]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    importers[file.rsplit(".", 1)[1]](filepath=file)
    bpy.context.view_layer.update()
    (mesh,) = [item for item in bpy.data.objects if item.type == "MESH"]
    images = [list(image.size) for image in bpy.data.images]
    results.append({"triangles": len(mesh.data.polygons), "size": list(mesh.dimensions), "images": images})
print("RESULTS", json.dumps(results))

"""Makes the 8-bit graph of models/isnet from the graph in half precision that convert.py writes.

    pip install onnx==1.23.1 onnxruntime==1.30.0 numpy pillow
    python3 models/lab/exporters/isnet/convert.py package/dist half
    python3 models/lab/exporters/isnet/quantize.py half models/isnet PHOTO...

Measuring 60 photos takes 10 minutes, so the ranges are also written to half/ranges.json. The same command with this file
instead of the photos uses them again.

Convolutions, additions and everything between them work on integers: weights have 7 bits and a scale per output channel,
activations have 8 bits. With 7 bits, sums of two products fit into 16 bits, so processors without VNNI instructions
give the same result as those with them (with 8 bits, they saturate, and the masks' median IoU with those in single
precision falls from 0.99 to 0.96). The last convolution and the sigmoid stay in floating point.

The range of each activation is about the median, over all photos and passes, of its maximum. The largest maximum is up
to 80 times as much, because IS-Net has outliers on some photos, and gives useless masks.

For devices other than the CPU, isnet-float.onnx computes in single precision with the same weights.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType
from onnxruntime.quantization.calibrate import CalibrationMethod, TensorData, TensorsData
from onnxruntime.quantization.qdq_quantizer import QDQQuantizer
from PIL import Image, ImageOps

LOCATE, CLOSE_UP, FULL = 512, 576, 1024  # as in manifest.json
FULL_EVERY = 6  # photos, because a pass at full size takes as long as both of the others
MARGIN = 0.1  # around the object in the close-up, as in packages/engine/src/photo/find-object.ts
# The quantile of the maxima. With 0.5 or 0.65, one of six difficult product photos has an IoU of 0.97 with the mask in
# single precision. With 0.57, all have at least 0.98.
RANGE_QUANTILE = 0.57
IN_FLOAT = ["/side1/Conv", "/Resize_5", "/Sigmoid"]
WEIGHTS = "weights.bin"
SMALLEST_EXTERNAL = 1024  # bytes


def in_single_precision(path: Path) -> onnx.ModelProto:
    """Loads the graph, with its weights in single precision."""
    model = onnx.load(path)
    half = {tensor.name: tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT16}
    nodes = [node for node in model.graph.node if node.input[0] not in half]
    weights = [
        numpy_helper.from_array(numpy_helper.to_array(half[node.input[0]]).astype(np.float32), node.output[0])
        for node in model.graph.node
        if node.input[0] in half
    ]
    others = [tensor for tensor in model.graph.initializer if tensor.name not in half]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(others + weights)
    return model


def passes(session: onnxruntime.InferenceSession, names: list[str], path: str, full: bool):
    """Yields the outputs of the passes that a photo may take."""
    photo = ImageOps.exif_transpose(Image.open(path)).convert("RGB")

    def run(part: Image.Image, size: int) -> list[np.ndarray]:
        pixels = np.asarray(part.resize((size, size), Image.Resampling.LANCZOS), np.float32)
        return session.run(names, {"input": ((pixels - 128) / 256).transpose(2, 0, 1)[None]})

    if full:
        yield run(photo, FULL)
    located = run(photo, LOCATE)
    yield located
    rows, columns = np.where(located[0][0, 0] > 0.15)
    if len(rows) == 0:
        return
    box = np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]) / LOCATE
    left, top, right, bottom = box * np.tile(photo.size, 2)
    space = MARGIN * max(right - left, bottom - top)
    yield run(photo.crop((max(0, int(left - space)), max(0, int(top - space)),
                          min(photo.width, int(right + space)), min(photo.height, int(bottom + space)))), CLOSE_UP)


def measure(model: onnx.ModelProto, photos: list[str]) -> dict[str, tuple[float, float]]:
    """Measures the range of each activation that others do not determine."""
    nodes = model.graph.node
    relus = {node.input[0] for node in nodes if node.op_type == "Relu"}
    measured = [n.output[0] for n in nodes if n.op_type in ("Conv", "Relu", "Add") and n.output[0] not in relus]
    augmented = onnx.ModelProto()
    augmented.CopyFrom(model)
    augmented.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in measured)
    session = onnxruntime.InferenceSession(augmented.SerializeToString())
    lows, highs = [], []
    for number, photo in enumerate(photos):
        print(f"{number + 1} of {len(photos)}: {photo}", file=sys.stderr)
        for _, *values in passes(session, ["output", *measured], photo, number % FULL_EVERY == 0):
            lows.append([value.min() for value in values])
            highs.append([value.max() for value in values])
    low, high = np.quantile(lows, 1 - RANGE_QUANTILE, axis=0), np.quantile(highs, RANGE_QUANTILE, axis=0)
    return {name: (min(0.0, float(low[i])), float(high[i])) for i, name in enumerate(measured)}


def with_derived(model: onnx.ModelProto, measured: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Adds the ranges of the other activations."""
    ranges = dict(measured)
    # One step is 1/256, so that bytes of a photo stay exact.
    ranges["input"] = (-0.5, 127 / 256)
    for node in model.graph.node:
        inputs = [ranges[name] for name in node.input if name in ranges]
        if node.op_type == "Relu":
            ranges[node.input[0]] = ranges[node.output[0]]
        elif node.op_type in ("MaxPool", "Resize", "Concat"):
            ranges[node.output[0]] = (min(i[0] for i in inputs), max(i[1] for i in inputs))
    return ranges


def quantized(model: onnx.ModelProto, ranges: dict[str, tuple[float, float]]) -> onnx.ModelProto:
    """Adds QuantizeLinear and DequantizeLinear nodes, which the runtime merges into integer kernels."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    tensors = {name: TensorData(lowest=np.float32(low), highest=np.float32(high)) for name, (low, high) in ranges.items()}
    quantizer = QDQQuantizer(
        copy,
        per_channel=True,
        reduce_range=True,
        weight_qType=QuantType.QInt8,
        activation_qType=QuantType.QUInt8,
        tensors_range=TensorsData(CalibrationMethod.MinMax, tensors),
        nodes_to_quantize=[],
        nodes_to_exclude=IN_FLOAT,
        op_types_to_quantize=["Conv", "Relu", "Concat", "Resize", "MaxPool", "Add"],
        extra_options={},
    )
    quantizer.quantize_model()
    quantizer.model.topological_sort()
    return quantizer.model.model


def in_float(model: onnx.ModelProto, integers: onnx.ModelProto) -> onnx.ModelProto:
    """Makes the graph that computes in single precision with the weights of the 8-bit graph."""
    tensors = {tensor.name: tensor for tensor in integers.graph.initializer}
    nodes, weights = [], []
    for tensor in model.graph.initializer:
        if f"{tensor.name}_quantized" not in tensors or tensor.name.endswith("bias") or len(tensor.dims) != 4:
            weights.append(tensor)
            continue
        scale = numpy_helper.to_array(tensors[f"{tensor.name}_scale"]).reshape(-1, 1, 1, 1)
        weights += [tensors[f"{tensor.name}_quantized"], numpy_helper.from_array(scale, f"{tensor.name}_scale")]
        nodes.append(helper.make_node("Cast", [f"{tensor.name}_quantized"], [f"{tensor.name}_cast"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [f"{tensor.name}_cast", f"{tensor.name}_scale"], [tensor.name]))
    result = onnx.ModelProto()
    result.CopyFrom(model)
    nodes += result.graph.node
    del result.graph.node[:], result.graph.initializer[:]
    result.graph.node.extend(nodes)
    result.graph.initializer.extend(weights)
    return result


def main() -> None:
    """Writes both graphs and their weights, and prints their entries for manifest.json."""
    source, directory, photos = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    model = in_single_precision(source / "isnet.onnx")
    if photos[0].endswith(".json"):
        measured = json.loads(Path(photos[0]).read_text())
    else:
        measured = measure(model, photos)
        (source / "ranges.json").write_text(json.dumps(measured))
    integers = quantized(model, with_derived(model, measured))
    floats = in_float(model, integers)
    offsets, size = {}, 0
    with (directory / WEIGHTS).open("wb") as file:
        for tensor in integers.graph.initializer:
            if len(tensor.raw_data) >= SMALLEST_EXTERNAL and tensor.data_type == TensorProto.INT8:
                offsets[tensor.name] = (size, len(tensor.raw_data))
                size += file.write(tensor.raw_data)
    names = ["isnet.onnx", "isnet-float.onnx", WEIGHTS]
    for name, graph in zip(names, (integers, floats)):
        for tensor in graph.graph.initializer:
            if tensor.name not in offsets:
                continue
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in zip(("location", "offset", "length"), (WEIGHTS, *offsets[tensor.name])):
                tensor.external_data.add(key=key, value=str(value))
        onnx.save(graph, directory / name)
        onnx.checker.check_model(str(directory / name))
    files = []
    for name in names:
        data = (directory / name).read_bytes()
        files.append({"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    print(json.dumps(files, indent=2))  # for manifest.json


main()

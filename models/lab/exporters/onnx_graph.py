"""ONNX graphs without weights, built node by node.

Every weight is an initializer with the name, shape and layout that it has in a published checkpoint, and external data
without an offset. gen3d reads the offsets from the checkpoint and writes them into the graph. Linear layers are Gemm
nodes with transB=1, which takes PyTorch's [out, in] unchanged. Attention is one node,
com.microsoft.MultiHeadAttention, which onnxruntime computes in tiles.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 20


class Graph:
    """An ONNX graph under construction. Values are referred to by name."""

    def __init__(self, checkpoint: str, half: bool = False) -> None:
        self.checkpoint = checkpoint
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, TensorProto] = {}
        self.half = half

    def add(self, op: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: object) -> str | list[str]:
        """Adds a node and returns the names of its outputs."""
        names = [f"{op}_{len(self.nodes)}_{i}" if outputs > 1 else f"{op}_{len(self.nodes)}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, **attributes))
        return names if outputs > 1 else names[0]

    def constant(self, values: object, dtype: type = np.float32) -> str:
        """Adds a constant, once per value."""
        array = np.asarray(values, dtype)
        name = f"constant_{array.dtype}_{'x'.join(map(str, array.shape))}_{array.tobytes().hex()}"
        self.initializers.setdefault(name, numpy_helper.from_array(array, name))
        return name

    def weight(self, name: str, *shape: int, dtype: int = TensorProto.FLOAT) -> str:
        """Adds a tensor of the checkpoint."""
        tensor = TensorProto(name=name, dims=shape, data_type=dtype, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=self.checkpoint)
        self.initializers[name] = tensor
        return name

    def reshape(self, x: str, *shape: int) -> str:
        """Adds a Reshape."""
        return self.add("Reshape", x, self.constant(shape, np.int64))

    def cast(self, x: str, dtype: int) -> str:
        """Adds a Cast, in a graph of half precision."""
        return self.add("Cast", x, to=dtype) if self.half else x

    def narrow(self, x: str) -> str:
        """Casts to float16, in a graph of half precision."""
        return self.cast(x, TensorProto.FLOAT16)

    def widen(self, x: str) -> str:
        """Casts to float32, in a graph of half precision."""
        return self.cast(x, TensorProto.FLOAT)

    def linear(self, x: str, name: str, inputs: int, outputs: int, bias: bool = True) -> str:
        """Adds a linear layer of the checkpoint."""
        dtype = TensorProto.FLOAT16 if self.half else TensorProto.FLOAT
        operands = [x, self.weight(f"{name}.weight", outputs, inputs, dtype=dtype)]
        if bias:
            operands.append(self.narrow(self.weight(f"{name}.bias", outputs)))
        return self.add("Gemm", *operands, transB=1)

    def layer_norm(self, x: str, name: str, channels: int, epsilon: float) -> str:
        """Adds a layer norm of the checkpoint."""
        scale, bias = self.weight(f"{name}.weight", channels), self.weight(f"{name}.bias", channels)
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)

    def attention(self, query: str, key: str, value: str, heads: int, channels: int, batch: int = 1) -> str:
        """Adds attention between tokens [batch * L, C], whose heads are consecutive."""
        batched = [self.reshape(x, batch, -1, channels) for x in (query, key, value)]
        attended = self.add("MultiHeadAttention", *batched, domain="com.microsoft", num_heads=heads)
        return self.reshape(attended, -1, channels)

    def model(self, title: str, inputs: dict[str, list], outputs: dict[str, tuple[str, list]]) -> onnx.ModelProto:
        """Completes the graph."""

        def value(name: str, shape: list) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

        for name, (source, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [source], [name]))
        graph = helper.make_graph(
            self.nodes,
            title,
            [value(name, shape) for name, shape in inputs.items()],
            [value(name, shape) for name, (_, shape) in outputs.items()],
            self.short_names(),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, producer_name="gen3d", ir_version=9, opset_imports=opsets)

    def short_names(self) -> list[TensorProto]:
        """The initializers. Constants, named after their values so far, get numbers."""
        constants = [name for name in self.initializers if name.startswith("constant_")]
        short = {name: f"constant_{i}" for i, name in enumerate(constants)}
        for node in self.nodes:
            node.input[:] = [short.get(name, name) for name in node.input]
        for name in constants:
            self.initializers[name].name = short[name]
        return list(self.initializers.values())

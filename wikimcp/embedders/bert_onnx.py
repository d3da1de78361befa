"""Rebuilds a BERT encoder as an ONNX graph from its weights, quantises it and tries it out.

The only file that uses onnx and, beside fastembed, onnxruntime. The graph is BERT as its paper
describes it (https://arxiv.org/abs/1810.04805, post-norm), with the output of the last layer as
``last_hidden_state``; pooling is left to whoever runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikimcp.errors import Unavailable
from wikimcp.ports import Vectors

OPSET = 17  # the first with LayerNormalization
PACKAGES = ("onnx", "onnxruntime")
MASKED = -10_000.0  # added to the attention score of a padded token

Tensors = Mapping[str, NDArray[Any]]


def require_packages() -> None:
    """Raise Unavailable that names the package which is missing."""
    for package in PACKAGES:
        if find_spec(package) is None:
            raise Unavailable(f"{package} is not installed", hint="pip install onnx onnxruntime")


def write_bert(tensors: Tensors, config: Mapping[str, Any], path: Path) -> None:
    """Write the ONNX graph of a BERT with these weights.

    ``config`` is the model's ``config.json``. Inputs ``input_ids``, ``attention_mask`` and
    ``token_type_ids`` are int64 ``(batch, sequence)``, the output is float32 ``(batch, sequence,
    hidden_size)``. Raises ValueError for another architecture or when a weight is missing.
    """
    import onnx

    onnx.save(_Graph(tensors, config).build(), path)


def quantise(path: Path, target: Path) -> None:
    """Write the graph again with 8-bit weights; activations are quantised as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(path, target, weight_type=QuantType.QInt8, per_channel=True)


def mean_vectors(onnx_path: Path, tokenizer_path: Path, texts: Sequence[str]) -> Vectors:
    """Run the graph on each text alone and return the means of its token vectors, length 1."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_path))
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(str(onnx_path), providers=["CPUExecutionProvider"])
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        mean = session.run(["last_hidden_state"], inputs)[0][0].mean(axis=0)
        rows.append(mean / np.linalg.norm(mean))
    return np.array(rows, dtype=np.float32)


class _Graph:
    """Collects the nodes and weights of one encoder."""

    def __init__(self, tensors: Tensors, config: Mapping[str, Any]) -> None:
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise ValueError("only BERT with gelu can be rebuilt")
        self.tensors = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
        self.hidden = int(config["hidden_size"])
        self.heads = int(config["num_attention_heads"])
        self.layers = int(config["num_hidden_layers"])
        self.epsilon = float(config["layer_norm_eps"])
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def build(self) -> Any:  # noqa: ANN401 - onnx.ModelProto
        """Return the whole model."""
        from onnx import TensorProto, helper

        state = self.embeddings()
        masked = self.mask()
        for layer in range(self.layers):
            state = self.layer(state, masked, f"encoder.layer.{layer}")
        self.node("Identity", [state], name="last_hidden_state")
        shape = ["batch", "sequence"]
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, self.hidden])
        graph = helper.make_graph(self.nodes, "bert", inputs, [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        # Says that this graph is ready to be quantised; without it the quantiser warns on the root logger.
        helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
        return model

    def embeddings(self) -> str:
        """Words, positions and segments, added and normalised."""
        words = self.node("Gather", [self.weight("embeddings.word_embeddings.weight"), "input_ids"])
        segments = self.node(
            "Gather", [self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids"]
        )
        length = self.node("Shape", ["input_ids"], start=1, end=2)
        zero, one = self.constant("zero", np.zeros(1, np.int64)), self.constant("one", np.ones(1, np.int64))
        positions = self.node(
            "Slice", [self.weight("embeddings.position_embeddings.weight"), zero, length, zero, one]
        )
        state = self.node("Add", [self.node("Add", [words, segments]), positions])
        return self.norm(state, "embeddings.LayerNorm")

    def mask(self) -> str:
        """Zero for real tokens, a large negative number for padding: ``(batch, 1, 1, sequence)``."""
        axes = self.constant("mask_axes", np.array([1, 2], dtype=np.int64))
        mask = self.node("Cast", [self.node("Unsqueeze", ["attention_mask", axes])], to=1)
        padding = self.node("Sub", [self.constant("unmasked", np.ones(1, np.float32)), mask])
        return self.node("Mul", [padding, self.constant("masked", np.array([MASKED], np.float32))])

    def layer(self, state: str, masked: str, prefix: str) -> str:
        """One encoder layer: attention, then the two-layer perceptron, each added and normalised."""
        context = self.attention(state, masked, f"{prefix}.attention.self")
        attended = self.linear(context, f"{prefix}.attention.output.dense")
        state = self.norm(self.node("Add", [attended, state]), f"{prefix}.attention.output.LayerNorm")
        inner = self.gelu(self.linear(state, f"{prefix}.intermediate.dense"))
        outer = self.linear(inner, f"{prefix}.output.dense")
        return self.norm(self.node("Add", [outer, state]), f"{prefix}.output.LayerNorm")

    def attention(self, state: str, masked: str, prefix: str) -> str:
        """Scaled dot-product attention over all heads."""
        size = self.hidden // self.heads
        split = self.constant("split_heads", np.array([0, 0, self.heads, size], dtype=np.int64))
        join = self.constant("join_heads", np.array([0, 0, self.hidden], dtype=np.int64))

        def heads(part: str, order: list[int]) -> str:
            projected = self.linear(state, f"{prefix}.{part}")
            return self.node("Transpose", [self.node("Reshape", [projected, split])], perm=order)

        query, key, value = (
            heads("query", [0, 2, 1, 3]),
            heads("key", [0, 2, 3, 1]),
            heads("value", [0, 2, 1, 3]),
        )
        scale = self.constant("root_of_size", np.array([size**0.5], dtype=np.float32))
        scores = self.node("Div", [self.node("MatMul", [query, key]), scale])
        shares = self.node("Softmax", [self.node("Add", [scores, masked])], axis=-1)
        context = self.node("Transpose", [self.node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        return self.node("Reshape", [context, join])

    def gelu(self, state: str) -> str:
        """``x * (1 + erf(x / sqrt 2)) / 2``, in the form that onnxruntime fuses."""
        root = self.constant("root_of_two", np.array([2**0.5], dtype=np.float32))
        one, half = (
            self.constant("unit", np.ones(1, np.float32)),
            self.constant("half", np.array([0.5], np.float32)),
        )
        error = self.node("Erf", [self.node("Div", [state, root])])
        return self.node("Mul", [self.node("Mul", [state, self.node("Add", [error, one])]), half])

    def linear(self, state: str, prefix: str) -> str:
        """``x @ W.T + b``."""
        product = self.node("MatMul", [state, self.weight(f"{prefix}.weight", transposed=True)])
        return self.node("Add", [product, self.weight(f"{prefix}.bias")])

    def norm(self, state: str, prefix: str) -> str:
        """Layer normalisation over the last axis."""
        scale, shift = self.weight(f"{prefix}.weight"), self.weight(f"{prefix}.bias")
        return self.node("LayerNormalization", [state, scale, shift], axis=-1, epsilon=self.epsilon)

    def weight(self, name: str, *, transposed: bool = False) -> str:
        """Add a weight of the model as float32."""
        if name not in self.tensors:
            raise ValueError(f"the weights have no {name}")
        tensor = self.tensors[name].T if transposed else self.tensors[name]
        return self.constant(name, np.ascontiguousarray(tensor, dtype=np.float32))

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant once."""
        from onnx import numpy_helper

        if all(weight.name != name for weight in self.weights):
            self.weights.append(numpy_helper.from_array(value, name))
        return name

    def node(self, kind: str, inputs: list[str], *, name: str = "", **attributes: Any) -> str:  # noqa: ANN401
        """Add a node with one output and return the output's name."""
        from onnx import helper

        output = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"node_{output}", **attributes))
        return output

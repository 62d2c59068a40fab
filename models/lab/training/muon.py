"""The Muon optimizer (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon), for weights of hidden layers."""

from collections.abc import Iterable

import torch
from torch import nn

# Prefixes of weights that are not matrices between hidden layers: most connect hidden layers to the image or the
# outputs.
OUTER = ("stem.", "fine.", "fine_in.", "fine_out.", "head.", "colour.", "look.2.", "transformer.position")
# Coefficients of the quintic iteration, from the source above. Fast rather than exact: singular values end only near 1.
A, B, C = 3.4445, -4.7750, 2.0315


def orthogonalized(matrices: torch.Tensor, precision: torch.dtype, iterations: int = 5) -> torch.Tensor:
    """The nearest semi-orthogonal matrices, approximately, by Newton-Schulz iterations. [N,rows,columns] -> the same"""
    x = matrices.to(precision)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(iterations):
        gram = x @ x.mT
        x = A * x + (B * gram + C * (gram @ gram)) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum whose steps are orthogonalized matrices. Kernels are treated as [outputs, inputs·height·width].

    The steps have the size that AdamW's usually have (a root mean square of 0.2 times the rate, Liu et al. 2025, arXiv
    2502.16982), so that both can use the same learning rate. Unlike torch.optim.Muon, it accepts convolutions.
    """

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        precision: torch.dtype,
        momentum: float = 0.95,
        weight_decay: float = 0.01,
    ) -> None:
        """`precision` is the dtype of the orthogonalization. bfloat16 is accurate enough."""
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.precision = precision

    @torch.no_grad()
    def step(self) -> None:
        """Updates the parameters from their gradients."""
        for group in self.param_groups:
            same_shape = {}
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter)
                state["momentum"].lerp_(parameter.grad, 1 - group["momentum"])
                nesterov = parameter.grad.lerp(state["momentum"], group["momentum"]).flatten(1)
                same_shape.setdefault(nesterov.shape, []).append((parameter, nesterov))
            for shape, members in same_shape.items():
                parameters, moments = zip(*members)
                size = 0.2 * max(shape) ** 0.5
                for parameter, update in zip(
                    parameters, orthogonalized(torch.stack(moments), self.precision), strict=True
                ):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.add_(update.reshape(parameter.shape), alpha=-group["lr"] * size)


def optimizers(net: nn.Module, rate: float, precision: torch.dtype) -> list[torch.optim.Optimizer]:
    """Muon for the weights of hidden layers, orthogonalized in `precision`, and AdamW for everything else."""
    hidden, other = [], []
    for name, parameter in net.named_parameters():
        (hidden if parameter.ndim >= 2 and not name.startswith(OUTER) else other).append(parameter)
    return [Muon(hidden, rate, precision), torch.optim.AdamW(other, lr=rate, weight_decay=0.01, betas=(0.9, 0.98))]

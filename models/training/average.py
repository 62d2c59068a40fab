"""Averages the weights of a run and of another run that continued it (Wortsman et al. 2022, arXiv 2109.01903).

    python average.py FIRST/weights.pt SECOND/weights.pt OUT.pt --share 0.7

The second network may have more transformer layers. Those have no effect in the first one.
"""

import argparse

import torch

# The last layers of a transformer layer, which decide how much it adds.
ENDS = ("out.weight", "out.bias", "narrow.weight", "narrow.bias")


def average(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], share: float) -> dict[str, torch.Tensor]:
    """The weighted mean of two networks' weights. New layers of the second keep theirs, but add only its share."""

    def mean(key: str, value: torch.Tensor) -> torch.Tensor:
        if key in first:
            return torch.lerp(first[key].float(), value.float(), share)
        return share * value.float() if key.endswith(ENDS) else value

    return {key: mean(key, value).half() for key, value in second.items()}


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("first")
    options.add_argument("second")
    options.add_argument("out")
    options.add_argument("--share", type=float, default=0.5, help="of the second network")
    chosen = options.parse_args()
    first, second = (torch.load(path, map_location="cpu") for path in (chosen.first, chosen.second))
    torch.save({**second, "average": average(first["average"], second["average"], chosen.share)}, chosen.out)

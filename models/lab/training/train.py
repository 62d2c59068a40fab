"""Trains the network, from its initial weights or from where an earlier run stopped.

    python train.py RUN --preset cpu --data FOLDER... --minutes 60         # from shards that generate.py writes
    python train.py RUN --preset cpu --data FOLDER --minutes 20 --finish   # lowers the learning rate to 0 at the end

RUN is a folder. `state.pt` contains everything needed to continue, `weights.pt` only the averaged weights in half
precision. A run continues from state.pt, or from weights.pt if only that exists.
"""

import argparse
import copy
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dataset import Resident, Shards, disturb, mirror, recolor, targets
from model import build
from muon import optimizers
from photograph import HALF_DEPTH
from presets import PRESETS, Preset

WARM_UP = 300
AVERAGE = 0.999


def losses(
    outputs: Sequence[torch.Tensor],
    photos: torch.Tensor,
    crossings: torch.Tensor,
    backs: torch.Tensor,
    elevations: torch.Tensor,
    steps: int,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The weighted sum of the losses, and each loss."""
    front, there, full = targets(crossings, steps)
    depth, logits, back, elevation = (a.float() for a in outputs)
    area = there.sum((1, 2)).clamp(min=1)
    per_pixel = lambda error: ((error * there).sum((1, 2)) / area).mean()  # noqa: E731
    apart = HALF_DEPTH * (depth - front)
    # The position in the box cannot be seen in the photo and hardly affects the result. The relief does.
    shift = ((apart * there).sum((1, 2)) / area)[:, None, None]
    # Normals are more visible than depth, and steps between two parts must not be smoothed away.
    slope = 0
    for axis in (1, 2):
        both = there.narrow(axis, 1, there.shape[axis] - 1) * there.narrow(axis, 0, there.shape[axis] - 1)
        slope = slope + ((apart.diff(dim=axis).abs() * both).sum((1, 2)) / area).mean()
    bce = F.binary_cross_entropy_with_logits(logits, full, reduction="none").mean(1)
    p = logits.sigmoid() * there[:, None]
    overlap = (2 * (p * full).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + full.sum((1, 2, 3)) + 1)
    color = (back.sigmoid() - backs).abs().mean(1)
    parts = {
        "shift": shift.abs().mean(),
        "depth": per_pixel((apart - shift).abs()),
        "slope": slope,
        "bce": per_pixel(bce),
        "dice": (1 - overlap).mean(),
        "color": per_pixel(color),
        "look": (elevation - elevations).abs().mean(),
    }
    weights = {"shift": 0.3, "depth": 2.5, "slope": 1.5, "bce": 2.0, "dice": 0.5, "color": 1.0, "look": 0.5}
    return sum(weights[key] * part for key, part in parts.items()), parts


def measure(net: nn.Module, data: Shards, preset: Preset, device: torch.device, count: int = 240) -> dict[str, float]:
    """Losses on undisturbed samples that training has not seen, and the intersection over union of the columns."""
    rng, sums, batches = np.random.default_rng(0), {}, math.ceil(count / preset.batch)
    with torch.no_grad():
        for _ in range(batches):
            photos, crossings, backs, elevations = (a.to(device) for a in data.batch(rng, preset.batch))
            image = torch.cat([photos[:, :3] * photos[:, 3:] + 0.5 * (1 - photos[:, 3:]), photos[:, 3:]], 1)
            outputs = net(image)
            _, parts = losses(outputs, image, crossings, backs, elevations, preset.steps)
            _, there, full = targets(crossings, preset.steps)
            a, b = (outputs[1] > 0) & (there[:, None] > 0), full > 0.5
            parts["iou"] = ((a & b).sum((1, 2, 3)) / (a | b).sum((1, 2, 3)).clamp(min=1)).float().mean()
            for key, part in parts.items():
                sums[key] = sums.get(key, 0) + float(part)
    return {key: round(total / batches, 4) for key, total in sums.items()}


def restore(
    run: Path,
    net: nn.Module,
    average: nn.Module,
    both: Sequence[torch.optim.Optimizer],
    device: torch.device | str = "cpu",
) -> tuple[int, int]:
    """Loads the state from the run's folder.

    -> the current step, and the step at which the optimizers started to gather their moments
    """
    if (run / "state.pt").exists():
        state = torch.load(run / "state.pt", map_location=device)
        net.load_state_dict(state["net"])
        average.load_state_dict(state["average"])
        for optimizer, saved in zip(both, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        return state["step"], state["since"]
    if (run / "weights.pt").exists():
        state = torch.load(run / "weights.pt", map_location=device)
        # A network with fewer transformer layers continues with additional ones that have no effect at first.
        initial = {key: value for key, value in net.state_dict().items() if key.startswith("transformer.")}
        net.load_state_dict({**initial, **{key: value.float() for key, value in state["average"].items()}})
        average.load_state_dict(net.state_dict())
        return state["step"], state["step"]
    return 0, 0


def warm_up_share(step: int, since: int) -> float:
    """Share of the full learning rate.

    The first steps are based on the moments of a few batches and must be small, even when the weights are not new.
    """
    return min(1, (step - since + 1) / WARM_UP)


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 is faster than float32. CPUs that emulate it are much slower; GPUs should have it."""
    return device.type != "cpu" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))


def main(chosen: argparse.Namespace) -> None:
    """Trains for the given time and saves the run."""
    torch.manual_seed(chosen.seed)
    torch.set_num_threads(chosen.threads)
    torch.set_float32_matmul_precision("high")
    preset, device, run = PRESETS[chosen.preset], torch.device(chosen.device), Path(chosen.run)
    run.mkdir(parents=True, exist_ok=True)
    held_out = f"{chosen.held_out:05d}"
    if chosen.resident:
        (folder,) = chosen.data
        # Where samples are rendered during the training, the time includes the wait for the first ones.
        data, unseen, started = Resident(folder, chosen.resident, device, preset.sizes), [], time.time()
        while len(data) < 2 * preset.batch:
            time.sleep(0.2)
            data.refresh()
    else:
        data, unseen = Shards(*chosen.data, skip=held_out), [Shards(*chosen.data, only=held_out)]
    unseen += [Shards(folder) for folder in chosen.unseen]
    # The fastest layout for convolutions on CPUs, and on GPUs in bfloat16.
    net = build(preset).to(device, memory_format=torch.channels_last)
    average = copy.deepcopy(net).eval()
    use_bfloat16 = has_fast_bfloat16(device) if chosen.bfloat16 is None else chosen.bfloat16
    both = optimizers(net, preset.peak_rate, torch.bfloat16 if use_bfloat16 else torch.float32)
    step, since = restore(run, net, average, both, device)
    rng = np.random.default_rng((chosen.seed, step))
    forward, score, disturbed = (
        (torch.compile(net), torch.compile(losses), torch.compile(disturb)) if chosen.compile else (net, losses, disturb)
    )

    def save() -> None:
        state = {
            "net": net.state_dict(),
            "average": average.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in both],
            "step": step,
            "since": since,
            "preset": chosen.preset,
        }
        torch.save(state, run / "state.tmp")
        (run / "state.tmp").rename(run / "state.pt")
        torch.save(
            {
                "average": {key: value.half() for key, value in average.state_dict().items()},
                "step": step,
                "preset": chosen.preset,
            },
            run / "weights.pt",
        )

    def evaluate() -> None:
        save()
        for samples in unseen:
            samples.refresh()
            if len(samples):
                print("unseen", samples.folders[0].name, step, measure(average, samples, preset, device), flush=True)
        memory = f", {torch.cuda.max_memory_allocated() / 1e9:.1f} GB on the GPU" if device.type == "cuda" else ""
        print(f"saved {step} after {(time.time() - started) / 60:.1f} min, {len(data)} samples{memory}", flush=True)

    if not chosen.resident:
        started = time.time()
    first, means, evaluated = step, {}, time.time()
    while (passed := (time.time() - started) / 60 / chosen.minutes) < 1:
        if (step - first) % (10 if chosen.resident else 200) == 0:
            data.refresh()
        rate = chosen.rate * preset.peak_rate * warm_up_share(step, since)
        if chosen.finish:
            rate *= 0.5 + 0.5 * math.cos(math.pi * passed)
        for optimizer in both:
            for group in optimizer.param_groups:
                group["lr"] = rate
        batch = data.batch(rng, preset.batch, chosen.mesh_share)
        photos, crossings, backs, elevations = (a.to(device) for a in batch)
        photos, crossings, backs = mirror(photos, crossings, backs)
        photos, backs = recolor(photos, backs)
        image = disturbed(photos).contiguous(memory_format=torch.channels_last)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=use_bfloat16):
            outputs = forward(image)
        loss, parts = score(outputs, image, crossings, backs, elevations, preset.steps)
        net.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for optimizer in both:
            optimizer.step()
        step += 1
        keep = min(AVERAGE, (step + 1) / (step + 20))
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(net.parameters()), 1 - keep)
        # Tensors, because reading a number on every step would make the GPU wait.
        for key, part in parts.items():
            means[key] = means.get(key, part.detach()).lerp(part.detach(), 0.02)
        if step % 50 == 0:
            print(
                step,
                len(data),
                f"{(time.time() - started) / 60:.1f} min",
                {k: round(float(v), 4) for k, v in means.items()},
                flush=True,
            )
        if time.time() - evaluated > 60 * chosen.every if chosen.every else step % 500 == 0:
            if not all(math.isfinite(float(value)) for value in means.values()):
                raise SystemExit("The loss is not finite. The run's folder has the state before that.")
            evaluate()
            evaluated = time.time()
    evaluate()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run")
    options.add_argument("--preset", choices=PRESETS, default="cpu")
    options.add_argument("--data", required=True, nargs="+", help="folders of shards")
    options.add_argument("--minutes", type=float, required=True)
    options.add_argument("--rate", type=float, default=1, help="factor of the preset's learning rate")
    options.add_argument("--finish", action="store_true")
    options.add_argument(
        "--mesh-share", type=float, help="share of the samples that show meshes (default: as in the shards)"
    )
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--held-out", type=int, default=0, help="the shard that is used only for measuring")
    options.add_argument("--unseen", nargs="*", default=[], help="folders of shards that are used only for measuring")
    options.add_argument("--every", type=float, help="minutes between saves (default: every 500 steps)")
    options.add_argument(
        "--resident",
        type=int,
        metavar="COUNT",
        help="keep this many of the latest samples on the device, and delete their shards",
    )
    options.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
    options.add_argument(
        "--bfloat16",
        action=argparse.BooleanOptionalAction,
        help="use bfloat16 (default: only if the device is faster with it)",
    )
    main(options.parse_args())

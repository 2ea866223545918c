"""Train ResNet-18 on small images that PIL decodes: a job whose data loader is too slow.

python train.py [--workers N | --free-loader] [--trace FILE]     record a few steps into FILE
python train.py [--workers N] --time ROUNDS                      ms a step without the profiler, as JSON

The script makes its images in a temporary folder. It needs torch, torchvision, pillow and numpy, and no GPU.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet18
from torchvision.transforms import v2

BATCH, SIDE, CLASSES = 8, 64, 10
"""Photos in a batch, the side of a photo after the augmentation in pixels, and classes."""
FILES, FILE_SIZE = 16, (1600, 1200)
"""The number of photos, and their width and height."""
WAIT, WARM_UP, RECORDED = 2, 2, 6
"""Steps that the profiler skips, those in which it warms up, and those that it records."""
TIMED, DROPPED = 8, 3
"""Steps of a round that are timed, and those before them.

Workers start in the latter, and caches still hold what other loops left.
"""
Batch = tuple[Tensor, Tensor]
Lengths = dict[str, float]


class Photos(Dataset[Batch]):
    """Photos on disk, decoded and augmented when they are asked for."""

    def __init__(self, folder: Path, count: int) -> None:
        self.files, self.count = sorted(folder.glob("*.jpg")), count
        self.augment = v2.Compose(
            [
                v2.RandomResizedCrop(SIDE),
                v2.RandomHorizontalFlip(),
                v2.ColorJitter(0.4, 0.4, 0.4),
                v2.ToImage(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize([0.5] * 3, [0.25] * 3),
            ]
        )

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Batch:
        with Image.open(self.files[index % len(self.files)]) as photo:
            pixels = photo.convert("RGB")
        return self.augment(pixels), torch.tensor(index % CLASSES)


class Trainer:
    """ResNet-18 and SGD."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = resnet18(num_classes=CLASSES)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def train_step(self, photos: Tensor, labels: Tensor) -> float:
        """Run one training step, and return the loss."""
        with record_function("train_step"):
            self.optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(photos), labels)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            return loss.item()


def make_photos(folder: Path) -> None:
    """Write JPEG files that look like photos to a decoder: smooth, with some noise."""
    generator = np.random.default_rng(0)
    width, height = FILE_SIZE
    for number in range(FILES):
        coarse = generator.integers(0, 256, (height // 100, width // 100, 3), dtype=np.uint8)
        smooth = np.asarray(Image.fromarray(coarse).resize(FILE_SIZE, Image.Resampling.BICUBIC))
        noisy = smooth + generator.integers(-12, 13, smooth.shape, dtype=np.int16)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(folder / f"{number:03}.jpg", quality=90)


def batches(folder: Path, workers: int, count: int) -> Iterable[Batch]:
    """Make `count` batches, decoded in the main process or by workers."""
    return DataLoader(Photos(folder, count * BATCH), BATCH, num_workers=workers)


def free_batches(folder: Path, count: int) -> Iterator[Batch]:
    """Yield one batch again and again: the job as it would be with a loader that takes no time."""
    (batch,) = batches(folder, 0, 1)
    for _ in range(count):
        yield batch


def record(trainer: Trainer, source: Iterable[Batch], trace: Path) -> None:
    """Train under the profiler, and write what it recorded."""
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=WAIT, warmup=WARM_UP, active=RECORDED, repeat=1),
        with_stack=True,
    ) as profiler:
        for photos, labels in source:
            trainer.train_step(photos, labels)
            profiler.step()
    profiler.export_chrome_trace(str(trace))


def time_steps(trainer: Trainer, source: Iterable[Batch]) -> Lengths:
    """Measure the mean length of a step in ms, loading included, and of its training.

    The first steps do not count.
    """
    batch, training = iter(source), 0.0
    for photos, labels in islice(batch, DROPPED):
        trainer.train_step(photos, labels)
    start = time.perf_counter()
    for photos, labels in batch:
        begun = time.perf_counter()
        trainer.train_step(photos, labels)
        training += time.perf_counter() - begun
    step = time.perf_counter() - start
    return {"step": 1000 * step / TIMED, "train_step": 1000 * training / TIMED}


def time_in_turns(trainer: Trainer, folder: Path, workers: int, rounds: int) -> dict[str, list[Lengths]]:
    """Measure lengths by round with the loader, with workers and with neither.

    They take turns, so that a busy machine slows all.
    """
    found: dict[str, list[Lengths]] = {}
    count = DROPPED + TIMED
    for _ in range(rounds):
        sources = {"slow": batches(folder, 0, count), "free": free_batches(folder, count)}
        if workers:
            sources["workers"] = batches(folder, workers, count)
        for name, source in sources.items():
            found.setdefault(name, []).append(time_steps(trainer, source))
    return found


def main() -> None:
    """Read the command line, and record or time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    loader = parser.add_mutually_exclusive_group()
    loader.add_argument(
        "--workers", type=int, default=0, metavar="N", help="processes that load (default: 0)"
    )
    loader.add_argument("--free-loader", action="store_true", help="train on one batch held in memory")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="threads an operator (default: 1)"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="record into FILE, .json or .json.gz")
    parser.add_argument("--time", type=int, metavar="ROUNDS", help="time without the profiler")
    options = parser.parse_args()
    if not options.trace and not options.time:
        parser.error("say what to do: --trace FILE or --time ROUNDS")
    torch.set_num_threads(options.threads)
    trainer = Trainer()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_photos(folder)
        if options.trace:
            count = WAIT + WARM_UP + RECORDED
            free = options.free_loader
            source = free_batches(folder, count) if free else batches(folder, options.workers, count)
            record(trainer, source, options.trace)
        if options.time:
            print(json.dumps(time_in_turns(trainer, folder, options.workers, options.time)))


if __name__ == "__main__":
    main()

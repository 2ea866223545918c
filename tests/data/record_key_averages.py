"""Records `key_averages.json.gz`, and beside it what torch makes of it; needs torch.

python tests/data/record_key_averages.py
"""

import gzip
import json
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

HERE = Path(__file__).parent
STEPS = 2


def main() -> None:
    """Two steps of a small model: profile them, write the trace and torch's own table of operators."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.LayerNorm(32), torch.nn.ReLU(), torch.nn.Linear(32, 4)
    )
    optimizer = torch.optim.AdamW(model.parameters())
    data, target = torch.randn(8, 16), torch.randn(8, 4)

    def step() -> None:
        optimizer.zero_grad()
        with record_function("forward"):
            loss = torch.nn.functional.mse_loss(model(data), target)
        loss.backward()
        optimizer.step()

    step()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        for _ in range(STEPS):
            step()
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "trace.json"
        recorded.export_chrome_trace(str(written))
        document = json.loads(written.read_bytes())
    for name in ("host_name", "traceName"):
        document.pop(name, None)
    (HERE / "key_averages.json.gz").write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
    tables = {
        name: [
            {
                "name": row.key,
                "is_annotation": row.is_user_annotation,
                "count": row.count,
                "self_cpu_us": row.self_cpu_time_total,
                "cpu_us": row.cpu_time_total,
                "shapes": str(row.input_shapes),
            }
            for row in recorded.key_averages(group_by_input_shape=by_shape)
        ]
        for name, by_shape in (("by_name", False), ("by_shape", True))
    }
    said = {"torch": torch.__version__, **tables}
    (HERE / "key_averages.table.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()

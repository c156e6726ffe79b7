#!/usr/bin/env python3
# Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
"""PyTorch's fused AdamW, timed as the benchmarks of Gesso are: the L2 cache flushed before each step, the
median of several, and a device-to-device copy of the same number of bytes beside it. Writes JSON in Google
Benchmark's form.

    bench/peers/torch_adamw.py OUTPUT.json [--small] [--commit HASH]
"""

import argparse
import datetime
import gc
import json
import statistics
import sys

import torch

STEPS_BEFORE_TIMING = 6
WARM_UP_RUNS = 2


def model_tensors():
    """Llama-2-7B's parameters; the same list is in bench/support/model_shapes.hpp."""
    vocabulary, width, hidden = 32000, 4096, 11008
    layer = [width * width] * 4 + [hidden * width] * 3 + [width] * 2
    return [vocabulary * width] + layer * 32 + [width, vocabulary * width]


class Timer:
    def __init__(self):
        properties = torch.cuda.get_device_properties(0)
        flush_bytes = max(256 << 20, 2 * properties.L2_cache_size)
        self.flush_buffer = torch.empty(flush_bytes, dtype=torch.uint8, device="cuda")
        self.copies = {}
        # A GPU that idles takes a while to raise its clocks.
        for _ in range(3000):
            self.flush_buffer.zero_()
        torch.cuda.synchronize()

    def timed(self, launch):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flush_buffer.zero_()
        begin.record()
        launch()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def measure(self, size, launch):
        """Sorted seconds of the runs."""
        runs = 41 if size < 1 << 28 else 13
        for _ in range(WARM_UP_RUNS):
            self.timed(launch)
        return sorted(self.timed(launch) for _ in range(runs))

    def copy_seconds(self, size):
        if size not in self.copies:
            source = torch.ones(size // 2, dtype=torch.uint8, device="cuda")
            target = torch.empty_like(source)
            self.copies[size] = statistics.median(self.measure(size, lambda: target.copy_(source)))
            del source, target
            torch.cuda.empty_cache()
        return self.copies[size]


def captured(step):
    """The step as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure_adamw(timer, name, sizes, dtype, is_captured):
    elements = sum(sizes)
    # Parameters and two moments are read and written, gradients read.
    size = elements * 7 * dtype.itemsize
    copy_seconds = timer.copy_seconds(size)
    parameters = [torch.empty(count, dtype=dtype, device="cuda").normal_(std=0.02) for count in sizes]
    for parameter in parameters:
        parameter.grad = torch.empty_like(parameter)
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, betas=(0.9, 0.95), weight_decay=1e-2, fused=True,
                                  capturable=is_captured)
    for _ in range(STEPS_BEFORE_TIMING):
        for parameter in parameters:
            parameter.grad.normal_(std=1e-3)
        optimizer.step()
    step = captured(optimizer.step) if is_captured else optimizer.step
    seconds = timer.measure(size, step)
    median = statistics.median(seconds)
    result = {
        "name": name, "run_name": name, "run_type": "iteration", "iterations": 1, "real_time": median * 1e3,
        "cpu_time": median * 1e3, "time_unit": "ms", "bytes": float(size), "bytes_per_second": size / median,
        "copy_bytes_per_second": size / copy_seconds, "copy_fraction": copy_seconds / median,
        "elements_per_second": elements / median,
        "fastest_seconds": seconds[0], "slowest_seconds": seconds[-1],
    }
    print(f"{name}: {median * 1e3:.3f} ms, {100 * copy_seconds / median:.1f} % of copy", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    parser.add_argument("--small", action="store_true", help="small sizes, to see whether it runs")
    parser.add_argument("--commit", default="unknown")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("SKIPPED: no GPU to run on")
        return 77

    timer = Timer()
    exponent = 20 if arguments.small else 28
    model = [1 << 20, 4096, 12345] if arguments.small else model_tensors()
    model_name = "small" if arguments.small else "7B"
    cases = []
    for dtype, type_name in ((torch.bfloat16, "bf16"), (torch.float32, "fp32")):
        name = f"torch_adamw/types:{type_name}/call:eager/elements:2^{exponent}"
        cases.append((name, [1 << exponent], dtype, False))
    for call in ("eager", "graph"):
        cases.append((f"torch_adamw_list/types:bf16/call:{call}/model:{model_name}", model, torch.bfloat16,
                      call == "graph"))

    context = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "gpu": torch.cuda.get_device_name(0), "pytorch": torch.__version__, "commit": arguments.commit,
    }
    results = []
    status = 0
    for case in cases:
        try:
            results.append(measure_adamw(timer, *case))
        except RuntimeError as error:
            # Out of memory, say. The other cases are still worth having.
            print(f"{case[0]}: {error}", flush=True)
            results.append({"name": case[0], "run_name": case[0], "error_occurred": True,
                            "error_message": str(error)})
            status = 1
        gc.collect()
        torch.cuda.empty_cache()
        with open(arguments.output, "w", encoding="utf-8") as file:
            json.dump({"context": context, "benchmarks": results}, file, indent=1)
            file.write("\n")
    return status


if __name__ == "__main__":
    sys.exit(main())

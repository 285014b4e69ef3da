"""What an update costs: tokens a second, and the most memory that this process has held."""

import resource
import sys
import time

import torch


def measured(device, samples, work):
    """What `work()` gives, and its cost: of all tokens of the samples, those that are not trained too."""
    on_gpu = device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(device)
    started = time.monotonic()
    result = work()
    if on_gpu:
        torch.cuda.synchronize(device)
    tokens, seconds = sum(len(sample.tokens) for sample in samples), time.monotonic() - started
    return result, {"tokensPerSecond": round(tokens / seconds, 1), "peakMemoryBytes": _peak_bytes(device)}


def _peak_bytes(device):
    """Of the GPU during the update; of a processor since this process began, which is all that systems tell."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024

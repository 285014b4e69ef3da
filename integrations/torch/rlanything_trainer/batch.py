"""The file of a BatchReady (`rl-batch/1`, docs/external-trainers.md) as samples, and how an update divides them."""

from dataclasses import dataclass

import msgpack
import numpy as np

_COLUMNS = {"I32": "<i4", "F32": "<f4", "U8": "u1"}


class Unfit(ValueError):
    """What a run asks for that cannot be trained on; the run's own trainer refuses it too."""


@dataclass(frozen=True)
class Sample:
    """One packed sequence. Arrays have its length T; position t describes tokens[t]."""

    id: str
    tokens: np.ndarray
    mask: np.ndarray
    logprobs: np.ndarray
    advantages: np.ndarray
    reference: np.ndarray | None
    allowed_offsets: np.ndarray | None
    """[T + 1] into `allowed`: the tokens that were allowed at a position; an empty range allows all."""
    allowed: np.ndarray | None
    step_starts: np.ndarray | None = None
    """First position of each step; without it each run of trained tokens is a step."""

    @property
    def trained(self):
        return int(self.mask.sum())


AGGREGATES = ("sample", "step", "batch", "constant")


def read_batch(content):
    """The samples of a batch file. Errors: Unfit where it is damaged, of another format, or its columns do not agree."""
    try:
        file = msgpack.unpackb(content)
    except (ValueError, msgpack.UnpackException) as wrong:
        raise Unfit(f"the batch is no MessagePack: {type(wrong).__name__} {wrong}".rstrip()) from None
    told = file.get("format") if isinstance(file, dict) else None
    if told != "rl-batch/1":
        raise Unfit(f"the batch is of format {told!r}, this trainer reads rl-batch/1")
    try:
        return [_sample(segment) for segment in file["segments"]]
    except Unfit:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise Unfit(f"the batch is damaged: {type(wrong).__name__} {wrong}") from None


def _sample(segment):
    def column(name):
        value = segment.get(name)
        return None if value is None else np.frombuffer(value, _COLUMNS[name[-3:] if name[-2:] != "U8" else "U8"])

    sample = Sample(
        id=segment["id"],
        tokens=column("tokensI32"),
        mask=column("maskU8"),
        logprobs=column("logprobsF32"),
        advantages=column("advantagesF32"),
        reference=column("referenceLogprobsF32"),
        allowed_offsets=column("allowedOffsetsI32"),
        allowed=column("allowedI32"),
        step_starts=column("stepStartsI32"),
    )
    for name in ("mask", "logprobs", "advantages", "reference"):
        values = getattr(sample, name)
        if values is None and name != "reference":
            raise Unfit(f"segment {sample.id} has no {name}")
        if values is not None and len(values) != len(sample.tokens):
            raise Unfit(f"segment {sample.id}: {name} has another length than its tokens")
    starts = sample.step_starts
    if starts is not None and len(starts) > 0 and ((np.diff(starts) <= 0).any() or starts[0] < 0 or starts[-1] >= len(sample.tokens)):
        raise Unfit(f"segment {sample.id}: stepStartsI32 does not rise within its {len(sample.tokens)} tokens")
    if starts is not None and sample.mask[: starts[0] if len(starts) > 0 else None].any():
        raise Unfit(f"segment {sample.id}: a trained token lies before its first step")
    _check_allowed(sample)
    return sample


def _check_allowed(sample):
    offsets, allowed = sample.allowed_offsets, sample.allowed
    if offsets is None and allowed is None:
        return
    if offsets is None or allowed is None:
        raise Unfit(f"segment {sample.id}: allowedOffsetsI32 and allowedI32 belong together")
    if len(offsets) != len(sample.tokens) + 1 or offsets[0] != 0 or offsets[-1] != len(allowed) or (np.diff(offsets) < 0).any():
        raise Unfit(f"segment {sample.id}: allowedOffsetsI32 does not cut allowedI32 by its tokens")
    for t in sample.mask.nonzero()[0]:
        here = allowed[offsets[t] : offsets[t + 1]]
        if len(here) > 0 and sample.tokens[t] not in here:
            raise Unfit(f"segment {sample.id}: token {sample.tokens[t]} at {t} is not among the allowed ones")


def parts(samples, count):
    """At most `count` parts, one for each optimiser step; their sizes differ by one at most."""
    count = min(count, len(samples))
    return [samples[i * len(samples) // count : (i + 1) * len(samples) // count] for i in range(count)]


def micro_batches(samples, budget):
    """Samples of like length, at most `budget` tokens together; gradients of them add up to those of the part."""
    batches, room = [], 0
    for sample in sorted(samples, key=lambda one: -len(one.tokens)):
        if not batches or len(sample.tokens) > room:
            batches.append([])
            room = budget
        batches[-1].append(sample)
        room -= len(sample.tokens)
    return batches


def token_weights(samples, options):
    """Per sample the weight of its trained tokens, or an array of weights if they differ. The mean is within samples or steps and
    then over them, or over all tokens, or the divisor is a constant."""
    if options["aggregate"] not in AGGREGATES:
        raise Unfit(f"aggregate '{options['aggregate']}' is not one of {', '.join(AGGREGATES)}")
    aggregate, total = options["aggregate"], sum(sample.trained for sample in samples)
    if aggregate == "step":
        lengths = [_step_lengths(sample) for sample in samples]
        count = sum(len(one) for one in lengths)
        return [np.repeat(1 / (count * one), one) for one in lengths]
    if aggregate == "constant":
        return [1 / (len(samples) * options["constantTokens"])] * len(samples)
    return [1 / (len(samples) * one.trained) if aggregate == "sample" else 1 / total for one in samples]


def _step_lengths(sample):
    """The trained tokens of each step that has any, in their order."""
    mask, starts = sample.mask, sample.step_starts
    if starts is None:
        starts = np.flatnonzero(np.diff(np.concatenate(([0], mask)).astype(np.int8)) == 1)
    trained = np.array([int(part.sum()) for part in np.split(mask, starts)[1:]], dtype=np.int64)
    return trained[trained > 0]

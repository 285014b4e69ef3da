"""One update of an iteration: the optimiser steps that the run's own trainer would take on the same batch."""

import math
import re

import numpy as np
import torch

from .batch import Unfit, micro_batches, parts, token_weights
from .draws import shuffled
from .group import local
from .loss import drift, policy_loss
from .model import read_moments

EPSILON = 1e-8
LAYER = re.compile(r"model\.layers\.(\d+)\.")
SUMS = ("loss", "kl", "drift", "clipped", "entropy")


def update(trained, samples, options, seed, *, token_budget=None):
    """Changes the weights of `trained` in place and gives (figures, why it stopped or None, moments by name, their steps)."""
    budget = token_budget or options["tokenBudget"]
    parameters = trained.parameters()
    _check(trained, parameters, options)
    optimizer, taken = _optimizer(trained, parameters, options)
    learned = fitting(trained, samples, budget)
    references = _references(trained, learned, options, budget)
    total = dict.fromkeys((*SUMS, "norm", "tokens", "steps", "updates", "samples"), 0)
    stopped = None
    trained.model.train()
    _without_dropout(trained.model)
    batches = parts(shuffled(seed, learned), options["updates"]) if learned else []
    leash = Leash(trained, optimizer, options, budget)
    for place, part in enumerate(batches):
        while True:
            sums = _gradients(trained, part, references, options, budget)
            _drop_lower(trained, parameters, options.get("layers"))
            tokens = sum(sample.trained for sample in part)
            norm = _norm(trained, parameters.values())
            moved = sums["drift"] / tokens
            finite = math.isfinite(sums["loss"]) and math.isfinite(norm)
            if not finite or not leash.too_far(moved) or not leash.halve():
                break
            optimizer.zero_grad(set_to_none=True)
        if not finite:
            stopped = f"not-finite {sums['loss'] if math.isfinite(norm) else norm}"
        elif leash.too_far(moved):
            stopped = f"kl {moved}"
            if leash.take_back():
                total["updates"] -= 1
                total["samples"] -= len(batches[place - 1])
        if stopped is None:
            limit = options.get("clipNorm")
            if limit is not None and norm > limit:
                for parameter in parameters.values():
                    if parameter.grad is not None:
                        parameter.grad.mul_(limit / norm)
            leash.keep(parameters)
            optimizer.step()
            taken += 1
            total["updates"] += 1
            total["samples"] += len(part)
        optimizer.zero_grad(set_to_none=True)
        if stopped is None or stopped.startswith("kl"):
            for name in SUMS:
                total[name] += sums[name]
            total["norm"] += norm
            total["tokens"] += tokens
            total["steps"] += 1
        if stopped is not None:
            break
    # No part comes behind the last step that would tell how far it went: its own is scored again.
    if batches and stopped is None and leash.before:
        moved = leash.moved(batches[-1])
        while leash.too_far(moved) and leash.halve():
            moved = leash.moved(batches[-1])
        if leash.too_far(moved):
            stopped = f"kl {moved}"
            leash.take_back()
            total["updates"] -= 1
            total["samples"] -= len(batches[-1])
    figures = _figures(total)
    if options.get("klHalvings", 0) > 0:
        figures["klHalvings"] = leash.halvings
    longest = min(budget, trained.context)
    told = [sample for sample in samples if sample.trained > 0]
    too_long = sum(len(sample.tokens) > longest for sample in told)
    for name, dropped in (("droppedTooLong", too_long), ("droppedUnlearnable", len(told) - too_long - len(learned))):
        if dropped > 0:
            figures[name] = dropped
    return figures, stopped, trained.group.gathered(_moments(parameters, optimizer)), taken


def fitting(trained, samples, budget):
    """Those of which something is learned: one that no pass can take is left out, and ends no update."""
    most = min(budget, trained.context)
    return [sample for sample in samples if sample.trained > 0 and len(sample.tokens) <= most and learnable(sample, trained.vocabulary)]


def learnable(sample, vocabulary):
    """Whether something comes before the first trained token, the model has all tokens, and what is trained has numbers."""
    if len(sample.tokens) == 0 or sample.mask[0]:
        return False
    if sample.tokens.min() < 0 or sample.tokens.max() >= vocabulary:
        return False
    trained = sample.mask.nonzero()[0]
    return bool(np.isfinite(sample.logprobs[trained]).all() and np.isfinite(sample.advantages[trained]).all())


def _check(trained, parameters, options):
    """What the run's own trainer refuses. Errors: Unfit."""
    layers = options.get("layers")
    if layers is not None:
        if not 1 <= layers <= trained.layers:
            raise Unfit(f"layers is {layers}: give 1 to {trained.layers}, or leave it out for all")
        lowest = trained.layers - layers
        if not any((found := LAYER.match(name)) and int(found[1]) >= lowest for name in parameters):
            raise Unfit(f"layers is {layers}: what is trained is on none of them")


def _without_dropout(model):
    """The run's own trainer has none, whatever the base's config says: log-probs are those of the sampling."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0


class Leash:
    """Halves a step that took the KL beyond its limit, and the rate of those behind it, so often as the options have it; or takes it back."""

    def __init__(self, trained, optimizer, options, budget):
        self.trained, self.optimizer, self.options = trained, optimizer, options
        self.budget = budget
        self.limit, self.most = options.get("klLimit"), options.get("klHalvings", 0)
        self.before, self.halvings = [], 0

    def too_far(self, kl):
        return self.limit is not None and kl > self.limit

    def keep(self, parameters):
        """Of the weights that the next step will move."""
        if self.limit is not None and self.most > 0:
            moved = [one for one in parameters.values() if one.grad is not None]
            self.before = [(one, one.detach().clone()) for one in moved]

    @torch.no_grad()
    def halve(self):
        """False where there is no step, or none may be halved any more."""
        if not self.before or self.halvings == self.most:
            return False
        self.halvings += 1
        for group in self.optimizer.param_groups:
            group["lr"] /= 2
        for parameter, old in self.before:
            parameter.sub_(old).mul_(0.5).add_(old)
        return True

    @torch.no_grad()
    def take_back(self):
        """False where there is no step."""
        for parameter, old in self.before:
            parameter.copy_(old)
        return bool(self.before)

    @torch.no_grad()
    def moved(self, part):
        """Mean drift over the trained tokens."""
        total = 0.0
        for batch, times in self.trained.group.share(micro_batches(part, self.budget)):
            logprobs, _ = self.trained.row_logprobs(batch, temperature=self.options.get("temperature", 1))
            behaviour = _column(batch, lambda one: one.logprobs, logprobs.device)
            if times > 0:
                total += float(drift(logprobs, behaviour).sum())
        return self.trained.group.sum([total])[0] / sum(one.trained for one in part)


def _column(batch, read, device):
    """Of the trained tokens, in order."""
    values = torch.cat([torch.as_tensor(read(one)[one.mask.astype(bool)].copy()) for one in batch])
    return values.to(device, torch.float32)


def _optimizer(trained, parameters, options):
    """AdamW; weight decay leaves norms and biases alone. Its moments come from the folder of the parent."""
    decayed = [one for one in parameters.values() if one.dim() > 1]
    others = [one for one in parameters.values() if one.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": options["weightDecay"]}, {"params": others, "weight_decay": 0}]
    betas = (options["beta1"], options["beta2"])
    optimizer = torch.optim.AdamW(groups, lr=options["learningRate"], betas=betas, eps=EPSILON)
    moments, taken = ({}, 0) if options.get("resetOptimizer") else read_moments(trained.folder)
    for name, parameter in parameters.items():
        if f"m.{name}" in moments:
            optimizer.state[parameter] = {
                "step": torch.tensor(float(taken)),
                "exp_avg": trained.group.placed(moments[f"m.{name}"], parameter),
                "exp_avg_sq": trained.group.placed(moments[f"v.{name}"], parameter),
            }
        elif taken > 0:
            # Steps are counted for all weights together, those too that had no gradient so far.
            zeros = {moment: torch.zeros_like(parameter) for moment in ("exp_avg", "exp_avg_sq")}
            optimizer.state[parameter] = {"step": torch.tensor(float(taken)), **zeros}
    return optimizer, taken


def _moments(parameters, optimizer):
    moments = {}
    for name, parameter in parameters.items():
        state = optimizer.state.get(parameter)
        if state:
            moments[f"m.{name}"], moments[f"v.{name}"] = state["exp_avg"], state["exp_avg_sq"]
    return moments


def _gradients(trained, part, references, options, budget):
    weights = dict(zip((sample.id for sample in part), token_weights(part, options)))
    temperature = options.get("temperature", 1)
    chosen = _chosen(trained, part, options, budget)
    counted = sum(one.trained if chosen is None else int(chosen[one.id].sum()) for one in part)
    sums = dict.fromkeys(SUMS, 0.0)
    for batch, times in trained.group.share(micro_batches(part, budget)):
        logprobs, entropy = trained.row_logprobs(batch, temperature=temperature)

        def column(read):
            return _column(batch, read, logprobs.device)

        row_weights = torch.cat([torch.zeros(one.trained) + torch.as_tensor(weights[one.id], dtype=torch.float32) for one in batch])
        members = torch.cat([torch.full((one.trained,), place) for place, one in enumerate(batch)])
        loss, kl, moved, clipped = policy_loss(
            logprobs,
            column(lambda one: one.logprobs),
            column(lambda one: references.get(one.id, one.logprobs)),
            column(lambda one: one.advantages),
            row_weights.to(logprobs.device),
            members.to(logprobs.device),
            options,
            chosen=None if chosen is None else column(lambda one: chosen[one.id]),
            bonus=entropy / counted if options.get("entropyWeight", 0) > 0 else None,
        )
        (loss * times).backward()
        if times > 0:
            for name, value in zip(SUMS, (loss.detach(), kl, moved, clipped, entropy.detach().sum())):
                sums[name] += float(value)
    return dict(zip(SUMS, trained.group.sum([sums[name] for name in SUMS])))


def _chosen(trained, part, options, budget):
    """By sample, [T] 1 for the trained tokens that the objective is about: a share of all, those of the highest entropy. None for all."""
    share = options.get("entropyShare", 1)
    if share >= 1:
        return None
    own = {}
    with torch.no_grad():
        for batch, times in trained.group.share(micro_batches(part, budget)):
            _, entropy = trained.row_logprobs(batch, temperature=options.get("temperature", 1))
            if times > 0:
                own.update(zip((one.id for one in batch), entropy.cpu().split([one.trained for one in batch])))
    entropies = {name: values for some in trained.group.all(own) for name, values in some.items()}
    bound = np.quantile(torch.cat(list(entropies.values())).double().numpy(), 1 - share)
    marks = {}
    for one in part:
        marks[one.id] = np.zeros(len(one.tokens), np.uint8)
        marks[one.id][one.mask.astype(bool)] = entropies[one.id].double().numpy() >= bound
    return marks


def _drop_lower(trained, parameters, layers):
    """Where so many of the upper layers alone are trained, the other weights have no gradient."""
    if layers is None:
        return
    lowest = trained.layers - layers
    for name, parameter in parameters.items():
        found = LAYER.match(name)
        if found is None or int(found[1]) < lowest:
            parameter.grad = None


def _references(trained, samples, options, budget):
    """Log-probs of the KL reference where they are not those at sampling: given, or those of the base model."""
    given = {one.id: one.reference for one in samples if one.reference is not None}
    if options.get("klReference") != "base" or given:
        return given
    base = trained if trained.lora is not None else trained.opened_base()
    base.model.eval()
    with torch.no_grad():
        for batch in micro_batches(samples, budget):
            logprobs, _ = base.row_logprobs(batch, adapter=False, temperature=options.get("temperature", 1))
            for one, values in zip(batch, logprobs.cpu().split([one.trained for one in batch])):
                column = one.logprobs.copy()
                column[one.mask.astype(bool)] = values.numpy()
                given[one.id] = column
    return given


def _norm(trained, parameters):
    squares = [local(one.grad).double().square().sum() for one in parameters if one.grad is not None]
    [total] = trained.group.sum([float(torch.stack(squares).sum()) if squares else 0.0])
    return math.sqrt(total)


def _figures(total):
    tokens, steps = max(total["tokens"], 1), max(total["steps"], 1)
    return {
        "updates": total["updates"],
        "samples": total["samples"],
        "tokens": total["tokens"],
        "loss": total["loss"] / steps,
        "kl": total["kl"] / tokens,
        "entropy": total["entropy"] / tokens,
        "clipShare": total["clipped"] / tokens,
        "gradientNorm": total["norm"] / steps,
    }

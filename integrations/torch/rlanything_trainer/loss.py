"""The bounded policy objective with a KL penalty, as the run's own trainer has it (src/learning/loss.ts names the papers)."""

import torch

from .batch import Unfit

LOG_RATIO_LIMIT = 10.0
"""Log-ratios beyond this are cut, so that exp stays finite."""

SAPO_GATES = 1.0, 1.05
"""Steepness of SAPO's gate for positive and for other advantages."""


def k3(logprobs, reference):
    """Non-negative estimate of KL(policy || reference) from the policy's samples."""
    d = (reference - logprobs).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return (torch.expm1(d) - d).clamp_min(0)


def drift(logprobs, behaviour):
    """Estimate of KL(behaviour || policy) from the samples of the behaviour policy: r - 1 - log r."""
    return k3(behaviour, logprobs)


def policy_loss(logprobs, behaviour, reference, advantages, weights, members, options, *, chosen=None, bonus=None):
    """All arguments are [rows]; `members` is the index of each row's sample. Gives the weighted loss, and the sums of k3, of drift and of clipped rows.

    `chosen` is 1 where the objective is about the row, else 0 (all rows where None); `bonus` is the entropies of the rows times
    their weight in the mean of the optimiser step.
    """
    if options.get("mismatch") is not None:
        raise Unfit("mismatch is not known to this trainer: leave the key out, or train with the local models")
    ratio = _ratio(logprobs - behaviour, members, options.get("ratio", "token"))
    name = options.get("objective", "clip")
    if name not in OBJECTIVES:
        raise Unfit(f"objective '{name}' is not one of {', '.join(OBJECTIVES)}")
    objective, clipped = OBJECTIVES[name](ratio, logprobs, advantages, options)
    limit = options.get("offPolicyLimit")
    if limit is not None:
        left = _sample_means((behaviour - logprobs).detach(), members) > limit
        objective = objective * ~(left & (advantages < 0))
    if chosen is not None:
        objective = objective * chosen
    kl = k3(logprobs, reference)
    loss = ((kl * options["klWeight"] - objective) * weights).sum()
    if bonus is not None:
        loss = loss - options["entropyWeight"] * (bonus if chosen is None else bonus * chosen).sum()
    return loss, kl.detach().sum(), drift(logprobs.detach(), behaviour).sum(), clipped.sum()


def _ratio(logs, members, kind):
    if kind == "sequence":
        logs = _sample_means(logs, members)
    elif kind != "token":
        raise Unfit(f"ratio '{kind}' is not token or sequence")
    return logs.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()


def _sample_means(values, members):
    """[rows] the mean over the rows of each row's sample."""
    count = int(members.max()) + 1
    sums = torch.zeros(count, device=values.device).index_add(0, members, values)
    return (sums / torch.bincount(members, minlength=count))[members]


def _clip(ratio, _, advantages, options):
    free = ratio * advantages
    objective = torch.minimum(free, ratio.clamp(1 - options["clipLow"], 1 + options["clipHigh"]) * advantages)
    if options.get("dualClip") is not None:
        bounded = torch.maximum(objective, advantages * options["dualClip"])
        objective = torch.where(advantages < 0, bounded, objective)
    return objective, objective != free


def _cispo(ratio, logprobs, advantages, options):
    most = 1 + options["clipHigh"]
    return ratio.detach().clamp_max(most) * advantages * logprobs, ratio > most


def _sapo(ratio, _, advantages, __):
    positive, other = SAPO_GATES
    steepness = torch.where(advantages > 0, positive, other)
    objective = torch.sigmoid((ratio - 1) * steepness) * (4 / steepness) * advantages
    return objective, torch.zeros_like(advantages, dtype=torch.bool)


OBJECTIVES = {"clip": _clip, "cispo": _cispo, "sapo": _sapo}

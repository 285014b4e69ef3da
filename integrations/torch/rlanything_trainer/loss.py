"""The clipped policy objective with a KL penalty, as the run's own trainer has it (src/learning/loss.ts names the papers)."""

import torch

LOG_RATIO_LIMIT = 10.0
"""Log-ratios beyond this are cut, so that exp stays finite."""


def k3(logprobs, reference):
    """Non-negative estimate of KL(policy || reference) from the policy's samples."""
    d = (reference - logprobs).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return (torch.expm1(d) - d).clamp_min(0)


def policy_loss(logprobs, behaviour, reference, advantages, weights, options):
    """All arguments are [rows]. Gives the weighted loss, and the sums of k3 and of clipped rows."""
    ratio = (logprobs - behaviour).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()
    free = ratio * advantages
    objective = torch.minimum(free, ratio.clamp(1 - options["clipLow"], 1 + options["clipHigh"]) * advantages)
    if options.get("dualClip") is not None:
        bounded = torch.maximum(objective, advantages * options["dualClip"])
        objective = torch.where(advantages < 0, bounded, objective)
    kl = k3(logprobs, reference)
    loss = ((kl * options["klWeight"] - objective) * weights).sum()
    return loss, kl.detach().sum(), (objective != free).sum()

"""A run's batch as verl's trainers hold one, and an advantage estimator that takes the advantages as they are.

verl computes advantages from token-level rewards by an estimator whose name its config tells (`algorithm.adv_estimator`). A run's batch
has its advantages already: they stand in the place of the rewards, and the estimator hands them through.
"""

import numpy as np
import torch

ESTIMATOR = "rlanything"


def columns(samples, pad_token):
    """Samples of `read_batch` as tensors by verl's names, [samples, ...]: prompts padded on the left, responses on the right.

    A response begins with the first trained token; `response_mask` is 1 where a token is trained, so what tools said between is not.
    Samples that may take some tokens only (`allowed`) cannot be said in these columns: ValueError.
    """
    for one in samples:
        if one.allowed is not None and len(one.allowed) > 0:
            raise ValueError(f"segment {one.id}: its log-probs are over allowed tokens, which verl does not restrict")
    firsts = [int(np.argmax(one.mask)) for one in samples]
    before = max(firsts)
    behind = max(len(one.tokens) - first for one, first in zip(samples, firsts))
    shape = len(samples), before + behind
    ids = torch.full(shape, pad_token, dtype=torch.long)
    attention = torch.zeros(shape, dtype=torch.long)
    trained, logprobs, rewards = (torch.zeros(shape) for _ in range(3))
    for row, (one, first) in enumerate(zip(samples, firsts)):
        span = slice(before - first, before - first + len(one.tokens))
        mask = torch.from_numpy(one.mask.astype(np.float32))
        ids[row, span] = torch.from_numpy(one.tokens.astype(np.int64))
        attention[row, span] = 1
        trained[row, span] = mask
        logprobs[row, span] = torch.from_numpy(one.logprobs.copy()) * mask
        rewards[row, span] = torch.from_numpy(one.advantages.copy()) * mask
    return {
        "input_ids": ids,
        "attention_mask": attention,
        "position_ids": (attention.cumsum(-1) - 1).clamp_min(0),
        "prompts": ids[:, :before],
        "responses": ids[:, before:],
        "response_mask": trained[:, before:],
        "old_log_probs": logprobs[:, before:],
        "token_level_rewards": rewards[:, before:],
    }


def ready_advantages(token_level_rewards, response_mask, config=None, **_):
    """(advantages, returns), both [samples, response]: what stands in the place of the rewards."""
    advantages = token_level_rewards * response_mask
    return advantages, advantages


def register():
    """Makes the estimator known to verl, which has to be installed; `algorithm.adv_estimator=rlanything` takes it."""
    from verl.trainer.ppo.core_algos import register_adv_est

    register_adv_est(ESTIMATOR)(ready_advantages)

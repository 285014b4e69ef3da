"""Advantages, weights and losses as TRL and verl compute them, for rules-of-others.test.ts.

Reads one JSON object from stdin: `groups` for advantages and `batches` for losses. Writes one JSON object.
verl is read without the packages that its trainer needs: of each that is missing there is an empty module.
"""
import contextlib
import importlib.abc
import importlib.machinery
import json
import sys
import types
from types import SimpleNamespace

import numpy as np
import torch

HEAVY = {"ray", "tensordict", "hydra", "omegaconf", "codetiming", "torchdata", "wandb", "dill", "pylatexenc", "TransferQueue", "transfer_queue", "orjson"}


class Empty(types.ModuleType):
    """A module that has a class of any name, so that annotations and base classes of it can be read."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {"__init__": lambda self, *_, **__: None, "__class_getitem__": classmethod(lambda cls, _: cls)})
        setattr(self, name, made)
        return made


class Heavy(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HEAVY:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Empty(spec.name)

    def exec_module(self, module):
        if module.__name__ in ("ray", "tensordict", "wandb"):
            module.__version__ = "0.0.0"


torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def column(values):
    return torch.tensor(values, dtype=torch.float64)


def padded(rows, counts):
    """[samples, tokens] of [rows], with 0 behind each sample."""
    table = torch.zeros(len(counts), max(counts), dtype=torch.float64)
    at = 0
    for sample, count in enumerate(counts):
        table[sample, :count] = rows[at : at + count]
        at += count
    return table


def mask_of(counts):
    return padded(torch.ones(sum(counts), dtype=torch.float64), counts)


def told(loss, logprobs):
    (gradient,) = torch.autograd.grad(loss, [logprobs])
    return {"loss": loss.item(), "gradient": gradient.tolist()}


# TRL: the methods of its trainer, on an object that has what they read and neither a model nor a tokenizer.


class Plain:
    """What the trainer asks of Accelerate, for one process."""

    device = torch.device("cpu")
    process_index = 0
    num_processes = 1
    sync_gradients = True

    def gather(self, value):
        return value

    gather_for_metrics = gather

    def reduce(self, value, reduction="sum"):
        return value


class Metrics(dict):
    def __missing__(self, name):
        self[name] = []
        return self[name]


class Logs(dict):
    def __missing__(self, name):
        self[name] = Metrics() if name in ("rewards", "extra") else []
        return self[name]


def hollow(trainer, **more):
    """An instance of TRL's trainer with these attributes and no others."""
    made = type("Hollow", (trainer,), {"__init__": lambda self: None})()
    args = SimpleNamespace(
        per_device_train_batch_size=None, steps_per_generation=1, gradient_accumulation_steps=1, delta=None,
        use_bias_correction_kl=False, gradient_checkpointing_kwargs=None, sapo_temperature_pos=1.0, sapo_temperature_neg=1.05,
    )
    given = dict(
        args=args, accelerator=Plain(), model=SimpleNamespace(training=True, is_gradient_checkpointing=False),
        environment_factories=None, environments=None, tools=[], _is_vlm=False, pad_to_multiple_of=None,
        _tokenizer=SimpleNamespace(pad_token_id=0), mask_truncated_completions=False, num_iterations=1, use_vllm=False,
        vllm_importance_sampling_correction=False, beta=0.0, num_generations=2, multi_objective_aggregation="sum_then_normalize",
        scale_rewards="group", reward_weights=torch.ones(1), reward_func_names=["r"], reward_funcs=[None], _metrics={"train": Metrics()},
        _logs=Logs(), _pending_extra_logs={}, _pending_metrics={}, log_multimodal=False, aux_loss_enabled=False,
        top_entropy_quantile=1.0, off_policy_mask_threshold=None, importance_sampling_level="token", loss_type="dapo",
        epsilon_low=0.2, epsilon_high=0.2, _entropy_bonus_enabled=False, current_gradient_accumulation_steps=1,
        ref_model=None, max_completion_length=1,
    )
    for name, value in {**given, **more}.items():
        setattr(args if hasattr(args, name) else made, name, value)
    return made


def trl_advantages(trainer, groups, scale, size):
    """Advantages of groups of one size, as one generation of TRL."""
    rewards = column(groups).reshape(-1, 1)
    count = len(rewards)
    made = hollow(trainer, scale_rewards=scale, num_generations=size, per_device_train_batch_size=count)
    made._generate = lambda prompts: ([[1]] * count, [[1]] * count, None, ["x"] * count, None, {}, None, None)
    made._calculate_rewards = lambda *_: rewards
    return made._generate_and_score_completions([{"prompt": "x"}] * count)["advantages"].tolist()


def trl_ratios(trainer, batch, mode, limit):
    """Weights of the mismatch between `behaviour` and `started`, [samples, tokens] or [samples, 1]."""
    counts = batch["counts"]
    behaviour, started = column(batch["behaviour"]), padded(column(batch["started"]), counts)
    sampled, at = [], 0
    for count in counts:
        sampled.append(behaviour[at : at + count].tolist())
        at += count
    made = hollow(
        trainer, use_vllm=True, vllm_importance_sampling_correction=True, vllm_importance_sampling_mode=mode,
        vllm_importance_sampling_clip_max=limit, vllm_importance_sampling_clip_min=None, num_generations=len(counts),
        per_device_train_batch_size=len(counts),
    )
    made._generate = lambda prompts: ([[1]] * len(counts), [[1] * n for n in counts], None, ["x"] * len(counts), sampled, {}, None, None)
    made._calculate_rewards = lambda *_: torch.zeros(len(counts), 1)
    made._get_per_token_logps_and_entropies = lambda *_, **__: (started, None, None)
    return made._generate_and_score_completions([{"prompt": "x"}] * len(counts))["importance_sampling_ratio"]


def trl_loss(trainer, batch, case):
    counts, options = batch["counts"], case["trl"]
    logprobs = column(batch["logprobs"]).requires_grad_()
    mask = mask_of(counts)
    made = hollow(trainer, **{"vllm_importance_sampling_correction": "mismatch" in case, "use_vllm": "mismatch" in case, **options})
    made._get_per_token_logps_and_entropies = lambda *_, **__: (padded(logprobs, counts), mask, None)
    inputs = {
        "prompt_ids": torch.ones(len(counts), 1, dtype=torch.long), "prompt_mask": torch.ones(len(counts), 1, dtype=torch.long),
        "completion_ids": mask.long(), "completion_mask": mask.long(), "advantages": padded(column(batch["advantages"]), counts),
        "old_per_token_logps": padded(column(batch["started" if "mismatch" in case else "behaviour"]), counts),
        "sampling_per_token_logps": padded(column(batch["behaviour"]), counts),
        "ref_per_token_logps": padded(column(batch["reference"]), counts), "num_items_in_batch": mask.sum(),
    }
    if "mismatch" in case:
        inputs["importance_sampling_ratio"] = trl_ratios(trainer, batch, **case["mismatch"])
    return told(made._compute_loss(None, inputs), logprobs)


# verl: its functions as they are.


class Actor(SimpleNamespace):
    global_batch_info = {}

    def get(self, name, default=None):
        return getattr(self, name, default)


def verl_advantages(core, groups, name):
    rewards = column([reward for group in groups for reward in group])
    index = np.array([i for i, group in enumerate(groups) for _ in group])
    mask = torch.ones(len(rewards), 1)
    of = {
        "std": lambda: core.compute_grpo_outcome_advantage(rewards[:, None].clone(), mask, index),
        "mean": lambda: core.compute_grpo_outcome_advantage(rewards[:, None].clone(), mask, index, norm_adv_by_std_in_grpo=False),
        "rloo": lambda: core.compute_rloo_outcome_advantage(rewards[:, None].clone(), mask, index),
    }
    return of[name]()[0][:, 0].tolist()


def verl_gae(core, rows, gamma, trace):
    """Advantages of rollouts before they are whitened over the batch: returns less values."""
    counts = [len(row["rewards"]) for row in rows]
    rewards, values = (padded(column([v for row in rows for v in row[name]]), counts) for name in ("rewards", "values"))
    _, returns = core.compute_gae_advantage_return(rewards, values, mask_of(counts), gamma, trace)
    return [row[:count].tolist() for row, count in zip(returns - values, counts)]


def verl_loss(core, corr, batch, case):
    counts, options = batch["counts"], dict(case["verl"])
    logprobs = column(batch["logprobs"]).requires_grad_()
    mask = mask_of(counts)
    of = lambda name: padded(column(batch[name]), counts)
    now, kl_weight, name, aggregate = padded(logprobs, counts), options.pop("kl", 0.0), options.pop("loss"), options.pop("aggregate")
    factor = options.pop("scale", None)
    weights = None
    if "weights" in options:
        given = options.pop("weights")
        weights, _ = corr.compute_rollout_correction_weights(of("started") - of("behaviour"), mask, given["level"], given["limit"])
    config = Actor(clip_ratio=0.2, **options)
    config.global_batch_info = {} if factor is None else {"loss_scale_factor": factor}
    # Some of them ask for the class of their own config. It holds what is read here and much else.
    core.ActorConfig = Actor
    loss, _ = core.get_policy_loss_fn(name)(
        of("started" if weights is not None else "behaviour"), now, of("advantages"), mask, aggregate, config, weights
    )
    if kl_weight:
        kl = core.kl_penalty(now, of("reference"), "low_var_kl")
        loss = loss + kl_weight * core.agg_loss(kl, mask, aggregate, **config.global_batch_info)
    return told(loss, logprobs)


def main():
    given = json.load(sys.stdin)
    answer = {"advantages": {}, "losses": {}}
    if given["package"] == "trl":
        with contextlib.redirect_stdout(sys.stderr):
            from trl.trainer.grpo_trainer import GRPOTrainer as trainer
        for scale in ("group", "batch", "none"):
            answer["advantages"][scale] = trl_advantages(trainer, given["groups"], scale, len(given["groups"][0]))
        for case in given["cases"]:
            answer["losses"][case["name"]] = [trl_loss(trainer, batch, case) for batch in given["batches"]]
    else:
        sys.meta_path.append(Heavy())
        import verl.trainer.ppo.core_algos as core
        import verl.trainer.ppo.rollout_corr_helper as corr

        for name in ("std", "mean", "rloo"):
            answer["advantages"][name] = verl_advantages(core, given["groups"], name)
        answer["gae"] = verl_gae(core, **given["gae"])
        for case in given["cases"]:
            answer["losses"][case["name"]] = [verl_loss(core, corr, batch, case) for batch in given["batches"]]
    print(json.dumps(answer))


if __name__ == "__main__":
    main()

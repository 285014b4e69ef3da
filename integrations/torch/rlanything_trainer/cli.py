"""rlanything-trainer: follows a run's BatchReady events, trains, and answers each with a new version."""

import argparse
import asyncio
import os
import re
import sys
import time
from pathlib import Path

import torch

from .agreement import disagreement
from .batch import Unfit, read_batch
from .cost import measured
from .group import Group
from .model import Trained, first_line, weights_digest
from .run import Refused, Run, address
from .update import fitting, update

IDLE, OVER = "idle", "over"
"""What the others of a group are told beside jobs: that the first one still waits, and that all is done."""

RUN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")

UPDATED = {"policy": "PolicyUpdated", "reward-model": "RewardModelUpdated"}
TARGETS = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"


def arguments():
    parser = argparse.ArgumentParser("rlanything-trainer", description=__doc__)
    parser.add_argument("--run", required=True, help="the run's id")
    parser.add_argument("--nats", help="URL of the run's broker; NATS_USER and NATS_PASSWORD (or NATS_TOKEN) name who connects")
    parser.add_argument("--base", required=True, help="the model that version 0 is: a folder or a name of the hub")
    parser.add_argument("--role", choices=tuple(UPDATED), default="policy", help="whose batches are answered")
    parser.add_argument("--runs", default=os.environ.get("RL_RUNS") or "runs", help="where runs lie: the servers must see it too")
    parser.add_argument("--full", action="store_true", help="train all weights instead of an adapter")
    parser.add_argument("--lora-rank", type=int, default=16)
    parser.add_argument("--lora-alpha", type=int, help="twice the rank where not given")
    parser.add_argument("--lora-targets", default=TARGETS)
    parser.add_argument("--token-budget", type=int, help="tokens of a forward pass; the run's where not given")
    parser.add_argument("--checkpointing", action="store_true", help="compute activations again in the backward pass")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    if not RUN_ID.fullmatch(options.run):
        parser.error(f"--run {options.run!r}: a run's id is 1 to 32 small letters, digits and dashes")
    try:
        kind = torch.device(options.device).type
    except RuntimeError as wrong:
        parser.error(f"--device {options.device!r}: {first_line(wrong)}")
    if kind == "cuda" and not torch.cuda.is_available():
        parser.error(f"--device {options.device!r}: PyTorch finds no GPU here; leave --device out, or give cpu")
    for name in ("lora_rank", "lora_alpha", "token_budget"):
        given = getattr(options, name)
        if given is not None and given < 1:
            parser.error(f"--{name.replace('_', '-')} is {given}: give 1 or more")
    return options


def main():
    options = arguments()
    lora = None if options.full else {
        "r": options.lora_rank,
        "lora_alpha": options.lora_alpha or 2 * options.lora_rank,
        "target_modules": options.lora_targets.split(","),
    }
    group = Group(options.device)
    trained = Trained(options.base, lora=lora, group=group, checkpointing=options.checkpointing)
    try:
        if group.rank == 0:
            asyncio.run(follow(options, trained))
        else:
            help_out(trained)
    except (Unfit, Refused) as wrong:
        print(f"rlanything-trainer: {wrong}", file=sys.stderr)
        group.leave(1)
    group.leave()


def help_out(trained):
    """Trains with the first process, which alone knows the run."""
    while (job := trained.group.tell(None)) != OVER:
        if job != IDLE:
            train(trained, **job)


async def follow(options, trained):
    run = Run(options.run, options.role, address(options.run, options.role, options.nats, options.runs))
    await run.open()
    try:
        if (wrong := disagreement(await run.config(), options.role, options.full)) is not None:
            raise Refused(wrong)
        await asyncio.to_thread(trained.check)
        if not Path(options.runs, options.run).is_dir():
            raise Refused(f"there is no folder of run {options.run} in {options.runs}: --runs names where runs lie, and the servers see it too")
    except (Refused, Unfit):
        await run.close()
        trained.group.tell(OVER)
        raise
    print(f"{options.role} of {options.run}: waiting for batches, {trained.device}", flush=True)
    over = False
    try:
        async for event in run.events(["BatchReady", "RunCompleted", "RunFailed", "RunResumed"]):
            if event is None:
                if over:
                    break
                await asyncio.to_thread(trained.group.tell, IDLE)
            elif event["type"] != "BatchReady":
                # The log of a run that failed and was resumed holds both.
                over = event["type"] != "RunResumed"
            elif event["data"].get("role", "policy") == options.role:
                await answer(run, options, trained, event)
    finally:
        await run.close()
    trained.group.tell(OVER)


async def answer(run, options, trained, event):
    """Nothing of a version is remembered but its folder: a trainer that was ended begins again where the log ends."""
    batch = event["data"]
    version, updated = batch["version"], UPDATED[options.role]
    if await run.has(f"{updated}/{version}"):
        return
    content = await run.blob(batch["file"])
    started = time.monotonic()
    # In threads: a connection whose event loop stands still does not answer the broker and is lost.
    figures, stopped, state, moments, steps, cost = await asyncio.to_thread(lead, trained, options, batch, content)
    if await run.has(f"{updated}/{version}"):
        # These weights are no version's.
        trained.model = None
        print(f"version {version} came too late: the run has gone on", flush=True)
        return
    home = Path(options.runs, options.run)
    folder, sha256 = await asyncio.to_thread(trained.save, home / "checkpoints" / options.role, version, state, moments, steps)
    path = folder.relative_to(home).as_posix()
    seconds = time.monotonic() - started
    told = {
        **{name: batch[name] for name in ("iteration", "version", "parentVersion", "trainedOn", "samples")},
        "checkpoint": {"sha256": sha256, "path": path},
        "metrics": {**batch["metrics"], **{name: float(value) for name, value in figures.items()}},
        "stopped": stopped,
        # Not among the metrics: those are compared between two runs of the same seed.
        "timing": {"durationMs": round(seconds * 1000), "device": str(trained.device), **cost},
    }
    sealed = {"role": options.role, "version": version, "sha256": sha256, "path": path}
    late = await run.append([("CheckpointSealed", sealed), (updated, told)], event["id"])
    if late:
        trained.model = None
    print(
        f"version {version} came too late: the run has gone on"
        if late
        else f"version {version} from {batch['samples']} samples in {seconds:.1f} s, loss {figures['loss']:.4f}, kl {figures['kl']:.5f}, "
        f"{cost['tokensPerSecond']:.0f} tokens/s, {cost['peakMemoryBytes'] / 1e9:.1f} GB at most",
        flush=True,
    )


def lead(trained, options, batch, content):
    """Trains a version with all processes of the group."""
    parent = batch["parent"]
    folder, sha256 = (None, None) if parent is None else (parent_folder(options.runs, parent), parent["sha256"])
    opens = trained.model is None or trained.folder != folder or trained.sha256 != sha256
    if opens and folder is not None:
        check_weights(folder, sha256)
        trained.check_parent(folder)
    trained.sha256 = sha256
    job = {
        "folder": folder,
        "opens": opens,
        "samples": read_batch(content),
        "options": batch["options"],
        "seed": tuple(batch["seed"]),
        "budget": options.token_budget or batch["options"]["tokenBudget"],
    }
    return train(trained, **trained.group.tell(job))


def parent_folder(runs, parent):
    """Where a parent's weights lie: within the runs, whatever an event says. Errors: Unfit."""
    folder = Path(runs, parent["run"], parent["path"])
    home = Path(runs, parent["run"])
    if not RUN_ID.fullmatch(parent["run"]) or not folder.resolve().is_relative_to(home.resolve()):
        raise Unfit(f"the parent's weights are said to lie in {folder}, outside of its run")
    if not folder.is_dir():
        raise Unfit(f"the parent's weights are not in {folder}: --runs names where runs lie")
    return folder


def check_weights(folder, sha256):
    """That a folder's weights are those of an event. Errors: Unfit."""
    found = weights_digest(folder)
    if found is None:
        raise Unfit(f"there are no weights in {folder}: --runs names where runs lie")
    if found != sha256:
        raise Unfit(f"the weights in {folder} are not those of the event: restore the folder from a copy of the run")


def train(trained, folder, opens, samples, options, seed, budget):
    """One version, from its parent's folder unless that is in memory. Memory that does not suffice is shared out."""
    while True:
        if opens:
            trained.open(folder, seed[0])
        trained.folder = folder
        try:
            (figures, stopped, moments, steps), cost = measured(
                trained.device, fitting(trained, samples, budget), lambda: update(trained, samples, options, seed, token_budget=budget)
            )
            return figures, stopped, trained.state(), moments, steps, cost
        except torch.OutOfMemoryError:
            longest = max(len(sample.tokens) for sample in samples)
            # The others of a group wait within a pass, and know nothing of it.
            if budget <= longest or trained.group.size > 1:
                raise
            trained.model = None
            torch.cuda.empty_cache()
            opens, budget = True, max(longest, budget // 2)
            print(f"out of memory: trying again with {budget} tokens a pass", flush=True)

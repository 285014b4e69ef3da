"""Lets a taskset of verifiers 0.4 play the rollouts of a run, whose model is behind `rl gateway`.

sidecar.py list TASKSET                     prints its tasks as lines of JSON, for environment.data
sidecar.py play TASKSET GATEWAY [options]   plays rollouts until the gateway ends
  --at-a-time N                             rollouts side by side (default 4)
  --bring                                   plays each task once, for `rl gateway --record`
  --env JSON                                more of the environment's config, e.g. {"agent": {"harness": {"id": "bash"}}}

RL_GATEWAY_TOKEN is the gateway's token.
"""
import argparse
import asyncio
import json
import math
import os
import sys
import urllib.error
import urllib.request

from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.cli.eval import EvalConfig
from verifiers.v1.configs.client import EvalClientConfig
from verifiers.v1.utils.loaders import load_environment

RETRIED = (429, 500, 502, 503, 504)
BUSY = object()
PLAIN = {"agent": {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}}


class Refused(Exception):
    """The gateway takes no rollouts from here."""


def goal_of(data):
    if isinstance(data.prompt, str):
        return data.prompt
    messages = data.model_dump(mode="json")["prompt"] or []
    return "\n".join(text for m in messages if isinstance(text := m.get("content"), str)) or data.name or "a task"


def task_of(task):
    return {"id": task.key, "goal": goal_of(task.data), "recipe": task.data.model_dump(mode="json")}


async def post(url, key, body):
    """Resolves to the answer, or to None if there is none."""

    def send():
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
            return None if answer.status == 204 else json.load(answer)

    return await asyncio.to_thread(send)


def outcome_of(episode):
    """The rewards of what is trained, in [0, 1]. A faulty episode is a fault of the environment."""
    trained = [trace for trace in episode.traces if trace.agent.trainable]
    if not episode.ok or not trained:
        errors = [*episode.errors, *(error for trace in episode.traces for error in trace.errors)]
        told = "; ".join(f"{error.type}: {error.message}" for error in errors) or "no agent is trained"
        return {"failed": "env", "error": told[:1000]}
    mean = sum(trace.reward for trace in trained) / len(trained)
    if not math.isfinite(mean):
        return {"failed": "env", "error": f"the reward is {mean}"}
    return {"score": min(1.0, max(0.0, mean))}


async def play(env, rollout):
    # verifiers reads keys from the environment alone. It hides those with this word from a model's commands:
    # whoever has the key can tell the outcome.
    variable = f"RL_ROLLOUT_API_KEY_{rollout['key'][:12]}".replace("-", "_")
    os.environ[variable] = rollout["key"]
    try:
        task_type = type(env.taskset).task_type()
        data = task_type.data_type().model_validate(rollout["task"]["recipe"])
        client = EvalClientConfig(base_url=rollout["url"], api_key_var=variable)
        async with asyncio.timeout(rollout["deadline_seconds"]):
            episode = await env.run_episode(
                task_type(data, env.config.taskset.task), ModelContext(model=rollout["model"], client=client)
            )
        outcome = outcome_of(episode)
    except TimeoutError:
        outcome = {"failed": "env", "error": f"no end within {rollout['deadline_seconds']} s"}
    except Exception as error:  # its data is no task of this taskset
        outcome = {"failed": "env", "error": f"{type(error).__name__}: {error}"[:1000]}
    finally:
        del os.environ[variable]
    print(rollout["task"]["id"], json.dumps(outcome), flush=True)
    try:
        await post(rollout["outcome_url"], rollout["key"], outcome)
    except OSError as error:  # It came too late: the run asks for the rollout again.
        print(rollout["task"]["id"], error, file=sys.stderr)


async def work(env, gateway, token, brought):
    """Claims and plays one rollout after the other, until there is no gateway, or no task to bring."""
    while brought is None or brought:
        claim = {"agent": "verifiers", "wait": 20, **({"task": task_of(brought.pop(0))} if brought else {})}
        rollout = BUSY
        while rollout is BUSY:
            try:
                rollout = await post(f"{gateway}/rollouts", token, claim)
            except urllib.error.HTTPError as error:
                if error.code not in RETRIED:
                    told = error.read(1000).decode(errors="replace")
                    raise Refused(f"{gateway} answers {error.code}: {told}") from None
                await asyncio.sleep(1)
            except OSError:
                return  # The run is over.
        if rollout:
            await play(env, rollout)


async def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("do", choices=["list", "play"])
    parser.add_argument("taskset")
    parser.add_argument("gateway", nargs="?")
    parser.add_argument("--at-a-time", type=int, default=4)
    parser.add_argument("--bring", action="store_true")
    parser.add_argument("--env", type=json.loads, default=PLAIN)
    given = parser.parse_args()
    env = load_environment(EvalConfig(env={**given.env, "taskset": {"id": given.taskset}}).env)
    if given.do == "list":
        for task in env.taskset:
            print(json.dumps(task_of(task)))
        return
    if not given.gateway:
        sys.exit("play needs the address of a gateway")
    # A model's commands inherit what is left in the environment, and with the token they could claim rollouts.
    token = os.environ.pop("RL_GATEWAY_TOKEN", None)
    if not token:
        sys.exit("RL_GATEWAY_TOKEN is not set: rl gateway prints the token")
    brought = list(env.taskset) if given.bring else None
    async with env.serving():
        await asyncio.gather(*(work(env, given.gateway.rstrip('/'), token, brought) for _ in range(given.at_a_time)))


try:
    asyncio.run(main())
except Refused as error:
    sys.exit(str(error))

"""Plays one environment of Gymnasium or TextWorld for another program: a JSON object a line in, one a line out.

{"op": "make", "id": "FrozenLake-v1", "options": {}}  -> {"version": 1, "actions": 4}, or null for texts
{"op": "reset", "seed": 3}                            -> {"observation", "admissible"}
{"op": "step", "action": 2}                           -> {"observation", "reward", "done", "admissible"}
{"op": "close"}                                       -> ends
A failure is {"error": "..."}; the environment is as it was before. `admissible` is null if it is not told.
"""
import json
import os
import sys

# Environments print. Answers have a stream of their own, and all else goes to standard error.
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def text(value):
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(f"{key}: {text(part)}" for key, part in value.items())
    if hasattr(value, "tolist"):
        value = value.tolist()
    return str(value) if isinstance(value, (int, float)) else json.dumps(value, default=str)


class Gym:
    def __init__(self, name, options):
        import gymnasium

        self.env = gymnasium.make(name, **options)
        space = self.env.action_space
        self.start = int(getattr(space, "start", 0))
        self.actions = int(space.n) if isinstance(space, gymnasium.spaces.Discrete) else None

    def reset(self, seed):
        observation, info = self.env.reset(seed=seed)
        return {"observation": text(observation), "admissible": self.admissible(info)}

    def step(self, action):
        action = self.start + action if self.actions is not None else action
        observation, reward, terminated, truncated, info = self.env.step(action)
        done = bool(terminated or truncated)
        told = {"observation": text(observation), "reward": float(reward), "done": done}
        return told | {"admissible": self.admissible(info)}

    def admissible(self, info):
        mask = info.get("action_mask")
        if mask is not None and self.actions is not None:
            return [index for index in range(self.actions) if mask[index]]
        return info.get("admissible_commands")

    def close(self):
        self.env.close()


class TextWorld:
    actions = None

    def __init__(self, path, options):
        import textworld

        infos = textworld.EnvInfos(admissible_commands=True, max_score=True, **options)
        self.env = textworld.start(path, request_infos=infos)

    def reset(self, seed):
        if hasattr(self.env, "seed"):
            self.env.seed(seed)
        self.state, self.score = self.env.reset(), 0
        return {"observation": self.state.feedback, "admissible": self.state.admissible_commands}

    def step(self, action):
        self.state, score, done = self.env.step(action)
        gained, self.score = score - self.score, score
        reward = gained / (self.state.max_score or 1)
        told = {"observation": self.state.feedback, "reward": reward, "done": bool(done)}
        return told | {"admissible": self.state.admissible_commands}

    def close(self):
        self.env.close()


def main():
    env = None
    for line in sys.stdin:
        try:
            asked = json.loads(line)
            op = asked["op"]
            if op == "make":
                kind = TextWorld if asked["id"].endswith((".z8", ".ulx", ".json")) else Gym
                env = kind(asked["id"], asked.get("options", {}))
                answer = {"version": 1, "actions": env.actions}
            elif op == "reset":
                answer = env.reset(asked.get("seed"))
            elif op == "step":
                answer = env.step(asked["action"])
            elif op == "close":
                break
            else:
                answer = {"error": f"there is no op {op}"}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        ANSWERS.write(json.dumps(answer, default=str) + "\n")
        ANSWERS.flush()
    if env is not None:
        env.close()


main()

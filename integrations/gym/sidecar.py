"""Plays one environment of Python for another program: a JSON object a line in, one a line out.

It knows Gymnasium, BrowserGym ("browsergym/..."), ScienceWorld ("scienceworld:TASK") and TextWorld (a game's path).

{"op": "make", "id": "FrozenLake-v1", "options": {}}  -> {"version": 1, "actions": 4}, or null for texts
{"op": "reset", "seed": 3}                            -> {"observation", "admissible"}
{"op": "step", "action": 2}                           -> {"observation", "reward", "done", "admissible"}
{"op": "close"}                                       -> ends
A failure is {"error": "..."}; the environment is as it was before. `admissible` is null if it is not told.
"""
import importlib
import json
import os
import re
import sys

# Environments print. Answers have a stream of their own, and all else goes to standard error.
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def text(value):
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(f"{key}: {text(part)}" for key, part in value.items())
    # A picture has millions of numbers, and no reader: its shape is told.
    if getattr(value, "ndim", 0) > 2:
        return f"array of shape {tuple(value.shape)}"
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
        return {"observation": self.shown(observation), "admissible": self.admissible(info)}

    def step(self, action):
        action = self.start + action if self.actions is not None else action
        observation, reward, terminated, truncated, info = self.env.step(action)
        done = bool(terminated or truncated)
        told = {"observation": self.shown(observation), "reward": float(reward), "done": done}
        return told | {"admissible": self.admissible(info)}

    def shown(self, observation):
        return text(observation)

    def admissible(self, info):
        mask = info.get("action_mask")
        if mask is not None and self.actions is not None:
            return [index for index in range(self.actions) if mask[index]]
        return info.get("admissible_commands")

    def close(self):
        self.env.close()


class BrowserGym(Gym):
    """Pages are told by their accessibility tree; an action is a call, e.g. click('12')."""

    def __init__(self, name, options):
        # The name's first part is the package that registers it: browsergym/miniwob.login-user.
        family = name.split("/", 1)[1].split(".", 1)[0]
        importlib.import_module("browsergym.core" if family == "openended" else f"browsergym.{family}")
        super().__init__(name, options)

    def shown(self, observation):
        from browsergym.utils.obs import flatten_axtree_to_str

        tree = flatten_axtree_to_str(observation["axtree_object"], observation["extra_element_properties"])
        lines = [f"goal: {observation['goal']}", f"address: {observation['url']}", tree]
        failed = observation["last_action_error"]
        return "\n".join(lines + ([f"error: {failed}"] if failed else []))


class TextWorld:
    actions = None

    def __init__(self, path, options):
        import textworld

        told = {"admissible_commands": True, "max_score": True, "objective": True, "description": True}
        infos = textworld.EnvInfos(**told | options)
        self.env = textworld.start(path, request_infos=infos)

    def reset(self, seed):
        if hasattr(self.env, "seed"):
            self.env.seed(seed)
        self.state, self.score = self.env.reset(), 0
        # A game's first words are a picture of letters. What is to be done, and where one stands, is told without it.
        begin = [part for part in (self.state.objective, self.state.description) if part]
        observation = "\n".join(begin) if len(begin) == 2 else self.shown()
        return {"observation": observation, "admissible": self.state.admissible_commands}

    def step(self, action):
        self.state, score, done = self.env.step(action)
        gained, self.score = score - self.score, score
        reward = gained / (self.state.max_score or 1)
        told = {"observation": self.shown(), "reward": reward, "done": bool(done)}
        return told | {"admissible": self.state.admissible_commands}

    def shown(self):
        # After the text stand the prompt and a status line.
        return re.sub(r"\n>\s*(-=.*)?$", "", self.state.feedback).strip()

    def close(self):
        self.env.close()


class ScienceWorld:
    """A task of ScienceWorld. The seed chooses its variation; the observation begins with what is to be done."""

    actions = None

    def __init__(self, name, options):
        from scienceworld import ScienceWorldEnv

        unknown = sorted(set(options) - {"simplifications"})
        if unknown:
            raise ValueError(f"there is no option {unknown[0]}; there is simplifications")
        # Java names its file of counters by its process id. In namespaces of their own two are equal, and it warns on
        # the stream on which its port is awaited.
        os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:-UsePerfData")
        self.env, self.options = ScienceWorldEnv("", envStepLimit=sys.maxsize), options
        self.task = name.split(":", 1)[1]
        known = self.env.task_names
        if self.task not in known:
            raise ValueError(f"there is no task {self.task}; there are {', '.join(sorted(known))}")

    def reset(self, seed):
        variations = self.env.get_max_variations(self.task)
        self.env.load(self.task, (seed or 0) % variations, self.options.get("simplifications", ""))
        observation, info = self.env.reset()
        self.score = 0
        return self.told(f"{info['taskDesc']}\n{observation}", info)

    def step(self, action):
        observation, _, done, info = self.env.step(action)
        # A score is 100 at most, and -100 after a mistake that ends the task: nothing is earned then.
        score = max(0, info["score"])
        reward, self.score = (score - self.score) / 100, score
        return self.told(observation, info) | {"reward": reward, "done": bool(done)}

    def told(self, observation, info):
        return {"observation": observation, "admissible": sorted(info["valid"])}

    def close(self):
        self.env.close()


def kind_of(name):
    if name.endswith((".z8", ".ulx", ".json")):
        return TextWorld
    if name.startswith("scienceworld:"):
        return ScienceWorld
    return BrowserGym if name.startswith("browsergym/") else Gym


def main():
    env = None
    for line in sys.stdin:
        try:
            asked = json.loads(line)
            op = asked["op"]
            if op == "make":
                env = kind_of(asked["id"])(asked["id"], asked.get("options", {}))
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

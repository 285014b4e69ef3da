"""ALFWorld's text environment played by `rl alfworld serve`: the calls of AlfredTWEnv, without TextWorld.

    env = AlfredTWEnv(config, train_eval="eval_in_distribution").init_env(batch_size=8)
    obs, infos = env.reset()
    obs, scores, dones, infos = env.step([commands[0] for commands in infos["admissible_commands"]])
"""

import json
import os
import subprocess

KEYS = {"train": "data_path", "eval_in_distribution": "eval_id_data_path"}
LIMITS = {"train": "num_train_games"}


class Games:
    """A process of `rl alfworld serve`. A question is a dictionary, or a list of them."""

    def __init__(self, *options, command=("rl",)):
        self.process = subprocess.Popen([*command, "alfworld", "serve", *options], stdin=-1, stdout=-1)

    def ask(self, question):
        self.process.stdin.write(json.dumps(question).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        for one in answer if isinstance(answer, list) else [answer]:
            if "error" in one:
                raise RuntimeError(one["error"]["message"])
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class AlfredTWEnv:
    def __init__(self, config, train_eval="train", seed=1, command=("rl",)):
        data, env = config["dataset"], config["env"]
        limit = data.get(LIMITS.get(train_eval, "num_eval_games"), -1)
        steps = config["rl"]["training"]["max_nb_steps_per_episode"]
        self.options = ["--data", os.path.expandvars(data[KEYS.get(train_eval, "eval_ood_data_path")])]
        self.options += ["--seed", str(seed), "--max-steps", str(steps)]
        self.options += ["--types", ",".join(map(str, env["task_types"]))]
        self.options += ["--limit", str(limit)] if limit > 0 else []
        self.options += ["--randomize"] if env["domain_randomization"] and train_eval == "train" else []
        self.command = command

    def init_env(self, batch_size):
        return Batch(Games(*self.options, command=self.command), batch_size)


class Batch:
    def __init__(self, games, batch_size):
        self.games, self.batch_size = games, batch_size
        self.num_games = len(games.ask({"do": "games"})["games"])

    def reset(self):
        turns = self.games.ask([{"do": "reset", "slot": slot} for slot in range(self.batch_size)])
        self.files = [turn["path"] or turn["key"] for turn in turns]
        obs, _, _, infos = self._told(turns)
        return obs, infos

    def step(self, actions):
        questions = [{"do": "step", "slot": slot, "action": action} for slot, action in enumerate(actions)]
        return self._told(self.games.ask(questions))

    def expert_plans(self):
        """Commands that win from here, for each game. None if there are none."""
        return [one["plan"] for one in self.games.ask([{"do": "plan", "slot": n} for n in range(self.batch_size)])]

    def close(self):
        self.games.close()

    def _told(self, turns):
        obs, scores, dones, won, admissible = (
            [turn[key] for turn in turns] for key in ("obs", "score", "done", "won", "admissible")
        )
        return obs, scores, dones, {"won": won, "admissible_commands": admissible, "extra.gamefile": self.files}

"""Plays the same commands in ALFWorld and in `rl alfworld serve`, and compares all that both tell.

lockstep.py CLIENT_FOLDER DATA_FOLDER EPISODES SEED COMMAND...    the last line is episodes=N steps=N differences=N
"""

import os
import random
import sys

sys.path.insert(0, sys.argv[1])
data, episodes, seed, command = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]

import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
from rlanything_alfworld import Games

MOST_STEPS = 30
SHOWN = 10
SPACES = ["", " ", "\t", "\x1c", "\x1f", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "\u200b"]


def malformed(rng, commands):
    """Returns a command that is nearly one of these, or is nothing like one."""
    base = rng.choice(commands)
    words = base.split(" ")
    return rng.choice([
        base.upper(),
        base.replace(" ", "  "),
        rng.choice(SPACES) + base + rng.choice(SPACES),
        " ".join(rng.sample(words, len(words))),
        base + " " + rng.choice(words),
        base[: rng.randrange(len(base))],
        base.replace("1", "2"),
        base.replace("go to", "goto"),
        "" if rng.random() < 0.3 else "look" + rng.choice(SPACES),
        "examine nothing 1",
        "\u0130\u00df\U0001f600 " + base,
        "x" * 5000,
    ])


def next_command(kind, rng, turn, walkthrough, step, prefix):
    commands = turn["admissible"]
    if kind == "prefix" and step < prefix:
        return walkthrough[step]
    if kind == "malformed" and rng.random() < 0.5:
        return malformed(rng, commands)
    return rng.choice(commands)


def told(state, score, done):
    return {
        "obs": state["feedback"],
        "admissible": list(state["admissible_commands"]),
        "won": bool(state["won"]),
        "score": score,
        "done": bool(done),
    }


def differing(theirs, ours):
    """Names what differs. At a reset the original has no score."""
    return [key for key, value in theirs.items() if value is not None and ours[key] != value]


games = Games("--data", data, "--max-steps", "0", command=command)
listed = games.ask({"do": "games"})["games"]
infos = textworld.EnvInfos(won=True, admissible_commands=True, feedback=True, extras=["gamefile"])
steps = differences = 0
for index in range(min(len(listed), episodes)):
    path = listed[index]["path"]
    env = textworld.start(path, infos, wrappers=[AlfredDemangler(shuffle=False), AlfredInfos])
    for episode in range(index, episodes, len(listed)):
        rng = random.Random(f"{seed}/{episode}")
        kind = ("random", "prefix", "malformed")[rng.randrange(3)]
        theirs = told(env.reset(), None, False)
        turn = games.ask({"do": "reset", "slot": 0, "game": index})
        walkthrough = games.ask({"do": "walkthrough", "slot": 0})["walkthrough"] or []
        prefix = rng.randint(0, len(walkthrough))
        said = None
        for step in range(MOST_STEPS + 1):
            wrong = differing(theirs, turn)
            if wrong:
                differences += 1
                if differences <= SHOWN:
                    for key in wrong:
                        print(f"{listed[index]['key']} step {step} {said!r}: {key}: {theirs[key]!r} is {turn[key]!r} here")
                break
            if theirs["done"] or step == MOST_STEPS:
                break
            said = next_command(kind, rng, turn, walkthrough, step, prefix)
            state, score, done = env.step(said)
            theirs = told(state, score, done)
            turn = games.ask({"do": "step", "slot": 0, "action": said})
            steps += 1
    env.close()
    print(f"{listed[index]['key']}: {steps} steps so far, {differences} differences", flush=True)
games.close()
print(f"episodes={episodes} steps={steps} differences={differences}")
sys.stdout.flush()
os._exit(1 if differences else 0)

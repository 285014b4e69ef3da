"""Whether what a trainer would make is what the run would use: asked before anything is trained."""

SECTIONS = {"policy": "policy", "reward-model": "rewardModel"}


def disagreement(config, role, full):
    """Why the run of this config takes no versions of this trainer, with the next step; None where it does."""
    name = SECTIONS[role]
    section = config.get(name, {})
    if section.get("trainer", "own") != "external":
        return f"the run trains its {role} itself: start it with --set {name}.trainer=external"
    wanted, made = section.get("publish", {}).get("as", "none"), "model" if full else "lora"
    if wanted in ("none", made):
        return None
    if full:
        return f"{name}.publish.as is 'lora', and --full makes whole models: leave --full out, or start the run with --set {name}.publish.as=model"
    return f"{name}.publish.as is 'model', and adapters are made: add --full, or start the run with --set {name}.publish.as=lora"

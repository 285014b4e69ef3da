"""Trains the policy or the reward model of an RLAnything run: answers BatchReady with PolicyUpdated or RewardModelUpdated."""

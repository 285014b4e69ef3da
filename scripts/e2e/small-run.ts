/** A small run with local models in every role that has one. All fail at everything, so each group is learned from. */
export const SMALL_SETTINGS = [
  'run.iterations=3',
  'environment.tasks=6',
  'environment.tasksPerIteration=3',
  'environment.rolloutsPerTask=4',
  'environment.maxSteps=5',
  'policy.coldStart.demonstrations=16',
  'policy.coldStart.updates=8',
  'rewardModel.samples=1',
  'rewardModel.accuracyRange=[0, 1]',
  'rewardModel.coldStart.rollouts=10',
  'rewardModel.coldStart.updates=2',
  'learning.mixedOutcomes=false',
  'adaptation.candidates=within',
  'evaluation.splits=[in-domain]',
  'evaluation.tasks=4',
]

/** The same as words of a command. */
export const SMALL_RUN = SMALL_SETTINGS.flatMap((setting) => ['--set', setting])

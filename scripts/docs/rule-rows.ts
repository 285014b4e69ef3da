/** Features of 64 published systems, with what of them works here. docs/rules.md shows the table. */

/** `works`, `partly` or `missing`. */
export type RowState = 'works' | 'partly' | 'missing'

export type RuleRow = {
  readonly system: string
  readonly feature: string
  readonly state: RowState
  /** Rules and keys of the config that do it. A name in backticks is a rule of the registry or a key. */
  readonly by: string
}

const row = (system: string, feature: string, state: RowState, by = ''): RuleRow => ({
  ...{ system, feature, state, by },
})

/** In the order of their numbers, R1 to R64. */
export const RULE_ROWS: readonly RuleRow[] = [
  row('RLAnything', 'outcome plus lambda times the mean vote', 'works', '`integrated`'),
  row('G-RA', 'steps count only after a good outcome', 'works', '`gated`'),
  row('SPA-RL', 'progress, and a cost of steps without effect', 'works', '`progress`, `grounded`'),
  row('BRME', 'mean and minimum of several judgements', 'works', '`pessimistic`'),
  row(
    'CM2',
    'a checklist, and steps with few holders dropped',
    'works',
    '`checklist`, `step-index` with `minHolders`',
  ),
  row('RLBFF', 'principles that are answered by yes or no', 'works', '`principles`'),
  row('SSL', 'tiers in place of a share', 'works', '`tiers`'),
  row(
    'SPARK, stepwise',
    'several verifications, and a critique of them',
    'partly',
    '`rewardModel.samples`; no call that weighs them',
  ),
  row(
    'SPARK, RISE',
    'one model acts and judges',
    'partly',
    '`policy.baseUrl` and `rewardModel.baseUrl` may be one model; each role trains weights of its own',
  ),
  row('iStar', 'rewards of steps from log-probabilities', 'works', '`implicit`, against version 0'),
  row('GRPO-TCR', 'a penalty on long rollouts', 'works', '`learning.overlong`'),
  row('SWE-RL', 'likeness to a reference patch', 'works', '`similarity`'),
  row(
    'RL for ML engineering',
    'partial credit, and durations of actions',
    'works',
    '`learning.mixedOutcomes`, `duration`',
  ),
  row('RLAnything', 'z-scores at the same step index', 'works', '`step-index`'),
  row('Lite PPO', 'mean of the group, deviation of the batch', 'works', '`learning.scale`'),
  row('UI-S1', 'discounted returns at the same index', 'works', '`step-index` with `gamma` and `episode`'),
  row('GUI-Libra', 'failures count less where success is rare', 'works', '`negative-scale`'),
  row('Dr. MAS, MARS, AT-GRPO', 'statistics by role', 'works', '`role`'),
  row('VL-DAC', 'a value by step', 'works', '`state-values`, by means in place of a head'),
  row(
    'R1-Reward',
    'outliers leave, and a consistent judge',
    'works',
    '`three-sigma`, `rewardModel.consistency`',
  ),
  row(
    'RL-PLUS, A-LoL, B-Coder',
    'trajectories from outside',
    'works',
    '`learning.outside`, `rl-plus` or `a-lol`',
  ),
  row('DAPO, RAGEN', 'no group whose rollouts end alike', 'works', '`accuracy`, `environment.refill`'),
  row('RAGEN-2', 'groups by the deviation of their rewards', 'works', '`variance`'),
  row('SimpleTIR', 'rollouts with a void turn leave', 'works', '`void-turn`'),
  row('rStar2-Agent', 'clean successes are kept', 'works', '`correct-resample`'),
  row(
    'DART',
    'steps of high entropy',
    'works',
    '`step-entropy`, and `policy.training.entropyShare` by token',
  ),
  row('TraPO', 'curves of pass rates', 'works', '`trend`, on outcomes that are told as `unsure`'),
  row('DAPO', 'what a limit cut off leaves', 'works', '`truncated`'),
  row(
    'DART',
    'rollouts and limits by task, a pool of successes',
    'works',
    '`by-success`, `task-limit`, `learning.successPool`',
  ),
  row('DRIVE', 'hard tasks with many rollouts', 'works', '`hard-focus`, sampler and size'),
  row('BroRL', 'very many rollouts a task', 'works', '`environment.rolloutsPerTask`, `by-success`'),
  row('DigiRL', 'tasks by the signal that they may give', 'works', '`learnability`'),
  row('RLVE', 'a window of levels', 'works', '`window`'),
  row('AgentGym-RL', 'a horizon that grows in stages', 'works', '`stages`'),
  row('AceReason', 'phases, and strictly on-policy', 'works', '`run.phases`, `run.maxStaleness`'),
  row('ActiveVLN', 'an early stop', 'works', '`task-limit`'),
  row('SnapshotRL', 'starts inside of a trajectory', 'works', '`environment.starts`, `rl whatif`'),
  row('ARPO', 'branches where the entropy jumps', 'works', '`environment.branching`, `siblings`'),
  row(
    'WebAgent-R1',
    'a compressed context',
    'partly',
    '`policy.historySteps` leaves the oldest steps out; the agent writes no summary of them',
  ),
  row('Agent-RLVR', 'hints after a failure', 'works', '`environment.hints`'),
  row('UI-S1', 'recorded traces with patches', 'works', '`environment.traces`, `traced`'),
  row('GRPO-TCR', 'loss by token, higher clip, dual clip', 'works', '`policy.training`'),
  row('ReTool', 'tokens of tools are masked', 'works', 'masks of trajectories'),
  row('AReaL', 'bounded staleness, decoupled PPO', 'works', '`run.maxStaleness`, `policy.training.mismatch`'),
  row('AsyncFlow, ASearcher', 'streaming without a barrier', 'works', '`run.maxStaleness`, `run.barrier`'),
  row('DART, TRL', 'truncated importance sampling', 'works', '`policy.training.mismatch`'),
  row('RLAnything', 'acceptance of new tasks', 'works', '`adaptation.rule`'),
  row('EnvGen', 'accuracy by skill for the rewriter', 'works', '`adaptation.skills`'),
  row(
    'SSP',
    'tasks that documents prove',
    'partly',
    '`adaptation.rewriter` makes tasks, and their setting validates them; no document is searched',
  ),
  row(
    'STARLING, SearchGym',
    'generated worlds that can be solved',
    'partly',
    '`environment.source` makes worlds by rules, which experts solve; no model writes them',
  ),
  row('TeachMyAgent', 'tests of a curriculum', 'works', '`rl curriculum`, on simulated students'),
  row('INSPO', 'a population of instructions', 'works', '`policy.instructions`'),
  row('Youtu-Agent', 'practice without weights', 'works', '`policy.instructions`'),
  row(
    'RLoop',
    'successes become demonstrations',
    'works',
    '`rl export --format demonstrations`, `rl model sft`',
  ),
  row('CFT', 'critiques as data', 'works', '`rl export --format critiques`, `rl model sft`'),
  row(
    'Multi-SWE-RL',
    'repositories in several languages',
    'missing',
    'programs of one file run in several languages; no setting builds and tests a repository',
  ),
  row('GRPO-TCR', 'avg, pass and maj at k', 'works', '`rl eval`'),
  row('ReasonBENCH', 'seeds, intervals and costs', 'works', '`rl ablate`'),
  row('LLM Output Drift', 'runs that are attested and replayed', 'works', '`rl replay`, `rl attest`'),
  row(
    'Hyperparameters in RL',
    'seeds for tuning are kept apart',
    'works',
    '`environment.seed`, `rl ablate --task-seed`',
  ),
  row('Open RL Benchmark', 'a registry of runs', 'works', '`rl attest`, `rl runs --attested`, `rl export`'),
  row('SAFE', 'alarms', 'works', '`drift`'),
  row(
    'STORI',
    'noise of environments',
    'missing',
    'no key draws it; an action that was replaced can be logged beside the choice since `environment.traces`',
  ),
  row(
    'SandboxFusion, LiveCodeBench, OSWorld, ALFWorld',
    'their tasks and sandboxes',
    'works',
    '`environment.name`',
  ),
]

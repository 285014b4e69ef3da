/** Words for the columns of exported trajectories: docs/export.md and the card of a dataset have them. */
import { COLUMNS, type Kind, type TrajectoryRow } from './trajectory-row.ts'

const TYPES: Readonly<Record<Kind, string>> = {
  text: 'text',
  int: 'int32',
  double: 'float64',
  float: 'float32',
  flag: 'boolean',
  json: 'JSON',
}

/** `[steps]` and the like are the lengths of a list. */
const COLUMN_WORDS: Readonly<Record<keyof TrajectoryRow, string>> = {
  position: 'place of the trajectory in the log, from 1',
  time: 'when it was logged, in milliseconds since 1970',
  actor: 'who played it',
  rollout: 'id of the rollout',
  iteration: 'iteration of the run',
  purpose: '`train`, `candidate` (tries a proposed task) or `evaluation`',
  split: 'split of its task',
  slot: 'place among the tasks of the run; its task may change',
  task: 'id of the task',
  environment: 'name of the setting',
  kind: 'kind of the task, e.g. a task type',
  goal: 'the goal as the policy reads it',
  recipe: 'what the environment makes the task of',
  index: 'index in its group of rollouts of one task',
  seed: 'seed of its chance, as numbers',
  policy_version: 'version of the policy that acted',
  temperature: 'temperature of sampling by the config; null if an agent outside chose it',
  prompt_sha256: 'digest of the prompt file; null for a policy that takes none',
  outcome: 'in [0, 1]; null if the environment abstained',
  success: 'whether the outcome counts as a success; null if the environment abstained',
  abstained: 'why the environment could not tell',
  outcome_reason: 'words of the grade',
  unsure: 'whether the outcome was guessed, by a model or a vote; null if the environment abstained',
  ended: '`goal`, `step-limit`, `gave-up` or `context`',
  steps: 'number of actions',
  observations: '[steps + 1] before each action, and after the last',
  actions: '[steps] the actions',
  reasoning: '[steps] reasoning that an endpoint returned beside the action',
  invalid: 'number of unreadable answers, by reason',
  invalid_steps: '[steps] 1 for an answer that could not be read',
  failed_steps: '[steps] 1 if a call of a tool failed',
  entropies: "[steps] mean entropy of the step's sampled tokens, in nats",
  base_logprobs: "[steps] log-prob of the step's sampled tokens under version 0",
  roles: '[steps] who acted, if the setting has roles',
  trace:
    'steps of the recorded trace that was followed, and the steps at which the policy left it, with its choice',
  reference: "text of the task's own solution",
  trainable: 'whether token ids and log-probs are known',
  scores: '[steps] the part of the step reward beside the outcome; null if it was not trained on',
  advantages: '[steps] advantages; 0 for a step that is not trained, null as above',
  votes: '[steps][judgements] votes -1, 0 or 1; null for a step that was not judged',
  critiques: '[steps][judgements] the text before each vote',
  probabilities: '[steps] probability of a good verdict',
  progress: "[steps] the environment's own measure of the step",
  judge_versions: '[steps] version of the reward model',
  judged: '[steps] all of the judgements, with tokens and log-probs of the reward model',
  tested: "end of the rollout's program on each test",
  frames: '[steps + 1] pictures of the screen, as digests of blobs',
  usage_prompt_tokens: 'tokens of prompts',
  usage_cached_tokens: 'tokens of prompts that were in a cache',
  usage_completion_tokens: 'sampled tokens',
  timing: 'milliseconds of parts of the rollout, by name',
  tokens: '[T] token ids of all segments, one after another',
  mask: '[T] 1 for a sampled token',
  logprobs: '[T] log-probs of sampled tokens, else 0',
  segment_tokens: '[segments] number of tokens: the next segment begins there',
  segment_first_step: '[segments] first step of the segment',
  step_starts: "[steps] offset in its segment of a step's first sampled token",
  allowed_offsets: '[segments][T + 1] offsets into `allowed`; null if all tokens were allowed',
  allowed: '[segments] token ids that were allowed at each sampled token',
}

/** Returns the lines of a table: name, type, words. */
export function columnLines(): readonly string[] {
  const rows = Object.entries(COLUMNS).map(([name, { kind, shape }]) => {
    const type = shape === 'list' ? `list of ${TYPES[kind]}` : TYPES[kind]
    return `| \`${name}\` | ${type} | ${COLUMN_WORDS[name as keyof TrajectoryRow]} |`
  })
  return ['| column | type | meaning |', '| --- | --- | --- |', ...rows]
}

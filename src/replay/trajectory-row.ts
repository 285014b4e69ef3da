/**
 * The columns of exported trajectories: one table that defines rows, their types and the schema of Parquet
 * files.
 */
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import { readFloat32, readInt32 } from '../events/columns.ts'
import { plainData } from '../events/plain.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Judged = EventData<'StepScored'>
type Task = EventData<'TaskAdded'>['task']

/** A trajectory with all that the log knows of it elsewhere. */
export type TrajectoryFacts = {
  readonly event: Pick<LoggedEvent<'TrajectoryCompleted'>, 'position' | 'time' | 'actor' | 'data'>
  /** Null if the log begins after it. */
  readonly task: Task | null
  /** Temperature of sampling. Null if an agent outside chose it. */
  readonly temperature: number | null
  /** [steps] judgements. Null for a step that was not judged. */
  readonly judged: readonly (Judged | null)[]
  /**
   * [steps] the part of the step reward beside the outcome. Null if it was not trained on (evaluations,
   * abstentions).
   */
  readonly scores: readonly number[] | null
  /** [steps]: 0 for a step that is not trained. Null as above. */
  readonly advantages: readonly number[] | null
  /** End of the rollout's program on each test of its task. Null if the actions are not programs. */
  readonly tested: EventData<'ProgramTested'> | null
  /** Pictures of the screen at each step. Null if nothing was drawn. */
  readonly frames: EventData<'FramesRecorded'> | null
}

/** `json`: any value, in a Parquet file as JSON. */
export type Kind = 'text' | 'int' | 'double' | 'float' | 'flag' | 'json'
type Shape = 'one' | 'list'

/** Fields that are columns as they are. Segments are in their place, whether the event or a store held them. */
type Field = Exclude<keyof Trajectory, 'outcome' | 'usage' | 'segments' | 'storedSegments'>

/** A fact of a trajectory that some column must carry. */
type Fact =
  | Field
  | `outcome.${keyof Extract<Trajectory['outcome'], { kind: 'scored' }> | 'reason'}`
  | `usage.${keyof Trajectory['usage']}`
  | `segment.${keyof Trajectory['segments'][number]}`

type Column<Value, F extends Fact> = {
  readonly kind: Kind
  readonly shape: Shape
  /** The facts that it carries. */
  readonly of: readonly F[]
  readonly read: (facts: TrajectoryFacts) => Value
}

function column<Value, const F extends Fact = never>(
  kind: Kind,
  shape: Shape,
  read: (facts: TrajectoryFacts) => Value,
  of: readonly F[] = [],
): Column<Value, F> {
  return { kind, shape, of, read }
}

/** A field of the event as it is. */
function field<F extends Field>(kind: Kind, shape: Shape, name: F): Column<Trajectory[F], F> {
  return column(kind, shape, ({ event }) => event.data[name], [name])
}

function usage<F extends keyof Trajectory['usage']>(name: F): Column<number, `usage.${F}`> {
  return column('int', 'one', ({ event }) => event.data.usage[name], [`usage.${name}`])
}

/** [T] values of all segments, concatenated. */
function tokens<F extends keyof Trajectory['segments'][number]>(
  kind: Kind,
  name: F,
  read: (segment: Trajectory['segments'][number]) => Iterable<number>,
): Column<readonly number[], `segment.${F}`> {
  return column(kind, 'list', ({ event }) => event.data.segments.flatMap((one) => [...read(one)]), [
    `segment.${name}`,
  ])
}

/** Columns of tokens that only some segments have. Null if no segment has them. */
function allowed<F extends 'allowedOffsetsI32' | 'allowedI32'>(
  name: F,
): Column<readonly (readonly number[] | null)[] | null, `segment.${F}`> {
  return column(
    'json',
    'one',
    ({ event: { data } }) =>
      data.segments.some((segment) => segment[name] !== undefined)
        ? data.segments.map(({ [name]: values }) => (values === undefined ? null : [...readInt32(values)]))
        : null,
    [`segment.${name}`],
  )
}

/**
 * A value of each step's judgements. Null for a step that was not judged, and for the whole row if none was.
 */
function judged<Value>(
  kind: Kind,
  shape: Shape,
  read: (one: Judged) => Value,
): Column<readonly (Value | null)[] | null, never> {
  return column(kind, shape, (facts) =>
    facts.judged.some((one) => one !== null)
      ? facts.judged.map((one) => (one === null ? null : read(one)))
      : null,
  )
}

const scored = ({ outcome }: Trajectory) => (outcome.kind === 'scored' ? outcome : null)

export const COLUMNS = {
  position: column('int', 'one', ({ event }) => event.position),
  /** Milliseconds since 1970. */
  time: column('double', 'one', ({ event }) => event.time),
  actor: column('text', 'one', ({ event }) => event.actor),
  rollout: field('text', 'one', 'rollout'),
  iteration: field('int', 'one', 'iteration'),
  purpose: field('text', 'one', 'purpose'),
  split: field('text', 'one', 'split'),
  slot: field('text', 'one', 'slot'),
  task: field('text', 'one', 'task'),
  environment: column('text', 'one', ({ task }) => task?.environment ?? null),
  kind: column('text', 'one', ({ task }) => task?.kind ?? null),
  goal: column('text', 'one', ({ task }) => task?.goal ?? null),
  recipe: column('json', 'one', ({ task }) => task?.recipe ?? null),
  index: field('int', 'one', 'index'),
  seed: column('json', 'one', ({ event }) => [...event.data.seed], ['seed']),
  policy_version: field('int', 'one', 'policyVersion'),
  temperature: column('double', 'one', ({ temperature }) => temperature),
  prompt_sha256: column('text', 'one', ({ event }) => event.data.promptSha256 ?? null, ['promptSha256']),
  /** In [0, 1]. Null if the environment abstained, like the next column. */
  outcome: column('double', 'one', ({ event }) => scored(event.data)?.value ?? null, [
    'outcome.kind',
    'outcome.value',
  ]),
  success: column('flag', 'one', ({ event }) => scored(event.data)?.success ?? null, ['outcome.success']),
  abstained: column(
    'text',
    'one',
    ({ event: { data } }) => (data.outcome.kind === 'abstained' ? data.outcome.reason : null),
    ['outcome.reason'],
  ),
  /** Words of the grade. */
  outcome_reason: column('text', 'one', ({ event }) => scored(event.data)?.reason ?? null, [
    'outcome.reason',
  ]),
  /** True if the outcome was guessed. */
  unsure: column(
    'flag',
    'one',
    ({ event: { data } }) => {
      const told = scored(data)
      return told && told.unsure === true
    },
    ['outcome.unsure'],
  ),
  ended: field('text', 'one', 'ended'),
  steps: field('int', 'one', 'steps'),
  /** [steps + 1] and [steps]. */
  observations: field('text', 'list', 'observations'),
  actions: field('text', 'list', 'actions'),
  reasoning: column('text', 'list', ({ event }) => event.data.reasoning ?? null, ['reasoning']),
  invalid: field('json', 'one', 'invalid'),
  /** [steps] 1 for an answer that could not be read, and for a failed call. Null if none is marked. */
  invalid_steps: column('int', 'list', ({ event }) => plainMarks(event.data.invalidU8), ['invalidU8']),
  failed_steps: column('int', 'list', ({ event }) => plainMarks(event.data.errorsU8), ['errorsU8']),
  /** [steps] mean entropy, log-prob under version 0, and who acted. Null if the log does not tell. */
  entropies: column('float', 'list', ({ event }) => plainFloats(event.data.entropiesF32), ['entropiesF32']),
  base_logprobs: column('float', 'list', ({ event }) => plainFloats(event.data.baseLogprobsF32), [
    'baseLogprobsF32',
  ]),
  roles: column('text', 'list', ({ event }) => event.data.roles ?? null, ['roles']),
  /** Steps of the recorded trace, and those at which the policy left it. */
  trace: column('json', 'one', ({ event }) => plainData(event.data.trace ?? null), ['trace']),
  reference: column('text', 'one', ({ event }) => event.data.reference ?? null, ['reference']),
  trainable: field('flag', 'one', 'trainable'),
  scores: column('double', 'list', ({ scores }) => scores),
  advantages: column('double', 'list', ({ advantages }) => advantages),
  /** [steps][judgements] votes -1, 0 or 1, and the text before each. */
  votes: judged('json', 'one', ({ judgements }) => judgements.map(({ score }) => score)),
  critiques: judged('json', 'one', ({ judgements }) => judgements.map(({ critique }) => critique)),
  /** [steps] of a good verdict, and the environment's own measure of the step. */
  probabilities: judged('json', 'one', ({ probability }) => probability),
  progress: judged('json', 'one', ({ progress }) => progress),
  judge_versions: judged('json', 'one', ({ rewardModelVersion }) => rewardModelVersion),
  /** [steps]: all that StepScored holds, tokens and log-probs of the judge included. */
  judged: judged('json', 'one', (one) => plainData(one)),
  tested: column('json', 'one', ({ tested }) => plainData(tested)),
  frames: column('json', 'one', ({ frames }) => plainData(frames)),
  usage_prompt_tokens: usage('promptTokens'),
  usage_cached_tokens: usage('cachedTokens'),
  usage_completion_tokens: usage('completionTokens'),
  timing: column('json', 'one', ({ event }) => event.data.timing ?? null, ['timing']),
  /** [T] of all segments, concatenated. `mask` is 1 if the token was sampled. */
  tokens: tokens('int', 'tokensI32', ({ tokensI32 }) => readInt32(tokensI32)),
  mask: tokens('int', 'maskU8', ({ maskU8 }) => maskU8),
  logprobs: tokens('float', 'logprobsF32', ({ logprobsF32 }) => readFloat32(logprobsF32)),
  /**
   * [segments] number of tokens and first step. [steps of all] offset in its segment of a step's first
   * sampled token.
   */
  segment_tokens: column('int', 'list', ({ event }) =>
    event.data.segments.map(({ tokensI32 }) => readInt32(tokensI32).length),
  ),
  segment_first_step: column(
    'int',
    'list',
    ({ event }) => event.data.segments.map(({ firstStep }) => firstStep),
    ['segment.firstStep'],
  ),
  step_starts: tokens('int', 'stepStartI32', ({ stepStartI32 }) => readInt32(stepStartI32)),
  /** [segments] allowed tokens: offsets [T + 1] into the values. Null if all were allowed. */
  allowed_offsets: allowed('allowedOffsetsI32'),
  allowed: allowed('allowedI32'),
} as const

type Columns = typeof COLUMNS

// A new field of the event does not compile until a column carries it.
true satisfies Exclude<Fact, Columns[keyof Columns]['of'][number]> extends never ? true : never

function plainMarks(column: Uint8Array | undefined): number[] | null {
  return column === undefined ? null : [...column]
}

function plainFloats(column: Uint8Array | undefined): number[] | null {
  return column === undefined ? null : [...readFloat32(column)]
}

/** One exported trajectory. */
export type TrajectoryRow = { readonly [Name in keyof Columns]: ReturnType<Columns[Name]['read']> }

export function trajectoryRow(facts: TrajectoryFacts): TrajectoryRow {
  const cells = Object.entries(COLUMNS).map(([name, { read }]) => [name, read(facts)])
  return Object.fromEntries(cells) as TrajectoryRow
}

/**
 * Explains a task, a step or a version by its complete lineage in the log. It is found by natural keys,
 * streams and the index of types, so it takes milliseconds on a log of any length.
 */
import { rolloutName } from '../actors/decider/names.ts'
import { isoTime } from '../clock.ts'
import { RlError } from '../errors.ts'
import type { EventData, EventType, LoggedEvent } from '../events/catalogue.ts'
import { decodeLogged } from '../events/codec.ts'
import type { LogReader } from '../events/log-reader.ts'
import { accuracyOf } from '../learning/filters.ts'
import { wilson } from '../learning/interval.ts'
import type { Tally } from '../learning/terms.ts'
import { causeOf } from './causes.ts'
import { ruleOf } from './rule.ts'
import { type Node, node } from './tree.ts'
import { instructionNodes } from './why-instructions.ts'

type Origin = LoggedEvent<'TaskAdded'> | LoggedEvent<'TaskProposed'>
type Decision = LoggedEvent<'TaskAccepted'> | LoggedEvent<'TaskRejected'>

/**
 * Returns the lineage of a task by its id, or of all tasks of a slot by the slot's name.
 * @throws RlError `why.unknown`
 */
export function whyTask(log: LogReader, id: string): Node {
  const ofSlot = historyOf(log, id)
  if (ofSlot.length > 0) return slotNode(log, id, ofSlot)
  const origins = originsOf(log, id)
  if (origins.length === 0) throw unknown(`run '${log.run}' has no task and no slot '${id}'`)
  const nodes = origins.map((origin) => taskNode(log, origin, historyOf(log, origin.data.slot)))
  // Rewriting may make the same task more than once, in one slot or in several.
  const [only] = nodes
  return only !== undefined && nodes.length === 1 ? only : node(`task ${id}`, { times: nodes.length }, nodes)
}

function slotNode(log: LogReader, slot: string, history: readonly LoggedEvent[]): Node {
  const children = history.flatMap((event) => {
    if (event.type === 'TaskAdded' || event.type === 'TaskProposed') return [ownNode(log, event, history)]
    return event.type === 'TaskRejected' && event.data.task === null ? [refusal(event)] : []
  })
  return node(`slot ${slot}`, { versions: children.length }, children)
}

/** Returns the task, and above it its parents, back to the first task of its slot. */
function taskNode(log: LogReader, origin: Origin, history: readonly LoggedEvent[]): Node {
  const own = ownNode(log, origin, history)
  if (origin.type === 'TaskAdded') return own
  const parent = history.findLast(
    (event): event is Origin =>
      (event.type === 'TaskAdded' || event.type === 'TaskProposed') &&
      event.data.task.id === origin.data.parent &&
      event.position < origin.position,
  )
  return parent ? { ...own, children: [...own.children, taskNode(log, parent, history)] } : own
}

function ownNode(log: LogReader, origin: Origin, history: readonly LoggedEvent[]): Node {
  const { task, slot } = origin.data
  const decision = history.find(
    (event): event is Decision =>
      isDecision(event) && event.data.task === task.id && event.position > origin.position,
  )
  const facts = { goal: task.goal, kind: task.kind, slot }
  if (origin.type === 'TaskAdded')
    return node(`task ${task.id}: of the first set`, {
      ...facts,
      split: origin.data.split,
      ...placed(origin),
    })
  const status = !decision ? 'candidate' : decision.type === 'TaskAccepted' ? 'accepted' : 'rejected'
  return node(`task ${task.id}: ${status}`, facts, [
    proposalNode(log, origin),
    ...(decision ? [decisionNode(decision)] : []),
  ])
}

function proposalNode(log: LogReader, proposal: LoggedEvent<'TaskProposed'>): Node {
  const { iteration, slot, direction, parent, parentAccuracy, critique, rewriter } = proposal.data
  return node(
    `proposed in iteration ${iteration}: ${direction} than ${parent}`,
    {
      'parent accuracy': share(parentAccuracy),
      critique: critique === '' ? null : critique,
      rewriter: `${rewriter.kind}: ${rewriter.name}`,
      'prompt sha256': rewriter.promptSha256,
      ...placed(proposal, log),
    },
    quotesOf(log, iteration, slot, critique).map(({ rollout, step, critique, judged }) =>
      node(`said of ${rollout}#${step}`, { critique, ...placed(judged, log) }),
    ),
  )
}

/** A step that a line of a critique was said of. */
export type Quote = {
  readonly rollout: string
  readonly step: number
  readonly critique: string
  readonly judged: LoggedEvent<'TrajectoryJudged'>
}

/** Finds the sources of the critique's lines (`3x text`): rollouts and steps of the parent's group. */
export function quotesOf(log: LogReader, iteration: number, slot: string, critique: string): Quote[] {
  if (critique === '') return []
  const said = critique.split('\n').map((line) => line.replace(/^\d+x /, ''))
  return groupOf(log, iteration, slot).flatMap((rollout) => {
    const judged = log.byKey(`TrajectoryJudged/${rollout}`)
    if (judged?.type !== 'TrajectoryJudged') return []
    return judged.data.complaints
      .filter(({ critique }) => said.includes(critique))
      .map(({ step, critique }) => ({ rollout, step, critique, judged }))
  })
}

function decisionNode(decision: Decision): Node {
  const { iteration, accuracy, parentAccuracy, thresholds, reason } = decision.data
  return node(
    `${decision.type === 'TaskAccepted' ? 'accepted' : 'rejected'} in iteration ${iteration}: ${reason}`,
    {
      accuracy: share(accuracy),
      'parent accuracy': share(parentAccuracy),
      thresholds: `low ${thresholds.low}, high ${thresholds.high}`,
      ...placed(decision),
    },
  )
}

function refusal(refused: LoggedEvent<'TaskRejected'>): Node {
  const { iteration, direction, parent, parentAccuracy, reason } = refused.data
  return node(`no ${direction} task than ${parent} in iteration ${iteration}: ${reason}`, {
    'parent accuracy': share(parentAccuracy),
    ...placed(refused),
  })
}

/**
 * Returns the lineage of a model version: its training data, the figures of its update, and its later
 * results.
 */
export function whyVersion(log: LogReader, role: 'policy' | 'reward-model', version: number): Node {
  const type = role === 'policy' ? 'PolicyUpdated' : 'RewardModelUpdated'
  const update = log.byKey(`${type}/${version}`)
  if (update?.type !== type) throw unknown(`run '${log.run}' has no version ${version} of the ${role}`)
  const { parentVersion, iteration, samples, stopped, trainedOn, metrics, checkpoint } = update.data
  return node(
    `${role} version ${version}`,
    {
      'made from': parentVersion === null ? 'the cold start' : `version ${parentVersion}`,
      iteration,
      samples,
      stopped,
      checkpoint: checkpoint && `${checkpoint.sha256.slice(0, 16)} ${checkpoint.path} of run ${update.run}`,
      ...placed(update, log),
    },
    [
      node('figures', metrics),
      ...(role === 'policy' ? instructionNodes(log, version, (event) => placed(event, log)) : []),
      ...trainedGroups(log, trainedOn),
      ...(role === 'policy' ? evaluationsOf(log, version) : []),
    ],
  )
}

function trainedGroups(log: LogReader, rollouts: readonly string[]): Node[] {
  const groups = new Map<string, string[]>()
  for (const rollout of rollouts) {
    const name = rollout.slice(0, rollout.lastIndexOf('/'))
    groups.set(name, [...(groups.get(name) ?? []), rollout])
  }
  return [...groups].map(([name, members]) => {
    const played = members.flatMap((rollout) => trajectoryOf(log, rollout) ?? [])
    return node(`trained on ${name}`, {
      task: played[0]?.data.task ?? null,
      rollouts: members.map((rollout) => rollout.slice(rollout.lastIndexOf('/') + 1)).join(' '),
      successes: played.filter(({ data }) => data.outcome.kind === 'scored' && data.outcome.success).length,
      positions: played.map(({ position }) => position).join(' '),
    })
  })
}

function evaluationsOf(log: LogReader, version: number): Node[] {
  return ofType(log, 'EvaluationCompleted')
    .filter(({ data }) => data.policyVersion === version)
    .map((event) =>
      node(`evaluated on ${event.data.split}`, {
        accuracy: share(event.data.rollouts),
        failed: event.data.failed,
        'mean steps': event.data.meanSteps,
        ...placed(event),
      }),
    )
}

/** Events of a type, through the index of types. */
export function ofType<T extends EventType>(log: LogReader, type: T): LoggedEvent<T>[] {
  return [...log.events({ types: [type] })]
}

export function trajectoryOf(log: LogReader, rollout: string): LoggedEvent<'TrajectoryCompleted'> | null {
  const event = log.byKey(`Rollout/${rollout}`)
  return event?.type === 'TrajectoryCompleted' ? event : null
}

/**
 * Returns the rollouts of a slot's group in an iteration, in order of their index. Returns none if it was not
 * planned.
 */
export function groupOf(log: LogReader, iteration: number, slot: string): string[] {
  const plan = log.byKey(`IterationPlanned/${iteration}`)
  const group = plan?.type === 'IterationPlanned' && plan.data.groups.find((one) => one.slot === slot)
  if (plan?.type !== 'IterationPlanned' || !group) return []
  const { rollouts: length = plan.data.rolloutsPerTask } = group
  return Array.from({ length }, (_, index) => rolloutName(iteration, slot, index))
}

/**
 * Returns facts about an event: position, actor, cause, guard and transition. Older events do not name their
 * cause. It is found if the log is given.
 */
export function placed(event: LoggedEvent, log?: LogReader): Node['facts'] {
  return {
    position: event.position,
    by: event.actor,
    at: isoTime(event.time),
    cause: log === undefined ? event.cause : (causeOf(log, event)?.id ?? null),
    rule: ruleOf(event),
  }
}

function share(tally: Tally): string {
  const { low, high, n } = wilson(tally.successes, tally.n)
  return `${accuracyOf(tally).toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] n ${n}`
}

export function unknown(message: string): RlError {
  return new RlError(message, {
    code: 'why.unknown',
    hint: 'rl projections RUN show lineage --all lists tasks',
  })
}

function historyOf(log: LogReader, slot: string): LoggedEvent[] {
  return [...log.byStream(`slot/${slot}`)]
}

function isDecision(event: LoggedEvent): event is Decision {
  return event.type === 'TaskAccepted' || event.type === 'TaskRejected'
}

/**
 * Returns the events that brought a task, in order. The id is looked for in the bytes before an event is
 * decoded. An event whose data is in a blob is always decoded.
 */
function originsOf(log: LogReader, id: string): Origin[] {
  const found: Origin[] = []
  for (const type of ['TaskAdded', 'TaskProposed'] as const)
    for (let next = 1; ; ) {
      const page = log.page({ from: next, types: [type] })
      for (const { position, body } of page.events) {
        const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
        if (!bytes.includes(id) && !bytes.includes('$blob')) continue
        const event = decodeLogged(body, position, log.blobs.get) as Origin
        if ((event.data satisfies EventData<'TaskAdded'> | EventData<'TaskProposed'>).task.id === id)
          found.push(event)
      }
      if (page.events.length === 0) break
      next = page.next
    }
  return found.sort((a, b) => a.position - b.position)
}

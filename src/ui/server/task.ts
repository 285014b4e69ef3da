/** One slot: the versions of its task, what changed, and why each was accepted or not. */
import { RlError } from '../../errors.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { ACCEPTANCE_RULES, ruleProbability } from '../../learning/acceptance.ts'
import { betaCdf, betaQuantile } from '../../learning/beta.ts'
import { nearest } from '../../nearest.ts'
import { quotesOf } from '../../replay/why.ts'
import { structuralDiff } from '../logic/structural-diff.ts'
import type {
  Posterior,
  TaskDecision,
  TaskPage,
  TaskProposal,
  TaskRefusal,
  TaskTally,
  TaskVersion,
} from '../logic/tasks-page.ts'
import { knownConfig } from './known-config.ts'
import type { OpenRun } from './open-runs.ts'
import { laneOf, marksOf, playedMarks } from './tasks.ts'

/** Most characters of a shown recipe. */
const MOST_RECIPE = 20_000
const OUR_RULES: readonly string[] = ACCEPTANCE_RULES.map(({ name }) => name)
/** Parts of a posterior's curve. */
const PARTS = 60

type Origin = LoggedEvent<'TaskAdded'> | LoggedEvent<'TaskProposed'>

/** @throws RlError `ui.no-task` */
export function taskPage(run: OpenRun, slot: string, at: number): TaskPage {
  const { log, figures } = run
  const history = log.byStream(`slot/${slot}`).filter(({ position }) => position <= at)
  const marks = marksOf(log, at)
  const [first] = history
  if (first?.type !== 'TaskAdded') throw noTask(log, slot, [...marks.keys()])
  const origins = history.filter(
    (event): event is Origin => event.type === 'TaskAdded' || event.type === 'TaskProposed',
  )
  const accepted = history.filter((event) => event.type === 'TaskAccepted').at(-1)
  const active = accepted?.type === 'TaskAccepted' ? accepted.data.task : first.data.task.id
  const shown = history.flatMap((event): TaskPage['history'] => {
    if (event.type === 'TaskAdded' || event.type === 'TaskProposed') {
      const version = versionOf(log, event as Origin, origins, history)
      // A task that was proposed twice is active since its last proposal.
      const isLast = origins.findLast(({ data }) => data.task.id === version.task) === event
      return [{ is: 'version', ...version, isActive: isLast && version.task === active }]
    }
    if (event.type === 'TaskRejected' && event.data.task === null)
      return [{ is: 'refusal', ...refusalOf(event) }]
    return []
  })
  const begun = log.newest(['IterationStarted'], at)
  const last = begun?.type === 'IterationStarted' ? begun.data.iteration : 0
  const task = origins.findLast(({ data }) => data.task.id === active)?.data.task ?? first.data.task
  const slots = [...marks.keys()]
  return {
    slot,
    split: first.data.split,
    history: shown.toReversed(),
    lane: laneOf(slot, task, [...(playedMarks(figures, last).get(slot) ?? []), ...(marks.get(slot) ?? [])]),
    last,
    before: slots.findLast((other) => other < slot) ?? null,
    after: slots.find((other) => other > slot) ?? null,
  }
}

function noTask(log: LogReader, slot: string, tried: readonly string[]): RlError {
  const near = nearest(slot.slice(0, 64), tried)
  return new RlError(`run '${log.run}' has no task '${slot.slice(0, 64)}'`, {
    code: 'ui.no-task',
    hint: near === null ? 'the page of tasks lists them' : `the nearest is ${near}`,
  })
}

function versionOf(
  log: LogReader,
  origin: Origin,
  origins: readonly Origin[],
  history: readonly LoggedEvent[],
): Omit<TaskVersion, 'isActive'> {
  const { task } = origin.data
  const parent =
    origin.type === 'TaskAdded'
      ? undefined
      : origins.findLast(
          ({ data, position }) => data.task.id === origin.data.parent && position < origin.position,
        )
  return {
    task: task.id,
    kind: task.kind,
    goal: task.goal,
    recipe: JSON.stringify(task.recipe, null, 1).slice(0, MOST_RECIPE),
    parentGoal: parent?.data.task.goal ?? null,
    changes: parent === undefined ? [] : structuralDiff(parent.data.task.recipe, task.recipe),
    proposal: origin.type === 'TaskAdded' ? null : proposalOf(log, origin, history),
    position: origin.position,
  }
}

function proposalOf(
  log: LogReader,
  { data, position }: LoggedEvent<'TaskProposed'>,
  history: readonly LoggedEvent[],
): TaskProposal {
  const decision = history.find(
    (event) =>
      event.position > position &&
      (event.type === 'TaskAccepted' || event.type === 'TaskRejected') &&
      event.data.task === data.task.id,
  )
  return {
    iteration: data.iteration,
    position,
    direction: data.direction,
    parentAccuracy: data.parentAccuracy,
    critique: data.critique,
    quotes: quotesOf(log, data.iteration, data.slot, data.critique).map(({ rollout, step, critique }) => ({
      rollout,
      step,
      critique,
    })),
    rewriter: `${data.rewriter.kind}: ${data.rewriter.name}`,
    decision:
      decision?.type === 'TaskAccepted' || decision?.type === 'TaskRejected'
        ? decisionOf(log, decision)
        : null,
  }
}

function decisionOf(
  log: LogReader,
  { type, data, position }: LoggedEvent<'TaskAccepted'> | LoggedEvent<'TaskRejected'>,
): TaskDecision {
  const { evidence, expert, rule } = knownConfig(log, position).adaptation
  const [successes, failures] = expert.prior
  const prior = [successes, failures] as const
  const { accuracy, parentAccuracy, direction, thresholds } = data
  return {
    iteration: data.iteration,
    position,
    accepted: type === 'TaskAccepted',
    reason: data.reason,
    accuracy,
    thresholds,
    probability: ruleProbability(
      { direction, accuracy, parentAccuracy, equalsParent: data.task === data.parent },
      { ...thresholds, prior },
    ),
    confidence: evidence === 'bayes' ? expert.confidence : null,
    ownRule: OUR_RULES.includes(rule) ? null : rule,
    parent: posteriorOf(parentAccuracy, prior),
    candidate: posteriorOf(accuracy, prior),
  }
}

function posteriorOf({ successes, n }: TaskTally, prior: readonly [number, number]): Posterior {
  const [a, b] = [prior[0] + successes, prior[1] + n - successes]
  return {
    a,
    b,
    low: betaQuantile(0.025, a, b),
    high: betaQuantile(0.975, a, b),
    density: Array.from(
      { length: PARTS },
      (_, i) => (betaCdf((i + 1) / PARTS, a, b) - betaCdf(i / PARTS, a, b)) * PARTS,
    ),
  }
}

function refusalOf({ data, position }: LoggedEvent<'TaskRejected'>): TaskRefusal {
  const { iteration, direction, parentAccuracy, reason } = data
  return { iteration, position, direction, parentAccuracy, reason }
}

/** Versions of the policy and of the reward model: what they were made from, and which servers took them. */
import { RlError } from '../../errors.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { wilson } from '../../learning/interval.ts'
import { ruleOf } from '../../replay/rule.ts'
import type {
  ModelRole,
  Served,
  TrainedGroup,
  VersionPage,
  VersionRow,
  VersionsPage,
} from '../logic/versions-page.ts'
import { eventAt } from './event-at.ts'
import type { OpenRun } from './open-runs.ts'

const TYPES = {
  policy: { updated: 'PolicyUpdated', published: 'PolicyPublished', retired: 'PolicyRetired' },
  'reward-model': {
    updated: 'RewardModelUpdated',
    published: 'RewardModelPublished',
    retired: 'RewardModelRetired',
  },
} as const

const ROLES = ['policy', 'reward-model'] as const

/** Newest first. */
export function versionsPage({ log }: OpenRun, at: number): VersionsPage {
  const rows = ROLES.flatMap((role) =>
    [...log.events({ types: [TYPES[role].updated], until: at })].map(({ data, position }): VersionRow => {
      const published = servedOf(log, role, 'published', data.version, at)
      return {
        role,
        version: data.version,
        position,
        samples: data.samples,
        stopped: data.stopped,
        kl: data.metrics.kl ?? null,
        loss: data.metrics.loss ?? null,
        published: published && {
          took: published.replicas.filter(({ state }) => state === 'done').length,
          of: published.replicas.length,
          serving: published.serving ?? data.version,
        },
        isRetired: servedOf(log, role, 'retired', data.version, at) !== null,
      }
    }),
  )
  return { rows: rows.sort((a, b) => b.position - a.position) }
}

/** @throws RlError `ui.no-version` */
export function versionPage({ log }: OpenRun, role: string, version: number, at: number): VersionPage {
  const known = ROLES.find((one) => one === role)
  const update = known && eventAt(log, `${TYPES[known].updated}/${version}`, at)
  if (known === undefined || (update?.type !== 'PolicyUpdated' && update?.type !== 'RewardModelUpdated'))
    throw noVersion(log, role, version, at)
  const { data, position, actor } = update
  return {
    role: known,
    version,
    parentVersion: data.parentVersion,
    iteration: data.iteration,
    samples: data.samples,
    stopped: data.stopped,
    position,
    actor,
    decidedBy: ruleOf(update),
    checkpoint: data.checkpoint && { ...data.checkpoint, run: update.run },
    metrics: data.metrics,
    trainedOn: groupsOf(log, data.trainedOn),
    evaluations: known === 'policy' ? evaluationsOf(log, version, at) : [],
    published: servedOf(log, known, 'published', version, at),
    retired: servedOf(log, known, 'retired', version, at),
    usedBy: usedBy(log, known, version, at),
    rules: rulesAt(log, position),
    last: lastOf(log, known, at),
  }
}

function noVersion(log: LogReader, role: string, version: number, at: number): RlError {
  const known = ROLES.find((one) => one === role)
  return new RlError(
    `run '${log.run}' has no version ${version} of '${role.slice(0, 32)}' at position ${at}`,
    {
      code: 'ui.no-version',
      hint:
        known === undefined
          ? `there are ${ROLES.join(' and ')}`
          : `its last version is ${lastOf(log, known, at)}`,
    },
  )
}

function lastOf(log: LogReader, role: ModelRole, at: number): number {
  const last = log.newest([TYPES[role].updated], at)
  return last?.type === 'PolicyUpdated' || last?.type === 'RewardModelUpdated' ? last.data.version : 0
}

function servedOf(
  log: LogReader,
  role: ModelRole,
  what: 'published' | 'retired',
  version: number,
  at: number,
): Served | null {
  const event = eventAt(log, `${TYPES[role][what]}/${version}`, at)
  switch (event?.type) {
    case 'PolicyPublished':
    case 'RewardModelPublished':
    case 'PolicyRetired':
    case 'RewardModelRetired': {
      const { name, replicas } = event.data
      const serving = 'serving' in event.data ? event.data.serving : null
      return { position: event.position, name, replicas, serving }
    }
    default:
      return null
  }
}

function groupsOf(log: LogReader, trainedOn: readonly string[]): TrainedGroup[] {
  const groups = new Map<string, string[]>()
  for (const name of trainedOn) {
    const group = name.slice(0, name.lastIndexOf('/'))
    groups.set(group, [...(groups.get(group) ?? []), name])
  }
  return [...groups].map(([group, names]) => {
    const played = names.flatMap((name) => {
      const event = log.byKey(`Rollout/${name}`)
      return event?.type === 'TrajectoryCompleted' ? [event as LoggedEvent<'TrajectoryCompleted'>] : []
    })
    const [iteration, ...slot] = group.split('/')
    return {
      iteration: Number(iteration),
      slot: slot.join('/'),
      task: played[0]?.data.task ?? null,
      members: names.map((name) => name.slice(name.lastIndexOf('/') + 1)),
      successes: played.filter(({ data }) => data.outcome.kind === 'scored' && data.outcome.success).length,
      played: played.length,
    }
  })
}

function evaluationsOf(log: LogReader, version: number, at: number): VersionPage['evaluations'] {
  return [...log.events({ types: ['EvaluationCompleted'], until: at })]
    .filter(({ data }) => data.policyVersion === version)
    .map(({ data: { split, rollouts, failed, meanSteps }, position }) => ({
      split,
      position,
      share: wilson(rollouts.successes, rollouts.n),
      failed,
      meanSteps,
    }))
}

function usedBy(log: LogReader, role: ModelRole, version: number, at: number): readonly number[] {
  return [...log.events({ types: ['IterationStarted'], until: at })]
    .filter(({ data }) => (role === 'policy' ? data.policyVersion : data.rewardModelVersion) === version)
    .map(({ data }) => data.iteration)
}

/** Rules are named when a head starts. One that goes on in the same process names none anew. */
function rulesAt(log: LogReader, position: number): VersionPage['rules'] {
  const starts = [...log.events({ types: ['RunStarted', 'RunResumed'], until: position })]
  const last = starts.findLast(({ type, data }) => type === 'RunStarted' || data.codeVersion !== undefined)
  return last?.data.rules ?? []
}

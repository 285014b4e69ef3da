/** Rollouts in words, for those who propose better instructions. */
import type { EventData } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { readEvents } from '../rollout/log-queries.ts'
import type { Example } from './proposal.ts'

export type Examples = { readonly good: readonly Example[]; readonly bad: readonly Example[] }

/** Most rollouts of each kind that a proposer reads. */
const MOST_EXAMPLES = 3
/** Most characters of one observation, and of one answer. */
const MOST_TURN = 800

/** Returns rollouts of an iteration, the worst and the best, each of another task. */
export async function examplesOf(log: LogClient, iteration: number | null): Promise<Examples> {
  if (iteration === null) return { good: [], bad: [] }
  const [from] = await log.positionsOf([`IterationStarted/${iteration}`])
  const { events } = await readEvents(log, from ?? 1, ['TrajectoryCompleted', 'TrajectoryJudged'])
  const complaints = new Map<string, readonly string[]>()
  for (const { type, data } of events)
    if (type === 'TrajectoryJudged')
      complaints.set(
        data.rollout,
        data.complaints.map(({ critique }) => critique),
      )
  const all = events.flatMap(({ type, data }) =>
    type === 'TrajectoryCompleted' && data.iteration === iteration && data.purpose !== 'evaluation'
      ? exampleOf(data, complaints.get(data.rollout) ?? [])
      : [],
  )
  const sorted = all.sort((a, b) => a.value - b.value || (a.task < b.task ? -1 : 1))
  return {
    bad: ofTasks(sorted.filter(({ value }) => value < 1)),
    good: ofTasks(sorted.filter(({ value }) => value > 0).reverse()),
  }
}

function exampleOf(
  { task, outcome, observations, actions }: EventData<'TrajectoryCompleted'>,
  critiques: readonly string[],
): Example[] {
  if (outcome.kind !== 'scored') return []
  const said = observations.flatMap((observation, step) => [
    `> ${observation.slice(0, MOST_TURN)}`,
    ...actions.slice(step, step + 1).map((action) => `< ${action.slice(0, MOST_TURN)}`),
  ])
  return [{ task, said: said.join('\n'), value: outcome.value, critiques }]
}

function ofTasks(examples: readonly Example[]): readonly Example[] {
  const byTask = new Map<string, Example>()
  for (const example of examples) if (!byTask.has(example.task)) byTask.set(example.task, example)
  return [...byTask.values()].slice(0, MOST_EXAMPLES)
}

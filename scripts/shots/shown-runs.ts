/**
 * Runs to be shown, the same on every machine: the committed one of household tasks, two longer ones of the simulated
 * learner, a fork, and runs of other settings (shown-others.ts).
 */
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { pathOf, pathOfRollout } from '../../src/ui/logic/route.ts'
import { playLoop, smallConfig } from '../../test/actors/loop.ts'
import { unpackFixture } from '../../test/replay/fixture.ts'
import { idOf, writeRun } from '../../test/ui/made-run.ts'
import { makeOtherRuns } from './shown-others.ts'

const ITERATIONS = 24
const FORKED_AFTER = 12
/** Time of the first event of the simulated run, and the time from each event to the next. */
const BEGAN = Date.UTC(2026, 0, 12, 9, 0)
const EVENT_MS = 90

/** A page, and the name of its picture. */
export type Shown = { readonly name: string; readonly path: string }

/** Writes the runs into a folder of runs, and returns every screen. */
export function makeShownRuns(root: string): readonly Shown[] {
  const fixture = unpackFixture(root)
  const made = writeRun(root, 'learns', simulatedEvents(0.1))
  writeRun(root, 'learns-little', simulatedEvents(0.02))
  const { position } = found(made, 'IterationCompleted', (data) => data.iteration === FORKED_AFTER)
  forkRun(made, runFolder('learns-more', root), { at: position, set: ['learning.lambda=0.5'] })
  const { slot } = found(made, 'TaskAccepted', () => true).data
  const played = found(
    fixture,
    'TrajectoryCompleted',
    (data) => data.purpose === 'train' && data.actions.length > 2,
  )
  const scored = found(fixture, 'StepScored', (data) => data.rollout === played.data.rollout)
  const of = (...parts: readonly (string | number)[]) => pathOf('run', ...parts)
  const learns = (...parts: readonly (string | number)[]) => pathOf('learns', ...parts)
  return [
    { name: 'runs', path: '/' },
    { name: 'overview', path: learns() },
    { name: 'why', path: `${learns()}?why=${ITERATIONS - 1}&series=train` },
    { name: 'iterations', path: learns('i') },
    { name: 'iteration', path: of('i', played.data.iteration) },
    { name: 'group', path: of('g', played.data.iteration, played.data.slot) },
    { name: 'trajectory', path: `${pathOfRollout('run', played.data.rollout)}?step=${scored.data.step}` },
    { name: 'tasks', path: learns('tasks') },
    { name: 'task', path: learns('tasks', slot) },
    { name: 'versions', path: learns('versions') },
    { name: 'version', path: learns('versions', 'policy', FORKED_AFTER) },
    { name: 'judge', path: learns('judge') },
    { name: 'actors', path: of('actors') },
    { name: 'projections', path: learns('projections') },
    { name: 'events', path: `${of('events')}?sel=${played.position}` },
    { name: 'past', path: `${learns()}?at=${position}` },
    { name: 'compare', path: '/compare?a=learns&b=learns-little' },
    ...makeOtherRuns(root),
  ]
}

function simulatedEvents(learningRate: number): readonly LoggedEvent[] {
  const config = smallConfig({
    run: { iterations: ITERATIONS, evaluateEvery: 4 },
    environment: {
      name: 'simulated',
      tasks: 24,
      tasksPerIteration: 8,
      rolloutsPerTask: 8,
      minGroupSize: 2,
    },
    evaluation: { splits: ['in-domain', 'ood'], tasks: 12 },
    simulation: { steps: 5, learningRate },
  })
  return playLoop({ config }).log.map((event, i): LoggedEvent => {
    const data = event.type === 'RunStarted' ? { ...event.data, config } : event.data
    return {
      ...event,
      data,
      id: idOf(i),
      actor: 'head',
      cause: null,
      time: BEGAN + i * EVENT_MS,
    } as LoggedEvent
  })
}

function found<T extends LoggedEvent['type']>(
  { log: path }: RunFolder,
  type: T,
  isWanted: (data: LoggedEvent<T>['data']) => boolean,
): LoggedEvent<T> {
  const log = openLogReader(path)
  try {
    for (const event of log.events({ types: [type] }))
      if (isWanted(event.data as LoggedEvent<T>['data'])) return event as LoggedEvent<T>
  } finally {
    log.close()
  }
  throw new Error(`no such ${type} in ${path}`)
}

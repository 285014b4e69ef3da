/** Text that a person reads when a run ends or pauses: its results, and the commands to look further. */

import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { RunFolder } from '../../../broker/connection.ts'
import { WIDTH, wrap } from '../../../columns.ts'
import type { EventData } from '../../../events/catalogue.ts'
import { openLogReader } from '../../../events/log-reader.ts'
import { wilson } from '../../../learning/interval.ts'
import { checkpointFolder } from '../../learner/checkpoints.ts'
import { countNotServed } from '../../learner/targets.ts'

export type Ended = {
  readonly folder: RunFolder
  /** Splits by which the run is measured. */
  readonly splits: readonly string[]
  /** Number of iterations of the run, or null if its time decides. */
  readonly planned: number | null
  /** Whether any figure is made up. */
  readonly simulated: boolean
  readonly end: { readonly kind: 'completed' | 'failed' | 'paused' | 'interrupted'; readonly reason?: string }
}

type PolicyCheckpoint = { readonly version: number; readonly folder: string }

const READ = ['EvaluationCompleted', 'TaskAccepted', 'IterationCompleted', 'PolicyUpdated'] as const

export function summaryLines({ folder, splits, planned, simulated, end }: Ended): readonly string[] {
  const evaluations: EventData<'EvaluationCompleted'>[] = []
  let accepted = 0
  let iterations = 0
  const checkpoints: PolicyCheckpoint[] = []
  const log = openLogReader(folder.log)
  for (const event of log.events({ types: READ })) {
    if (event.type === 'EvaluationCompleted') evaluations.push(event.data)
    if (event.type === 'PolicyUpdated' && event.data.checkpoint)
      checkpoints.push({
        version: event.data.version,
        folder: checkpointFolder(event.run, event.data.checkpoint),
      })
    if (event.type === 'TaskAccepted') accepted++
    if (event.type === 'IterationCompleted' && event.data.iteration > 0) iterations++
  }
  const { position } = log.head()
  const notServed = countNotServed(log)
  log.close()
  const run = folder.run
  const mark = simulated ? ' | simulated' : ''
  return [
    '',
    ...wrap(`  ${headline(end, run, iterations, planned)}${mark}`, WIDTH, '    '),
    ...splits.flatMap((split) => trend(split, evaluations)).map((line) => line + mark),
    ...checkpointLines(checkpoints, splits[0], evaluations),
    ...(notServed > 0
      ? [`  ${notServed} versions were taken by no server: older ones answered in their place`]
      : []),
    `  ${accepted} tasks accepted; ${position} events in ${relative('', folder.log)}`,
    '',
    ...(end.kind === 'completed' ? [] : [`  go on:        npm start -- --role head --run ${run}`]),
    `  look further: npm run -s rl -- ui ${run}`,
    `                npm run -s rl -- status ${run}`,
    `                npm run -s rl -- projections ${run} show`,
    `                npm run -s rl -- log ${run} tail`,
    `                npm run -s rl -- log ${run} verify`,
  ]
}

/**
 * Names the folders of the policy's last weights and of its best evaluated weights. The best of a curve is no
 * measurement.
 */
function checkpointLines(
  checkpoints: readonly PolicyCheckpoint[],
  split: string | undefined,
  evaluations: readonly EventData<'EvaluationCompleted'>[],
): string[] {
  const holding = (version: number) => checkpoints.findLast((one) => one.version <= version)
  const own = evaluations.filter((evaluation) => evaluation.split === split)
  const share = ({ rollouts }: (typeof own)[number]) => rollouts.successes / Math.max(1, rollouts.n)
  const best = own.reduce<(typeof own)[number] | undefined>(
    (before, one) => (before && share(before) > share(one) ? before : one),
    undefined,
  )
  // No path of another host means anything here.
  const shown = ({ version, folder }: PolicyCheckpoint) =>
    existsSync(folder) ? relative('', folder) : `version ${version}, made on another host`
  const last = checkpoints.at(-1)
  if (!last) return []
  const bestHolder = best && holding(best.policyVersion)
  return [
    `  policy     ${shown(last)} (last)`,
    ...(best && bestHolder && own.length > 1
      ? [
          ...wrap(
            `             ${shown(bestHolder)} (best of ${own.length} evaluations on ${split}: ${share(best).toFixed(3)})`,
            WIDTH,
            ' '.repeat(13),
          ),
        ]
      : []),
  ]
}

function headline(end: Ended['end'], run: string, done: number, wanted: number | null): string {
  if (end.kind === 'completed') return `run ${run} is complete: ${done} iterations`
  const of = wanted === null ? done : `${done} of ${wanted}`
  if (end.kind === 'failed') return `run ${run} failed after ${of} iterations: ${end.reason}`
  const why = end.reason === undefined ? '' : `: ${end.reason}`
  return `run ${run} paused after ${of} iterations${why}`
}

/** Shows the first and the last evaluation of a split, with intervals. */
function trend(split: string, evaluations: readonly EventData<'EvaluationCompleted'>[]): string[] {
  const own = evaluations.filter((evaluation) => evaluation.split === split)
  const first = own.at(0)
  const last = own.at(-1)
  if (!first || !last) return []
  return [`  ${split.padEnd(10)} ${shown(first)}${first === last ? '' : ` -> ${shown(last)}`}`]
}

function shown({ rollouts, policyVersion }: EventData<'EvaluationCompleted'>): string {
  const { value, low, high, n } = wilson(rollouts.successes, rollouts.n)
  return `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] n ${n} (policy ${policyVersion})`
}

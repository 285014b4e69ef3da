/** The list of runs. Each row reads a few events by the index, so a long log costs no more than a short one. */

import { stateOf } from '../../actors/head/run-state.ts'
import { plannedIterations } from '../../actors/planned-iterations.ts'
import { runFolder } from '../../broker/connection.ts'
import { runNames } from '../../broker/run-names.ts'
import { loggedConfig } from '../../config.ts'
import { explain } from '../../errors.ts'
import { openLogReader } from '../../events/log-reader.ts'
import { turnOf } from '../../events/run-turn.ts'
import { startsOf } from '../../events/starts.ts'
import type { RunRow } from '../logic/answers.ts'
import { knownLives } from './lives.ts'

type Kept = {
  readonly position: number
  readonly row: Omit<RunRow, 'state' | 'reason'>
  readonly turn: ReturnType<typeof turnOf>
}

/** Rows by run. A log that did not grow is not read again. */
const kept = new Map<string, Kept>()

/** Returns the rows, newest first. */
export async function runRows(): Promise<RunRow[]> {
  const rows = await Promise.all(runNames().map(rowOf))
  return rows.sort((a, b) => (b.startedAt ?? 0) - (a.startedAt ?? 0))
}

async function rowOf(run: string): Promise<RunRow> {
  try {
    const { row, turn } = read(run)
    const state = stateOf(turn, await knownLives(runFolder(run)))
    return { ...row, state, reason: turn.reason }
  } catch (error) {
    return {
      ...EMPTY,
      run,
      state: 'unreadable',
      reason: explain(error),
    }
  }
}

function read(run: string): Kept {
  const log = openLogReader(runFolder(run).log)
  try {
    const { position } = log.head()
    const known = kept.get(run)
    if (known && known.position === position) return known
    if (position === 0) return { position, turn: turnOf(log), row: { ...EMPTY, run } }
    const config = loggedConfig(startsOf(log).last.data.config)
    const { name: environment } = config.environment
    const begun = log.newest(['IterationStarted'])
    const split = config.evaluation.splits[0] ?? null
    const evaluations = [...log.events({ types: ['EvaluationCompleted'] })].filter(
      ({ data }) => data.split === split,
    )
    const measured = evaluations.map(({ data: { rollouts } }) => rollouts)
    const trained = [...log.events({ types: ['IterationCompleted'] })].map(({ data }) => data.accuracy)
    const isHeldOut = measured.length > 1
    const now: Kept = {
      position,
      turn: turnOf(log),
      row: {
        run,
        environment,
        // Without verdicts there is nothing to weigh.
        lambda: config.rewardModel.mode === 'off' ? null : config.learning.lambda,
        seed: config.run.seed,
        iteration: begun?.type === 'IterationStarted' ? begun.data.iteration : null,
        iterations: plannedIterations(config.run),
        events: position,
        // A fork begins at the end of what it shares.
        startedAt: log.row((log.parent?.position ?? 0) + 1)?.time ?? null,
        lastEventAt: log.row(position)?.time ?? null,
        parent: log.parent && { run: log.parent.run, position: log.parent.position },
        stalls: log.countOf('StallDetected'),
        accepted: log.countOf('TaskAccepted'),
        curve: (isHeldOut ? measured : trained).flatMap(({ successes, n }) => (n > 0 ? [successes / n] : [])),
        curveOf: isHeldOut ? split : 'training',
      },
    }
    kept.set(run, now)
    return now
  } finally {
    log.close()
  }
}

const EMPTY = {
  environment: null,
  lambda: null,
  seed: null,
  iteration: null,
  iterations: null,
  events: 0,
  startedAt: null,
  lastEventAt: null,
  parent: null,
  stalls: 0,
  accepted: 0,
  curve: [],
  curveOf: null,
}

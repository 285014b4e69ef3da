/** The environment's worker: puts the tasks into the log and plays rollouts against the policy. */
import type { RunConfig } from '../../config-schema/sections.ts'
import type { OpenSetting, Tested } from '../../environments/setting.ts'
import { explain, RlError } from '../../errors.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { isSettingFault } from '../../user-code.ts'
import { actOver } from '../rollout/act-service.ts'
import { beginInside } from '../rollout/begin-inside.ts'
import { framesRecorded, pictureTaker } from '../rollout/frames.ts'
import { openTaskBook, startedFrom } from '../rollout/log-queries.ts'
import { createPlayer } from '../rollout/player.ts'
import { readTraces } from '../rollout/recorded-actions.ts'
import { storedTrajectory } from '../rollout/stored-trajectories.ts'
import { openTracing } from '../rollout/tracing.ts'
import { faultTeller } from '../runtime/tell-fault.ts'
import type { JobContext, Worker } from '../runtime/worker.ts'
import { loadTasks } from './load-tasks.ts'
import { rolloutFailure, rolloutQueue } from './rollout-queue.ts'

type Request = EventData<'RolloutRequested'>

export type Playing = {
  /** Whether anybody looks at the screens of rollouts. */
  readonly looks: boolean
  /** Whether trajectories hold the solution of their task. */
  readonly reference?: boolean
  /** File with actions of others in tasks of the run. */
  readonly traces?: string
  /** Rollouts at a time. */
  readonly slots: number
}

export function environmentWorker(
  { workers, deadlines }: RunConfig,
  { looks, slots, traces, reference: tells = false }: Playing,
  opened: OpenSetting,
  log: LogClient,
): Worker {
  const { setting, environment } = opened
  const { acting } = setting
  const tasks = openTaskBook(log)
  const player = createPlayer({
    environment,
    act: actOver(log, deadlines.stepSeconds * 1000),
    actDeadlineMs: deadlines.stepSeconds * 1000,
    askers: workers.environment,
    keep: log.putBlob,
    ...(looks ? { look: pictureTaker(opened, log.putBlob) } : {}),
  })

  async function play(request: Request, context: JobContext): Promise<NewEvent[]> {
    const { beginWait } = context
    const endWait = beginWait(`actions of ${request.rollout}`, 'policy', deadlines.rolloutSeconds * 1000)
    try {
      const task = await tasks.find(request.task)
      const from = request.start
        ? await beginInside(environment, task, request, await startedFrom(log, request.start.rollout))
        : undefined
      const tracing =
        request.patches === undefined
          ? undefined
          : openTracing(await tasks.traceOf(request.task), request.patches)
      const { trajectory, episode, frames } = await player.playOut(request, task, from, tracing)
      const reference = tells ? await setting.reference?.(environment, task) : null
      const tested = acting?.kind === 'texts' ? acting.tested?.(episode) : null
      const told = await storedTrajectory(log, {
        ...trajectory,
        ...unsureIf(trajectory, tested),
        ...(reference ? { reference } : {}),
      })
      const ended: NewEvent = { type: 'TrajectoryCompleted', data: told }
      return [
        ...(tested ? testEvents(request, tested) : []),
        ...(frames.length > 0
          ? [{ type: 'FramesRecorded' as const, data: framesRecorded(request, frames) }]
          : []),
        ended,
      ]
    } catch (error) {
      const isOfTask = error instanceof RlError && error.code === 'rollout.env'
      if (!isOfTask && !isSettingFault(error)) throw error
      // An iteration's figures show faults of our settings. People hear at once of faults of a user's code.
      if (setting.digest !== undefined && error.cause !== undefined) await faultTeller(context)(error)
      return [{ type: 'RolloutFailed', data: rolloutFailure(request, 'env', explain(error), 1) }]
    } finally {
      endWait()
    }
  }

  return {
    jobs: {
      'load-tasks': (input) =>
        loadTasks(environment, input, traces === undefined ? null : readTraces(traces)),
      play,
    },
    queues: [rolloutQueue(deadlines.rolloutSeconds * 1000, slots)],
    async close() {
      player.stop()
    },
  }
}

/** A program that ended differently twice has no sure outcome. */
function unsureIf(
  { outcome }: Pick<EventData<'TrajectoryCompleted'>, 'outcome'>,
  tested: Tested | null | undefined,
): Partial<Pick<EventData<'TrajectoryCompleted'>, 'outcome'>> {
  const isFlaky = (tested?.flaky ?? []).length > 0
  return isFlaky && outcome.kind === 'scored' ? { outcome: { ...outcome, unsure: true } } : {}
}

function testEvents(
  { rollout, iteration, purpose, slot, task }: Request,
  { passed, verdicts, flaky = [] }: Tested,
): NewEvent[] {
  const about = { rollout, iteration, purpose, slot, task }
  const passedU8 = Uint8Array.from(passed, (pass) => (pass ? 1 : 0))
  const tested: NewEvent = { type: 'ProgramTested', data: { ...about, passedU8, verdicts: [...verdicts] } }
  if (flaky.length === 0) return [tested]
  return [tested, { type: 'ProgramFlaky', data: { ...about, tests: [...flaky] } }]
}

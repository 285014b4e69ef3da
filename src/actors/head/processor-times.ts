/**
 * Processor time that the roles take to play and to learn in an iteration, summed from what heartbeats tell of their processes. So
 * it is as late as they are: up to a heartbeat's time is counted to what comes next.
 */
import type { NewEvent } from '../../events/catalogue.ts'
import type { ActorStatus } from '../runtime/status.ts'

export type ProcessorTimes = {
  /** Takes a heartbeat. */
  readonly hear: (
    status: Pick<ActorStatus, 'role' | 'worker' | 'process' | 'startedAt' | 'processorMs'>,
  ) => void
  /**
   * Takes an event of the log, in order. Returns a measurement when an iteration that this head began is over, or evaluates, and
   * another when its judge has learned beside the evaluation.
   */
  readonly see: (event: NewEvent) => NewEvent<'ProcessorTimeMeasured'> | null
}

/** Processes beyond these are not counted: their names may be invented. */
const MOST_PROCESSES = 1024

/** @param since When the head began (ms since 1970). What a process computed before belongs to none of its iterations. */
export function openProcessorTimes(since: number): ProcessorTimes {
  /** Last told by each process. Actors of one process tell the same. */
  const last = new Map<string, number>()
  /** Iterations that began and are not measured yet. If they overlap, time counts to the one that is over first. */
  const open = new Set<number>()
  let ms: Record<string, number> = {}
  /** The iteration that evaluates while its judge may still learn. */
  let evaluating: number | null = null

  return {
    hear({ role, worker, process = worker, startedAt, processorMs }) {
      if (processorMs === undefined) return
      const before = last.get(process) ?? (startedAt < since ? processorMs : 0)
      if (!last.has(process) && last.size >= MOST_PROCESSES) return
      last.set(process, Math.max(before, processorMs))
      if (processorMs > before) ms[role] = (ms[role] ?? 0) + processorMs - before
    },
    see({ type, data }) {
      if (type === 'IterationStarted') {
        if (open.size === 0) ms = {}
        open.add(data.iteration)
        return null
      }
      if (type === 'RewardModelUpdated') {
        if (evaluating === null) return null
        const iteration = evaluating
        evaluating = null
        const { 'reward-model': learned } = ms
        delete ms['reward-model']
        return learned === undefined ? null : measured(iteration, { 'reward-model': learned })
      }
      const evaluates = type === 'TrajectoryCompleted' && data.purpose === 'evaluation'
      if (!evaluates && type !== 'IterationCompleted') return null
      const { iteration } = data
      if (!evaluates) evaluating = null
      if (!open.delete(iteration)) return null
      const found = ms
      ms = {}
      // Iteration 0 only evaluates.
      if (iteration === 0) return null
      if (evaluates) evaluating = iteration
      return measured(iteration, found)
    },
  }
}

function measured(iteration: number, ms: Record<string, number>): NewEvent<'ProcessorTimeMeasured'> {
  return { type: 'ProcessorTimeMeasured', data: { iteration, ms } }
}

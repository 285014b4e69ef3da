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
  /** Takes an event of the log, in order. Returns the measurement when an iteration that this head began is over, or evaluates. */
  readonly see: (event: NewEvent) => NewEvent<'ProcessorTimeMeasured'> | null
}

/** Processes beyond these are not counted: their names may be invented. */
const MOST_PROCESSES = 1024

/** @param since When the head began (ms since 1970). What a process computed before belongs to none of its iterations. */
export function openProcessorTimes(since: number): ProcessorTimes {
  /** Last told by each process. Actors of one process tell the same. */
  const last = new Map<string, number>()
  let iteration: number | null = null
  let ms: Record<string, number> = {}

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
        iteration = data.iteration
        ms = {}
      }
      const evaluates = type === 'TrajectoryCompleted' && data.purpose === 'evaluation'
      if (!(evaluates || type === 'IterationCompleted') || data.iteration !== iteration) return null
      if (iteration === 0) return null // it only evaluates
      const found = { iteration, ms }
      iteration = null
      ms = {}
      return { type: 'ProcessorTimeMeasured', data: found }
    },
  }
}

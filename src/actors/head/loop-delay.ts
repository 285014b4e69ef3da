/** Measures the delay of the head's event loop. Everything of a run goes through this loop. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { type Clock, systemClock } from '../../clock.ts'

/** Delay in the last whole 20 seconds. In the first 20 seconds it is that of the time so far. */
export type LoopDelay = { readonly p99Ms: number; readonly maxMs: number }

export type LoopWatch = {
  readonly delay: () => LoopDelay
  readonly stop: () => void
}

/** Time between looks at the loop. Node counts it into each delay. */
const RESOLUTION_MS = 5
const WINDOW_MS = 20_000

export function watchLoop(clock: Clock = systemClock): LoopWatch {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  let last: LoopDelay | null = null
  const stop = clock.every(WINDOW_MS, () => {
    last = delayOf(histogram)
    histogram.reset()
  })
  return {
    delay: () => last ?? delayOf(histogram),
    stop() {
      stop()
      histogram.disable()
    },
  }
}

function delayOf(histogram: IntervalHistogram): LoopDelay {
  const beyond = (nanoseconds: number) => Math.max(0, Number((nanoseconds / 1e6 - RESOLUTION_MS).toFixed(1)))
  return { p99Ms: beyond(histogram.percentile(99)), maxMs: beyond(histogram.max) }
}

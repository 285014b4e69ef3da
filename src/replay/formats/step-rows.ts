/** Figures by step, for trackers that want one row a step. */
import type { MetricRow } from '../export.ts'

/** Returns one row a step, steps ascending. It has the finite figures of all rows of the step, and the last one's time. */
export function stepRows(rows: Iterable<MetricRow>): readonly MetricRow[] {
  const steps = new Map<number, MetricRow>()
  for (const { step, time, metrics } of rows) {
    const finite = Object.entries(metrics).filter(([, value]) => Number.isFinite(value))
    const known = steps.get(step)
    steps.set(step, { step, time, metrics: { ...known?.metrics, ...Object.fromEntries(finite) } })
  }
  return [...steps.values()].sort((a, b) => a.step - b.step)
}

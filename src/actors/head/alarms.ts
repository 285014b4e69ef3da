/** Alarms of a run: a fold of its log that warns people, and decides nothing. */
import { loggedConfig } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { rulesOf } from '../../learning/registry.ts'
import type { Alarm, MetricRow } from '../../learning/rules.ts'

export const ALARM_EVENTS = ['RunStarted', 'PolicyUpdated', 'IterationCompleted'] as const

export type Alarms = {
  /** Returns the warnings that an event is worth. */
  readonly see: (event: LoggedEvent) => readonly string[]
}

export function openAlarms(): Alarms {
  let rules: readonly Alarm[] = []
  let metrics: MetricRow['metrics'] = {}
  const rows: MetricRow[] = []
  return {
    see(event) {
      if (event.type === 'RunStarted') rules = alarmsOf(event.data.config)
      else if (event.type === 'PolicyUpdated') metrics = event.data.metrics
      else if (event.type === 'IterationCompleted' && rules.length > 0) {
        const { iteration, accuracy } = event.data
        const share = accuracy.n > 0 ? accuracy.successes / accuracy.n : Number.NaN
        rows.push({ iteration, metrics: { ...metrics, accuracy: share } })
        return rules.flatMap((rule) => {
          const told = rule.look(rows)
          return told === null ? [] : [`alarm ${rule.name} in iteration ${iteration}: ${told}`]
        })
      }
      return []
    },
  }
}

/** Returns the warnings of a whole log. The rules of a user's module must have been loaded. */
export function alarmsIn(log: LogReader): readonly string[] {
  const alarms = openAlarms()
  return [...log.events({ types: ALARM_EVENTS })].flatMap((event) => alarms.see(event))
}

function alarmsOf(config: unknown): readonly Alarm[] {
  const { alarms, module } = (config as { readonly learning?: Named }).learning ?? {}
  // A config without alarms need not be read: old logs hold other forms.
  return alarms === undefined || alarms.length === 0 || module === undefined
    ? []
    : rulesOf(loggedConfig(config)).alarms
}

type Named = { readonly alarms?: readonly string[]; readonly module?: string | null }

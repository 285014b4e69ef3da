/** Looks for rewards of a finished run that can be gamed. A suspicion is told only if a rescore confirms its cause. */
import { changeConfig, loggedConfig } from '../config.ts'
import type { Config } from '../config-schema/schema.ts'
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { DETECTORS, type Suspicion } from './audit-detectors.ts'
import { type AuditRow, auditRows } from './audit-rows.ts'
import { needsOfAll, remembered } from './rescore.ts'
import { checkRescored } from './rescored-keys.ts'

type Finding = Suspicion & {
  readonly name: string
  readonly says: string
  /** Keys that take the cause away. */
  readonly set: readonly string[]
  /** The figure of the same rollouts under these keys. 0 if nothing is suspected there. */
  readonly without: number
}

export type Audit = {
  readonly rollouts: number
  readonly steps: number
  readonly findings: readonly Finding[]
  /** Suspicions that the rescore did not confirm, which are no findings. */
  readonly unconfirmed: readonly string[]
}

type AuditOptions = {
  /** Keys in the form of `--set` that hold for the whole audit. */
  readonly set?: readonly string[]
  readonly onIteration?: (iteration: number) => void
}

/**
 * Audits the rewards of the completed iterations.
 * @throws RlError `audit.empty` if no iteration is complete, and `rescore.no-effect`
 */
export function audit(log: LogReader, { set = [], onIteration }: AuditOptions = {}): Audit {
  checkRescored(set)
  const rows = rowsUnder(log, set, onIteration)
  if (rows.length === 0)
    throw new RlError('no iteration of the run is complete, so there are no rewards to audit', {
      code: 'audit.empty',
      hint: 'rl status RUN tells how far it is',
    })
  const findings: Finding[] = []
  const unconfirmed: string[] = []
  const rescored = new Map<string, readonly AuditRow[]>()
  for (const { name, says, set: cure, look } of DETECTORS) {
    const suspicion = look(rows)
    if (suspicion === null) continue
    const key = cure.join(' ')
    const other = rescored.get(key) ?? rowsUnder(log, [...set, ...cure])
    rescored.set(key, other)
    const without = look(other)?.figure ?? 0
    if (without < suspicion.figure / 2) findings.push({ name, says, set: cure, without, ...suspicion })
    else unconfirmed.push(name)
  }
  const steps = rows.reduce((sum, { scores }) => sum + scores.length, 0)
  return { rollouts: rows.length, steps, findings, unconfirmed }
}

function rowsUnder(
  log: LogReader,
  set: readonly string[],
  onIteration?: (iteration: number) => void,
): readonly AuditRow[] {
  const under = remembered((config: Config) => changeConfig(config, set))
  const first = loggedConfig(startsOf(log).first.data.config)
  return auditRows(log, needsOfAll([under(first)]), under, onIteration)
}

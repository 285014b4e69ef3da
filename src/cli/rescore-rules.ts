/** A table of every rule over a finished run, for `rl rescore --rules all`. */
import type { RuleRow, RulesRescore } from '../replay/rescore-all.ts'
import { table } from './table.ts'

const HEAD = [
  ...['rule', 'kind', 'changed', 'turned', 'with before', 'step part'],
  ...['length', 'with progress', 'flipped'],
]

/** Returns the lines of the table. The last line is `rules=N steps=N refused=N`. */
export function ruleLines(
  { iterations, trajectories, steps, rows }: RulesRescore,
  seconds: number,
): string[] {
  const asked = rows.filter(({ refused }) => refused === null)
  const refused = rows.filter((row) => row.refused !== null)
  return [
    `${iterations} iterations, ${trajectories} trajectories, ${steps} steps in ${seconds.toFixed(2)} s; * is a rule of the run`,
    '',
    table(HEAD, asked.map(cellsOf)).text,
    '',
    ...refused.map(({ kind, rule, refused: why }) => `refused: ${kind} ${rule}: ${why}`),
    `rules=${rows.length} steps=${steps} refused=${refused.length}`,
  ]
}

function cellsOf({ kind, rule, own, figures }: RuleRow): readonly string[] {
  if (figures === null) return [rule, kind]
  const { steps, turned, switched, moved, flipped } = figures
  const percent = (part: number) => `${((100 * part) / Math.max(1, steps)).toFixed(1)} %`
  const number = (value: number | null, digits = 2) => (value === null ? '-' : value.toFixed(digits))
  return [
    `${rule}${own ? ' *' : ''}`,
    kind,
    percent(turned + switched + moved),
    percent(turned),
    number(figures.withBefore),
    figures.stepShare === null ? '-' : `${(100 * figures.stepShare).toFixed(0)} %`,
    number(figures.lengthBias, 3),
    number(figures.withProgress),
    kind === 'acceptance' ? String(flipped) : '',
  ]
}

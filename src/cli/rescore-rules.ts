/** A table of every rule over a finished run, for `rl rescore --rules all`. */
import type { RuleRow, RulesRescore } from '../replay/rescore-all.ts'
import { table } from './table.ts'

const HEAD = [
  ...['rule', 'kind', 'changed', 'turned', 'with before', 'step part'],
  ...['length', 'with progress', 'flipped'],
]

const CREDIT = 'with credit'

const PLAYING_HEAD = ['rule', 'kind', 'groups', 'otherwise', 'run', 'rule', 'of']

/** Returns the lines of the tables. `credited` is the number of steps with a causal credit. The last line is `rules=N steps=N refused=N`. */
export function ruleLines(
  { iterations, trajectories, steps, rows }: RulesRescore,
  seconds: number,
  credited = 0,
): string[] {
  const asked = rows.filter(({ figures }) => figures !== null)
  const playing = rows.filter((row) => row.playing !== null)
  const untold = rows.filter(({ lacks }) => lacks !== null)
  const refused = rows.filter((row) => row.refused !== null)
  return [
    `${iterations} iterations, ${trajectories} trajectories, ${steps} steps in ${seconds.toFixed(2)} s; * is a rule of the run`,
    '',
    credited === 0
      ? table(HEAD, asked.map(cellsOf)).text
      : table(
          [...HEAD, CREDIT],
          asked.map((row) => [...cellsOf(row), creditCell(row)]),
        ).text,
    ...(credited === 0
      ? []
      : ['', `${CREDIT}: correlation over ${credited} drawn steps, with its 95 % interval`]),
    '',
    'asked for in the place of what was played',
    table(PLAYING_HEAD, playing.map(playingCellsOf)).text,
    '',
    ...untold.map(({ kind, rule, lacks }) => `no figures: ${kind} ${rule}: ${lacks}`),
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

function creditCell({ figures }: RuleRow): string {
  const found = figures?.withCredit ?? null
  if (found === null) return '-'
  return `${found.value.toFixed(2)} [${found.low.toFixed(2)}, ${found.high.toFixed(2)}]`
}

function playingCellsOf({ kind, rule, own, playing }: RuleRow): readonly string[] {
  if (playing === null) return [rule, kind]
  const { groups, otherwise, unit, before, after } = playing
  const number = (value: number | null) =>
    value === null ? '-' : unit === 'success' ? `${(100 * value).toFixed(0)} %` : String(value)
  return [
    `${rule}${own ? ' *' : ''}`,
    kind,
    String(groups),
    String(otherwise),
    number(before),
    number(after),
    unit,
  ]
}

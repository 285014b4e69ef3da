/** Bars of the strip at the foot: how many events of each family lie in equal parts of the log. */
import type { DensityPage } from './answers.ts'

type Family = 'playing' | 'judging' | 'tasks' | 'models' | 'run'

const FAMILIES: readonly (readonly [Family, RegExp])[] = [
  ['judging', /^(StepScored|TrajectoryJudged|UnitTestWritten)$/],
  ['playing', /^(Rollout|Trajectory|Program|Frames|Calls|Iteration)/],
  ['tasks', /^Task/],
  ['models', /^(Policy|RewardModel|Evaluation|Batch)/],
]

export const FAMILY_CLASSES: Readonly<Record<Family, string>> = {
  judging: 'c7',
  playing: 'c1',
  tasks: 'c3',
  models: 'c2',
  run: 'c4',
}

export type Bar = {
  readonly from: number
  readonly to: number
  /** From below. Heights are in units of the strip. */
  readonly parts: readonly { readonly family: Family; readonly low: number; readonly high: number }[]
}

function familyOf(type: string): Family {
  return FAMILIES.find(([, pattern]) => pattern.test(type))?.[0] ?? 'run'
}

/**
 * Returns a bar for each part. Equal parts hold equally many events, so a bar shows what they were. Heights are roots of
 * counts: one new version among thousands of verdicts can be seen.
 */
export function barsOf({ width, position, types, counts }: DensityPage, height: number): readonly Bar[] {
  const bars = Array.from({ length: counts[0]?.length ?? 0 }, () => new Map<Family, number>())
  for (const [i, type] of types.entries())
    for (const [at, bar] of bars.entries()) {
      const count = counts[i]?.[at] ?? 0
      if (count > 0) bar.set(familyOf(type), (bar.get(familyOf(type)) ?? 0) + count)
    }
  const full = Math.max(1, ...bars.map((bar) => sum([...bar.values()].map(Math.sqrt))))
  return bars.map((bar, i) => {
    let low = 0
    const parts = [...bar]
      .sort(([, a], [, b]) => b - a)
      .map(([family, count]) => {
        const high = low + (Math.sqrt(count) / full) * height
        const part = { family, low, high }
        low = high
        return part
      })
    return { from: i * width + 1, to: Math.min(position, (i + 1) * width) + 1, parts }
  })
}

type Mark = DensityPage['marks'][number]

/** Marks nearer than this share of the log stand as one: a finger or a pointer needs room. */
const NEAR = 1 / 20

/** Returns the marks that can be chosen. One that stands for several says how many more there are. */
export function marksApart(marks: readonly Mark[], position: number): readonly Mark[] {
  const groups: [Mark, ...Mark[]][] = []
  for (const mark of marks.filter(({ kind }) => kind !== 'turn').sort((a, b) => a.position - b.position)) {
    const last = groups.at(-1)
    if (last && mark.position - last[0].position < NEAR * position) last.push(mark)
    else groups.push([mark])
  }
  return groups.map(([first, ...others]) =>
    others.length === 0 ? first : { ...first, text: `${first.text}, and ${others.length} more` },
  )
}

/** Returns what the strip shows, in words. */
export function partText({ types, counts, ends, marks }: DensityPage): string {
  const all = types.slice(0, 4).map((type, i) => `${sum(counts[i] ?? [])} ${type}`)
  const of = (kind: string) => marks.filter((mark) => mark.kind === kind).length
  return `The log: ${all.join(', ')}; ${ends.length} iterations ended, ${of('stall')} stalls, ${of('failure')} failures, ${of('fork')} forks.`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The curves of an ablation as SVG files. */
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { wholeTicks } from '../whole-ticks.ts'
import type { Row } from './row.ts'
import { type Choice, SETTING_NAMES, type Setting } from './settings.ts'
import { adapting, curve, ofSetting } from './summary.ts'

/** Choices are one rule each, and have tables alone. */
type Shown = Exclude<Setting, Choice>

/** Okabe and Ito's colours, then some of Tol's: they differ for the colour-blind too, and in print. */
const COLOURS: Readonly<Record<Shown, string>> = {
  before: '#000000',
  'outcome-only': '#E69F00',
  policy: '#56B4E9',
  'policy+reward': '#009E73',
  'policy+reward+environment': '#D55E00',
  'true-progress': '#0072B2',
  'reward-model-only': '#CC79A7',
  'outcome+environment': '#882255',
  'outcome+estimate': '#332288',
  'outcome+estimate+environment': '#6699CC',
  'outcome+estimate-bests': '#0099BB',
  'outcome+estimate-bests+environment': '#004466',
  'outcome+fixed-judge': '#88CC99',
  'outcome+judge': '#117733',
  'outcome+judge-bests': '#99CC33',
  'outcome+judge-bests+environment': '#556600',
  'outcome+judge+environment': '#44BB99',
  'outcome+fixed-tests': '#CC6677',
  'outcome+tests': '#DDCC77',
  'outcome-separate': '#888800',
  'outcome-more': '#999933',
  'outcome-time': '#777777',
  'judge-time': '#AAAAAA',
  learnability: '#44AA99',
  'outcome+oracle': '#661100',
  'outcome+oracle-bests': '#992211',
  'random-rewriting': '#AA4499',
  // Both groups are drawn in charts of their own: with weights in the darker colour of a pair.
  'staleness-0': '#999999',
  'staleness-0+weights': '#000000',
  'staleness-1': '#56B4E9',
  'staleness-1+weights': '#0072B2',
  'staleness-2': '#44AA99',
  'staleness-2+weights': '#117733',
  'staleness-4': '#E69F00',
  'staleness-4+weights': '#882255',
  'branching-none': '#000000',
  'branching-random': '#E69F00',
  'branching-entropy': '#56B4E9',
  'branching-verdict': '#009E73',
  // Wrong by chance in blues, by command in reds: the more errors, the lighter.
  'verdicts-1.0': '#000000',
  'verdicts-0.9': '#332288',
  'verdicts-0.8': '#0072B2',
  'verdicts-0.7': '#56B4E9',
  'verdicts-0.9+by-command': '#661100',
  'verdicts-0.8+by-command': '#D55E00',
  'verdicts-0.7+by-command': '#E69F00',
}

const SHOWN = SETTING_NAMES.filter((name): name is Shown => Object.hasOwn(COLOURS, name))

type Point = {
  readonly x: number
  readonly y: number
  readonly low: number
  readonly high: number
  readonly setting: Shown
}

type Chart = {
  readonly title: string
  readonly x: string
  readonly y: string
  readonly lines: readonly Point[]
  /** Drawn with their intervals, beside the lines. */
  readonly dots?: readonly Point[]
  /** The greatest y. Null: that of the data. */
  readonly top?: number
}

/**
 * Success on training tasks after each iteration, and on held-out tasks in evaluated iterations (dots with
 * intervals).
 */
export function learningCurves(rows: readonly Row[], split: string): string {
  const settings = SHOWN.filter((setting) => setting !== 'before')
  return draw({
    title: `Success: lines on training tasks, dots on held-out tasks (${split}), means over seeds`,
    x: 'iteration',
    y: 'success',
    top: 1,
    lines: settings.flatMap((setting) =>
      points(
        setting,
        ofSetting(rows, setting).flatMap(({ accuracy }) =>
          accuracy.flatMap(({ iteration, successes, n }) =>
            n === 0 ? [] : [[iteration, successes / n] as const],
          ),
        ),
      ),
    ),
    dots: settings.flatMap((setting) =>
      points(
        setting,
        ofSetting(rows, setting).flatMap(({ evaluations }) =>
          evaluations.flatMap(({ iteration, split: own, successes, n }) =>
            own === split && n > 0 ? [[iteration, successes / n] as const] : [],
          ),
        ),
      ),
    ),
  })
}

/** Accepted tasks after each iteration, one line a seed. */
export function growthCurve(rows: readonly Row[]): string {
  return draw({
    title: 'Accepted tasks: mean over seeds (line), their interval (band)',
    x: 'iteration',
    y: 'tasks accepted so far',
    lines: SHOWN.filter((setting) => adapting(rows).includes(setting)).flatMap((setting) =>
      points(
        setting,
        ofSetting(rows, setting).flatMap(({ accepted }) =>
          [0, ...accepted].map((count, iteration) => [iteration, count] as const),
        ),
      ),
    ),
  })
}

function points(setting: Shown, values: readonly (readonly [number, number])[]): Point[] {
  return curve(values).map(({ x, mean }) => ({ x, y: mean.value, low: mean.low, high: mean.high, setting }))
}

function draw({ title, x, y, lines, dots = [], top }: Chart): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>')
  const shown = SHOWN.filter((setting) => lines.some((point) => point.setting === setting))
  const band = dots.length === 0
  const svg = Plot.plot({
    document,
    width: 860,
    height: 440,
    marginTop: 64,
    marginRight: 230,
    style: { background: 'white', fontSize: '12px' },
    x: { label: x, ticks: wholeTicks(Math.max(...lines.map((point) => point.x))), tickFormat: 'd' },
    y: { label: y, grid: true, domain: [0, top ?? Math.max(1, ...lines.map(({ high }) => high))] },
    color: { domain: shown, range: shown.map((setting) => COLOURS[setting]) },
    marks: [
      Plot.ruleY([0]),
      ...(band
        ? [Plot.areaY(lines, { x: 'x', y1: 'low', y2: 'high', fill: 'setting', fillOpacity: 0.15 })]
        : []),
      Plot.lineY(lines, { x: 'x', y: 'y', stroke: 'setting', strokeWidth: 1.5 }),
      Plot.ruleX(dots, { x: 'x', y1: 'low', y2: 'high', stroke: 'setting' }),
      Plot.dot(dots, { x: 'x', y: 'y', fill: 'setting', r: 4 }),
      ...shown.flatMap((setting, index) => [
        Plot.text([setting], {
          text: [setting],
          frameAnchor: 'top-right',
          textAnchor: 'start',
          dx: 24,
          dy: 18 * index,
          fill: COLOURS[setting],
          fontWeight: 'bold',
        }),
      ]),
      Plot.text([title], { frameAnchor: 'top-left', dy: -48, fontSize: 13, fontWeight: 'bold' }),
    ],
  })
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  return `${svg.outerHTML}\n`
}

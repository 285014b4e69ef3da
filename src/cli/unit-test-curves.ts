/** Code, UT, Detect and best of N over the iterations of some runs, as SVG files and as a table. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { runFolder } from '../broker/connection.ts'
import { openLogReader } from '../events/log-reader.ts'
import { type Estimate, meanT } from '../learning/interval.ts'
import { unitTestsOfLog } from '../projections/unit-tests-of-log.ts'
import type { UnitTestRow } from '../projections/views.ts'
import { wholeTicks } from '../whole-ticks.ts'

const FIGURES = {
  code: 'Code: programs that pass all tests of their task',
  unitTest: 'UT: written tests that all right programs pass',
  detect: 'Detect: written tests that all right programs pass and all wrong ones fail',
  bestOfN: 'Best of N: the program that passes most written tests is right',
  novelUnitTest: 'UT over novel tests: their input is no example’s',
  novelDetect: 'Detect over novel tests',
  novelBestOfN: 'Best of N by novel tests',
} as const
type Figure = keyof typeof FIGURES

/** Okabe and Ito's colours. */
const COLOURS = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00']

type Point = {
  readonly run: string
  /** The split. `train` stands for the tasks of the iterations themselves. */
  readonly split: string
  readonly iteration: number
  readonly value: number
}

/**
 * Writes `coding-<figure>.svg` for each figure into the folder. Returns a table of the first and the last
 * evaluation.
 */
export function codingCurves(runs: readonly string[], folder: string): string {
  const rows = runs.map((run) => ({ run, rows: rowsOf(run) }))
  mkdirSync(folder, { recursive: true })
  for (const figure of Object.keys(FIGURES) as Figure[]) {
    const points = pointsOf(rows, figure)
    if (points.length > 0)
      writeFileSync(join(folder, `coding-${figure.toLowerCase()}.svg`), draw(FIGURES[figure], points))
  }
  return tableOf(rows)
}

type RunRows = { readonly run: string; readonly rows: readonly UnitTestRow[] }

function rowsOf(run: string): UnitTestRow[] {
  const log = openLogReader(runFolder(run).log)
  try {
    return unitTestsOfLog(log)
  } finally {
    log.close()
  }
}

function pointsOf(runs: readonly RunRows[], figure: Figure): Point[] {
  return runs.flatMap(({ run, rows }) =>
    rows.flatMap((row) => {
      const value = row[figure]
      return value === null ? [] : [{ run, split: row.split, iteration: row.iteration, value }]
    }),
  )
}

function draw(title: string, points: readonly Point[]): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>')
  const splits = [...new Set(points.map(({ split }) => split))].sort()
  const training = points.filter(({ split }) => split === 'train')
  const means = meansOf(points)
  const svg = Plot.plot({
    document,
    width: 760,
    height: 380,
    marginTop: 48,
    marginRight: 110,
    style: { background: 'white', fontSize: '12px' },
    x: {
      label: 'iteration',
      ticks: wholeTicks(Math.max(...points.map(({ iteration }) => iteration))),
      tickFormat: 'd',
    },
    y: { label: null, grid: true, domain: [0, 1] },
    color: { domain: splits, range: COLOURS.slice(0, splits.length) },
    marks: [
      Plot.ruleY([0]),
      Plot.lineY(training, { x: 'iteration', y: 'value', z: 'run', stroke: 'split', strokeOpacity: 0.3 }),
      Plot.lineY(means, { x: 'iteration', y: 'value', stroke: 'split', strokeWidth: 2 }),
      Plot.ruleX(means, { x: 'iteration', y1: 'low', y2: 'high', stroke: 'split', strokeOpacity: 0.5 }),
      Plot.dot(
        points.filter(({ split }) => split !== 'train'),
        { x: 'iteration', y: 'value', fill: 'split', r: 2.5 },
      ),
      Plot.text(
        means.filter(({ split, iteration }) =>
          means.every((other) => other.split !== split || other.iteration <= iteration),
        ),
        { x: 'iteration', y: 'value', text: 'split', fill: 'split', textAnchor: 'start', dx: 8 },
      ),
      Plot.text([title], { frameAnchor: 'top-left', dy: -34, fontSize: 14 }),
    ],
  })
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  return `${svg.outerHTML}\n`
}

/** Returns means over runs. Evaluated splits have intervals if there is more than one run. */
function meansOf(points: readonly Point[]) {
  const groups = new Map<string, Point[]>()
  for (const point of points) {
    const key = `${point.split}\n${point.iteration}`
    groups.set(key, [...(groups.get(key) ?? []), point])
  }
  return [...groups.values()]
    .flatMap((own) => {
      const [first] = own
      if (first === undefined) return []
      const { split, iteration } = first
      const { value, low, high } = meanT(own.map((point) => point.value))
      const drawn = split !== 'train' && own.length > 1
      return {
        split,
        iteration,
        value,
        low: drawn ? Math.max(0, low) : value,
        high: drawn ? Math.min(1, high) : value,
      }
    })
    .sort((a, b) => a.iteration - b.iteration)
}

function tableOf(runs: readonly RunRows[]): string {
  const lines = ['| split | figure | first | last | change in each run |', '| --- | --- | --- | --- | --- |']
  const splits = new Set(runs.flatMap(({ rows }) => rows.map(({ split }) => split)))
  for (const split of splits)
    for (const figure of Object.keys(FIGURES) as Figure[]) {
      const ends = runs.flatMap(({ rows }) => {
        const own = rows.filter((row) => row.split === split && row[figure] !== null)
        const [first, last] = [own.at(0)?.[figure], own.at(-1)?.[figure]]
        return first == null || last == null ? [] : [{ first, last }]
      })
      if (ends.length === 0) continue
      const changes = ends.map(({ first, last }) => signed(last - first)).join(', ')
      const first = shown(meanT(ends.map((end) => end.first)))
      const last = shown(meanT(ends.map((end) => end.last)))
      lines.push(`| ${split} | ${figure} | ${first} | ${last} | ${changes} |`)
    }
  return `${lines.join('\n')}\n`
}

const signed = (value: number) => `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(2)}`

const shown = ({ value, low, high, n }: Estimate) =>
  n < 2 ? value.toFixed(2) : `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`

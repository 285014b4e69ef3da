/** Ablations on this machine: the files ablation.json of docs/results and of the folder of runs. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, isAbsolute, join, relative, resolve } from 'node:path'
import { type Contrast, contrastsOf } from '../../ablation/contrasts.ts'
import { type Results, readResults } from '../../ablation/results.ts'
import type { Row } from '../../ablation/row.ts'
import { SETTINGS, type Setting } from '../../ablation/settings.ts'
import {
  curve,
  type Figure,
  firstSuccess,
  lastSuccess,
  meanOf,
  ofSetting,
  settingsIn,
  splitsIn,
} from '../../ablation/summary.ts'
import { runsFolder } from '../../broker/connection.ts'
import { runNames } from '../../broker/run-names.ts'
import { explain, RlError } from '../../errors.ts'
import type { Estimate } from '../../learning/interval.ts'
import { nearest } from '../../nearest.ts'
import type {
  AblatedSetting,
  AblationCurve,
  AblationPage,
  AblationRow,
  Difference,
  Mean,
} from '../logic/ablation-page.ts'
import { pathOfAblation } from '../logic/route.ts'
import { NotHere } from './not-here.ts'

const FILE = 'ablation.json'
/** Larger files are no ablation of ours. */
const MOST_BYTES = 16 * 1024 * 1024
const MOST_FOLDERS = 2_000

/** Folders with an ablation by name. The name of a folder is that of its ablation. */
function folders(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const root of [resolve('docs', 'results'), runsFolder()])
    for (const folder of [root, ...foldersIn(root)])
      if (!found.has(basename(folder)) && existsSync(join(folder, FILE))) found.set(basename(folder), folder)
  return found
}

/** Returns the path from where the command was started, if the folder lies below it. */
function shownFolder(folder: string): string {
  const path = relative('', folder)
  return path.startsWith('..') || isAbsolute(path) ? folder : path
}

function foldersIn(root: string): readonly string[] {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .slice(0, MOST_FOLDERS)
      .map(({ name }) => join(root, name))
  } catch {
    return []
  }
}

export function ablationRows(): AblationRow[] {
  return [...folders()].map(([name, folder]) => {
    try {
      const { rows } = read(folder)
      return {
        ...{ name, folder: shownFolder(folder), runs: rows.length, settings: settingsIn(rows).length },
        seeds: seedsOf(rows).length,
        fault: null,
      }
    } catch (error) {
      return {
        ...{ name, folder: shownFolder(folder), runs: 0, settings: 0, seeds: 0 },
        fault: explain(error),
      }
    }
  })
}

function read(folder: string): Results {
  const path = join(folder, FILE)
  const state = statSync(path)
  if (state.isFile() && state.size <= MOST_BYTES) return readResults(path)
  throw new RlError(`${path} is no file of at most ${MOST_BYTES} bytes`, {
    code: 'ui.no-ablation',
    hint: 'rl ablate writes smaller ones',
  })
}

/** @throws RlError `ui.no-ablation`, `ablate.bad-file` */
export function ablationPage(name: string): AblationPage {
  const known = folders()
  const folder = known.get(name)
  if (folder === undefined) throw notHere(name, [...known.keys()])
  const results = read(folder)
  const { rows, command } = results
  const splits = splitsIn(rows)
  const here = new Set(runNames())
  return {
    name,
    folder: shownFolder(folder),
    command,
    seeds: seedsOf(rows),
    splits,
    settings: settingsIn(rows).map((setting) => settingOf(rows, setting, splits, here)),
    differences: contrastsOf(results)
      .filter(({ metric }) => metric === 'success')
      .map((contrast) => differenceOf(rows, contrast)),
    curves: settingsIn(rows).flatMap((setting) => curvesOf(ofSetting(rows, setting), setting, splits)),
  }
}

function notHere(name: string, names: readonly string[]): RlError {
  const near = nearest(name, names)
  return new NotHere(`there is no ablation '${name.slice(0, 64)}'`, {
    code: 'ui.no-ablation',
    hint: names.length === 0 ? 'rl ablate makes one' : `there are ${names.slice(0, 10).join(', ')}`,
    near: near === null ? {} : { path: pathOfAblation(near) },
  })
}

function seedsOf(rows: readonly Row[]): number[] {
  return [...new Set(rows.map(({ seed }) => seed))].sort((a, b) => a - b)
}

function settingOf(
  rows: readonly Row[],
  setting: Setting,
  splits: readonly string[],
  here: ReadonlySet<string>,
): AblatedSetting {
  const own = ofSetting(rows, setting)
  const mean = (figure: Figure) => meanOr(meanOf(own, figure))
  return {
    setting,
    changes: SETTINGS[setting].words,
    first: splits.map((split) => mean(firstSuccess(split))),
    last: splits.map((split) => mean(lastSuccess(split))),
    rollouts: meanOf(own, ({ rollouts }) => rollouts)?.value ?? 0,
    seconds: meanOf(own, ({ seconds }) => seconds)?.value ?? 0,
    runs: own.map((row) => ({
      seed: row.seed,
      run: row.run,
      isHere: here.has(row.run),
      first: splits.map((split) => firstSuccess(split)(row)),
      last: splits.map((split) => lastSuccess(split)(row)),
    })),
  }
}

function differenceOf(
  rows: readonly Row[],
  { base, added, split, difference, verdict }: Contrast,
): Difference {
  const figure = lastSuccess(split)
  const before = new Map(ofSetting(rows, base).map((row) => [row.seed, figure(row)]))
  return {
    ...{ first: base, second: added, split, difference: written(difference), verdict },
    pairs: ofSetting(rows, added).flatMap((row) => {
      const [from, to] = [before.get(row.seed) ?? null, figure(row)]
      return from === null || to === null ? [] : [{ seed: row.seed, value: to - from }]
    }),
  }
}

function curvesOf(own: readonly Row[], setting: Setting, splits: readonly string[]): AblationCurve[] {
  const share = ({ iteration, successes, n }: { iteration: number; successes: number; n: number }) =>
    n === 0 ? [] : [[iteration, successes / n] as const]
  const drawn = (series: string, points: readonly (readonly [number, number])[]) => ({
    ...{ setting, series },
    points: curve(points).map(({ x, mean }) => ({ x, mean: written(mean) })),
  })
  return [
    ...splits.map((split) =>
      drawn(
        split,
        own.flatMap(({ evaluations }) => evaluations.filter((one) => one.split === split).flatMap(share)),
      ),
    ),
    drawn(
      'training',
      own.flatMap(({ accuracy }) => accuracy.flatMap(share)),
    ),
  ].filter(({ points }) => points.length > 0)
}

function meanOr(estimate: Estimate | null): Mean | null {
  return estimate === null ? null : written(estimate)
}

/** JSON has no infinite limits. */
function written({ value, low, high, n }: Estimate): Mean {
  const finite = n > 1 && Number.isFinite(low) && Number.isFinite(high)
  return { value, low: finite ? low : null, high: finite ? high : null, n }
}

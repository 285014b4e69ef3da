/** Claims of all ablations below a folder, as one list: what each part adds, in which regime, with its interval. */
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { shellWord, shellWords } from '../command-line.ts'
import { explain, RlError } from '../errors.ts'
import { contrastsOf, type Metric, type Verdict } from './contrasts.ts'
import { type Results, readResults } from './results.ts'
import { SETTING_NAMES, SETTINGS, type Setting } from './settings.ts'
import { ofSetting } from './summary.ts'

/** A claim's name, the setting that is the base, and the setting that adds a part to it. */
const CLAIMS: readonly (readonly [string, Setting, Setting])[] = [
  ['outcome+judge - outcome', 'outcome-only', 'policy+reward'],
  ['outcome+judge - outcome', 'outcome-only', 'outcome+judge'],
  ['outcome+judge - outcome', 'outcome-only', 'outcome+judge-bests'],
  ['outcome+judge+environment - outcome+judge', 'policy+reward', 'policy+reward+environment'],
  ['outcome+judge+environment - outcome+judge', 'outcome+judge', 'outcome+judge+environment'],
  ['outcome+judge+environment - outcome+judge', 'outcome+judge-bests', 'outcome+judge-bests+environment'],
  ['outcome+environment - outcome', 'outcome-only', 'outcome+environment'],
  ['outcome+estimate - outcome', 'outcome-only', 'outcome+estimate'],
  ['outcome+estimate - outcome', 'outcome-only', 'outcome+estimate-bests'],
  ['outcome+estimate+environment - outcome+estimate', 'outcome+estimate', 'outcome+estimate+environment'],
  [
    'outcome+estimate+environment - outcome+estimate',
    'outcome+estimate-bests',
    'outcome+estimate-bests+environment',
  ],
  ['outcome+judge - outcome at equal time', 'outcome-time', 'policy+reward'],
  ['outcome+judge - outcome at equal time', 'outcome-time', 'outcome+judge'],
  ['outcome+judge - outcome at equal time', 'outcome-time', 'outcome+judge-bests'],
  ['outcome+estimate - outcome at equal time', 'outcome-time', 'outcome+estimate'],
  ['outcome+estimate - outcome at equal time', 'outcome-time', 'outcome+estimate-bests'],
  ['outcome+environment - outcome at equal time', 'outcome-time', 'outcome+environment'],
  ['outcome+judge+environment - outcome+judge at equal time', 'judge-time', 'outcome+judge+environment'],
  ['outcome+oracle - outcome', 'outcome-only', 'outcome+oracle'],
  ['outcome+oracle - outcome', 'outcome-only', 'outcome+oracle-bests'],
  ['co-trained judge - fixed judge', 'policy', 'policy+reward'],
  ['co-trained judge - fixed judge', 'outcome+fixed-judge', 'outcome+judge'],
  ['best of N by written tests - plain', 'outcome+tests', 'outcome+tests'],
  ['co-trained tests - fixed tests', 'outcome+fixed-tests', 'outcome+tests'],
  ['weights at staleness 1 - none', 'staleness-1', 'staleness-1+weights'],
  ['weights at staleness 2 - none', 'staleness-2', 'staleness-2+weights'],
  ['weights at staleness 4 - none', 'staleness-4', 'staleness-4+weights'],
  ['branching at random - none', 'branching-none', 'branching-random'],
  ['branching by entropy - none', 'branching-none', 'branching-entropy'],
  ['branching by verdict - none', 'branching-none', 'branching-verdict'],
  ['branching by entropy - at random', 'branching-random', 'branching-entropy'],
  ['branching by verdict - at random', 'branching-random', 'branching-verdict'],
  ['branching by verdict - by entropy', 'branching-entropy', 'branching-verdict'],
]

const COMMAND = 'npm run -s rl -- ablate'
const SPLITS = ['in-domain', 'ood']
/** Words of the command that each claim's own ones replace. */
const REPLACED = ['--settings', '--seeds', '--task-seed', '--out', '--budget']

export type Claim = {
  readonly regime: string
  readonly claim: string
  /** The two settings that were played. */
  readonly base: Setting
  readonly added: Setting
  readonly split: string
  /** Shares that differ at the end of the runs: of solved test tasks, at two temperatures, or of programs and unit tests. */
  readonly metric: Metric
  /** Named in the config before the runs. Its limits have 95 %, the others those of Holm's step. */
  readonly primary: boolean
  readonly mean: number
  readonly low: number
  readonly high: number
  /** Number of paired seeds. */
  readonly n: number
  readonly verdict: Verdict
  readonly command: string
}

/** Returns the command of an ablation, as a shell takes it. */
export function commandText(words: readonly string[]): string {
  return [COMMAND, ...words.map(shellWord)].join(' ')
}

/**
 * Returns the files ablation.json below a folder, in the order of their paths.
 * @throws RlError `ablate.nothing`
 */
export function ablationFiles(root: string): readonly string[] {
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
    throw new RlError(`there is no folder ${root}`, {
      code: 'ablate.nothing',
      hint: 'name one with ablations: --out FOLDER',
    })
  return [...below(root)].sort()
}

/** Links are not followed: no file is read twice, and none from elsewhere. */
function below(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return below(path)
    return entry.isFile() && entry.name === 'ablation.json' ? [path] : []
  })
}

/** Returns the regime of a file. Files without one are named after their folder, and the one of the root is `default`. */
export function regimeOf(results: Pick<Results, 'regime'>, file: string, root: string): string {
  if (results.regime !== null) return results.regime
  return join(dirname(file)) === join(root) ? 'default' : basename(dirname(file))
}

function claimsOf(results: Results, regime: string): readonly Claim[] {
  const contrasts = contrastsOf(results).filter(({ split }) => SPLITS.includes(split))
  const command = commandOf(results, regime)
  return CLAIMS.flatMap(([claim, base, added]) =>
    contrasts
      .filter((one) => one.base === base && one.added === added)
      .map(({ split, metric, primary, difference: { value: mean, low, high, n }, verdict }) => ({
        ...{ regime, claim, base, added, split, metric, primary, mean, low, high, n, verdict, command },
      })),
  )
}

/**
 * The command that plays all settings again: the correction for many tests counts them all. Settings with fewer seeds have a
 * command of their own behind it.
 */
function commandOf({ command, taskSeed, rows }: Results, regime: string): string {
  const words = shellWords(command)
  const kept = words.filter(
    (word, index) => !REPLACED.includes(flagOf(word)) && !REPLACED.includes(words[index - 1] ?? ''),
  )
  const played = SETTING_NAMES.filter((setting) => ofSetting(rows, setting).length > 0)
  const out = shellWord(`claims/${regime}/${played.map((setting) => SETTINGS[setting].short).join('-')}`)
  const seedsOf = (setting: Setting) => Math.max(...ofSetting(rows, setting).map(({ seed }) => seed))
  const counts = [...new Set(played.map(seedsOf))].sort((a, b) => b - a)
  const commands = counts.map((seeds, index) => {
    const settings = played.filter((setting) => seedsOf(setting) === seeds).join(',')
    return index === 0
      ? [
          ...kept.map(shellWord),
          `--settings ${settings} --seeds ${seeds} --task-seed ${taskSeed} --out ${out}`,
        ]
      : [COMMAND, `--resume --settings ${settings} --seeds ${seeds} --out ${out}`]
  })
  return commands.map((words) => words.join(' ')).join(' && ')
}

/** Returns `--seeds` of `--seeds=4`, and other words as they are. */
function flagOf(word: string): string {
  return word.startsWith('--') ? word.split('=', 1)[0]! : word
}

/**
 * Writes claims.json of all ablations below a folder.
 * @throws RlError `ablate.bad-file`
 */
export function writeClaims(root: string): readonly Claim[] {
  const claims = ablationFiles(root).flatMap((file) => {
    const results = readResults(file)
    try {
      return claimsOf(results, regimeOf(results, file, root))
    } catch (cause) {
      throw new RlError(`${file}: ${explain(cause)}`, { code: 'ablate.bad-file', cause })
    }
  })
  writeFileSync(join(root, 'claims.json'), `${JSON.stringify(claims, null, 1)}\n`)
  return claims
}

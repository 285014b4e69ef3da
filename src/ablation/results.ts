/** The file of an ablation with its config and its rows. With it anybody can resume the ablation. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { shellWords } from '../command-line.ts'
import { type Config, loggable, loggedConfig } from '../config.ts'
import { explain, RlError } from '../errors.ts'
import { findFile } from '../package.ts'
import { safeParse } from '../safe-parse.ts'
import { regimeFile, regimeNames } from './regimes.ts'
import { type Row, rowSchema } from './row.ts'
import { TASK_SEED } from './settings.ts'

const schema = z.strictObject({
  /** The command that began it. */
  command: z.string(),
  /** Before any setting's changes. */
  config: z.record(z.string(), z.unknown()),
  /** Name of its config in config/regimes. Null: another config. */
  regime: z.string().nullable().default(null),
  /** Seed N has the tasks of this seed + N. Older files do not name it. */
  taskSeed: z.int().nonnegative().default(TASK_SEED),
  /** Machines that played its runs: cores and their kind. Older files name none. */
  machines: z.array(z.string()).default([]),
  /** One row a run, in order of their ends. */
  rows: z.array(rowSchema),
})

export type Results = z.infer<typeof schema>

const MEND = 'restore the file, or move it away'

type Named = { readonly taskSeed?: number | undefined; readonly regime?: string | undefined }

export function newResults(command: string, config: Config, named: Named = {}): Results {
  const { taskSeed = TASK_SEED, regime = null } = named
  return { command, config: loggable(config), regime, taskSeed, machines: [], rows: [] }
}

export function readResults(path: string): Results {
  if (!existsSync(path))
    throw new RlError(`there is nothing to resume at ${path}`, {
      code: 'ablate.nothing',
      hint: 'omit --resume to begin',
    })
  const parsed = safeParse(schema, valueIn(path))
  if (!parsed.success)
    throw new RlError(`${path} holds no ablation: ${z.prettifyError(parsed.error)}`, {
      code: 'ablate.bad-file',
      hint: MEND,
    })
  const { rows, ...rest } = parsed.data
  const twice = rows.find((row, index) => rows.findIndex((one) => isSameRun(one, row)) < index)
  if (twice !== undefined)
    throw new RlError(`${path} holds ${twice.setting} seed ${twice.seed} twice`, {
      code: 'ablate.bad-file',
      hint: 'take one of the two rows out',
    })
  return {
    ...rest,
    rows: rows.map((row) => ({ ...row, taskSeed: row.taskSeed ?? rest.taskSeed + row.seed })),
  }
}

function isSameRun(one: Pick<Row, 'setting' | 'seed'>, other: Pick<Row, 'setting' | 'seed'>): boolean {
  return one.setting === other.setting && one.seed === other.seed
}

function valueIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new RlError(`${path} holds no ablation: ${explain(cause)}`, {
      code: 'ablate.bad-file',
      hint: MEND,
      cause,
    })
  }
}

/** Whole or not at all. */
export function writeResults(path: string, results: Results): void {
  mkdirSync(dirname(path), { recursive: true })
  const part = `${path}.${process.pid}.part`
  writeFileSync(part, `${JSON.stringify(results, null, 1)}\n`)
  renameSync(part, path)
}

const naming = z.looseObject({ evaluation: z.looseObject({ contrast: z.string().optional() }).optional() })

/**
 * The contrast that its config names. Files of a regime that named none then take the one that it names now. The config is not
 * checked: pages show ablations of settings that they do not load.
 */
export function primaryOf({ config, regime }: Pick<Results, 'config' | 'regime'>): string | null {
  const own = contrastIn(config)
  if (own !== null || regime === null || !regimeNames().includes(regime)) return own
  return contrastIn(parse(readFileSync(findFile(regimeFile(regime)), 'utf8')))
}

/**
 * Returns all that stood behind a flag of a command, in its order.
 * @example valuesBehind('--set', 'rl ablate --set a=1 --set=b=2') // ['a=1', 'b=2']
 */
export function valuesBehind(flag: string, command: string): readonly string[] {
  const words = shellWords(command)
  return words.flatMap((word, index) =>
    word.startsWith(`${flag}=`) ? word.slice(flag.length + 1) : words[index - 1] === flag ? word : [],
  )
}

export function contrastIn(config: unknown): string | null {
  const read = safeParse(naming, config)
  return (read.success && read.data.evaluation?.contrast) || null
}

export function baseConfig({ config }: Pick<Results, 'config'>): Config {
  return loggedConfig(config)
}

/** Returns the key in the runs' ids. Another config, or other tasks, make another ablation. */
export function ablationKey({ config, taskSeed }: Results): string {
  const tasks = taskSeed === TASK_SEED ? '' : String(taskSeed)
  return createHash('sha256')
    .update(JSON.stringify(config) + tasks)
    .digest('hex')
    .slice(0, 6)
}

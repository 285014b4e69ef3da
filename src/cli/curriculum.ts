import { parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { loadConfig } from '../config.ts'
import { CHALLENGE_NAMES, CHALLENGES, type Challenge, masteryUnder } from '../learning/curriculum.ts'
import { type Estimate, meanT, pairedDifference } from '../learning/interval.ts'
import { loadRules } from '../learning/registry.ts'
import type { TaskSampler } from '../learning/rules.ts'
import { SHELVES } from '../learning/shelves.ts'
import { tune } from '../learning/tunable.ts'
import { seedOf } from '../random.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'

const BASE = 'uniform'

export const command: Command = {
  summary: 'samplers of tasks against simulated students, each test with one difficulty',
  help: `
rl curriculum [--config FILE] [--set KEY=VALUE...] [--seeds N] [--json]
   e.g. rl curriculum --set learning.module=./rules.ts --set environment.sampler=mine

Trains no model. A student has a skill for each of four kinds of tasks. A group of rollouts teaches its kind as far as its
outcomes differ. Each sampler, also those of your module, chooses 6 of 64 tasks in 60 iterations. The figure is the share of
the feasible tasks that the student solves, as a mean over the iterations, and its difference to \`${BASE}\` over N paired
seeds (10), with its 95 % interval. It tells what a sampler cannot stand before a run costs hours, and no more than that.

${CHALLENGE_NAMES.map((name) => `  ${name.padEnd(10)}  ${CHALLENGES[name]}`).join('\n')}

Options of a sampler are those of the config, if it names the sampler. --json prints an object a line. The last line is
samplers=N tests=N worse=N: worse are those whose whole interval lies below 0.
`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          config: { type: 'string' },
          set: { type: 'string', multiple: true },
          seeds: { type: 'string', default: '10' },
          json: { type: 'boolean', default: false },
        },
      },
      argv,
    )
    const seeds = wholeNumber('--seeds', values.seeds ?? '10', 2)
    const config = loadConfig({
      set: values.set ?? [],
      ...(values.config === undefined ? {} : { file: values.config }),
    })
    await loadRules(config)
    const { module, options = {} } = config.learning
    const samplers = SHELVES.taskSampler.registry
      .all(module)
      .map((sampler) => tune(sampler, options[sampler.name] ?? {}))
    const rows = rowsOf(samplers, seeds)
    if (values.json) for (const row of rows) printJson(row)
    else printLine(table(HEAD, rows.map(cellsOf)).text)
    const worse = rows.filter(({ difference }) => difference.high < 0).length
    printLine(`samplers=${samplers.length} tests=${rows.length} worse=${worse}`)
    return 0
  },
}

type Row = {
  readonly sampler: string
  readonly test: Challenge
  readonly mastery: Estimate
  /** Over the base, seed by seed. */
  readonly difference: Estimate
}

function rowsOf(samplers: readonly TaskSampler[], seeds: number): readonly Row[] {
  const base = samplers.find(({ name }) => name === BASE)
  const under = (sampler: TaskSampler, test: Challenge) =>
    Array.from({ length: seeds }, (_, seed) => masteryUnder(sampler, test, seedOf(seed, 'curriculum')))
  const bases = new Map(CHALLENGE_NAMES.map((test) => [test, base ? under(base, test) : []]))
  return samplers.flatMap((sampler) =>
    CHALLENGE_NAMES.map((test): Row => {
      const own = under(sampler, test)
      const pairs = own.map((value, i) => [bases.get(test)?.[i] ?? value, value] as const)
      return { sampler: sampler.name, test, mastery: meanT(own), difference: pairedDifference(pairs) }
    }),
  )
}

const HEAD = ['sampler', 'test', 'mastery', 'less uniform', '95 % interval'] as const

function cellsOf({ sampler, test, mastery, difference: { value, low, high } }: Row): readonly string[] {
  const signed = (one: number) => `${one < 0 ? '-' : '+'}${Math.abs(one).toFixed(3)}`
  return [sampler, test, mastery.value.toFixed(3), signed(value), `[${signed(low)}, ${signed(high)}]`]
}

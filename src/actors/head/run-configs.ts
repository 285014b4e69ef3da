/** Which config a head runs under: a new one, or that of a run that exists already. */
import type { RunFolder } from '../../broker/connection.ts'
import { WIDTH, wrap } from '../../columns.ts'
import { hasTasksForAll } from '../../config/checks.ts'
import { differencesFrom } from '../../config/differences.ts'
import { type Config, loggedConfig, openConfig } from '../../config.ts'
import { loadSetting } from '../../environments/settings.ts'
import { RlError } from '../../errors.ts'
import { openLogReader } from '../../events/log-reader.ts'
import { startsOf } from '../../events/starts.ts'
import { checkFirstTurns } from '../first-turns.ts'
import type { StartOptions } from '../start-options.ts'
import { checkActing } from './own-runs.ts'

/** The config that a log begins with, and the one that holds now. They differ in a fork. */
type Configs = { readonly first: Config; readonly config: Config }

export async function newConfig({ config: file, set, roles, cluster }: StartOptions): Promise<Configs> {
  const brokers = cluster?.split(',').length ?? 1
  const replicated = brokers > 1 ? [`run.replicas=${Math.min(brokers, 5)}`, ...set] : set
  const asked = await openConfig({ file, set: replicated, env: process.env })
  const waits = asked.run.maxStaleness === 0 || asked.run.barrier !== undefined || !hasTasksForAll(asked)
  const config = waits
    ? asked
    : await openConfig({ file, set: ['run.barrier=false', ...replicated], env: process.env })
  if (roles.includes('policy')) await checkFirstTurns(config)
  return { first: config, config }
}

/** Returns the config that the run began with. The command that began the run also goes on with it. */
export async function resumedConfigs(folder: RunFolder, options: StartOptions): Promise<Configs> {
  const configs = await runConfigs(folder, options.trust)
  checkSaid(configs.config, options)
  return configs
}

/** Returns the config that a log names, checked by its setting. */
export async function runConfigs(folder: RunFolder, trust: boolean): Promise<Configs> {
  await loadSetting(configsOf(folder, trust).config.environment)
  return configsOf(folder, trust)
}

/**
 * Refuses values of `--set` that differ from the run's config. Only reports values of a file or a variable that differ.
 */
function checkSaid(config: Config, { run, config: named, configGiven, set }: StartOptions): void {
  const file = configGiven ? named : undefined
  const differences = differencesFrom(config, { file, set, env: process.env })
  const [wanted] = differences.filter(({ origin }) => origin.startsWith('--set '))
  const branch = `npm run -s rl -- fork ${run} --at POSITION`
  if (wanted)
    throw new RlError(
      `the run '${run}' exists, and a run's config never changes: ${wanted.key} is ${wanted.holds}, and --set says ${wanted.said}`,
      {
        code: 'run.config-fixed',
        hint: `leave --set away to go on with it, or branch off: ${branch} --set ${set.find((word) => word.startsWith(wanted.key)) ?? set[0]}`,
      },
    )
  if (differences.length === 0) return
  const told = differences
    .slice(0, 3)
    .map(({ key, origin, said, holds }) => `${key} is ${holds}, and ${origin} says ${said}`)
  const more = differences.length > 3 ? `; and ${differences.length - 3} more` : ''
  const lines = wrap(
    `the run '${run}' goes on with its own config, which never changes: ${told.join('; ')}${more}; to branch off: ${branch}`,
    WIDTH,
    '  ',
  )
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** Tells that a run is over, and how to prolong it. Returns false if it is not over. */
export function tellIfOver({ run, log: path }: RunFolder): boolean {
  const log = openLogReader(path)
  try {
    const over = log.byKey('RunCompleted')
    if (over?.type !== 'RunCompleted') return false
    const { iterations } = over.data
    const decided = log.positionOf('id', over.cause ?? '')
    const before = decided === null ? null : decided - 1
    const last = log.byKey(`IterationStarted/${iterations}`)
    const timed = last?.type === 'IterationStarted' && last.data.last === true
    const isOfSteps = loggedConfig(startsOf(log).last.data.config).run.minutes === undefined
    const longer = timed
      ? { at: last.position - 1, set: `run.${isOfSteps ? 'steps=STEPS' : 'minutes=MINUTES'}` }
      : { at: before ?? 'POSITION', set: `run.iterations=${2 * iterations}` }
    const lines = [
      `run ${run} is complete: ${iterations} iterations. Nothing was started, and nothing was appended.`,
      // The time or the steps of a run end at the start of its last iteration. A fork goes on from before it.
      `  go on in a fork: npm run -s rl -- fork ${run} --at ${longer.at} --set ${longer.set}`,
      `  look further:    npm run -s rl -- status ${run}`,
    ]
    process.stdout.write(`${lines.join('\n')}\n`)
    return true
  } finally {
    log.close()
  }
}

function configsOf(folder: RunFolder, trust: boolean): Configs {
  const log = openLogReader(folder.log)
  try {
    checkActing(log, trust)
    const { first, last } = startsOf(log)
    return { first: loggedConfig(first.data.config), config: loggedConfig(last.data.config) }
  } finally {
    log.close()
  }
}

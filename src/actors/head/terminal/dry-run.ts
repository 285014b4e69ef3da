/** `--dry-run`: the effective config, the plan, and what the policy would be shown first. Starts nothing. */
import { stringify } from 'yaml'
import { runFolder } from '../../../broker/connection.ts'
import { type Config, redact } from '../../../config.ts'
import { openSetting } from '../../../environments/open.ts'
import { settingOf } from '../../../environments/settings.ts'
import type { HubCopy } from '../../../models/hub-folder.ts'
import { seedOf } from '../../../random.ts'
import type { StartOptions } from '../../start-options.ts'
import { backendLine } from './backend-line.ts'
import { planLines } from './plan.ts'
import { runtimeLine } from './runtime-line.ts'

const PROMPTS = 3

export async function dryRun(
  run: string,
  config: Config,
  options: StartOptions,
  hub: HubCopy | null,
): Promise<number> {
  const print = (text: string) => process.stdout.write(`${text}\n`)
  print(stringify(redact(config)))
  const backend = await backendLine(config, print)
  const runtime = await runtimeLine(config, options)
  for (const line of planLines({
    run,
    folder: runFolder(run),
    config,
    resumed: false,
    options,
    backend,
    hub,
    runtime,
  }))
    print(line)
  if (settingOf(config.environment)?.simulated) {
    print('  prompts      none: the learner is simulated')
    return 0
  }
  const { environment } = await openSetting(config)
  try {
    const tasks = await environment.tasks(config.environment.splits.train)
    for (const [index, task] of tasks.slice(0, PROMPTS).entries()) {
      const { turn } = await environment.reset(task, {
        seed: seedOf(config.run.seed, 'dry-run', index),
        maxSteps: config.environment.maxSteps,
      })
      print(`--- prompt ${index + 1}: ${task.id} (${task.kind})\n${turn.observation}\n`)
      if (turn.admissible.length > 0) print(`commands: ${turn.admissible.join(' | ')}\n`)
    }
  } finally {
    // A browser or a desktop that is still open would keep this process.
    await environment.close?.()
  }
  return 0
}

import { checkModules } from '../actors/head/own-runs.ts'
import { runFolder } from '../broker/connection.ts'
import { parseCommandLine, printJson } from '../command-line.ts'
import { loadChangedSettings } from '../config.ts'
import { RlError } from '../errors.ts'
import { openLogReader } from '../events/log-reader.ts'
import { configAt } from '../replay/config-at.ts'
import { forkRun } from '../replay/fork.ts'
import type { Command } from './command.ts'
import { TRUST, TRUST_HELP } from './open-run.ts'

export const command: Command = {
  summary: 'a new run that goes on from any position of another, with some config changed',
  help: `
rl fork RUN --at POSITION|KEY [--set KEY=VALUE...] [--as ID] [--json]   e.g. --at IterationCompleted/4

The fork shares the events of RUN up to the position, without copying them, and uses its checkpoints. RUN itself never
changes and must stay in its place. The changed config decides what follows from later events. Then go on with
npm start -- --role head --run ID. To prolong a run, fork it before its end is decided. The message tells the position.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          at: { type: 'string' },
          set: { type: 'string', multiple: true, default: [] },
          as: { type: 'string' },
          json: { type: 'boolean', default: false },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    if (run === undefined || values.at === undefined)
      throw new RlError('expected a run and --at', { code: 'cli.usage', hint: 'rl fork --help' })
    const started = performance.now()
    const parent = runFolder(run)
    const at = positionOf(parent.log, values.at)
    const child = runFolder(values.as ?? `${run.slice(0, 20)}-at-${at}`)
    if (values.set.length > 0) await loadParts(parent.log, at, values)
    const fork = forkRun(parent, child, { at, set: values.set })
    const ms = performance.now() - started
    if (values.json) printJson({ run: fork.run, parent: fork.parent, position: fork.position, ms })
    else
      process.stdout.write(
        `${fork.run} shares ${fork.position} events of ${fork.parent}; go on: npm start -- --role head --run ${fork.run}\n`,
      )
    return 0
  },
}

/** Loads the settings of both configs, so that each changed key is checked. */
async function loadParts(
  path: string,
  at: number,
  { set, trust = false }: { readonly set: readonly string[]; readonly trust?: boolean },
): Promise<void> {
  const log = openLogReader(path)
  try {
    checkModules(log, trust)
    await loadChangedSettings(configAt(log, at), set)
  } finally {
    log.close()
  }
}

function positionOf(path: string, at: string): number {
  if (/^\d+$/.test(at)) return Number(at)
  const log = openLogReader(path)
  try {
    const position = log.positionOf('key', at)
    if (position !== null) return position
    throw new RlError(`run '${log.run}' has no event '${at}'`, {
      code: 'log.no-event',
      hint: 'give a position or a natural key such as IterationCompleted/4',
    })
  } finally {
    log.close()
  }
}

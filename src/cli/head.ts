import { existsSync, readdirSync } from 'node:fs'
import { moveHead } from '../actors/head/control-head.ts'
import { lifeOfHead } from '../actors/head/run-state.ts'
import { type RunFolder, runFolder, runsFolder } from '../broker/connection.ts'
import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { RUN_ID } from '../events/envelope.ts'
import type { Command } from './command.ts'

export const command: Command = {
  summary: 'moves the head of a run to another host',
  help: `
rl head move HOST [--run RUN] [--json]

Gives the run to the standby at HOST, which goes on with it. Nothing is lost, and roles elsewhere stay as they are. Roles
that this head started end with it: the standby starts those of its own --roles. HOST is the name that the standby's
machine has. --run may be left out if one run has a head here.
A standby is started there: npm start -- --role head --standby --run RUN --nats URL,URL,URL
`,
  run,
}

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommandLine(
    {
      options: { json: { type: 'boolean', default: false }, run: { type: 'string' } },
      allowPositionals: true,
    },
    argv,
  )
  const [action, host, ...rest] = positionals
  if (action !== 'move' || host === undefined || rest.length > 0)
    throw new RlError('expected move and one host', { code: 'cli.usage', hint: 'rl head --help' })
  const folder = values.run === undefined ? onlyRun() : runFolder(values.run)
  const answer = await moveHead(folder, host)
  if (values.json) printJson({ run: folder.run, ...answer })
  else
    printLine(
      `run ${folder.run} goes on at host ${answer.host}, whose log is there up to position ${answer.position}`,
    )
  return 0
}

/** The run whose head left its connection here, and has not ended. */
function onlyRun(): RunFolder {
  const names = existsSync(runsFolder()) ? readdirSync(runsFolder()).filter((name) => RUN_ID.test(name)) : []
  const led = names.map((name) => runFolder(name)).filter((folder) => lifeOfHead(folder) !== 'ended')
  const [only, ...more] = led
  if (only !== undefined && more.length === 0) return only
  throw new RlError(
    only === undefined
      ? 'no run has a head here'
      : `${led.length} runs have a head here: ${led.map(({ run }) => run).join(', ')}`,
    { code: 'cli.usage', hint: 'name it: --run RUN' },
  )
}

/** `rl openenv serve`: a setting of ours, or a user's, for clients of OpenEnv. */

import { isAbsolute } from 'node:path'
import { portNumber, wholeNumber } from '../command-line.ts'
import { type Config, loadConfig } from '../config.ts'
import { defineCommand } from '../environments/command.ts'
import { openSetting, orClose } from '../environments/open.ts'
import { LOOPBACK } from '../environments/own-machine.ts'
import { loadSetting } from '../environments/settings.ts'
import { RlError } from '../errors.ts'
import { interrupted } from '../interrupted.ts'
import { required, tokenFlag } from './model-flags.ts'

/** Longest time that a timer holds, in seconds. */
const MOST_SECONDS = 1_000_000

export const serveCommand = defineCommand({
  serves: true,
  help: `
rl openenv serve --setting NAME|./FILE.ts [--config FILE] [--set KEY=VALUE ...] [options]

Serves a setting to clients of OpenEnv, such as trainers in Python: /health, /metadata, /schema, the task API, and episodes over
the WebSocket /ws. Each connection is a session. An action is {"action": "go to desk 1"}. An observation has text, goal,
admissible and ended. The reward is the outcome at the end, and 0 before it.

A reset takes {"seed", "episode_id", "split", "index", "task": id}, all of them optional. The task of a reset without index and
task follows from the seed.

All but /health needs the header "Authorization: Bearer TOKEN". In Python: GenericEnvClient(base_url=URL, headers={...}).

  --setting NAME           a setting by its name, or your module by its path
  --config FILE, --set     keys of the config: environment.maxSteps, environment.splits, keys of the setting
  --split NAME             split of tasks that a reset does not name       (train)
  --host, --port           address to listen on                            (127.0.0.1, 8000; 0 takes a free port)
  --token TOKEN            the token                                       ($RL_OPENENV_TOKEN, else a random one, printed once)
  --no-token               needs no token; on this machine's own addresses alone, and for no page in a browser
  --max-sessions N         sessions at a time; further ones are told CAPACITY_REACHED   (256)
  --max-message-bytes N    longest message of a client                     (1048576)
  --idle-seconds N         a session without a message for so long ends    (600)
  --references             a reset with "reference": true tells the task's own solution in its metadata, one action an item`,
  options: {
    setting: { type: 'string' },
    config: { type: 'string' },
    set: { type: 'string', multiple: true },
    split: { type: 'string', default: 'train' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8000' },
    token: { type: 'string' },
    'no-token': { type: 'boolean', default: false },
    'max-sessions': { type: 'string', default: '256' },
    'max-message-bytes': { type: 'string', default: '1048576' },
    'idle-seconds': { type: 'string', default: '600' },
    references: { type: 'boolean', default: false },
  },
  async run({ values }) {
    const config = await configOf(required('--setting', values.setting), values.config, values.set ?? [])
    const { splits, maxSteps } = config.environment
    const given = values['no-token'] ? null : tokenFlag(values.token, 'RL_OPENENV_TOKEN')
    if (given === null && !LOOPBACK.test(values.host))
      throw usage(`--no-token with --host ${values.host}`, 'anybody could connect: leave out --no-token')
    if (!Object.hasOwn(splits, values.split))
      throw usage(`there is no split '${values.split}'`, `the splits are ${Object.keys(splits).join(', ')}`)
    const idleSeconds = wholeNumber('--idle-seconds', values['idle-seconds'], 1)
    const options = {
      splits,
      split: values.split,
      maxSteps,
      host: values.host,
      port: portNumber(values.port),
      token: given,
      maxSessions: wholeNumber('--max-sessions', values['max-sessions'], 1),
      maxMessageBytes: wholeNumber('--max-message-bytes', values['max-message-bytes'], 1024),
      idleMs: Math.min(idleSeconds, MOST_SECONDS) * 1000,
      references: values.references,
    }
    const { serveEnvironment } = await import('../environments/serve.ts')
    const open = await openSetting(config)
    try {
      const server = await orClose(open, serveEnvironment(open, options))
      process.stdout.write(`${open.setting.name} as an OpenEnv environment\n${server.url}\n`)
      if (given === undefined) process.stdout.write(`token ${server.token}\n`)
      await interrupted()
      await server.close()
    } finally {
      await open.environment.close?.()
    }
    return 0
  },
})

/** A config that plays the setting, and trains nothing. */
async function configOf(setting: string, file: string | undefined, set: readonly string[]): Promise<Config> {
  const isModule = setting.startsWith('.') || isAbsolute(setting)
  const named = isModule ? { name: setting, module: setting } : { name: setting, module: null }
  await loadSetting(named)
  const own = isModule ? `environment={module: ${JSON.stringify(setting)}}` : `environment={name: ${setting}}`
  const alone = ['rewardModel.mode=off', 'learning.reward=outcome', 'adaptation.enabled=false']
  return loadConfig({ file, set: [own, ...alone, ...set] })
}

const usage = (message: string, hint: string) => new RlError(message, { code: 'cli.usage', hint })

import { parseCommandLine, portNumber, wholeNumber } from '../command-line.ts'
import { interrupted } from '../interrupted.ts'
import { awaitHead } from './await-head.ts'
import type { Command } from './command.ts'
import { numberFlag, required, tokenFlag } from './model-flags.ts'

export const command: Command = {
  summary: 'train or record an agent of your own: its calls of the model become trajectories',
  serves: true,
  help: `
rl gateway --run RUN [--nats URL] [--upstream URL --model NAME]
rl gateway --record --run RUN --upstream URL --model NAME [--deadline SECONDS]

The first form plays the rollouts that a live run asks for (environment.player: gateway). The second keeps a run of its
own. There agents bring their tasks, and nothing is judged or trained.

  POST /rollouts                           takes a rollout: {"agent": "name", "wait": seconds, "task": "id" or {"id", "goal"}}
                                           answers id, url, outcome_url, key, model, task; 204 if there is none
  POST <url>/chat/completions              the model, for any OpenAI client with base URL <url> and API key <key>
  POST <outcome_url>                       {"success": true}, {"score": 0.5}, {"abstained": "why"} or {"failed": "env", "error": "why"}

  --upstream URL     OpenAI-compatible endpoint                                     (the run's policy.baseUrl)
  --model NAME       its name there                                                 (the run's policy.model)
  --key-env NAME     environment variable with the endpoint's key                   (OPENAI_API_KEY, or the run's policy.apiKeyEnv)
  --host, --port     address to listen on                                           (127.0.0.1, 8100; 0 takes a free port)
  --token TOKEN      opens POST /rollouts                                           ($RL_GATEWAY_TOKEN, else a random one, printed once)
  --max-calls N      calls in progress at a time; further calls get 429             (8192)
  --deadline S, --call-deadline S, --rollout-calls N   for --record                 (600, 60, 100)

If a rollout's outcome is not told in time, it ends as failed (budget), never as a reward. The first form waits ten
minutes for the head of its run. docs/gateway.md tells more.`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          run: { type: 'string' },
          record: { type: 'boolean', default: false },
          nats: { type: 'string' },
          upstream: { type: 'string' },
          model: { type: 'string' },
          'key-env': { type: 'string' },
          host: { type: 'string', default: '127.0.0.1' },
          port: { type: 'string', default: '8100' },
          token: { type: 'string' },
          'max-calls': { type: 'string', default: '8192' },
          deadline: { type: 'string', default: '600' },
          'call-deadline': { type: 'string', default: '60' },
          'rollout-calls': { type: 'string', default: '100' },
        },
      },
      argv,
    )
    const { joinRun, recordRun } = await import('../gateway/start.ts')
    const given = tokenFlag(values.token, 'RL_GATEWAY_TOKEN')
    const target =
      values.upstream === undefined && values.model === undefined
        ? undefined
        : { baseUrl: required('--upstream', values.upstream), model: required('--model', values.model) }
    const common = {
      run: required('--run', values.run),
      host: values.host,
      port: portNumber(values.port),
      token: given,
      maxCalls: wholeNumber('--max-calls', values['max-calls'], 1),
      say: (line: string) => void process.stderr.write(`${line}\n`),
    }
    const join = async () => {
      const nats = values.nats ?? process.env.NATS_URL ?? null
      await awaitHead({ run: common.run, nats, user: 'environment-worker', say: common.say })
      return joinRun({ ...common, target, keyEnv: values['key-env'], nats })
    }
    const gateway = values.record
      ? await recordRun({
          ...common,
          target: target ?? { baseUrl: required('--upstream', undefined), model: '' },
          keyEnv: values['key-env'] ?? 'OPENAI_API_KEY',
          deadlineSeconds: numberFlag('--deadline', values.deadline, 0.1),
          callSeconds: numberFlag('--call-deadline', values['call-deadline'], 0.1),
          maxRolloutCalls: wholeNumber('--rollout-calls', values['rollout-calls'], 1),
        })
      : await join()
    process.stdout.write(`${gateway.server.url}\n`)
    if (given === undefined) process.stdout.write(`token ${gateway.server.token}\n`)
    try {
      await Promise.race([gateway.done, interrupted()])
    } finally {
      await gateway.close()
    }
    return 0
  },
}

import { isApart } from '../actors/apart.ts'
import { configsOf } from '../actors/configs.ts'
import { addressOf } from '../actors/start.ts'
import { parseCommandLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { connectLog } from '../events/log-client.ts'
import { connectBus } from '../events/nats/connect.ts'
import { awaitHead } from './await-head.ts'
import type { Command } from './command.ts'
import { required } from './model-flags.ts'

export const command: Command = {
  summary:
    "train a run's policy or reward model in a process of its own: the reference for external trainers",
  serves: true,
  help: `
rl trainer --run RUN [--role ROLE] [--nats URL] [--model DIR]

Answers each BatchReady of a run with policy.trainer external. It reads the batch, makes one update of the local model,
writes the checkpoint into the run's folder and appends PolicyUpdated. Waits ten minutes for the head, and ends with the
run.

  --role ROLE   policy (default), or reward-model for rewardModel.trainer external, answered with RewardModelUpdated
  --nats URL    the head's server, from other hosts (NATS_TOKEN, or NATS_USER and NATS_PASSWORD); share the run's folder
  --model DIR   the run's first weights, if its policy is behind an endpoint

docs/external-trainers.md shows the same in Python, and integrations/torch with PyTorch.`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          run: { type: 'string' },
          role: { type: 'string', default: 'policy' },
          nats: { type: 'string' },
          model: { type: 'string' },
        },
      },
      argv,
    )
    const { role } = values
    if (role !== 'policy' && role !== 'reward-model')
      throw new RlError(`--role is '${role}'`, { code: 'cli.usage', hint: 'use policy or reward-model' })
    const run = required('--run', values.run)
    process.umask(0o077)
    const nats = values.nats ?? null
    const user = `${role}-worker` as const
    await awaitHead({ run, nats, user, say: (line) => void process.stderr.write(`${line}\n`) })
    const bus = await connectBus({ ...addressOf(run, nats, user), name: 'trainer' })
    const log = connectLog({ bus, run, actor: `${role}/trainer`, apart: isApart(run, bus.url) })
    try {
      const { config } = await configsOf(log)
      const section = role === 'policy' ? 'policy' : 'rewardModel'
      if (config[section].trainer !== 'external')
        throw new RlError(`run '${run}' trains its ${role} itself`, {
          code: 'config.invalid',
          hint: `start it with --set ${section}.trainer=external`,
        })
      const { startTrainer } = await import('../trainer/trainer.ts')
      const trainer = await startTrainer({
        log,
        config,
        role,
        baseFolder: values.model ?? null,
        report: (line) => void process.stdout.write(`${line}\n`),
      })
      try {
        await Promise.race([
          trainer.done,
          new Promise<void>((resolve) => {
            process.once('SIGINT', () => resolve())
            process.once('SIGTERM', () => resolve())
          }),
        ])
      } finally {
        await trainer.stop()
      }
    } finally {
      log.close()
      await bus.close()
    }
    return 0
  },
}

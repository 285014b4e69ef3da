/**
 * integrations/torch before it trains: what it refuses, its installed command, and its measurement. SKIP without the packages
 * (RL_TEST_PYTHON).
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { environmentOf } from '../src/broker/connection.ts'
import { startProgram } from './support/processes.ts'
import { PYTHON } from './support/python.ts'
import { startTestHead, temporaryFolder } from './support/run.ts'
import { batchOf, compareTiny, TOLERANCE, writeBase } from './support/torch-tiny.ts'
import { lacksTrainer, runStarted } from './support/torch-trainer.ts'

/** What a trainer says that is started beside a run of this config and ends by itself, and its exit status. */
async function said(config: Record<string, unknown> | null, words: readonly string[]): Promise<string> {
  const head = await startTestHead()
  if (config) head.service.append([runStarted(config)])
  const role = words.includes('reward-model') ? 'reward-model' : 'policy'
  const args = ['-m', 'rlanything_trainer', '--run', 'test', '--base', 'nowhere', ...words]
  const trainer = startProgram(PYTHON, args, {
    ...(environmentOf(head.addressOf(`${role}-worker`)) as Record<string, string>),
    ...{ PYTHONPATH: 'integrations/torch', HF_HUB_OFFLINE: '1', CUDA_VISIBLE_DEVICES: '' },
  })
  try {
    return `${await trainer.status}: ${trainer.output()}`
  } finally {
    await head.close()
  }
}

/** Null where Python has the command, made of what lies here; else why not. */
function lacksCommand(command: string): string | null {
  if (!existsSync(command)) return `${command} is not installed: pip install ./integrations/torch`
  const where = ['-c', 'import rlanything_trainer; print(rlanything_trainer.__path__[0])']
  const installed = spawnSync(PYTHON, where, { cwd: '/', encoding: 'utf8' }).stdout.trim()
  const here = 'integrations/torch/rlanything_trainer'
  const differs = readdirSync(here)
    .filter((file) => file.endsWith('.py'))
    .some((file) => {
      const copy = join(installed, file)
      return !existsSync(copy) || readFileSync(copy, 'utf8') !== readFileSync(join(here, file), 'utf8')
    })
  return differs ? `${command} was installed from other files than ${here}` : null
}

const published = (as: string) => ({ trainer: 'external', publish: { as } })

const lacking = lacksTrainer()
if (lacking)
  test('the start of the trainer in PyTorch', () => {
    console.log(`SKIP the start of the trainer in PyTorch: ${lacking}`)
  })
else {
  test('checkpoints that no server of the run would take are refused before anything is trained, with the next step', async () => {
    assert.match(
      await said({ policy: published('model') }, []),
      /^1: .*policy\.publish\.as is 'model', and adapters are made: add --full/s,
    )
    assert.match(
      await said({ rewardModel: published('lora') }, ['--role', 'reward-model', '--full']),
      /^1: .*rewardModel\.publish\.as is 'lora', and --full makes whole models: leave --full out/s,
    )
  })

  test('so are a role that the run trains itself, and a run that has not begun', async () => {
    assert.match(await said({ policy: { trainer: 'own' } }, []), /^1: .*--set policy\.trainer=external/s)
    assert.match(await said(null, []), /^1: .*does not begin with RunStarted/s)
  })

  test('so are a base that is no model, a place for an adapter that it lacks, and a device that is not here', async () => {
    const external = { policy: { trainer: 'external' } }
    assert.match(await said(external, []), /^1: .*rlanything-trainer: --base nowhere: /s)
    const base = join(temporaryFolder(), 'base')
    await writeBase('nano', base)
    const targets = await said(external, ['--base', base, '--lora-targets', 'q_proj,query'])
    assert.match(targets, /^1: .*--lora-targets names 'query': .*base has down_proj, .*q_proj/s)
    assert.match(
      await said(external, ['--base', base, '--runs', dirname(base)]),
      /^1: .*there is no folder of run test in .*: --runs names where runs lie/s,
    )
    for (const device of ['gpu', 'cuda'])
      assert.match(
        await said(external, ['--device', device]),
        new RegExp(`^2: .*--device '${device}': `, 's'),
      )
  })

  test('the bench tells tokens a second and memory of one update', async () => {
    const words = ['-m', 'rlanything_trainer.bench', '--shape', 'tiny', '--samples', '3', '--tokens', '32']
    const bench = startProgram(PYTHON, [...words, '--device', 'cpu'], { PYTHONPATH: 'integrations/torch' })
    assert.is(await bench.status, 0, bench.output())
    const told = JSON.parse(bench.output().trim().split('\n').at(-1)!)
    const { tokensPerSecond, peakMemoryBytes, parameters, ...rest } = told
    assert.ok(tokensPerSecond > 0 && peakMemoryBytes > 1e8 && parameters > 1e5)
    const shape = { shape: 'tiny', device: 'cpu', dtype: 'float32', trained: 37_376 }
    assert.equal(rest, { ...shape, samples: 3, tokens: 96 })
  })

  test('the installed command trains as the module does', async () => {
    const command = join(dirname(PYTHON), 'rlanything-trainer')
    const why = lacksCommand(command)
    if (why) return void console.log(`SKIP the installed command: ${why}`)
    const versions = [
      { training: { klLimit: null, tokenBudget: 64 }, samples: batchOf(5), tolerance: TOLERANCE },
    ]
    await compareTiny('nano', { role: 'policy', lora: true, command, versions })
  })
}

test.run()

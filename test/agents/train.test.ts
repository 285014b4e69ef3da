/** `rl train` from the first line to the proof, with a tiny model, a real agent and a real grade. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { trainedVersion } from '../../src/cli/trained-version.ts'
import { askingAgent } from '../support/agent-files.ts'
import { GUESS, writeGuessingModel } from '../support/guessing-model.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
function file(name: string, text: string): string {
  writeFileSync(join(root, name), text)
  return join(root, name)
}

const AGENT = file(
  'agent.ts',
  askingAgent({ more: "if (task.id === 't5') throw new Error('this task is broken')" }),
)
const GRADE = file(
  'grade.ts',
  `type Message = { role: string; content: string }
export function grade(_: unknown, result: string, transcript: Message[]) {
  const [asked, answered, ...rest] = transcript
  if (asked.role !== 'user' || answered.content !== result || rest.length > 0) throw new Error('no transcript')
  return result.includes("7")
}`,
)
const TASKS = file(
  'tasks.jsonl',
  Array.from({ length: 30 }, (_, i) =>
    JSON.stringify({ id: `t${i}`, question: GUESS, ...(i > 20 ? { split: 'held-out' } : {}) }),
  ).join('\n'),
)

function start(run: string, words: readonly string[]) {
  const model = join(root, 'model')
  return startProcess(
    ['src/rl.ts', 'train', AGENT, '--tasks', TASKS, '--model', model, '--run', run, ...words],
    { RL_RUNS: root },
  )
}

test.before(() => writeGuessingModel(join(root, 'model')))

test('without a grade, with few tasks or without an agent nothing starts', async () => {
  const said = async (words: readonly string[]) => {
    const { status, output } = startProcess(['src/rl.ts', 'train', ...words], { RL_RUNS: root })
    assert.ok(![0, null].includes(await status))
    return output()
  }
  assert.match(await said([AGENT, '--tasks', TASKS, '--model', 'm']), /--grade FILE.*--own-outcome/s)
  assert.match(await said([join(root, 'no.ts'), '--tasks', TASKS, '--model', 'm']), /there is no file/)
  const few = file('few.jsonl', '{"id":"a"}')
  assert.match(await said([AGENT, '--tasks', few, '--model', 'm', '--grade', GRADE]), /has 1 tasks/)
  const asked = [AGENT, '--tasks', TASKS, '--model', 'm']
  assert.match(await said([...asked, '--rubric', root]), /--rubric .* cannot be read: EISDIR/)
  assert.match(
    await said([...asked, '--grade', GRADE, '--budget-calls', '9']),
    /--budget-calls .*--learn instr/,
  )
  assert.match(
    await said([...asked, '--grade', GRADE, '--minutes', 'x']),
    /'x', expected a number of at least 0.01/,
  )
  assert.match(
    await said(['--command', ' ', '--tasks', TASKS, '--model', 'm', '--grade', GRADE]),
    /--command is empty/,
  )
  // A module that cannot be loaded is told before a run is begun.
  const broken = file('broken.ts', 'export const other = 1')
  for (const run of [
    ['--run', 'early'],
    ['--run', 'early', '--dry-run'],
  ]) {
    const words = ['--tasks', TASKS, '--model', join(root, 'model'), ...run]
    assert.match(await said([AGENT, ...words, '--grade', broken]), /exports no function 'grade'/)
    assert.match(await said([broken, ...words, '--grade', GRADE]), /exports no function 'agent'/)
    assert.not.ok(existsSync(join(root, 'early')))
  }
  // What the head refuses ends the command at once: nobody waits for a head then.
  const whole = [AGENT, '--tasks', TASKS, '--model', 'm', '--grade', GRADE]
  assert.match(await said([...whole, '--set', 'environment.rolloutsPerTask=2']), /minGroupSize/)
})

test('a dry run shows the first task and the first call, and starts nothing', async () => {
  const { status, output } = start('dry', ['--grade', GRADE, '--dry-run', '--set', 'backend=wasm'])
  assert.is(await status, 0, output())
  assert.match(output(), /first task: \{"id":"t\d+"/)
  assert.match(output(), /first call: POST \/v1\/chat\/completions \{"model".*Guess a number/)
  assert.match(output(), /it will play at most 640 rollouts to train and 72 to measure/)
  assert.not.ok(existsSync(join(root, 'dry')))
})

test('a run that failed goes on with the same command', async () => {
  const grade = file('throws.ts', 'export const grade = () => { throw new Error("a bad grade") }')
  const { status, output } = start('failed', ['--grade', grade, '--iterations', '1', '--set', 'backend=wasm'])
  assert.is(await status, 1, output())
  assert.match(output(), /the grade: a bad grade/)
  assert.match(output(), /the same command with --run failed goes on/)
  assert.not.match(output(), /--role head/)
  const mended = start('failed', ['--grade', GRADE])
  assert.is(await mended.status, 0, mended.output())
  assert.match(mended.output(), /^not measured: no held-out task has an outcome both before and after$/m)
})

test('an agent gets better, one broken task costs its rollouts alone, and Ctrl-C goes on later', async () => {
  const words = [
    ...[
      '--grade',
      GRADE,
      '--iterations',
      '12',
      '--set',
      'backend=wasm',
      '--set',
      'policy.training.klLimit=null',
    ],
    ...['--set', 'policy.training.learningRate=0.003'],
  ]
  const first = start('mine', words)
  await until('two iterations', () => eventsOf('mine', ['IterationCompleted']).length > 2, 240_000)
  first.process.kill('SIGINT')
  assert.is(await first.status, 130, first.output())
  assert.match(first.output(), /the same command with --run mine goes on/)
  assert.not.match(first.output(), /--role head/, 'a head alone would wait for agents for ever')
  assert.not.match(first.output(), /to the endpoint/, 'the policy is no endpoint with defaults of its own')
  const second = start('mine', words)
  assert.is(await second.status, 0, second.output())
  assert.match(
    second.output(),
    /^better: held-out 0\.\d\d -> \d\.\d\d, \+\d+ points \[\+\d+, \+\d+\] over 9 tasks$/m,
  )
  assert.match(first.output() + second.output(), /task t5\): the agent: this task is broken.*agent\.ts:\d+/)
  assert.match(second.output(), /^it took \d+ s, and \d+ tokens read and \d+ written by the model$/m)
  const served = /serve it: +npm run -s rl -- serve (mine@\d+)/.exec(second.output())?.[1] ?? ''
  process.env.RL_RUNS = root
  const { run, folder } = await trainedVersion(served)
  assert.is(run, 'mine')
  assert.ok(existsSync(join(folder, 'config.json')) || existsSync(join(folder, 'adapter_config.json')))
  const failed = eventsOf('mine', ['RolloutFailed'])
  assert.equal([...new Set(failed.map(({ data }) => `${data.task} ${data.cause}`))], ['t5 agent'])
})

test.run()

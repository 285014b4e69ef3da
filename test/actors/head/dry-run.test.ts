/** What a dry run shows and refuses, and what a command says of a run that exists. */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readModelFolder } from '../../../src/models/local/model-folder.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { ALL_PARTS, startHead, startProcess } from '../../support/processes.ts'
import { temporaryFolder } from '../../support/run.ts'
import { writeTinyChatModel } from '../../support/tiny-chat-model.ts'

const root = temporaryFolder()
for (const name of ['nim.ts', 'spell.ts']) copyFileSync(join('test/environments', name), join(root, name))
const OFF = ['rewardModel.mode=off', 'learning.reward=outcome', 'adaptation.enabled=false']
const NIM = [`environment.module=${join(root, 'nim.ts')}`, 'policy.coldStart.demonstrations=24']
const SPELL = [`environment.module=${join(root, 'spell.ts')}`, 'rewardModel.judging=group']

async function head(set: readonly string[], ...words: readonly string[]) {
  const keys = set.flatMap((key) => ['--set', key])
  const started = startProcess(['src/main.ts', '--role', 'head', ...words, ...keys], { RL_RUNS: root })
  const status = await started.status
  return { status, output: started.output() }
}

const dryRun = (set: readonly string[], ...words: readonly string[]) =>
  head(set, '--dry-run', ...ALL_PARTS, ...words)

test('a small model is shown what it reads: the goal, the observation, and no list of commands', async () => {
  const { status, output } = await dryRun([...NIM, ...OFF])
  assert.is(status, 0, output)
  const [, prompt] = output.split(/--- prompt 1: nim-5-0 \(nim\), (?=\d+ tokens)/)
  assert.match(prompt, /^\d+ tokens\ntake the last of 5 counters : 5 left >\n/)
  assert.not.match(output, /commands:/)
})

test('a model of texts is shown its question, one behind an endpoint its messages', async () => {
  const small = await dryRun([
    ...SPELL,
    'policy.acting=free',
    'policy.maxTokens=8',
    'adaptation.enabled=false',
  ])
  assert.is(small.status, 0, small.output)
  assert.match(small.output, /--- prompt 1: train-0 \(word\), 10 tokens\na a p ##r .* <\|im_start\|>\n/)
  const endpoint = ['policy.provider=openai', 'policy.model=x', 'policy.acting=numbered']
  const asked = await dryRun([...NIM.slice(0, 1), ...OFF, ...endpoint])
  assert.is(asked.status, 0, asked.output)
  assert.match(asked.output, /--- prompt 1: nim-5-0 \(nim\)\n\[\w+\]\n[\s\S]*0\) take 1\n1\) take 2/)
})

test('a released model is shown the chat that its template makes', async () => {
  const folder = join(root, 'chat')
  await writeTinyChatModel(folder, 5)
  const { status, output } = await dryRun([...NIM.slice(0, 1), ...OFF, `policy.model=${folder}`])
  assert.is(status, 0, output)
  assert.match(
    output,
    /--- prompt 1: nim-5-0 \(nim\), \d+ tokens\n[\s\S]*You act by short commands[\s\S]*5 left/,
  )
  const [, count = '', spelled = ''] =
    /--- prompt 1: [^,]*, (\d+) tokens\n[\s\S]*?\ntokens: ([\s\S]*?)\n\n/.exec(output) ?? []
  const shown = [...spelled.matchAll(/(\d+)\s("(?:[^"\\]|\\.)*")/g)]
  const [, leftOut = '0'] = /\[\.\.\. (\d+)\s+tokens\s+\.\.\.\]/.exec(spelled.replace(/\n/g, ' ')) ?? []
  assert.is(shown.length + Number(leftOut), Number(count), output)
  assert.ok(shown.length <= 80)
  const tokenizer = createTokenizer((await readModelFolder(folder)).tokenizer, folder)
  for (const [, token, text] of shown) assert.is(tokenizer.tokenText(Number(token)), JSON.parse(text))
})

test('what agents outside play has goals and no prompts', async () => {
  const data = join(root, 'tasks.jsonl')
  writeFileSync(data, '{"id": "a", "goal": "Sort the letters."}\n')
  const set = [`environment.data=${data}`]
  const { status, output } = await dryRun(set, '--config', 'config/agents.yaml')
  assert.is(status, 0, output)
  assert.match(output, /agents outside bring their own; they are told the goals/)
  assert.match(output, /--- goal 1: a \(task\)\nSort the letters\./)
})

test('the plan has lines of a terminal, and no rewrites of a setting that has none', async () => {
  const bare = join(root, 'bare.ts')
  writeFileSync(
    bare,
    `import { setting as nim } from './nim.ts'\nexport const setting = { ...nim, rewriting: undefined }\n`,
  )
  const set = [`environment.module=${bare}`, 'rewardModel.mode=off', 'learning.reward=outcome']
  const { status, output } = await dryRun([...set, 'policy.coldStart.demonstrations=24'])
  assert.is(status, 0, output)
  assert.match(output, /adaptation +none: the setting 'nim' has no rewriting/)
  const plan = output.slice(output.indexOf('\n  run '))
  for (const line of plan.split('\n')) assert.ok(line.length <= 100 || !line.trim().includes(' '), line)
})

test('a module without tasks is refused in a dry run and at a start, as in a run', async () => {
  const none = join(root, 'none.ts')
  writeFileSync(
    none,
    `import { setting as nim } from './nim.ts'
const open = async (...given) => ({ ...(await nim.open(...given)), tasks: async () => [] })
export const setting = { ...nim, open }
`,
  )
  const set = [`environment.module=${none}`, ...OFF]
  for (const tried of [await dryRun(set), await head(set, ...ALL_PARTS)]) {
    assert.is(tried.status, 1, tried.output)
    assert.match(tried.output, /the split 'train' \(the environment's 'train'\) has no tasks - check/)
  }
})

test('what its roles would refuse is refused by its key, in a dry run and at a start', async () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [
      [...SPELL, 'adaptation.enabled=false', 'policy.acting=choices'],
      /policy\.acting: 'choices' is not for .*'spell' - .*acting=free/,
    ],
    [
      [...NIM, 'rewardModel.provider=simulated'],
      /rewardModel\.provider: 'simulated' judges no episodes of .*'nim'/,
    ],
    [
      [...NIM.slice(0, 1), ...OFF, 'policy.model=./not/here/at-all'],
      /policy\.model: there is no folder or file .*at-all/,
    ],
    [[...NIM, ...OFF, 'policy.contextTokens=6'], /policy\.contextTokens: 6 holds no first turn/],
    [
      [...NIM.slice(0, 1), ...OFF, 'policy.provider=openai', 'policy.model=x'],
      /policy\.acting: 'choices' is not for provider openai/,
    ],
    [
      [...NIM, 'adaptation.rewriter=language-model', 'adaptation.provider=openai'],
      /adaptation\.rewriter: the setting 'nim' takes no rewrites of a language model/,
    ],
  ]
  for (const [set, message] of cases)
    for (const words of [['--dry-run'], ['--run', 'refused']]) {
      const { status, output } = await head(set, ...ALL_PARTS, ...words)
      assert.is(status, 1, output)
      assert.match(output, message)
    }
})

test("a run's config never changes: each key is compared with the run's own", async () => {
  const simulated = [
    ...['environment.name=simulated', 'policy.provider=simulated', 'rewardModel.provider=simulated'],
    ...['environment.tasks=4', 'environment.tasksPerIteration=2', 'environment.rolloutsPerTask=4'],
    ...['evaluation.splits=[in-domain]', 'evaluation.tasks=2', 'run.iterations=1', 'run.evaluateEvery=1'],
  ]
  const first = startHead(root, 'kept', simulated)
  assert.is(await first.status, 0, first.output())
  for (const [word, told] of [
    ['policy.acting=numbered', /policy\.acting is "choices", and --set says "numbered"/],
    ['environment.tasks=8', /environment\.tasks is 4, and --set says 8/],
    ['environment={name: coding}', /environment\.name is "simulated", and --set says "coding"/],
  ] as const) {
    const { status, output } = await head([word], '--run', 'kept')
    assert.is(status, 1, output)
    assert.match(output, /a run's config never changes/)
    assert.match(output, told)
    assert.match(output, /fork kept --at POSITION/)
  }
  const other = join(root, 'other.yaml')
  writeFileSync(other, 'run:\n  iterations: 9\nenvironment:\n  name: simulated\n')
  const { output } = await dryRun(simulated.slice(0, 1), '--run', 'kept', '--config', other)
  assert.match(
    output.replace(/\s+/g, ' '),
    /goes on with its own config.*run\.iterations is 1, and .*other\.yaml:2 says 9/,
  )
})

test.run()

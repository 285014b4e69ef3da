import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { decodeBatch } from '../../../src/actors/learner/batch-file.ts'
import { readPrompt } from '../../../src/actors/learner/prompts.ts'
import { runFolder } from '../../../src/broker/connection.ts'
import { eventsBelow } from '../../../test/support/logged.ts'
import { type Started, startHead } from '../../../test/support/processes.ts'
import { temporaryFolder } from '../../../test/support/run.ts'
import { type Asked, completion, startScriptedEndpoint } from '../../../test/support/scripted-endpoint.ts'
import { codingEnvironment } from '../src/environment.ts'
import type { CodingProblem } from '../src/problem.ts'
import { promptFile } from '../src/prompt-file.ts'
import { openProvider } from './sandboxes.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const provider = await openProvider('bwrap')
await provider?.close()

/** The problems that the runs play, by question. */
async function problems(): Promise<ReadonlyMap<string, CodingProblem>> {
  const environment = codingEnvironment({
    source: { kind: 'generated', seed: 1, counts: { train: 4, 'in-domain': 0, ood: 0 }, maxLevel: 2 },
  })
  const found = new Map<string, CodingProblem>()
  for (const task of await environment.tasks('train')) {
    const problem = await environment.problem(task)
    found.set(problem.question, problem)
  }
  return found
}

/** Answers by what is asked: two of three programs right, half of the tests; the first rewrite has too few tests. */
function answerer(known: ReadonlyMap<string, CodingProblem>) {
  const counts = { program: 0, test: 0, rewrite: 0 }
  return function answer({ path, body }: Asked): unknown {
    if (path === '/v1/models') return { data: [] }
    const text = (body.messages as { content: string }[]).map(({ content }) => content).join('\n')
    const problem = [...known.values()].find(({ question }) => text.includes(question))
    return completion({ content: contentOf(text, problem) }, { prompt: [1, 2, 3], tokens: [4, 5] })
  }

  function contentOf(text: string, problem: CodingProblem | undefined): string {
    if (text.includes('You curate')) return rewritten(counts.rewrite++)
    if (text.includes('designer of tests')) {
      const [{ input, output }] = (problem ?? DOUBLED).examples
      if (counts.test++ % 4 === 3) return 'I cannot think of a test.'
      const printed = counts.test % 2 === 0 ? output : `${output.trim()}1`
      return `**Test Input:**\n\`\`\`\n${input}\`\`\`\n**Test Output:**\n\`\`\`\n${printed.trim()}\n\`\`\``
    }
    if (!text.includes('Problem:')) return 'ok'
    const [solution] = (problem ?? DOUBLED).solutions
    return counts.program++ % 3 === 2 ? 'No program.' : `So:\n\`\`\`python\n${solution}\`\`\``
  }
}

const DOUBLED = {
  examples: [{ input: '2\n', output: '4\n' }],
  solutions: ['print(2 * int(input()))\n'],
}

function rewritten(index: number): string {
  const inputs = index === 0 ? ['1'] : ['1', '2', '3', '4']
  return JSON.stringify({
    question: `Read an integer and print its double. Version ${index}.`,
    test_method: 'stdio',
    test_time_limit: 4,
    test_input: inputs,
    test_output: inputs.map((input) => String(2 * Number(input))),
  })
}

function startLoop(run: string, url: string, more: readonly string[] = []): Started {
  const endpoint = (section: string) => [
    ...[`${section}.provider=openai`, `${section}.model=scripted`, `${section}.baseUrl=${url}`],
    `${section}.apiKeyEnv=RL_TEST_WORD`,
  ]
  const settings = [
    ...['policy', 'rewardModel', 'adaptation'].flatMap(endpoint),
    ...['environment.name=coding', 'environment.tasks=4', 'environment.tasksPerIteration=2'],
    ...['environment.rolloutsPerTask=3', 'environment.minGroupSize=2', 'environment.maxSteps=1'],
    ...['policy.acting=free', 'rewardModel.judging=group', 'rewardModel.samples=4'],
    ...['rewardModel.trainer=external', 'run.deadlines.trainingSeconds=1'],
    ...['adaptation.rewriter=language-model', 'adaptation.samples=2', 'adaptation.high=0.6'],
    ...['evaluation.splits=[]', 'run.iterations=2', 'run.heartbeatSeconds=0.5'],
    ...more,
  ]
  return startHead(root, run, settings, { RL_TEST_WORD: 'word' })
}

test('programs, unit tests and rewritten problems come from models behind an endpoint', async () => {
  if (!provider) return
  const endpoint = await startScriptedEndpoint(answerer(await problems()))
  try {
    const head = startLoop('served', endpoint.url)
    assert.is(await head.status, 0, head.output())
  } finally {
    await endpoint.close()
  }
  const played = eventsOf('served', ['TrajectoryCompleted'])
  assert.ok(played.length >= 12)
  for (const { data } of played) {
    assert.is(data.promptSha256, readPrompt(promptFile('coding-policy')).sha256)
    assert.is(data.trainable, true)
    const isProgram = data.actions[0].includes('```')
    assert.equal(data.invalid, isProgram ? {} : { 'there is no Python block': 1 })
    assert.is(data.outcome.kind === 'scored' && data.outcome.value > 0, isProgram)
  }
  const written = eventsOf('served', ['UnitTestWritten'])
  const groups = new Set(played.map(({ data }) => `${data.iteration}/${data.slot}`))
  assert.is(written.length, 4 * groups.size)
  assert.ok(written.some(({ data }) => data.invalid !== null))
  for (const { data } of written) {
    assert.is(data.promptSha256, readPrompt(promptFile('coding-test')).sha256)
    assert.is(data.tokensI32.length, 2 * 4)
  }
  const verdicts = eventsOf('served', ['StepScored']).flatMap(({ data }) => data.judgements)
  assert.ok([-1, 0, 1].every((score) => verdicts.some((judgement) => judgement.score === score)))
  assert.equal(
    eventsOf('served', ['RewardModelUpdated']).map(({ data }) => data.stopped),
    [null, 'no trainer answered within 1 s', 'no trainer answered within 1 s'],
  )
  const [ready] = eventsOf('served', ['BatchReady'])
  assert.is(ready.data.role, 'reward-model')
  const { sha256 } = ready.data.file
  const file = readFileSync(join(runFolder('served', root).blobs, sha256.slice(0, 2), sha256))
  const batch = decodeBatch(file)
  assert.equal(
    batch.samples.map(({ id }) => id),
    ready.data.trainedOn,
  )
  for (const { id, tokens, mask, advantages } of batch.samples) {
    assert.match(id, /^1\/train-\d+\/test-\d$/)
    assert.equal(
      [[...tokens], [...mask]],
      [
        [1, 2, 3, 4, 5],
        [0, 0, 0, 1, 1],
      ],
    )
    assert.is.not(advantages[4], 0)
  }
  const [proposal] = eventsOf('served', ['TaskProposed'])
  assert.equal(proposal.data.rewriter, {
    kind: 'language-model',
    name: 'scripted',
    promptSha256: readPrompt(promptFile('coding-rewrite')).sha256,
  })
  assert.is(proposal.data.task.kind, 'written')
  const asked = endpoint.asked.flatMap(({ body }) => (body.messages ? JSON.stringify(body.messages) : []))
  const rewrites = asked.filter((text) => text.includes('You curate'))
  assert.ok(
    rewrites.some((text) => /\d+ % pass/.test(text)),
    'a rewriter reads how programs did on each test',
  )
})

test('a writer whose context holds no problem is not asked: there is no test, no vote, and the run goes on', async () => {
  if (!provider) return
  const endpoint = await startScriptedEndpoint(answerer(await problems()))
  const cramped = ['rewardModel.windowTokens=2048', 'rewardModel.maxTokens=2040', 'adaptation.enabled=false']
  try {
    const head = startLoop('cramped', endpoint.url, [
      ...cramped,
      ...['environment.tasksPerIteration=1', 'run.iterations=1'],
    ])
    assert.is(await head.status, 0, head.output())
  } finally {
    await endpoint.close()
  }
  assert.not.ok(endpoint.asked.some(({ body }) => JSON.stringify(body).includes('designer of tests')))
  const written = eventsOf('cramped', ['UnitTestWritten'])
  assert.ok(written.length >= 4)
  assert.ok(written.every(({ data }) => data.text === '' && data.invalid !== null))
  const verdicts = eventsOf('cramped', ['StepScored']).flatMap(({ data }) => data.judgements)
  assert.ok(verdicts.length > 0 && verdicts.every(({ score }) => score === 0))
})

test.run()

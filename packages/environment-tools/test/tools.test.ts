import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import {
  type ChatMessage,
  type Generation,
  readCalls,
  type Texts,
  withoutCalls,
  writeCall,
} from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parsePrompt } from '../../../src/actors/learner/prompts.ts'
import { toolActing } from '../../../src/actors/writing/tool-acting.ts'
import { readInt32 } from '../../../src/events/columns.ts'
import { almanac, FIGURES } from '../src/almanac.ts'
import { calculate } from '../src/calculator.ts'
import { TOOLS, toolsEnvironment } from '../src/environment.ts'
import { setting } from '../src/setting.ts'

const environment = toolsEnvironment({ seed: 3, difficulty: 'medium', tasks: 20, towns: 60 })
const start = async (index: number, maxSteps = 6) => {
  const task = (await environment.tasks('train'))[index]
  return { task, episode: await environment.reset(task, { seed: [0, 0], maxSteps }) }
}

test('the calculator gives what the expression is worth', () => {
  for (const [expression, value] of [
    ['3 * (17 + 4)', '63'],
    ['2^3^2', '512'],
    ['-2 ^ 2', '-4'],
    ['1,240 + 1', '1241'],
    ['7 % 4 / 2', '1.5'],
    ['0.1 + 0.2', '0.3'],
    ['2 ** 10', '1024'],
  ])
    assert.is(calculate(expression), value, expression)
  for (const wrong of [
    '',
    '1 +',
    '(1',
    '1 / 0',
    'process.exit()',
    '1 2',
    '9^999',
    '('.repeat(300),
    '--'.repeat(99),
  ])
    assert.match(calculate(wrong), /^error: /, wrong)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -999, max: 999 }), { minLength: 1, maxLength: 8 }), (numbers) => {
      const expression = numbers.map((number) => `(${number})`).join(' + ')
      assert.is(calculate(expression), String(numbers.reduce((a, b) => a + b, 0)))
    }),
  )
  fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => assert.is(typeof calculate(text), 'string')))
})

test('calls are read as they stand, whatever a model writes around them, in no time to speak of', () => {
  const pattern = /<tool_call>\s*(.*?)\s*<\/tool_call>/gs
  const piece = fc.constantFrom(
    '<tool_call>',
    '</tool_call>',
    ' ',
    '\n',
    'x',
    '{"name": "a", "arguments": {}}',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 16 }), (pieces) => {
      const text = pieces.join('')
      const bodies = [...text.matchAll(pattern)].map(([, body]) => body.slice(0, 100))
      assert.equal(
        readCalls(text).map((call) => ('name' in call ? '{"name": "a", "arguments": {}}' : call.unreadable)),
        bodies,
      )
      assert.is(withoutCalls(text), text.replace(pattern, '').trim())
    }),
  )
  const empty = `<tool_call>${'\n'.repeat(40_000)}`
  // What the deadline ends cannot be ended by a timer of this thread.
  const within = (work: string) =>
    runInNewContext(work, { readCalls, withoutCalls, empty }, { timeout: 10_000 })
  assert.is(within('readCalls(empty).length'), 0)
  assert.is(within('withoutCalls(empty)'), '<tool_call>')
})

test('a search for a town finds its page first, and nothing where no word is known', () => {
  const { towns, search } = almanac([1, 2], 60)
  for (const { name, figures } of towns) {
    const [page] = search(`how many ${FIGURES[0]} has ${name}`)
    assert.ok(page.startsWith(`${name} is`))
    for (const figure of FIGURES) assert.ok(page.includes(`${figures[figure]} ${figure}`))
  }
  assert.equal(search('zebra'), [])
  assert.equal(search('bridges'), [], 'a word of every page')
})

test('every question can be answered by searches and a calculation', async () => {
  const { towns } = almanac([3, 0], 60)
  for (const task of await environment.tasks('train')) {
    let episode = await environment.reset(task, { seed: [0, 0], maxSteps: 6 })
    const asked = towns.filter(({ name }) => task.goal.includes(name))
    assert.is(asked.length, 2)
    episode = await episode.step(asked.map(({ name }) => writeCall('search', { query: name })).join(''))
    const figure = FIGURES.find((one) => task.goal.includes(one))!
    const values = asked.map(({ name }) => {
      const [, value] =
        new RegExp(`${name} is[^.]*\\.[^.]*?(\\d+) ${figure}`).exec(episode.turn.observation) ?? []
      return value
    })
    const [, factor] = /times (\d+)/.exec(task.goal)!
    episode = await episode.step(
      writeCall('calculator', { expression: `(${values.join(' + ')}) * ${factor}` }),
    )
    episode = await episode.step(`So it is \\boxed{${episode.turn.observation}}`)
    assert.is(episode.outcome(), 1, task.goal)
    assert.is(episode.turn.ended, 'goal')
  }
})

test('what a model says wrongly is answered, and ends nothing but the steps', async () => {
  const { episode } = await start(0, 4)
  for (const [action, answer] of [
    ['<tool_call>{oops}</tool_call>', /no JSON/],
    [writeCall('shell', { command: 'rm' }), /no tool 'shell'/],
    [writeCall('search', { query: 5 }), /'query' is missing/],
    ['I think so.', /Call a tool/],
    [Array.from({ length: 9 }, () => writeCall('calculator', { expression: '1' })).join(''), /at most 4/],
  ] as const)
    assert.match((await episode.step(action)).turn.observation, answer)
  let walked = episode
  for (let step = 0; step < 4; step++) walked = await walked.step('hm')
  assert.equal([walked.turn.done, walked.turn.ended, walked.outcome()], [true, 'step-limit', 0])
  const wrong = await episode.step('\\boxed{-1}')
  assert.equal([wrong.turn.done, wrong.turn.ended, wrong.outcome()], [true, 'gave-up', 0])
  const far = await episode.step(`\\boxed{1} ${'x'.repeat(200)}`)
  assert.not.ok(far.turn.done, 'a box that does not stand at the end is none')
})

test('calls are read whoever wrote their arguments, object or text', () => {
  assert.equal(readCalls('<tool_call>{"name":"a","arguments":"{\\"x\\":1}"}</tool_call>'), [
    { name: 'a', arguments: { x: 1 } },
  ])
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.dictionary(fc.string(), fc.string()), (name, values) => {
      // What ends a call cannot stand in one.
      fc.pre(!JSON.stringify({ name, values }).includes('</tool_call>'))
      assert.equal(
        JSON.stringify(readCalls(writeCall(name, values))),
        JSON.stringify([{ name, arguments: values }]),
      )
    }),
  )
})

test('an episode is one chat: calls and their results are messages, and answers of the endpoint become actions', () => {
  const part = setting.acting as Texts
  const prompt = parsePrompt('x', '# System\nbe exact\n# User\n{{goal}}')
  const acting = toolActing(part, TOOLS, prompt, { historySteps: null, trainReasoning: false })
  const act = {
    ...{ rollout: 'r', task: 't', kind: 'k', goal: 'How many?', admissible: [], packedTokens: 0 },
    ...{ policyVersion: 0, seed: [1, 2] as const, evaluation: false },
    observations: ['first', 'page one\n\n12', 'Nothing was called'],
    actions: [
      `I search.\n${writeCall('search', { query: 'Arham' })}${writeCall('calculator', { expression: '3*4' })}`,
      'hm',
    ],
  }
  const sampling = { temperature: 1, topP: 1, maxTokens: 8 }
  const { request, reply } = acting(act, sampling)
  assert.ok(request && 'messages' in request.prompt)
  assert.equal(request.prompt.tools, TOOLS)
  assert.equal(
    request.prompt.messages.map(({ role, content, toolCallId }) => [role, content, toolCallId]),
    [
      ['system', 'be exact', undefined],
      ['user', 'How many?', undefined],
      ['assistant', 'I search.', undefined],
      ['tool', 'page one', 'call_0_0'],
      ['tool', '12', 'call_0_1'],
      ['assistant', 'hm', undefined],
      ['user', 'Nothing was called', undefined],
    ],
  )
  const broken = `<tool_call>{</tool_call>${writeCall('search', {})}<tool_call>[</tool_call>${writeCall('calculator', {})}`
  const mixed = { ...act, observations: ['first', 'none 1\n\npage\n\nnone 2\n\n12'], actions: [broken] }
  const { messages } = acting(mixed, sampling).request!.prompt as { messages: readonly ChatMessage[] }
  assert.equal(
    messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])),
    ['none 1\n\npage\n\nnone 2', '12'],
  )
  const shorter = acting(act, sampling, 1).request
  assert.ok(shorter && 'messages' in shorter.prompt)
  assert.equal(
    shorter.prompt.messages.map(({ content }) => content),
    ['be exact', 'How many?', '(1 earlier steps are left out)', 'hm', 'Nothing was called'],
  )
  const generation: Generation = {
    ...{ text: '', finish: 'stop', tokens: null, logprobs: null, promptTokens: null },
    toolCalls: [{ name: 'calculator', arguments: '{"expression":"1+1"}' }],
    usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
  }
  assert.is(reply(generation).action, writeCall('calculator', { expression: '1+1' }))
  assert.is(reply(generation).invalid, null)
  assert.is(reply({ ...generation, toolCalls: undefined, text: 'hm' }).invalid, 'no call and no answer')
})

test('a prompt that begins with all that was said before goes on in one segment', () => {
  const part = setting.acting as Texts
  const prompt = parsePrompt('x', '# User\n{{goal}}')
  const acting = toolActing(part, TOOLS, prompt, { historySteps: null, trainReasoning: false })
  const replyTo = (packedTokens: number, promptTokens: readonly number[]) => {
    const { reply } = acting(
      {
        ...{ rollout: 'r', task: 't', kind: 'k', goal: 'How many?', admissible: [], packedTokens },
        ...{ policyVersion: 0, seed: [1, 2] as const, evaluation: false },
        ...{ observations: ['first'], actions: [] },
      },
      { temperature: 1, topP: 1, maxTokens: 8 },
    )
    const { continues, tokens } = reply({
      ...{ text: 'x', finish: 'stop', promptTokens: Int32Array.from(promptTokens) },
      ...{ tokens: Int32Array.of(7, 8), logprobs: Float32Array.of(-1, -2) },
      usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 2 },
    })
    return [continues, [...readInt32(tokens!.tokensI32)], [...tokens!.maskU8], tokens!.promptLength]
  }
  assert.equal(replyTo(0, [1, 2]), [false, [1, 2, 7, 8], [0, 0, 1, 1], 2])
  assert.equal(replyTo(4, [1, 2, 7, 8, 3]), [true, [3, 7, 8], [0, 1, 1], 1])
  assert.equal(replyTo(7, [1, 2, 7, 8, 4, 7, 8, 5]), [
    false,
    [1, 2, 7, 8, 4, 7, 8, 5, 7, 8],
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1],
    8,
  ])
  assert.is(replyTo(3, [1, 2, 7, 8, 4, 7, 8, 5, 7, 8])[0], false, 'the asker has other tokens')
})

test.run()

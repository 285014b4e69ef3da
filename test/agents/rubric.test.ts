/** Grades by a rubric: what the judge reads, and what its answers mean. The judge is a real HTTP endpoint. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { gradeOf } from '../../src/agents/result.ts'
import { openRubric, readGrade } from '../../src/agents/rubric.ts'

const TRANSCRIPT = [
  { role: 'user', content: 'What is 3 + 4?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ function: { name: 'add', arguments: '{"a":3,"b":4}' } }],
  },
  { role: 'tool', content: '7' },
]

test('the judge reads rubric, task, transcript and result, and its grade has its reason', async () => {
  const heard: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += String(part)
    heard.push(body)
    if (body.includes('refused')) return void response.writeHead(400).end('{"error":{"message":"no"}}')
    const message = { role: 'assistant', content: 'It used the tool. \\boxed{0.75}' }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'judge',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const rubric = openRubric('It must use the tool.', {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    model: 'judge',
    apiKeyEnv: 'RL_TEST_NO_KEY',
  })
  try {
    const graded = await rubric.call([{ id: 'sum', question: 'What is 3 + 4?' }, '7', TRANSCRIPT], 10_000)
    assert.equal(gradeOf(graded), { score: 0.75, reason: 'It used the tool.', unsure: true })
    for (const part of ['It must use the tool.', 'What is 3 + 4?', 'add', 'tool: 7'])
      assert.ok(heard[0].includes(part), part)
    const refused = gradeOf(await rubric.call([{ id: 'refused' }, '7', []], 10_000))
    assert.is('failed' in refused && refused.failed, 'env', 'a judge that refuses is never a reward')
  } finally {
    rubric.close()
    server.close()
    server.closeAllConnections()
  }
})

test('a grade is a number from 0 to 1 in the last box, and anything else is no grade', () => {
  assert.equal(readGrade('Good. \\boxed{1}'), { score: 1, reason: 'Good.', unsure: true })
  assert.equal(readGrade('First \\boxed{0.1}, no: \\boxed{\\text{}.5}'), {
    score: 0.5,
    reason: 'First \\boxed{0.1}, no:',
    unsure: true,
  })
  for (const text of [
    '',
    'fine',
    '\\boxed{}',
    '\\boxed{2}',
    '\\boxed{-1}',
    '\\boxed{0.5 of 1}',
    '\\boxed{8/10}',
  ])
    assert.ok('abstained' in readGrade(text), text)
})

test.run()

/** An agent that is a command: what it gets, and how each way to fail costs one call. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openCommandAgent } from '../../src/agents/command.ts'
import { isAlive } from '../support/processes.ts'
import { until } from '../support/run.ts'

const GIVEN = { baseURL: 'http://127.0.0.1:1/v1', apiKey: 'rk-1', model: 'policy-0' }

async function run(command: string, task: unknown = { id: 'a' }, ms = 20_000) {
  const worker = openCommandAgent(command, () => {})
  try {
    return await worker.call([task, GIVEN], ms)
  } finally {
    worker.close()
  }
}

if (process.platform !== 'win32') {
  test('it gets addresses, keys and its task, and its last line is its result', async () => {
    const echo =
      'echo first; printf "%s|" "$OPENAI_BASE_URL" "$OPENAI_API_KEY" "$OPENAI_MODEL" "$ANTHROPIC_BASE_URL" "$RL_TASK"'
    assert.equal(await run(echo, { id: 'a', text: "it's $(id)" }), {
      kind: 'value',
      value: `http://127.0.0.1:1/v1|rk-1|policy-0|http://127.0.0.1:1|{"id":"a","text":"it's $(id)"}|`,
    })
    assert.equal(await run(`echo working; echo '{"score": 0.5}'`), { kind: 'value', value: { score: 0.5 } })
    assert.equal(await run('true'), { kind: 'value', value: '' })
    const letters = `x${'é'.repeat(300_000)}`
    const print = "process.stdout.write('x' + 'é'.repeat(300000))"
    const result = await run(`"${process.execPath}" -e "${print}"`)
    assert.ok(result.kind === 'value' && result.value === letters, 'letters of two bytes stay whole')
  })

  test('each way to fail is told', async () => {
    const failing: readonly (readonly [string, RegExp, unknown?, number?])[] = [
      ['echo no luck >&2; exit 3', /^it ended with status 3: no luck$/],
      ['sleep 60', /no result within 0\.3 s/, { id: 'a' }, 300],
      ['yes', /printed more than 10 MB/],
      ['kill -9 $$', /SIGKILL|137/],
      ['true', /RL_TASK holds/, { id: 'x'.repeat(200_000) }],
    ]
    for (const [command, told, task, ms] of failing) {
      const result = await run(command, task, ms)
      assert.ok(
        told.test(result.kind === 'fault' ? result.error : 'no fault'),
        `${command}: ${JSON.stringify(result)}`,
      )
    }
  })

  test('what it started and left is ended', async () => {
    const result = await run('sleep 300 > /dev/null 2>&1 & echo $!')
    await until('the child is gone', () => result.kind === 'value' && !isAlive(Number(result.value)))
  })
}

test.run()

import { createServer } from 'node:http'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chooseExecutor } from '../src/choose.ts'
import { createExecutor, runAll } from '../src/executor.ts'
import { DEFAULT_LIMITS } from '../src/provider.ts'
import { createSandboxFusionProvider } from '../src/providers/sandbox-fusion.ts'

type Answer = { readonly status: number; readonly body: unknown }

const finished = (stdout: string, code = 0, stderr = '') => ({
  status: code === 0 ? 'Success' : 'Failed',
  message: '',
  compile_result: null,
  run_result: { status: 'Finished', execution_time: 0.02, return_code: code, stdout, stderr },
  executor_pod_name: null,
  files: {},
})

/** A server that speaks the schema of SandboxFusion's POST /run_code, and keeps what it was asked. */
async function standIn(answer: (body: Record<string, unknown>, call: number) => Answer) {
  const asked: { path: string; body: Record<string, unknown>; authorization?: string }[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const body = JSON.parse(text) as Record<string, unknown>
      const { authorization } = request.headers
      asked.push({
        path: `${request.method} ${request.url}`,
        body,
        ...(authorization ? { authorization } : {}),
      })
      const { status, body: reply } = answer(body, asked.length)
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(typeof reply === 'string' ? reply : JSON.stringify(reply))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const close = () => new Promise((resolve) => server.close(resolve))
  return { url: `http://127.0.0.1:${port}`, asked, close }
}

test('requests follow the schema, and answers become verdicts', async () => {
  const answers: Readonly<Record<string, unknown>> = {
    fine: finished('1\n'),
    raises: finished('', 1, 'ValueError\n'),
    memory: finished('', 1, 'Traceback\nMemoryError\n'),
    late: {
      ...finished(''),
      status: 'Failed',
      run_result: {
        status: 'TimeLimitExceeded',
        execution_time: 13,
        return_code: null,
        stdout: '',
        stderr: '',
      },
    },
    syntax: {
      status: 'Failed',
      compile_result: { status: 'Finished', return_code: 1, stdout: '', stderr: 'SyntaxError' },
      run_result: null,
    },
    long: finished('x'.repeat(2_000_000)),
  }
  const { url, asked, close } = await standIn(({ code }) => ({ status: 200, body: answers[String(code)] }))
  const executor = createExecutor({ provider: createSandboxFusionProvider({ url }) })
  const batch = Object.keys(answers).map((program) => ({ program, stdins: ['in\n'], limits: DEFAULT_LIMITS }))
  const results = await runAll(executor, batch)
  assert.equal(
    results.map(([{ verdict }]) => verdict),
    ['ok', 'runtime_error', 'memory', 'timeout', 'compile_error', 'output_limit'],
  )
  assert.is(results[5][0].stdout.length, DEFAULT_LIMITS.outputBytes)
  assert.equal(asked[0], {
    path: 'POST /run_code',
    body: {
      code: 'fine',
      language: 'python',
      stdin: 'in\n',
      run_timeout: 13,
      compile_timeout: 10,
      memory_limit_MB: 512,
      files: {},
      fetch_files: [],
    },
  })
  await close()
})

test('a server that fails, or answers something else, is a sandbox error after further tries', async () => {
  const bad: readonly Answer[] = [
    { status: 500, body: 'out of order' },
    { status: 200, body: { status: 'SandboxError', message: 'no room' } },
    { status: 200, body: { verdict: 'ok' } },
  ]
  const { url, asked, close } = await standIn((_, call) => bad[(call - 1) % bad.length])
  const executor = createExecutor({ provider: createSandboxFusionProvider({ url }), retries: 2 })
  const [[result]] = await runAll(executor, [{ program: 'p', stdins: ['1'], limits: DEFAULT_LIMITS }])
  assert.is(result.verdict, 'sandbox_error')
  // The second and third try are followed by a known-good program, which fails as well.
  assert.is(asked.length, 5)
  await close()
})

test('a busy server is waited for, as long as it says, with the key that it wants', async () => {
  const { url, asked, close } = await standIn((_, call) =>
    call < 3 ? { status: 429, body: 'busy' } : { status: 200, body: finished('1\n') },
  )
  const backOff = { firstMs: 1, times: 5 }
  const provider = createSandboxFusionProvider({ url, key: 'secret', backOff, parallelTests: 1 })
  const [[result]] = await runAll(createExecutor({ provider }), [
    { program: 'p', stdins: ['1'], limits: DEFAULT_LIMITS },
  ])
  assert.is(result.verdict, 'ok')
  assert.is(asked.length, 3)
  assert.is(asked[0].authorization, 'Bearer secret')
  await close()
})

test('a server that recovers gives its result', async () => {
  const { url, close } = await standIn((_, call) =>
    call === 1 ? { status: 503, body: '' } : { status: 200, body: finished('1\n') },
  )
  const executor = createExecutor({ provider: createSandboxFusionProvider({ url }) })
  const [[result]] = await runAll(executor, [{ program: 'p', stdins: ['1'], limits: DEFAULT_LIMITS }])
  assert.is(result.verdict, 'ok')
  await close()
})

test('the unsafe provider needs an explicit word and warns; a server needs its URL', async () => {
  for (const provider of ['process', 'sandbox-fusion'] as const)
    try {
      await chooseExecutor({ provider })
      assert.unreachable()
    } catch (error) {
      assert.match(String(error), provider)
    }
  const warnings: string[] = []
  try {
    const warn = (line: string) => warnings.push(line)
    const { executor, name } = await chooseExecutor({ provider: 'process', allowUnsafe: true, warn })
    assert.is(name, 'process')
    await executor.close()
    assert.match(warnings.join(), /WARNING/)
  } catch (error) {
    process.stdout.write(`SKIP process: ${error}\n`)
  }
})

test.run()

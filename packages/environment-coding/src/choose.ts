/**
 * Chooses the provider of programs on this machine: the best that passes a self-test. It tells why others
 * were passed over.
 */

import { createServer } from 'node:net'
import type { Kept } from 'rlanything/environments'
import { explain, RlError } from 'rlanything/kit'
import { createExecutor, type Executor, type Recheck } from './executor.ts'
import { DEFAULT_LIMITS, type Provider } from './provider.ts'
import { SANDBOXES, type SandboxOptions } from './providers/registry.ts'
import { createResultCache } from './result-cache.ts'
import type { RunResult } from './run-result.ts'

export type ChooseOptions = SandboxOptions & {
  /** Name of the provider. `auto` takes bwrap if bwrap passes its self-test, else pyodide. */
  readonly provider?: string
  /** Module that defines the provider, if it is a user's. */
  readonly module?: string | null
  /** Results are kept here across runs. */
  readonly cacheFolder?: string
  /** And here for the executors of a run. */
  readonly kept?: Kept
  readonly recheck?: Recheck
}

export type ChosenExecutor = {
  readonly executor: Executor
  readonly name: string
  /** Reason for the choice. */
  readonly reason: string
  readonly passedOver: readonly { readonly name: string; readonly reason: string }[]
}

/**
 * Chooses, tests and starts an executor. The caller closes it.
 * @throws RlError if no allowed provider works
 */
export async function chooseExecutor(options: ChooseOptions = {}): Promise<ChosenExecutor> {
  const { provider: wanted = 'auto', module = null, cacheFolder, kept, recheck } = options
  await SANDBOXES.load(module)
  const names: readonly string[] = wanted === 'auto' ? ['bwrap', 'pyodide'] : [wanted]
  const passedOver: { name: string; reason: string }[] = []
  for (const name of names) {
    let provider: Provider | null = null
    try {
      const found = SANDBOXES.find(name, module)
      if (!found)
        throw new RlError(`there is no sandbox provider '${name}'`, {
          code: 'coding.no-provider',
          hint: `there are ${SANDBOXES.all(module)
            .map((one) => one.name)
            .join(', ')}`,
        })
      provider = await found.open(options)
      await selfTest(provider)
      const reason = `${wanted === 'auto' ? 'passed its self-test' : 'was asked for and passed its self-test'} (${provider.detail})`
      const cache = createResultCache({ folder: cacheFolder, kept })
      const executor = createExecutor({ provider, cache, recheck })
      return { executor, name, reason, passedOver }
    } catch (error) {
      await provider?.close()
      if (wanted !== 'auto') throw error
      passedOver.push({ name, reason: explain(error) })
    }
  }
  const reasons = passedOver.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
  throw new RlError(`no sandbox works here. ${reasons}`, {
    code: 'coding.no-executor',
    hint: 'install bubblewrap and python3, or name a SandboxFusion server',
  })
}

/** Whether the provider promises that programs cannot reach this machine. SandboxFusion's is another's to keep. */
const isIsolated = ({ name }: Provider) => name !== 'sandbox-fusion' && name !== 'process'

const SECRET = 'RL_SELF_TEST_SECRET'
/** A busy machine may need long, which is no reason to do without its sandbox. */
const SELF_TEST_LIMITS = { ...DEFAULT_LIMITS, cpuMs: 5000, wallMs: 60_000, memoryMB: 128 }
const ENDLESS_LIMITS = { ...SELF_TEST_LIMITS, cpuMs: 500, wallMs: 10_000 }

/**
 * Runs programs that must work and programs that must not.
 * @throws RlError that names the program with the wrong result
 */
export async function selfTest(provider: Provider): Promise<void> {
  const run = async (program: string, stdin = '\n', limits = SELF_TEST_LIMITS): Promise<RunResult> => {
    let result: RunResult | null = null
    await provider.run({ program, stdins: [stdin], limits }, (_, report) => {
      result = report
    })
    return result ?? fail('gave no result')
  }
  const fail = (what: string): never => {
    throw new RlError(`${provider.name} does not pass its self-test: ${what}`, { code: 'coding.self-test' })
  }
  const sum = await run('import sys\nprint(int(sys.stdin.buffer.readline()) + int(input()))', '40\n2\n')
  if (sum.verdict !== 'ok' || sum.stdout !== '42\n')
    fail(`40 + 2 gave ${sum.verdict} ${JSON.stringify(sum.stdout)} ${sum.stderrTail.slice(-200)}`)
  if ((await run('while True: pass', '\n', ENDLESS_LIMITS)).verdict !== 'timeout')
    fail('an endless loop was not ended')
  if (!isIsolated(provider)) return
  if ((await run('x = bytearray(1 << 20)\nwhile True: x = x + x')).verdict !== 'memory')
    fail('the memory limit did not hold')
  const attempts = await withListener(async (port) => {
    process.env[SECRET] = 'readable'
    try {
      return await run(SELF_TEST_ATTEMPTS.replace('PORT', String(port)))
    } finally {
      delete process.env[SECRET]
    }
  })
  if (attempts.verdict !== 'ok') fail(`the isolation test gave ${attempts.verdict} ${attempts.stderrTail}`)
  if (attempts.stdout.trim() !== '') fail(`a program can ${attempts.stdout.trim().split('\n').join(' and ')}`)
}

/** Prints each forbidden thing that it could do. */
const SELF_TEST_ATTEMPTS = `import os, socket, sys
def attempt(what, action):
    try:
        if action() is not False:
            print(what)
    except Exception:
        pass
attempt('open network connections', lambda: socket.create_connection(('127.0.0.1', PORT), 1).send(b'x'))
attempt('write to the system', lambda: open('/usr/rl-self-test', 'w').close())
attempt('read the environment', lambda: '${SECRET}' in os.environ)
attempt('read the environment of process 1', lambda: b'${SECRET}' in open('/proc/1/environ', 'rb').read())
attempt('read the host files', lambda: sys.platform != 'emscripten' and os.listdir('/root') != [])
`

/** A TCP server on this machine for as long as the action takes. */
async function withListener<T>(action: (port: number) => Promise<T>): Promise<T> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  try {
    return await action(typeof address === 'object' && address ? address.port : 0)
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
}

/** Which provider runs programs on this machine: the best that passes a self-test, and why the others were passed over. */
import { createServer } from 'node:net'
import { explain, RlError } from '../../errors.ts'
import { createExecutor, DEFAULT_LIMITS, type Executor, type Provider, type RunResult } from './executor.ts'
import { createBwrapProvider } from './providers/bwrap.ts'
import { createContainerProvider } from './providers/container.ts'
import { createProcessProvider } from './providers/process.ts'
import { createPyodideProvider } from './providers/pyodide.ts'
import { createSandboxFusionProvider } from './providers/sandbox-fusion.ts'
import { createResultCache } from './result-cache.ts'

export type ProviderName = Provider['name']

export const PROVIDER_NAMES = [
  'bwrap',
  'pyodide',
  'sandbox-fusion',
  'gvisor',
  'podman',
  'docker',
  'process',
] as const satisfies readonly ProviderName[]

export type ChooseOptions = {
  /** `auto` takes bwrap where it passes its self-test, else pyodide. */
  readonly provider?: ProviderName | 'auto'
  /** Programs at once. */
  readonly concurrency?: number
  /** Of a SandboxFusion server, for `sandbox-fusion`. */
  readonly url?: string
  /** The environment variable that holds its key. */
  readonly apiKeyEnv?: string
  /** For podman and docker; it must be there already. */
  readonly image?: string
  /** The Python interpreter of bwrap. */
  readonly python?: string
  /** Folders with modules that programs may import, for bwrap. */
  readonly packages?: readonly string[]
  /** `process` runs programs with all the rights of this user: it must be allowed in so many words. */
  readonly allowUnsafe?: boolean
  /** Results are kept here across runs. */
  readonly cacheFolder?: string
  /** Where warnings go; default standard error. */
  readonly warn?: (line: string) => void
}

export type ChosenExecutor = {
  readonly executor: Executor
  readonly name: ProviderName
  /** Why this one. */
  readonly reason: string
  readonly passedOver: readonly { readonly name: ProviderName; readonly reason: string }[]
}

/** Chooses, tests and starts an executor; the caller closes it. Throws where none that is allowed works. */
export async function chooseExecutor(options: ChooseOptions = {}): Promise<ChosenExecutor> {
  const { provider: wanted = 'auto', cacheFolder } = options
  const names: readonly ProviderName[] = wanted === 'auto' ? ['bwrap', 'pyodide'] : [wanted]
  const passedOver: { name: ProviderName; reason: string }[] = []
  for (const name of names) {
    let provider: Provider | null = null
    try {
      provider = await open(name, options)
      await selfTest(provider)
      const reason = `${wanted === 'auto' ? 'passed its self-test' : 'was asked for and passed its self-test'} (${provider.detail})`
      const executor = createExecutor({ provider, cache: createResultCache({ folder: cacheFolder }) })
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

async function open(
  name: ProviderName,
  { concurrency, url, apiKeyEnv, image, python, packages, allowUnsafe, warn }: ChooseOptions,
): Promise<Provider> {
  switch (name) {
    case 'bwrap':
      return createBwrapProvider({ concurrency, python, packages })
    case 'pyodide':
      return createPyodideProvider({ concurrency })
    case 'sandbox-fusion':
      if (url === undefined)
        throw new RlError('sandbox-fusion needs the URL of its server', {
          code: 'coding.no-url',
          hint: 'add --url http://HOST:PORT',
        })
      return createSandboxFusionProvider({ url, key: keyOf(apiKeyEnv), concurrency })
    case 'gvisor':
    case 'podman':
    case 'docker':
      return createContainerProvider({ engine: name, image, concurrency })
    case 'process':
      return createProcessProvider({ concurrency, allowUnsafe, warn })
  }
}

function keyOf(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined
  const key = process.env[variable]
  if (key === undefined)
    throw new RlError(`the environment variable ${variable} is not set`, {
      code: 'coding.no-key',
      hint: 'environment.sandbox.apiKeyEnv names the variable that holds the key of the sandbox server',
    })
  return key
}

/** Whether the provider promises that programs cannot reach this machine. SandboxFusion's is another's to keep. */
const isIsolated = ({ name }: Provider) => name !== 'sandbox-fusion' && name !== 'process'

const SECRET = 'RL_SELF_TEST_SECRET'
const SELF_TEST_LIMITS = { ...DEFAULT_LIMITS, cpuMs: 500, wallMs: 10_000, memoryMB: 128 }

/** Runs programs that must work and programs that must not; throws an RlError that says which did otherwise. */
export async function selfTest(provider: Provider): Promise<void> {
  const run = async (program: string, stdin = '\n'): Promise<RunResult> => {
    let result: RunResult | null = null
    await provider.run({ program, stdins: [stdin], limits: SELF_TEST_LIMITS }, (_, report) => {
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
  if ((await run('while True: pass')).verdict !== 'timeout') fail('an endless loop was not ended')
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

/** Prints what it should not be able to do. */
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

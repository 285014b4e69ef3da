/** Ours and a user's ways to run programs, by name. A user's come from the module that `environment.coding.sandbox.module` names. */
import { type Check, callWithin, flattened, openRegistry, RlError, type UserCall } from 'rlanything/kit'
import type { Provider } from '../provider.ts'
import { createBwrapProvider } from './bwrap.ts'
import { createContainerProvider } from './container.ts'
import { createProcessProvider } from './process.ts'
import { createPyodideProvider } from './pyodide.ts'
import { createSandboxFusionProvider } from './sandbox-fusion.ts'

export type SandboxOptions = {
  /** Programs at once. */
  readonly concurrency?: number
  /** Address of a server, for `sandbox-fusion`. */
  readonly url?: string
  /** The environment variable that holds its key. */
  readonly apiKeyEnv?: string
  /** Image for podman and docker. It must be there already. */
  readonly image?: string
  /** The Python interpreter of bwrap. */
  readonly python?: string
  /** Folders with modules that programs may import, for bwrap. */
  readonly packages?: readonly string[]
  /** Allows `process`, which runs programs with all the rights of this user. */
  readonly allowUnsafe?: boolean
  /** Receives warnings. Default: standard error. */
  readonly warn?: (line: string) => void
}

/** Before a provider is used it must pass the self-test of choose.ts, ours and a user's alike. */
export interface SandboxProvider {
  readonly name: string
  readonly version: number
  open(options: SandboxOptions): Provider | Promise<Provider>
  /** It does not isolate, so no config may name it. */
  readonly unsafe?: true
}

const container = (engine: 'gvisor' | 'podman' | 'docker'): SandboxProvider => ({
  name: engine,
  version: 1,
  open: ({ image, concurrency }) => createContainerProvider({ engine, image, concurrency }),
})

export const SANDBOXES = openRegistry<SandboxProvider>({
  kind: 'sandboxProvider',
  noun: 'provider',
  key: 'environment.coding.sandbox.module',
  list: 'sandboxProviders',
  does: 'open',
  types: 'rlanything/environments',
  ours: [
    {
      name: 'bwrap',
      version: 1,
      open: ({ concurrency, python, packages }) => createBwrapProvider({ concurrency, python, packages }),
    },
    { name: 'pyodide', version: 1, open: ({ concurrency }) => createPyodideProvider({ concurrency }) },
    {
      name: 'sandbox-fusion',
      version: 1,
      open({ url, apiKeyEnv, concurrency }) {
        if (url !== undefined) return createSandboxFusionProvider({ url, key: keyOf(apiKeyEnv), concurrency })
        throw new RlError('sandbox-fusion needs the URL of its server', {
          code: 'coding.no-url',
          hint: 'add --url http://HOST:PORT',
        })
      },
    },
    container('gvisor'),
    container('podman'),
    container('docker'),
    {
      name: 'process',
      version: 1,
      unsafe: true,
      open: ({ concurrency, allowUnsafe, warn }) => createProcessProvider({ concurrency, allowUnsafe, warn }),
    },
  ],
  guard({ name, version, open }, file) {
    const callOf = (part: string): UserCall => ({
      file,
      part: `sandboxProviders: '${name}': ${part}`,
      code: 'module.invalid',
      hint: 'the type Provider is in rlanything/environments',
    })
    const isProvider: Check = (provider) => {
      for (const field of ['run', 'close'] as const)
        if (typeof (provider as Partial<Provider> | undefined)?.[field] !== 'function')
          return ` gave no function \`${field}\``
      return null
    }
    return {
      name,
      version,
      async open(options) {
        const provider = await callWithin(callOf('open()'), null, () => open(options), isProvider)
        const run: Provider['run'] = (...asked) =>
          callWithin(callOf('run()'), null, () => provider.run(...asked))
        return { ...flattened(provider), run }
      },
    }
  },
})

/**
 * Returns what is wrong with a provider that a config names, or null. A user's module must have been loaded.
 */
export function wrongSandbox(sandbox: {
  readonly provider: string
  readonly module: string | null
}): { readonly message: string; readonly hint: string } | null {
  const { provider, module } = sandbox
  const safe = SANDBOXES.all(module).filter(({ unsafe }) => !unsafe)
  if (provider === 'auto' || safe.some(({ name }) => name === provider)) return null
  return {
    message: `there is no sandbox provider '${provider}' for a config`,
    hint: `there are auto, ${safe.map(({ name }) => name).join(', ')}; environment.coding.sandbox.module can name a module with your own`,
  }
}

function keyOf(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined
  const key = process.env[variable]
  if (key === undefined)
    throw new RlError(`the environment variable ${variable} is not set`, {
      code: 'coding.no-key',
      hint: 'environment.coding.sandbox.apiKeyEnv names the variable that holds the key of the sandbox server',
    })
  return key
}

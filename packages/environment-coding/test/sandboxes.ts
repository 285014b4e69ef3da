/** The providers that work on this machine, started once for a test file. */

import { explain } from 'rlanything/kit'
import { selfTest } from '../src/choose.ts'
import type { Provider } from '../src/provider.ts'
import { createBwrapProvider } from '../src/providers/bwrap.ts'
import { createProcessProvider } from '../src/providers/process.ts'
import { createPyodideProvider } from '../src/providers/pyodide.ts'

const OPEN = {
  bwrap: () => createBwrapProvider(),
  pyodide: () => createPyodideProvider({ concurrency: 1 }),
  process: () => createProcessProvider({ allowUnsafe: true, warn: () => {} }),
}

/** The provider, or null and a SKIP line where it does not pass its self-test here. */
export async function openProvider(name: keyof typeof OPEN): Promise<Provider | null> {
  let provider: Provider | null = null
  try {
    provider = await OPEN[name]()
    await selfTest(provider)
    return provider
  } catch (error) {
    await provider?.close()
    process.stdout.write(`SKIP ${name}: ${explain(error)}\n`)
    return null
  }
}

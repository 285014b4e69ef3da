/** The sandbox and the problems that commands are called with. */
import { printLine, RlError, wholeNumber } from 'rlanything/kit'
import { type ChosenExecutor, chooseExecutor } from '../choose.ts'
import { readProblems } from '../dataset.ts'
import { SANDBOXES } from '../providers/registry.ts'

export type SandboxValues = {
  readonly provider: string
  readonly url?: string
  readonly 'allow-unsafe': boolean
  readonly concurrency?: string
  readonly json: boolean
}

export type DataValues = { readonly data?: readonly string[]; readonly tests?: string }

/** Does something with the executor that the values name, and closes it. */
export async function withExecutor(
  { provider, url, 'allow-unsafe': allowUnsafe, concurrency, json }: SandboxValues,
  action: (chosen: ChosenExecutor) => Promise<number>,
): Promise<number> {
  if (provider !== 'auto' && !SANDBOXES.find(provider, null)) throw usage(`--provider is '${provider}'`)
  const chosen = await chooseExecutor({
    provider,
    url,
    allowUnsafe,
    concurrency: concurrency === undefined ? undefined : wholeNumber('--concurrency', concurrency, 1),
  })
  if (!json) printLine(`${chosen.name}: ${chosen.reason}`)
  try {
    return await action(chosen)
  } finally {
    await chosen.executor.close()
  }
}

/** The records of `--data` and of the words beside the options. */
export function recordsOf({ data = [], tests }: DataValues, files: readonly string[]) {
  if (data.length + files.length === 0) throw usage('--data is missing')
  return readProblems(
    [...data, ...files],
    tests === undefined ? {} : { tests: wholeNumber('--tests', tests, 1) },
  )
}

export const usage = (message: string) => new RlError(message, { code: 'cli.usage', hint: 'see --help' })

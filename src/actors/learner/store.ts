/** The place of files that go to other hosts: the log, or the store that the config names. */
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { openS3 } from '../../platform/s3.ts'
import { readEvents } from '../rollout/log-queries.ts'

type Files = Pick<LogClient, 'putBlob' | 'getBlob'>

/** Resolves to `run.store` of the config that holds now, or undefined. */
export async function storeOf(log: LogClient): Promise<string | undefined> {
  const { events } = await readEvents(log, 1, ['RunStarted'])
  const run = events.at(-1)?.data.config.run as { readonly store?: unknown } | undefined
  return typeof run?.store === 'string' ? run.store : undefined
}

/**
 * Does something with the store of an address, or with the log if there is none.
 * @throws RlError those of `openS3`, and those of its calls: `store.unreachable`, `store.missing`, `store.refused`, `store.corrupt`
 */
export async function inStore<T>(
  log: Files,
  address: string | undefined,
  work: (files: Files) => Promise<T>,
): Promise<T> {
  if (address === undefined) return work(log)
  if (!address.startsWith('s3://'))
    throw new RlError(`${JSON.stringify(address).slice(0, 200)} is no store that this version knows`, {
      code: 'store.bad-url',
      hint: 'install the version of the head on this host',
    })
  const store = await openS3(address)
  try {
    return await work(store)
  } finally {
    store.close()
  }
}

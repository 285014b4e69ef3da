import { RlError } from '../../errors.ts'
import { startThread } from '../../package.ts'
import {
  type CallName,
  type Calls,
  type FromWorker,
  fromPlain,
  type Ready,
  type TokenEvent,
  type ToWorker,
  type WorkerOptions,
} from './messages.ts'

type CallOptions = { readonly signal?: AbortSignal; readonly onToken?: (event: TokenEvent) => void }

export type ModelThread = {
  readonly ready: Ready
  /** @throws RlError `model.aborted`, `model.closed` or `model.crashed`, and the errors of the model */
  readonly call: <Name extends CallName>(
    name: Name,
    argument: Calls[Name][0],
    options?: CallOptions,
  ) => Promise<Calls[Name][1]>
  readonly close: () => Promise<void>
}

type Pending = {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  readonly onToken?: (event: TokenEvent) => void
}

/**
 * Starts the thread of a model (worker.ts) and waits until the model is open. Without pending calls the thread does not keep the process
 * alive.
 * @throws RlError of the opening
 */
export async function startModelThread(workerData: WorkerOptions): Promise<ModelThread> {
  const worker = startThread(new URL('./worker.ts', import.meta.url), workerData)
  const pending = new Map<number, Pending>()
  let lastId = 0
  let ended: RlError | undefined

  const settle = (id: number): Pending | undefined => {
    const call = pending.get(id)
    pending.delete(id)
    if (pending.size === 0) worker.unref()
    return call
  }
  const ready = await new Promise<Ready>((resolve, reject) => {
    const end = (error: RlError) => {
      ended ??= error
      for (const { reject } of pending.values()) reject(ended)
      pending.clear()
      reject(error)
    }
    worker.on('message', (message: FromWorker) => {
      if ('ready' in message) resolve(message.ready)
      else if ('token' in message) pending.get(message.id)?.onToken?.(message.token)
      else if ('value' in message) settle(message.id)?.resolve(message.value as never)
      else if (message.id === 0) reject(fromPlain(message.error))
      else settle(message.id)?.reject(fromPlain(message.error))
    })
    worker.on('error', (cause) =>
      end(
        new RlError(`the model's thread failed: ${cause.message}`, {
          code: 'model.crashed',
          hint: 'open the model again',
          cause,
        }),
      ),
    )
    worker.on('exit', () =>
      end(new RlError('the model is closed', { code: 'model.closed', hint: 'open it again' })),
    )
  }).catch(async (error: unknown) => {
    await worker.terminate()
    throw error
  })
  worker.unref()

  const call: ModelThread['call'] = (name, argument, { signal, onToken } = {}) =>
    new Promise((resolve, reject) => {
      if (ended) throw ended
      if (signal?.aborted) throw aborted(signal)
      const id = ++lastId
      const abort = () => {
        send({ abort: id })
        settle(id)?.reject(aborted(signal!))
      }
      const send = (message: ToWorker) => worker.postMessage(message)
      const without =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          signal?.removeEventListener('abort', abort)
          then(value)
        }
      pending.set(id, { resolve: without(resolve), reject: without(reject), onToken })
      worker.ref()
      signal?.addEventListener('abort', abort, { once: true })
      send({ id, call: name, argument })
    })

  let closing: Promise<void> | undefined
  return {
    ready,
    call,
    close() {
      closing ??= (async () => {
        if (!ended) await call('close', null).catch(() => {})
        await worker.terminate()
      })()
      return closing
    },
  }
}

function aborted(signal: AbortSignal): RlError {
  return new RlError('the call was cancelled', { code: 'model.aborted', cause: signal.reason })
}

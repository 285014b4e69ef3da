/** The thread of a local model, with tensors, sampler and trainer. Calls arrive and results leave as messages. */
import { parentPort, type Transferable, workerData } from 'node:worker_threads'
import {
  type CallName,
  type Calls,
  type FromWorker,
  type ToWorker,
  toPlain,
  type WorkerOptions,
} from './messages.ts'
import { openResidentModel, type ResidentModel } from './resident.ts'

const port = parentPort!
const aborts = new Map<number, AbortController>()
/** Resolves when the last exclusive call has ended. */
let exclusive: Promise<unknown> = Promise.resolve()

function send(message: FromWorker, transfer: Transferable[] = []): void {
  port.postMessage(message, transfer)
}

/** Serves a call. Sampling calls run side by side. Every other call waits for earlier ones and then runs alone. */
async function serve(model: ResidentModel, id: number, call: CallName, argument: Calls[CallName][0]) {
  if (call === 'generate') {
    const controller = new AbortController()
    aborts.set(id, controller)
    await exclusive
    const { requests, streaming } = argument as Calls['generate'][0]
    const results = await model.generate(
      requests,
      controller.signal,
      streaming ? (token) => send({ id, token }) : undefined,
    )
    const buffers = results.flatMap(({ tokens, logprobs, promptTokens }) => [tokens, logprobs, promptTokens])
    send(
      { id, value: results },
      buffers.map(({ buffer }) => buffer as ArrayBuffer),
    )
    return
  }
  const turn = exclusive.then(async () => {
    await model.idle()
    return await model[call](argument as never)
  })
  exclusive = turn.catch(() => {})
  const value = await turn
  send(
    { id, value },
    call === 'score' ? (value as Float32Array[]).map(({ buffer }) => buffer as ArrayBuffer) : [],
  )
}

try {
  const model = await openResidentModel(workerData as WorkerOptions)
  port.on('message', (message: ToWorker) => {
    if ('abort' in message) {
      aborts.get(message.abort)?.abort()
      return
    }
    const { id, call, argument } = message
    serve(model, id, call, argument)
      .catch((error: unknown) => send({ id, error: toPlain(error) }))
      .finally(() => aborts.delete(id))
  })
  send({ ready: model.ready })
} catch (error) {
  send({ id: 0, error: toPlain(error) })
}

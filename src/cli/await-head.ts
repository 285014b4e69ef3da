/** Processes beside a run may be started before its head: they wait for it. */
import { existsSync } from 'node:fs'
import { configsOf } from '../actors/configs.ts'
import { addressOf } from '../actors/start.ts'
import { readConnection, runFolder } from '../broker/connection.ts'
import { pause } from '../clock.ts'
import { explain, RlError } from '../errors.ts'
import { connectLog } from '../events/log-client.ts'
import { openLogReader } from '../events/log-reader.ts'
import { connectBus } from '../events/nats/connect.ts'
import type { User } from '../events/users.ts'

const AGAIN_MS = 500
/** A head fetches models and makes its plan before it can be reached. */
const WAIT_MS = 600_000
/** Errors of a head that is not there yet, or that is starting. */
const SOON = new Set([
  ...['bus.unreachable', 'bus.no-responder', 'bus.timeout', 'bus.disconnected'],
  // A log is a file before anything stands in it.
  ...['run.not-started', 'actor.head-gone', 'run.no-head', 'log.not-a-log'],
])

type Waiting = {
  readonly run: string
  readonly nats: string | null
  readonly user: User
  /** Called once if the head has to be waited for. */
  readonly say: (line: string) => void
  readonly waitMs?: number
  /** Ends the waiting. The error is then that of the last try. */
  readonly signal?: AbortSignal
}

/** Resolves when the head of the run answers. Rejects after ten minutes with the reason why it did not. */
export async function awaitHead(waiting: Waiting): Promise<void> {
  const { run, say, waitMs = WAIT_MS, signal } = waiting
  const until = performance.now() + waitMs
  for (let told = false; ; told = true)
    try {
      return await ask(waiting)
    } catch (error) {
      const isOver = signal?.aborted || performance.now() > until
      if (!(error instanceof RlError) || !SOON.has(error.code) || isOver) throw error
      if (!told) say(`waiting for the head of run '${run}': ${explain(error)}`)
      await pause(AGAIN_MS)
    }
}

/**
 * A run that is over gets no head any more.
 * @throws RlError `run.over`
 */
function refuseOver(run: string): void {
  const { log: path } = runFolder(run)
  if (!existsSync(path)) return
  const log = openLogReader(path)
  try {
    if (log.positionOf('key', 'RunCompleted') === null) return
    throw new RlError(`run '${run}' is complete: it has no head any more`, {
      code: 'run.over',
      hint: `go on in a fork: npm run -s rl -- fork ${run} --at POSITION --set run.iterations=N`,
    })
  } finally {
    log.close()
  }
}

async function ask({ run, nats, user }: Waiting): Promise<void> {
  if (nats === null) refuseOver(run)
  if (nats === null && readConnection(runFolder(run).connection) === null)
    throw new RlError('it is not on this machine yet', {
      code: 'run.no-head',
      hint: `npm start -- --role head --run ${run} starts it; --nats names one elsewhere`,
    })
  const bus = await connectBus({ ...addressOf(run, nats, user), name: 'waiting' })
  const log = connectLog({ bus, run, actor: user })
  try {
    await configsOf(log)
  } finally {
    log.close()
    await bus.close()
  }
}

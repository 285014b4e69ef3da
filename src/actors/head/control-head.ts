/** Asks the running head of a run to pause or to resume it. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type RunFolder, readConnection, readCredentials, toolAddress } from '../../broker/connection.ts'
import { unknownRun } from '../../broker/run-names.ts'
import { explain, RlError } from '../../errors.ts'
import type { BusAddress } from '../../events/bus.ts'
import { parseRequest } from '../../events/log-protocol.ts'
import { openLogReader } from '../../events/log-reader.ts'
import { type Bounds, pack } from '../../events/msgpack.ts'
import { connectBus } from '../../events/nats/connect.ts'
import { subjectsOf } from '../../events/subjects.ts'
import { CONTROL, type ControlAction, type ControlAnswer, controlAnswer, unsteerable } from './control.ts'
import { MOVE, type MoveAnswer, moveAnswer } from './move.ts'

const TIMEOUT_MS = 5_000
const BOUNDS: Bounds = { bytes: 256 * 1024, values: 256 }

/**
 * Pauses or resumes a run through its head.
 *
 * @param reason why, for the log: 200 characters at most
 * @returns the state of the run and what is still in hand; `changed` is false if the run was in that state before
 * @throws RlError `run.unknown`, `run.over`, `run.failed`, `run.no-head` (no head runs, or it cannot be reached), `run.no-control` (its
 * head takes no such request), `log.disk-full` (the disk has paused the run), `bus.bad-request`, and those of the bus
 * @example const { since, inHand } = await controlHead(runFolder('run-1'), 'pause', 'the machine is needed')
 */
export async function controlHead(
  folder: RunFolder,
  action: ControlAction,
  reason?: string,
): Promise<ControlAnswer> {
  const request = { action, ...(reason === undefined ? {} : { reason }) }
  return parseRequest(controlAnswer, await ask(folder, CONTROL, request), BOUNDS)
}

/**
 * Moves the head of a run to the standby of another host.
 *
 * @throws RlError `head.no-standby`, and as `controlHead`
 * @example await moveHead(runFolder('run-1'), 'host-b')
 */
export async function moveHead(folder: RunFolder, host: string): Promise<MoveAnswer> {
  return parseRequest(moveAnswer, await ask(folder, MOVE, { host }), BOUNDS)
}

async function ask(folder: RunFolder, call: string, request: object): Promise<Uint8Array> {
  refuseWithoutHead(folder)
  try {
    const bus = await connectBus({ ...addressFor(folder), timeoutMs: TIMEOUT_MS, name: 'rl' })
    try {
      return await bus.request(subjectsOf(folder.run).call(call), pack(request), { timeoutMs: TIMEOUT_MS })
    } finally {
      await bus.close()
    }
  } catch (error) {
    throw named(error, folder)
  }
}

/** Says what is wrong, as far as it can be seen without the head. */
function refuseWithoutHead(folder: RunFolder): void {
  if (!existsSync(folder.log)) throw unknownRun(folder.run, dirname(folder.folder))
  const log = openLogReader(folder.log)
  try {
    const why = unsteerable(log)
    if (why) throw why
  } finally {
    log.close()
  }
}

/** Returns the address of the operator on a broker of the head's own, and else that of the connection. */
function addressFor(folder: RunFolder): BusAddress {
  const { run } = folder
  const connection = readConnection(folder.connection)
  if (connection === null) throw noHead(run, `no head of run '${run}' is running`)
  if (connection.user !== 'tool') return toolAddress(connection)
  const operator = readCredentials(folder, 'operator')
  if (operator === null) throw noControl(run)
  return { ...operator, url: connection.url }
}

function named(error: unknown, { run }: RunFolder): unknown {
  if (!(error instanceof RlError)) return error
  if (error.code === 'bus.unreachable')
    return noHead(run, `the head of run '${run}' cannot be reached: ${explain(error)}`)
  if (error.code === 'bus.no-responder') return noControl(run)
  return error
}

function noHead(run: string, message: string): RlError {
  return new RlError(message, {
    code: 'run.no-head',
    hint: `npm start -- --role head --run ${run} goes on with it`,
  })
}

function noControl(run: string): RlError {
  return new RlError(`the head of run '${run}' takes no requests to pause or resume`, {
    code: 'run.no-control',
    hint: 'it starts or ends just now, is of an older version, or records agents; Ctrl-C ends it in good order',
  })
}

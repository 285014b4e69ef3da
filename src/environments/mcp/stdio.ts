/** A server that is a program of its own for each session. It ends with the session, and so do its children. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { pause } from '../../clock.ts'
import { lastWords, spawnGuardedChild } from '../../platform/guarded-child.ts'
import { plainEnvironment } from '../../platform/processes.ts'
import { boundedLines } from '../sessions/bounded-lines.ts'
import { broken, infra } from '../sessions/fault.ts'
import { variablesOf } from '../sessions/variables.ts'
import type { Sdk } from './sdk.ts'
import type { ServerSpec } from './section.ts'
import { createMeter, MOST_BYTES, type ServerTransport } from './transport.ts'

/** Time in which a program may end by itself after its input has ended, ms. */
const POLITE_MS = 500

/** Starts the program. It gets no variables but plain ones and those that are named. */
export function startProgram(name: string, { command, env }: ServerSpec, sdk: Sdk): ServerTransport {
  const child = spawnGuardedChild(command, {
    env: { ...plainEnvironment(), ...variablesOf(env, `env of server '${name}'`) },
  })
  const meter = createMeter()
  let gone: Error | null = null
  const words = lastWords(child.stderr)

  function fail(error: Error): void {
    if (gone) return
    gone = error
    lines.stop()
    void child.end()
    transport.onclose?.()
  }

  const lines = boundedLines(MOST_BYTES, {
    line: take,
    tooLong: () => fail(broken(`server '${name}' sends a message of more than ${MOST_BYTES} bytes`)),
  })

  function take(line: Buffer): void {
    const text = line.toString('utf8').trim()
    const message = messageIn(text, sdk)
    if (meter.isFlood(line.length, 1)) fail(broken(`server '${name}' sends what nobody asked for`))
    else if (message) transport.onmessage?.(message)
    else if (text !== '') fail(broken(`server '${name}' sends no message of JSON-RPC: ${text.slice(0, 100)}`))
  }

  child.stdout.on('data', lines.take)
  void child.ended.then((why) =>
    fail(infra(`server '${name}': ${why}${words() === '' ? '' : `: ${words()}`}`)),
  )

  async function end(): Promise<void> {
    if (!gone) {
      child.stdin.end()
      await Promise.race([child.ended, pause(POLITE_MS)])
    }
    fail(infra(`server '${name}' was ended`))
    await child.end()
  }

  // The client takes a transport with these two for one by standard streams.
  const transport: Transport & { readonly stderr: null; readonly pid: number | undefined } = {
    stderr: null,
    pid: child.pid,
    async start() {},
    async send(message) {
      if (gone) throw gone
      meter.sent(message)
      child.stdin.write(`${JSON.stringify(message)}\n`)
    },
    close: end,
  }
  return { transport, fault: () => gone, end }
}

function messageIn(text: string, sdk: Sdk): JSONRPCMessage | null {
  try {
    return sdk.parseJSONRPCMessage(JSON.parse(text))
  } catch {
    return null
  }
}

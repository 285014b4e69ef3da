/** A connected server: its tools, and calls of them. Each question has a deadline. */
import type { CallToolResult, Client, Tool } from '@modelcontextprotocol/client'
import { within } from '../../clock.ts'
import { explain, RlError } from '../../errors.ts'
import { packageVersion } from '../../package.ts'
import { broken, connectionWords, infra, isKeyRefused } from '../sessions/fault.ts'
import { connectByHttp } from './http.ts'
import type { Sdk } from './sdk.ts'
import type { ServerSpec } from './section.ts'
import { startProgram } from './stdio.ts'
import type { ServerTransport } from './transport.ts'

const MOST_PAGES = 64
/** Most characters of all tools of a server: a model reads them in each turn. */
const MOST_CHARACTERS = 256 * 1024

export type { CallToolResult, Tool }

export type ToolServer = {
  readonly name: string
  readonly tools: readonly Tool[]
  /** Words of the server about itself, for a model. */
  readonly instructions: string
  /** Resolves to the result, or to the server's reason for none. */
  readonly call: (
    tool: Tool,
    values: Readonly<Record<string, unknown>>,
  ) => Promise<CallToolResult | { readonly refused: string }>
  /** Never rejects. */
  readonly end: () => Promise<void>
}

type Connected = { readonly client: Client; readonly way: ServerTransport }
export type Connecting = { readonly sdk: Sdk; readonly timeoutMs: number }

/**
 * Starts a program or connects to an address, and lists the tools.
 *
 * @throws RlError `rollout.infra` if it cannot be reached, ends, or does not answer in time; `environment.answer` if it breaks the
 *   protocol
 */
export async function connectServer(
  name: string,
  spec: ServerSpec,
  { sdk, timeoutMs }: Connecting,
): Promise<ToolServer> {
  const { client, way } = await connect(name, spec, { sdk, timeoutMs })

  async function ask<Answer>(what: string, work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await within(work(), timeoutMs, () => late(name, what, timeoutMs))
    } catch (cause) {
      throw faultOf(cause, name, way, sdk)
    }
  }

  async function toolsOf(): Promise<readonly Tool[]> {
    if (!client.getServerCapabilities()?.tools) return []
    const tools: Tool[] = []
    let cursor: string | undefined
    for (let page = 0; page < MOST_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor }
      const asking = { timeout: timeoutMs }
      const answer = await ask('list of tools', () =>
        client.request({ method: 'tools/list', params }, asking),
      )
      tools.push(...answer.tools)
      if (JSON.stringify(tools).length > MOST_CHARACTERS)
        throw broken(`the tools of server '${name}' have more than ${MOST_CHARACTERS} characters`)
      cursor = answer.nextCursor
      if (cursor === undefined) return tools
    }
    throw broken(`the tools of server '${name}' have more than ${MOST_PAGES} pages`)
  }

  try {
    return {
      name,
      tools: await toolsOf(),
      instructions: client.getInstructions() ?? '',
      async call(tool, values) {
        const asking = { timeout: timeoutMs, toolDefinition: tool }
        return ask(`answer of ${tool.name}`, async () => {
          try {
            return await client.callTool({ name: tool.name, arguments: { ...values } }, asking)
          } catch (error) {
            if (sdk.ProtocolError.isInstance(error)) return { refused: `${error.code}: ${error.message}` }
            throw error
          }
        })
      },
      end: way.end,
    }
  } catch (error) {
    await way.end()
    throw error
  }
}

/** A server of the years before 2026 and one of today agree on a handshake. One of today alone refuses it, and is asked anew. */
async function connect(name: string, spec: ServerSpec, connecting: Connecting): Promise<Connected> {
  try {
    return await connectAs('legacy', name, spec, connecting)
  } catch (error) {
    if (error instanceof RlError && error.code === 'mcp.handshake')
      return connectAs('auto', name, spec, connecting)
    throw error
  }
}

async function connectAs(
  mode: 'legacy' | 'auto',
  name: string,
  spec: ServerSpec,
  { sdk, timeoutMs }: Connecting,
): Promise<Connected> {
  const way = spec.url === null ? startProgram(name, spec, sdk) : connectByHttp(name, spec, sdk)
  const client = new sdk.Client(
    { name: 'rlanything', version: packageVersion() },
    {
      // Results are shown to a model as they are. The default would make code from a server's schema.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
      versionNegotiation: { mode, probe: { timeoutMs } },
    },
  )
  try {
    const connecting = client.connect(way.transport, { timeout: timeoutMs })
    await within(connecting, timeoutMs * 2, () => late(name, 'connection', timeoutMs))
    return { client, way }
  } catch (cause) {
    const refused = mode === 'legacy' && !way.fault() && isRefusal(cause, sdk)
    const fault = refused
      ? new RlError(`server '${name}': ${explain(cause)}`, { code: 'mcp.handshake' })
      : faultOf(cause, name, way, sdk)
    await way.end()
    throw fault
  }
}

/** Whether an error says that a server does not take this handshake. By HTTP the status is 400. */
function isRefusal(cause: unknown, sdk: Sdk): boolean {
  return sdk.ProtocolError.isInstance(cause) || (sdk.SdkHttpError.isInstance(cause) && cause.status === 400)
}

const late = (name: string, what: string, timeoutMs: number): RlError =>
  infra(`server '${name}': no ${what} within ${timeoutMs / 1000} s`)

/** Codes of the client for answers that break the protocol. Other faults are of the infrastructure. */
const BROKEN: ReadonlySet<unknown> = new Set([
  'INVALID_RESULT',
  'UNSUPPORTED_RESULT_TYPE',
  'INPUT_REQUIRED_ROUNDS_EXCEEDED',
  'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
  'ERA_NEGOTIATION_FAILED',
  'CLIENT_HTTP_UNEXPECTED_CONTENT',
])

function faultOf(cause: unknown, name: string, way: ServerTransport, sdk: Sdk): Error {
  const own = way.fault()
  if (own) return own
  if (cause instanceof RlError) return cause
  const said = `server '${name}': ${connectionWords(cause).slice(0, 1_000)}`
  const isSdk = sdk.SdkError.isInstance(cause)
  if (isSdk ? BROKEN.has(cause.code) : isNonsense(cause, sdk))
    return broken(said, 'rl mcp check tells what the server speaks')
  const isRefused = sdk.SdkHttpError.isInstance(cause) && isKeyRefused(cause.status)
  return infra(
    said,
    cause,
    isRefused ? 'tokenEnv of the server names the variable with its token' : undefined,
  )
}

/** Whether an error says that an answer could not be read, or is of another version. */
function isNonsense(cause: unknown, sdk: Sdk): boolean {
  // A RangeError: what it sends is nested too deeply.
  if (cause instanceof SyntaxError || cause instanceof RangeError) return true
  if (sdk.ProtocolError.isInstance(cause)) return true
  return cause instanceof Error && (cause.name === 'ZodError' || /protocol version/i.test(cause.message))
}

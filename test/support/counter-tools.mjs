// Tools of a counter that a task brings to a number, as an MCP server answers for them.

const text = (said, more = {}) => ({ content: [{ type: 'text', text: said }], ...more })

/** JSON Schema of an object with these fields, all of them required. */
const object = (properties) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

const TOOLS = [
  {
    name: 'add',
    description: 'Adds a number from 1 to 3 to the counter.',
    inputSchema: object({ by: { type: 'integer', minimum: 1, maximum: 3 } }),
  },
  { name: 'read', description: 'Reads the counter.', inputSchema: object({}) },
  {
    name: 'set',
    description: 'Sets the counter.',
    inputSchema: object({ to: { type: 'integer' }, why: { type: 'string' } }),
  },
  { name: 'fail', description: 'Fails.', inputSchema: object({}) },
  { name: 'picture', description: 'A picture.', inputSchema: object({}) },
  {
    name: 'secret',
    description: 'Reads a variable.',
    inputSchema: object({ name: { type: 'string' } }),
  },
]

/** Tools of a page of the list. */
const PAGE = 4

/**
 * Returns a counter: a function from a message to its answer, or to null if it gets none.
 *
 * @param version version of the protocol that it speaks
 */
export function createCounter(version = '2025-11-25') {
  let count = 0

  function call({ name, arguments: values = {} }) {
    switch (name) {
      case 'add':
        count += values.by
        return text(`the counter is ${count}`)
      case 'read':
        return text(JSON.stringify({ count }), { structuredContent: { count } })
      case 'set':
        count = values.to
        return text('done')
      case 'fail':
        return text('it failed', { isError: true })
      case 'picture':
        return { content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] }
      case 'secret':
        return text(process.env[values.name] ?? 'nothing')
      default:
        return null
    }
  }

  return function answer({ id, method, params }) {
    if (id === undefined) return null
    switch (method) {
      case 'initialize':
        return {
          id,
          result: {
            protocolVersion: version,
            capabilities: { tools: {} },
            serverInfo: { name: 'counter', version: '1.0.0' },
            instructions: 'A counter.',
          },
        }
      case 'tools/list': {
        const from = Number(params?.cursor ?? 0)
        const next = from + PAGE
        const more = next < TOOLS.length ? { nextCursor: String(next) } : {}
        return { id, result: { tools: TOOLS.slice(from, next), ...more } }
      }
      case 'tools/call': {
        const result = call(params)
        return result === null
          ? { id, error: { code: -32602, message: `unknown tool ${params.name}` } }
          : { id, result }
      }
      default:
        return { id, error: { code: -32601, message: 'unknown method' } }
    }
  }
}

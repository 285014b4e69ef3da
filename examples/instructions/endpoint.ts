/**
 * An endpoint whose success depends in a known way on its instructions. Three lessons help, three change nothing, three
 * harm. Chance decides within that: a seeded draw for each call. As the model `proposer` it proposes lessons of all
 * kinds, and sometimes nonsense.
 */
import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Change of the chance of success by each lesson. Without lessons it is `START`, more or less by task. */
export const EFFECTS: Readonly<Record<string, number>> = {
  'Read the whole question before you answer.': 0.28,
  'Check the result with a second way.': 0.28,
  'Answer with the number alone.': 0.28,
  'Be polite.': 0,
  'Write in short sentences.': 0,
  'Name the units that you use.': 0,
  'Answer at once, without thinking.': -0.2,
  'Round every number to tens.': -0.2,
  'Always answer with a joke first.': -0.2,
}
const START = 0.1
const BY_TASK = [-0.08, -0.04, 0, 0.04, 0.08]
const LESSONS = Object.keys(EFFECTS)

/** Answers of a proposer that nobody can use. */
const NONSENSE = [
  'I think that the agent does well.',
  '{"change": {"kind": "add"',
  '{"change": {"kind": "add", "lesson": ""}}',
  `{"change": {"kind": "add", "lesson": "${'very '.repeat(200)}long"}}`,
  '{"change": {"kind": "remove", "lesson": "a lesson that is not there"}}',
  '{"change": {"kind": "burn", "lesson": "everything"}, "and": "more"}',
]

type Message = { readonly role: string; readonly content: string }

/** Draws a number in [0, 1) for a text. Equal texts give equal numbers. */
function draw(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32
}

function oneOf(texts: readonly string[], turn: string): string {
  return texts[Math.floor(draw(`${turn} which`) * texts.length)]
}

export type TestEndpoint = { readonly url: string; readonly calls: () => number; readonly close: () => void }

export function answerer(seed: number) {
  const asked = new Map<string, number>()
  let proposals = 0

  function again(name: string): number {
    const count = (asked.get(name) ?? 0) + 1
    asked.set(name, count)
    return count
  }

  /** Mostly proposes what it did not read of. Sometimes it repeats what was tried, or says nonsense. */
  function propose(read: string): string {
    const turn = `${seed} proposal ${++proposals}`
    const kind = draw(`${turn} kind`)
    if (kind < 0.15) return oneOf(NONSENSE, turn)
    const unread = LESSONS.filter((lesson) => !read.includes(lesson))
    const lesson = oneOf(kind < 0.3 || unread.length === 0 ? LESSONS : unread, turn)
    return JSON.stringify({ change: { kind: 'add', lesson } })
  }

  return (model: string, messages: readonly Message[]): string => {
    if (model === 'proposer') return propose(messages.map(({ content }) => content).join('\n'))
    const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content)
    const lessons = LESSONS.filter((lesson) => system.join('\n').includes(lesson))
    const task = messages.at(-1)?.content ?? ''
    const chance = lessons.reduce((sum, lesson) => sum + EFFECTS[lesson], START)
    const byTask = BY_TASK[Math.floor(draw(task) * BY_TASK.length)]
    const name = `${seed} ${task} ${lessons.join()}`
    return draw(`${name} ${again(name)}`) < chance + byTask ? 'right' : 'wrong'
  }
}

export async function startTestEndpoint(seed: number, port = 0): Promise<TestEndpoint> {
  const answer = answerer(seed)
  let calls = 0
  const server: Server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const reply = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (request.method !== 'POST') return void reply(404, { error: { message: 'not found' } })
    calls++
    const { model, messages } = JSON.parse(Buffer.concat(parts).toString())
    const content = answer(model, messages)
    reply(200, {
      id: `chat-${calls}`,
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls: () => calls,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

if (process.argv[1] === import.meta.filename) {
  const [seed = '1', port = '8901'] = process.argv.slice(2)
  const { url } = await startTestEndpoint(Number(seed), Number(port))
  process.stdout.write(`listening on ${url}\n`)
}

/** Games by lines of JSON: on standard input and output, or on a socket of this machine. */
import { chmodSync, existsSync, rmSync, statSync } from 'node:fs'
import { createServer, connect as openSocket, type Socket } from 'node:net'
import { isAbsolute } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { wholeNumber } from '../../../command-line.ts'
import { RlError } from '../../../errors.ts'
import { DIFFICULTIES } from '../generator/size.ts'
import { openGames } from '../serving/games.ts'
import { serveLines } from '../serving/lines.ts'
import { gameTable, type TableOptions } from '../serving/table.ts'
import { TASK_TYPES, type TaskType } from '../tasks.ts'

export type ServeValues = {
  readonly data?: string
  readonly split?: string
  readonly types?: string
  readonly limit?: string
  readonly difficulty: string
  readonly seed: string
  readonly 'max-steps': string
  readonly 'max-slots': string
  readonly randomize: boolean
  readonly socket?: string
}

export async function serve(values: ServeValues): Promise<number> {
  if (values.socket === '') throw usage('--socket is empty', 'give the path of a socket')
  const difficulty = DIFFICULTIES.find((name) => name === values.difficulty)
  if (!difficulty)
    throw usage(`--difficulty is '${values.difficulty}'`, `use one of ${DIFFICULTIES.join(', ')}`)
  const { data, split } = values
  const limit = values.limit === undefined ? undefined : wholeNumber('--limit', values.limit, 1)
  const seed = wholeNumber('--seed', values.seed)
  const games = await openGames({ data, split, types: typesOf(values.types), limit, difficulty, seed })
  const maxSteps = wholeNumber('--max-steps', values['max-steps'])
  const options: TableOptions = {
    seed,
    maxSteps: maxSteps === 0 ? null : maxSteps,
    maxSlots: wholeNumber('--max-slots', values['max-slots'], 1),
    randomize: values.randomize,
  }
  const play = (input: Readable, output: Writable) =>
    serveLines(input, output, gameTable(games, options).answer)
  process.stderr.write(`${games.list.length} games, ${games.skipped} left out\n`)
  if (values.socket === undefined) await play(process.stdin, process.stdout)
  else await listenAt(pathOf(values.socket), (socket) => play(socket, socket))
  return 0
}

/** Node takes a number for a port, open to every host. */
const pathOf = (socket: string): string => (isAbsolute(socket) ? socket : `./${socket}`)

/** Serves connections until Ctrl-C. Each has slots of its own. The user alone can connect. */
async function listenAt(path: string, play: (socket: Socket) => Promise<void>): Promise<void> {
  await removeStale(path)
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {}) // It closes after an error.
    socket.on('close', () => void open.delete(socket))
    const end = () => void socket.destroy()
    play(socket).then(end, end)
  })
  const mask = process.umask(0o177)
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new RlError(`cannot listen on ${path}: ${cause.message}`, { code: 'server.listen', cause })),
    )
    server.listen(path, resolve)
  }).finally(() => process.umask(mask))
  chmodSync(path, 0o600)
  const stopped = new Promise<void>((stop) => {
    process.once('SIGINT', () => stop())
    process.once('SIGTERM', () => stop())
  })
  process.stdout.write(`${path}\n`)
  await stopped
  for (const socket of open) socket.destroy()
  await new Promise<void>((resolve) => server.close(() => resolve()))
}

/** Removes a socket at which nobody listens. Anything else stays. */
async function removeStale(path: string): Promise<void> {
  if (!existsSync(path)) return
  const answers = await new Promise<boolean>((resolve) => {
    const socket = openSocket(path, () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
  if (answers || !statSync(path).isSocket()) throw usage(`${path} is there already`, 'name another --socket')
  rmSync(path)
}

/** Task types by ALFWorld's numbers, or by their names. */
function typesOf(text: string | undefined): readonly TaskType[] | undefined {
  return text?.split(',').map((word) => {
    const found = TASK_TYPES.find((type, index) => type === word.trim() || String(index + 1) === word.trim())
    if (found) return found
    throw usage(`--types has '${word.slice(0, 100)}'`, `numbers from 1 to 6, or ${TASK_TYPES.join(', ')}`)
  })
}

const usage = (message: string, hint: string) => new RlError(message, { code: 'cli.usage', hint })

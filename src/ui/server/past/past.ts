/**
 * The past of a run: the state and the context of every decider at any position, and the events by type. It is built
 * from the log a slice at a time. Pages go on meanwhile.
 */
import type { LoggedEvent } from '../../../events/catalogue.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import { BUCKET, CHUNK, type Chunk, type Counts, openChunks, type Transition } from './chunks.ts'
import { beginFold, type Fold, type Frame, frameKey } from './fold.ts'

export type Past = {
  /** Builds on. Returns false at the end of the log. */
  readonly build: () => boolean
  /** Everything up to here is built. */
  readonly built: () => number
  /**
   * Returns the deciders at a position, until the next call. Returns null if the position is not built yet.
   * @throws what the deciders throw
   */
  readonly foldTo: (position: number) => Fold | null
  /** Returns the newest transition of a role up to a position, or null. */
  readonly stateOf: (role: string, position: number) => Transition | null
  /** Calls for each bucket with its first position and its counts. */
  readonly eachBucket: (visit: (first: number, type: string, count: number) => void) => void
  readonly close: () => void
}

/** Number of events that are folded before other work gets its turn. */
const SLICE = 256
/** A position further from a frame is not folded on request. */
const MOST_FOLDED = 2 * CHUNK

/** The chunk that is being built. */
type Open = { transitions: Transition[]; counts: Counts }

/** @param path of the file that keeps what was built, or `:memory:` */
export function openPast(log: LogReader, path: string): Past {
  const file = openChunks(path, frameKey(log))
  let chunks: Chunk[] = []
  let fold = begin()
  let open = newChunk()
  let states = new Map<string, string>()
  /** The fold of the last question. The next one is often near. */
  let asked: Fold | null = null
  let askedHash = ''
  let builtHash = ''

  /** Takes what is kept, as far as it is of this log. */
  function begin(): Fold {
    try {
      chunks = ofThisLog(file.chunks())
      file.dropBeyond(chunks.at(-1)?.position ?? 0)
      return beginFold(log, frameBefore(Number.POSITIVE_INFINITY))
    } catch {
      // What cannot be read is built anew.
      chunks = []
      file.dropBeyond(0)
      return beginFold(log, null)
    }
  }

  function ofThisLog(kept: readonly Chunk[]): Chunk[] {
    const other = kept.findIndex(
      ({ position, hash }, i) => position !== (i + 1) * CHUNK || log.hashAt(position) !== hash,
    )
    return other === -1 ? [...kept] : kept.slice(0, other)
  }

  function frameBefore(position: number): Frame | null {
    const chunk = chunks[Math.min(chunks.length, Math.floor(position / CHUNK)) - 1]
    const found = chunk && file.statesAt(chunk.position)
    return found ? { position: chunk.position, states: found } : null
  }

  /** A log that was rolled back has other events at the same positions. */
  function forgetOtherLog(): void {
    const { position } = log.head()
    const isOther = (at: number, hash: string) => at > position || (at > 0 && log.hashAt(at) !== hash)
    if (asked !== null && isOther(asked.position(), askedHash)) asked = null
    if (!isOther(fold.position(), builtHash) || builtHash === '') return
    asked = null
    fold = begin()
    open = newChunk()
    builtHash = ''
    states = new Map()
  }

  function enter(event: LoggedEvent): void {
    fold.feed(event)
    const { position } = event
    const bucket = Math.floor(((position - 1) % CHUNK) / BUCKET)
    let counts = open.counts.get(event.type)
    if (!counts) {
      counts = new Uint8Array(CHUNK / BUCKET)
      open.counts.set(event.type, counts)
    }
    counts[bucket] = (counts[bucket] ?? 0) + 1
    for (const running of fold.deciders) {
      const { role } = running.decider
      if (!running.decider.interests.has(event.type) && states.has(role)) continue
      const state = running.state()
      if (states.get(role) === state) continue
      states.set(role, state)
      open.transitions.push({ position, role, state })
    }
    if (position % CHUNK === 0) closeChunk(position)
  }

  function closeChunk(position: number): void {
    const chunk = { position, hash: log.hashAt(position), ...open }
    file.add(chunk, fold.frame().states)
    chunks.push(chunk)
    open = newChunk()
  }

  return {
    build() {
      forgetOtherLog()
      const from = fold.position() + 1
      // After a return to a frame, the states of the deciders are known again.
      if (states.size === 0)
        for (const { decider, state } of fold.position() === 0 ? [] : fold.deciders)
          states.set(decider.role, state())
      for (const event of log.events({ from, until: from + SLICE - 1 })) enter(event)
      builtHash = log.hashAt(fold.position())
      return fold.position() < log.head().position
    },
    built: () => fold.position(),
    foldTo(position) {
      forgetOtherLog()
      const frame = chunks.length === 0 ? 0 : Math.min(chunks.length, Math.floor(position / CHUNK)) * CHUNK
      if (asked === null || asked.position() > position || asked.position() < frame) {
        if (position - frame > MOST_FOLDED) return null
        asked = beginFold(log, frameBefore(position))
      }
      for (const event of log.events({ from: asked.position() + 1, until: position })) asked.feed(event)
      askedHash = log.hashAt(asked.position())
      return asked
    },
    stateOf(role, position) {
      const lists = [...chunks.map(({ transitions }) => transitions), open.transitions]
      const first = Math.min(lists.length - 1, Math.floor((position - 1) / CHUNK))
      for (let i = first; i >= 0; i--) {
        const found = lists[i]?.findLast((one) => one.role === role && one.position <= position)
        if (found) return found
      }
      return null
    },
    eachBucket(visit) {
      for (const [i, { counts }] of [...chunks, open].entries())
        for (const [type, list] of counts)
          for (const [bucket, count] of list.entries())
            if (count > 0) visit(i * CHUNK + bucket * BUCKET + 1, type, count)
    },
    close: () => file.close(),
  }
}

function newChunk(): Open {
  return { transitions: [], counts: new Map() }
}

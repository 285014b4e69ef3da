import { RlError } from '../../errors.ts'
import { isRecord } from '../../is-record.ts'
import { advance, initialState } from './engine.ts'
import type { Game } from './game.ts'

/** A recorded episode. The first step has no command: it is the reset, which has no score. */
export type Transcript = {
  /** The game's path in its data set. */
  readonly game: string
  readonly kind: string
  readonly steps: readonly TranscriptStep[]
}
type TranscriptStep = {
  readonly cmd: string | null
  readonly obs: string
  readonly admissible: readonly string[]
  readonly won: boolean
  readonly score?: number | null
  readonly done?: boolean | null
}

export type Mismatch = {
  /** Index into the transcript's steps. */
  readonly step: number
  readonly field: string
  readonly expected: unknown
  readonly got: unknown
}

/** Reads one line of a transcript file. @param place for messages, e.g. `a.jsonl, line 3` */
export function parseTranscript(line: string, place: string): Transcript {
  const wrong = (what: string, cause?: unknown) =>
    new RlError(`${place}: ${what}`, {
      code: 'alfworld.transcript',
      hint: 'expected {game, kind, steps}',
      cause,
    })
  let data: unknown
  try {
    data = JSON.parse(line)
  } catch (cause) {
    throw wrong('no valid JSON', cause)
  }
  if (!isRecord(data) || typeof data.game !== 'string' || !Array.isArray(data.steps))
    throw wrong('no recorded episode')
  for (const [i, step] of data.steps.entries()) {
    if (
      !isRecord(step) ||
      typeof step.obs !== 'string' ||
      !isTexts(step.admissible) ||
      typeof step.won !== 'boolean'
    )
      throw wrong(`step ${i} lacks obs, admissible or won`)
    if (i === 0 ? step.cmd !== null : typeof step.cmd !== 'string')
      throw wrong(`step ${i} must have ${i === 0 ? 'the command null' : 'a command'}`)
  }
  return { game: data.game, kind: String(data.kind ?? ''), steps: data.steps }
}

/** Replays a recorded episode, past its end too, and yields the steps that differ: the first field that does. */
export function* verifyTranscript(game: Game, { steps }: Transcript): Generator<Mismatch> {
  let state = initialState(game)
  for (const [i, recorded] of steps.entries()) {
    if (recorded.cmd !== null) state = advance(state, recorded.cmd)
    const fields: [field: string, expected: unknown, got: unknown][] = [
      ['obs', recorded.obs, state.observation],
      ['won', recorded.won, state.won],
      ['score', recorded.score ?? state.score, state.score],
      ['done', recorded.done ?? state.done, state.done],
    ]
    const differs = fields.find(([, expected, got]) => expected !== got)
    if (differs) yield { step: i, field: differs[0], expected: differs[1], got: differs[2] }
    else if (!sameList(recorded.admissible, state.admissible))
      yield { step: i, field: 'admissible', expected: recorded.admissible, got: state.admissible }
  }
}

const sameList = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((item, i) => item === b[i])

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

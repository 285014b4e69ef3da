/** The five deciders of a run, fed with its log up to one position. */
import { deserialize, serialize } from 'node:v8'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import {
  type DeciderState,
  type RunningDecider,
  resumeDecider,
  startDecider,
} from '../../../actors/decider/decider.ts'
import { decidersOf } from '../../../actors/deciders.ts'
import { loggedConfig } from '../../../config.ts'
import type { LoggedEvent } from '../../../events/catalogue.ts'
import type { Role } from '../../../events/envelope.ts'
import type { LogReader } from '../../../events/log-reader.ts'
import { startsOf } from '../../../events/starts.ts'

/** States of all deciders at a position, encoded. */
export type Frame = { readonly position: number; readonly states: Uint8Array }

export type Fold = {
  /** Everything up to here was fed. */
  readonly position: () => number
  readonly deciders: readonly RunningDecider[]
  readonly feed: (event: LoggedEvent) => void
  /** Encodes the present states. */
  readonly frame: () => Frame
}

/**
 * Begins a fold at the first event of a log, or goes on from a frame.
 * @throws RlError `run.not-started`, and those of rules that this process does not have
 */
export function beginFold(log: LogReader, from: Frame | null): Fold {
  const states = from === null ? null : decode(from)
  let position = from?.position ?? 0
  const deciders = decidersOf(loggedConfig(startsOf(log).first.data.config)).map((decider) =>
    states === null ? startDecider(decider) : resumeDecider(decider, states[decider.role]),
  )
  return {
    position: () => position,
    deciders,
    feed(event) {
      for (const running of deciders) running.handle(event)
      position = event.position
    },
    frame() {
      const entries = deciders.map((running) => [running.decider.role, running.snapshot()] as const)
      return { position, states: deflateRawSync(serialize(Object.fromEntries(entries)), { level: 1 }) }
    },
  }
}

function decode({ states }: Frame): Readonly<Record<Role, DeciderState>> {
  return deserialize(inflateRawSync(states)) as Readonly<Record<Role, DeciderState>>
}

/** Names what a frame depends on, besides the log. V8 reads only data of its own or an older version. */
export function frameKey(log: LogReader): string {
  const versions = decidersOf(loggedConfig(startsOf(log).first.data.config)).map(
    ({ role, version }) => `${role} ${version}`,
  )
  return JSON.stringify({ versions, v8: process.versions.v8 })
}

/**
 * Brings old schema versions of events to the newest one when they are read. The log itself never changes.
 * To raise `v` of a type in the catalogue takes two things: a function here that turns data of the old version into
 * data of the new one, and a fixture test/fixtures/events/<Type>.v<old>.json (a test holds that both are there).
 */
import { RlError } from '../errors.ts'
import { CATALOGUE, type EventType } from './catalogue.ts'

/** Turns data of one version into data of the next. Pure. */
type Upcaster = (data: Readonly<Record<string, unknown>>) => Record<string, unknown>

/** By type, then by the old version. */
export type Upcasters = { readonly [T in EventType]?: Readonly<Record<number, Upcaster>> }

/** For a version that only added optional keys. */
const unchanged: Upcaster = (data) => ({ ...data })

export const UPCASTERS: Upcasters = {
  ActorStarted: { 1: (data) => ({ ...data, node: 'unknown' }), 2: unchanged },
  RunStarted: { 1: unchanged },
  RunResumed: { 1: unchanged },
  CheckpointShared: { 1: unchanged },
  IterationPlanned: { 1: unchanged, 2: unchanged },
  RolloutRequested: { 1: unchanged, 2: unchanged, 3: unchanged },
  TaskAdded: { 1: unchanged },
  TrajectoryCompleted: { 1: unchanged, 2: unchanged, 3: unchanged, 4: unchanged },
  StepScored: { 1: unchanged, 2: unchanged, 3: unchanged, 4: unchanged },
  UnitTestWritten: { 1: unchanged, 2: unchanged, 3: unchanged },
  BatchReady: { 1: unchanged },
  PolicyUpdated: { 1: unchanged },
  RewardModelUpdated: { 1: unchanged },
}

/** Turns data of version `v` into data of version `newest`, one step at a time. */
export function upcast(
  type: EventType,
  v: number,
  data: unknown,
  { upcasters = UPCASTERS, newest = CATALOGUE[type].v }: { upcasters?: Upcasters; newest?: number } = {},
): unknown {
  if (v > newest)
    throw new RlError(`${type} has version ${v}, this code knows versions up to ${newest}`, {
      code: 'event.unknown-version',
      hint: 'read it with the version of the code that wrote it, or a newer one',
    })
  let current = data
  for (let version = v; version < newest; version++) {
    const step = upcasters[type]?.[version]
    if (!step)
      throw new RlError(`there is no upcaster for ${type} from version ${version} to ${version + 1}`, {
        code: 'event.unknown-version',
        hint: 'add it to src/events/upcasters.ts',
      })
    current = step(current as Readonly<Record<string, unknown>>)
  }
  return current
}

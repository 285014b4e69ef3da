/**
 * Rules for each type of event: which event asks for it, and what it must say of that event. The head admits an event
 * of a role only if something asks for it. A result names the event that asked. A decision bears the id that follows
 * from its cause.
 */
import { CATALOGUE, type EventData, type EventType, type NewEvent } from '../../../events/catalogue.ts'
import { ROLES, type Role } from '../../../events/envelope.ts'
import { judgedUnasked, testUnasked, verdictUnasked } from './of-judging.ts'
import {
  framesUnasked,
  measurementUnasked,
  planUnasked,
  requestUnasked,
  rolloutUnasked,
} from './of-rollouts.ts'
import { decisionUnasked, rejectionUnasked, rewriteUnasked, taskUnasked } from './of-tasks.ts'
import {
  batchUnasked,
  publishedUnasked,
  retiredUnasked,
  updatedKey,
  updateUnasked,
  versionUnasked,
} from './of-versions.ts'
import { failedUnasked, lotUnasked } from './of-work.ts'
import type { Saying, Situation, Told } from './situation.ts'

export type Answer<T extends EventType> = {
  /** Says whether the role's decider makes such events. It is `sometimes` if the role's worker makes some of them. */
  readonly decided?: 'always' | 'sometimes'
  /** Returns why nothing open asks for the event, or null if something does. */
  readonly unasked: (event: Told<T>, situation: Situation) => string | null
  /** Natural key of the event after which nobody waits for this one, if it is another's key. */
  readonly over?: (data: EventData<T>) => string
}

const never = (): string => 'only the head makes it'
/** Admits an event at any time: nothing follows from it, people only read it. */
const always = (): null => null

/** Parts of a policy version that is a text. They come before the version itself. */
const instructions = {
  unasked: (event: Saying<{ readonly version: number }>, situation: Situation) =>
    versionUnasked('policy', event, situation),
  over: ({ version }: { readonly version: number }) => updatedKey('policy', version),
}

export const ANSWERS: { readonly [T in EventType]: Answer<T> } = {
  RunStarted: { unasked: never },
  OwnFilesRecorded: { unasked: never },
  RunPaused: { unasked: never },
  RunResumed: { unasked: never },
  RunCompleted: { unasked: never },
  RunFailed: { unasked: never },
  IterationStarted: { unasked: never },
  IterationCompleted: { unasked: never },

  ActorStarted: { unasked: always },
  ActorFailed: { unasked: always },
  HostSetAside: { unasked: never },
  ProcessorTimeMeasured: { unasked: never },
  CheckpointsCollected: { unasked: never },
  StallDetected: { unasked: always },
  WorkFailed: { unasked: failedUnasked, over: ({ done }) => done },
  CallsReserved: { unasked: lotUnasked },

  TaskAdded: { unasked: taskUnasked },
  IterationPlanned: { decided: 'always', unasked: planUnasked },
  RolloutRequested: { decided: 'always', unasked: requestUnasked },
  EvaluationCompleted: { decided: 'always', unasked: measurementUnasked },
  TaskAccepted: { decided: 'always', unasked: decisionUnasked },
  TaskRejected: { decided: 'always', unasked: rejectionUnasked },
  TaskProposed: { unasked: rewriteUnasked },

  RolloutClaimed: { unasked: rolloutUnasked, over: rolloutKey },
  StepNoted: { unasked: rolloutUnasked, over: rolloutKey },
  CallsRecorded: { unasked: rolloutUnasked, over: rolloutKey },
  FramesRecorded: { unasked: rolloutUnasked, over: rolloutKey },
  ProgramTested: { unasked: rolloutUnasked, over: rolloutKey },
  ProgramFlaky: { unasked: rolloutUnasked, over: rolloutKey },
  RolloutFailed: { unasked: rolloutUnasked },
  TrajectoryCompleted: {
    unasked: (event, situation) => rolloutUnasked(event, situation) ?? framesUnasked(event, situation),
  },

  UnitTestWritten: { unasked: testUnasked },
  StepScored: { unasked: verdictUnasked, over: ({ rollout }) => `TrajectoryJudged/${rollout}` },
  TrajectoryJudged: { decided: 'always', unasked: judgedUnasked },

  PolicyUpdated: { decided: 'sometimes', unasked: (event, s) => updateUnasked('policy', event, s) },
  RewardModelUpdated: {
    decided: 'sometimes',
    unasked: (event, s) => updateUnasked('reward-model', event, s),
  },
  CheckpointSealed: {
    unasked: (event, s) => versionUnasked(event.data.role, event, s),
    over: ({ role, version }) => updatedKey(role, version),
  },
  CheckpointShared: {
    unasked: (event, s) => versionUnasked(event.data.role, event, s),
    over: ({ role, version }) => updatedKey(role, version),
  },
  InstructionsWeighed: instructions,
  InstructionsProposed: instructions,
  InstructionsChosen: instructions,
  BatchReady: { unasked: batchUnasked, over: ({ role, version }) => updatedKey(role ?? 'policy', version) },
  PolicyPublished: { unasked: (event, s) => publishedUnasked('policy', event, s) },
  RewardModelPublished: { unasked: (event, s) => publishedUnasked('reward-model', event, s) },
  PolicyRetired: { unasked: (event, s) => retiredUnasked('policy', event, s) },
  RewardModelRetired: { unasked: (event, s) => retiredUnasked('reward-model', event, s) },
}

/** Returns why nothing asks for the event, or null if something does. */
export function unasked(event: NewEvent, cause: string | null, situation: Situation): string | null {
  const { unasked } = ANSWERS[event.type] as Answer<EventType>
  return unasked({ data: event.data, cause }, situation)
}

/**
 * Returns the natural key of the event after which nobody waits for this one, if it is another's key. Else returns
 * null.
 */
export function overKey(event: NewEvent): string | null {
  return (ANSWERS[event.type] as Answer<EventType>).over?.(event.data) ?? null
}

function rolloutKey({ rollout }: { readonly rollout: string }): string {
  return `Rollout/${rollout}`
}

/** Returns the role whose decider makes events of a type, or null if none does. */
export function decidingRole(type: EventType): Role | null {
  if (ANSWERS[type].decided === undefined) return null
  const [author] = CATALOGUE[type].by
  return ROLES.find((role) => author === role || author === `${role}-worker`) ?? null
}

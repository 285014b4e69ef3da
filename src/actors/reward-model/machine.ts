/** The reward model's decider: which trajectories to judge, when a trajectory is judged, and when to train the judge. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import { NOT_TRAINED } from '../../events/catalogue/model.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { BOOK_ENTRIES, BOOK_EVENTS } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { versionStates } from '../decider/versions.ts'
import { enterStep, isLastInBatch } from './batches.ts'
import { emptyRewardModelContext, NO_TASK, type RewardModelContext, rewardModelRules } from './rules.ts'

/** A rollout has ended: the last one of its batch lets the judge begin. */
const END_OF_ROLLOUT = [
  { guard: 'isNotJudged', actions: 'enterRollout' },
  { guard: 'othersOutstanding', actions: ['enterRollout', 'enterInBatch'] },
  { guard: 'judgeIsNotThere', actions: ['enterRollout', 'enterInBatch', 'holdBatch'] },
  { actions: ['enterRollout', 'enterInBatch', 'judgeBatch'] },
] as const

export function rewardModelDecider(config: Config): Decider {
  const { guards, actions } = rewardModelRules(config)
  const machine = setup({
    types: { context: {} as RewardModelContext, events: {} as LoggedEvent, emitted: {} as Output },
    guards,
    actions,
  }).createMachine({
    id: 'reward-model',
    description:
      'Decides what is judged, says when a trajectory is judged whole, and when the judge is trained.',
    context: () => emptyRewardModelContext(config.rewardModel),
    initial: 'idle',
    states: {
      idle: {
        description: 'No run yet.',
        on: {
          RunStarted: [
            { guard: 'isOff', target: 'coldStarting', actions: 'announceNone' },
            { target: 'awaitingPolicy' },
          ],
        },
      },
      awaitingPolicy: {
        description: 'The judge starts from the policy, which is not there yet.',
        on: { PolicyUpdated: { target: 'coldStarting', actions: 'askForColdStart' } },
      },
      coldStarting: {
        description: 'Version 0 is being made.',
        on: { RewardModelUpdated: { target: 'serving', actions: ['adoptVersion', 'judgeHeld'] } },
      },
      serving: {
        initial: 'waiting',
        on: {
          ...BOOK_ENTRIES,
          TrajectoryCompleted: END_OF_ROLLOUT,
          RolloutFailed: END_OF_ROLLOUT,
          StepScored: [
            { guard: 'isLastVerdict', actions: ['enterVerdict', 'concludeBatch'] },
            { actions: 'enterVerdict', description: 'absorbed: no transition is made' },
          ],
          RunCompleted: { target: 'finished' },
        },
        states: {
          waiting: {
            description: 'The next iteration has not begun.',
            always: { guard: 'iterationOpen', target: 'judging' },
          },
          judging: {
            description: 'Trajectories and verdicts on them come in.',
            always: { guard: 'allIsIn', target: 'choosing' },
          },
          choosing: {
            description: 'Whether there is anything to train on.',
            always: [
              { guard: 'isNotTrained', target: 'keeping', actions: 'keepAsNotTrained' },
              { guard: 'noTaskIsInRange', target: 'keeping', actions: 'keepAsNoTaskIsInRange' },
              { target: 'training', actions: 'train' },
            ],
          },
          ...versionStates('RewardModelUpdated', ['adoptVersion', 'judgeHeld'] as const),
        },
      },
      finished: { type: 'final', description: 'The run is over.' },
    },
  })

  return {
    role: 'reward-model',
    machine,
    interests: new Set([
      ...BOOK_EVENTS,
      'RunStarted',
      'PolicyUpdated',
      'RewardModelUpdated',
      'StepScored',
      'RunCompleted',
    ] as const),
    absorb(context, event) {
      if (event.type !== 'StepScored') return false
      const { batches } = context as RewardModelContext
      if (isLastInBatch(batches, event.data)) return false
      enterStep(batches, event.data)
      return true
    },
    decides: {
      TrajectoryJudged: ({ steps }) =>
        steps.good + steps.bad + steps.undecided === 0 ? 'judgeBatch' : 'concludeBatch',
      RewardModelUpdated: ({ version, stopped }) => {
        if (version === 0) return stopped === `${NOT_TRAINED} off` ? 'announceNone' : 'askForColdStart'
        if (stopped?.startsWith(NOT_TRAINED)) return 'keepAsNotTrained'
        return stopped?.startsWith(NO_TASK) ? 'keepAsNoTaskIsInRange' : 'train'
      },
    },
    version: 4,
    withConfig: rewardModelDecider,
  }
}

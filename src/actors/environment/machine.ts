/**
 * The environment's decider. It decides which tasks an iteration plays, which task takes a slot, and when a policy
 * version is measured.
 */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { rootsOf } from '../../learning/branching.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { type EnvironmentContext, emptyEnvironmentContext } from './context.ts'
import { environmentActions, environmentGuards } from './rules.ts'

export function environmentDecider(config: Config): Decider {
  const machine = setup({
    types: { context: {} as EnvironmentContext, events: {} as LoggedEvent, emitted: {} as Output },
    guards: environmentGuards(config),
    actions: environmentActions(config),
  }).createMachine({
    id: 'environment',
    description:
      'Decides which tasks an iteration plays, who takes a slot, and when a policy version is measured.',
    context: emptyEnvironmentContext,
    initial: 'idle',
    states: {
      idle: { description: 'No run yet.', on: { RunStarted: { target: 'loading', actions: 'askForTasks' } } },
      loading: {
        description: 'Tasks are being made or read.',
        on: { TaskAdded: { actions: 'enterTask' } },
        always: { guard: 'tasksThere', target: 'serving' },
      },
      serving: {
        initial: 'waiting',
        on: {
          IterationStarted: [
            { guard: 'isColdStart', target: '.playing', actions: 'evaluateColdStart' },
            { target: '.playing', actions: 'playIteration' },
          ],
          PolicyUpdated: { guard: 'evaluationDue', target: '.playing', actions: 'evaluateVersion' },
          TrajectoryCompleted: [
            { guard: 'isMeasured', actions: 'measureRollout' },
            { actions: ['branchRollout', 'enterRollout'] },
          ],
          RolloutFailed: [
            { guard: 'isMeasured', actions: 'measureRollout' },
            { actions: ['branchRollout', 'enterRollout'] },
          ],
          TrajectoryJudged: { actions: 'hearJudged' },
          TaskProposed: { actions: 'enterCandidate' },
          RunCompleted: { target: 'finished' },
        },
        states: {
          waiting: { description: 'Nothing is being played.' },
          playing: {
            description: 'Rollouts of an iteration or an evaluation are outstanding.',
            always: [
              { guard: 'anythingOver', target: 'settling', actions: 'weighCandidate' },
              { guard: 'nothingPlayed', target: 'waiting' },
            ],
          },
          settling: {
            description: 'The last rollout of a group or of an evaluation is in: what follows from it.',
            always: [
              { guard: 'evaluationOver', target: 'playing', actions: 'completeEvaluation' },
              { guard: 'candidateProven', target: 'playing', actions: 'acceptCandidate' },
              { guard: 'candidateRefuted', target: 'playing', actions: 'rejectCandidate' },
              { guard: 'lostTooMany', target: 'playing', actions: 'strikeTask' },
              { target: 'playing', actions: 'clearTask' },
            ],
          },
        },
      },
      finished: { type: 'final', description: 'The run is over.' },
    },
  })

  const { branching, rolloutsPerTask } = config.environment
  const isBranch = (purpose: string, index: number) =>
    purpose === 'train' && index >= rootsOf(rolloutsPerTask, branching)
  return {
    role: 'environment',
    machine,
    interests: new Set([
      'RunStarted',
      'TaskAdded',
      'TaskProposed',
      'IterationStarted',
      'TrajectoryCompleted',
      'RolloutFailed',
      'TrajectoryJudged',
      'PolicyUpdated',
      'RunCompleted',
    ] as const),
    decides: {
      IterationPlanned: () => 'playIteration',
      RolloutRequested({ purpose, iteration, index, refill }) {
        if (purpose === 'evaluation') return iteration === 0 ? 'evaluateColdStart' : 'evaluateVersion'
        if (refill) return 'enterRollout'
        if (!isBranch(purpose, index)) return 'playIteration'
        return branching === 'verdict' ? 'hearJudged' : 'branchRollout'
      },
      EvaluationCompleted: () => 'completeEvaluation',
      TaskAccepted: () => 'acceptCandidate',
      TaskRejected: ({ task }) => (task === null ? null : 'rejectCandidate'),
    },
    version: 7,
    withConfig: environmentDecider,
  }
}

/** Learning from what is said after a call: the reward model reads it as the verdict, and no grade is needed. */
import type { Judge } from './rubric.ts'
import { setWords } from './set-words.ts'
import type { UserWorker } from './worker.ts'

const ANSWER_TOKENS = 400

/** Returns the settings of a run whose rewards are the verdicts alone. */
export function nextMessageWords({ model, baseUrl, apiKeyEnv }: Judge): readonly string[] {
  return setWords({
    'rewardModel.mode': 'fixed',
    'rewardModel.provider': 'openai',
    'rewardModel.model': model,
    'rewardModel.baseUrl': baseUrl,
    'rewardModel.expert.apiKeyEnv': apiKeyEnv,
    'rewardModel.reads': 'next-message',
    'rewardModel.maxTokens': ANSWER_TOKENS,
    'learning.reward': 'reward-model',
    'learning.mixedOutcomes': false,
    'evaluation.judge': true,
  })
}

/** Opens a grade that says nothing for or against a rollout. Its value enters no reward. */
export function openNoGrade(): UserWorker {
  return {
    call: async (_args, _ms, other) => ({
      kind: 'value',
      value: other === undefined ? { score: 0.5, reason: 'nobody graded it', unsure: true } : null,
    }),
    close() {},
  }
}

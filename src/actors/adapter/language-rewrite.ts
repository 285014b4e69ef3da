/**
 * Rewriting by a language model. It reads why rollouts failed and how the environment describes the task, and names a
 * new task.
 */

import type { AdaptationConfig, RunConfig } from '../../config-schema/sections.ts'
import type { RewriteRequest, Task } from '../../environments/port.ts'
import {
  type Evidence,
  type LanguageRewriting,
  type OpenSetting,
  partOf,
  type Setting,
} from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import type { GenerateRequest, Generation } from '../../models/port.ts'
import type { ModelProvider } from '../../models/provider.ts'
import { seedOf } from '../../random.ts'
import type { RewriteTask } from '../decider/jobs.ts'
import { callBudgetOf } from '../learner/call-budget.ts'
import { createCounts, endpointOf } from '../learner/endpoint.ts'
import { type PromptFile, readPrompt } from '../learner/prompts.ts'
import { askFitting, isTooLong, SHORTENED, TOO_LONG } from '../learner/shortening.ts'
import { openTaskBook, readIteration } from '../rollout/log-queries.ts'
import { testRates } from '../writing/test-rates.ts'
import { failureRequest, readSummary } from './failures.ts'
import { accuracyOf, proposed, rejected } from './rewrite.ts'
import { successByKind } from './skills.ts'

/** The environment's complaint about an answer that names no pair. */
const NO_PAIR = 'the answer has no two words in a box'

export type LanguageRewriter = {
  readonly rewrite: (parent: Task, job: RewriteTask, signal: AbortSignal) => Promise<NewEvent>
  readonly counters: () => Readonly<Record<string, number>>
}

/** Opens the rewriter. Errors: `setting.lacks` if the setting cannot take a language model's answer. */
export async function openLanguageRewriter(
  adaptation: AdaptationConfig,
  provider: ModelProvider,
  deadlines: RunConfig['deadlines'],
  { setting, environment }: OpenSetting,
  log: LogClient,
): Promise<LanguageRewriter> {
  const language = languageOf(setting)
  const { low, high } = adaptation
  const { temperature, maxTokens } = adaptation.expert
  const prompts = {
    failure: language.prompts.failure === null ? null : readPrompt(language.prompts.failure),
    rewrite: readPrompt(language.prompts.rewrite),
  }
  const judgedByTests = setting.judging?.by === 'tests'
  // Two questions in a row: what went wrong, and what to ask instead.
  const questions = prompts.failure ? 2 : 1
  const model = await endpointOf('adaptation', adaptation, provider, {
    budgetSeconds: deadlines.expert.rewriteSeconds / questions,
    callSeconds: deadlines.llmCallSeconds,
    calls: callBudgetOf(log, 'adapter', adaptation.expert.maxCalls),
  })
  const fits = async (request: GenerateRequest) => (await model.fits?.(request)) ?? true
  const tasks = openTaskBook(log)
  const counts = createCounts()

  /** Returns the results of the programs' tests, and the first task of the slot. */
  async function evidenceOf(parent: Task, { iteration, slot, taken }: RewriteTask): Promise<Evidence> {
    const types = ['ProgramTested', 'UnitTestWritten', 'StepScored'] as const
    const tested = testRates(await readIteration(log, iteration, types), { iteration, slot })
    const [first = parent.id] = taken
    return { tested, root: await tasks.find(first) }
  }

  /** Returns one line for each failed rollout. If no summary can be read, it returns the judge's own complaints. */
  async function failuresOf(
    parent: Task,
    job: RewriteTask,
    prompt: PromptFile,
    signal: AbortSignal,
  ): Promise<string> {
    const played = await readIteration(log, job.iteration, ['TrajectoryCompleted', 'StepScored'])
    const { TrajectoryCompleted: trajectories, StepScored: scored } = played
    const failed = failedOf(trajectories, job)
    const settings = { prompt, seed: job.seed, maxTokens, temperature }
    const failing = new AbortController()
    const together = AbortSignal.any([signal, failing.signal])
    const summaries = await Promise.all(
      failed.map(async (trajectory) => {
        const requestOf = (shown: number) =>
          failureRequest(trajectory, scored, parent.goal, { ...settings, shown })
        try {
          const { generation, leftOut } = await askFitting(trajectory.actions.length, requestOf, {
            fits,
            generate: async (request) => itemAt(await model.generate([request], together), 0),
          })
          if (leftOut > 0) counts.add(SHORTENED)
          const summary = readSummary(generation.text)
          if (summary === null) counts.add('invalid: summary without a box')
          return summary ?? []
        } catch (error) {
          if (!isTooLong(error)) {
            // The job fails: no further call is spent on it.
            failing.abort()
            throw error
          }
          counts.add(`invalid: ${TOO_LONG}`)
          return []
        }
      }),
    )
    const told = summaries.flat()
    return told.length > 0 ? told.join('\n') : job.critique
  }

  /** The first of the answers that the environment takes. */
  async function rewrite(parent: Task, job: RewriteTask, signal: AbortSignal): Promise<NewEvent> {
    const { direction, taken, seed, parentAccuracy } = job
    const critique = prompts.failure ? await failuresOf(parent, job, prompts.failure, signal) : job.critique
    const request: RewriteRequest = {
      task: parent,
      direction,
      accuracy: accuracyOf(job),
      critique,
      taken,
      seed,
    }
    const brief = await language.brief(
      environment,
      request,
      judgedByTests ? await evidenceOf(parent, job) : null,
    )
    const skills = adaptation.skills ? await successByKind(log, tasks, job.iteration) : null
    const others = skills === null ? '' : `; all tasks of the iteration before, by kind: ${skills}`
    const failures = critique === '' ? [] : critique.split('\n')
    // The commonest failures stand first. So the rarest are left out if not all fit.
    const requestsOf = (shown: number) => {
      const messages = prompts.rewrite.render({
        ...brief,
        direction,
        accuracy: `${parentAccuracy.successes} of ${parentAccuracy.n}${others}`,
        goal: parent.goal,
        failures: shown === 0 ? 'nothing is known of failures' : failures.slice(0, shown).join('\n'),
      })
      return Array.from({ length: adaptation.samples }, (_, attempt) => ({
        prompt: { messages },
        maxTokens,
        temperature,
        seed: seedOf(seed, 'rewrite', attempt),
      }))
    }
    const without = (reason: string) => rejected(job, parent, { low, high }, reason)
    const refused = createCounts()
    let answers: readonly Generation[]
    try {
      const asked = await askFitting(failures.length, requestsOf, {
        fits: (requests) => fits(itemAt(requests, 0)),
        generate: (requests) => model.generate(requests, signal),
      })
      if (asked.leftOut > 0) counts.add(SHORTENED)
      answers = asked.generation
    } catch (error) {
      if (!isTooLong(error)) throw error
      counts.add(`invalid: ${TOO_LONG}`)
      return without(`the language model cannot be asked: ${TOO_LONG}`)
    }
    for (const { text } of answers) {
      const answer = await language.read(environment, request, text)
      if ('task' in answer) {
        const { sha256 } = prompts.rewrite
        const rewriter = { kind: 'language-model', name: adaptation.model, promptSha256: sha256 } as const
        return proposed(job, parent, { critique, rewriter, task: answer.task })
      }
      refused.add(answer.refused)
      counts.add(answer.refused === NO_PAIR ? `invalid: ${NO_PAIR}` : 'refused tasks')
    }
    const reasons = Object.entries(refused.counts()).map(([reason, count]) => `${count}x ${reason}`)
    return without(
      `none of ${adaptation.samples} answers of the language model can be used: ${reasons.join('; ')}`,
    )
  }

  return {
    rewrite,
    counters: () => ({ ...model.counts?.(), ...counts.counts() }),
  }
}

/** Returns the failed rollouts of a job's group, in order of their index. */
function failedOf(
  trajectories: readonly EventData<'TrajectoryCompleted'>[],
  job: Pick<RewriteTask, 'iteration' | 'slot'>,
): EventData<'TrajectoryCompleted'>[] {
  return trajectories
    .filter(
      ({ iteration, slot, purpose }) =>
        iteration === job.iteration && slot === job.slot && purpose === 'train',
    )
    .filter(({ outcome }) => outcome.kind === 'scored' && !outcome.success)
    .sort((a, b) => a.index - b.index)
}

function languageOf(setting: Setting): LanguageRewriting {
  const { language } = partOf(setting, 'rewriting', 'adaptation.enabled')
  if (language) return language
  throw new RlError(`the setting '${setting.name}' takes no rewrites of a language model`, {
    code: 'setting.lacks',
    hint: 'use adaptation.rewriter symbolic',
  })
}

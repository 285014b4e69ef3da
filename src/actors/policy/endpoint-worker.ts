/** The policy behind an endpoint: it acts by prompts. Its weights live there, so nothing is trained here. */

import type { Config } from '../../config.ts'
import type { PolicyConfig } from '../../config-schema/sections.ts'
import { type Choosing, type OpenSetting, partOf } from '../../environments/setting.ts'
import { explain } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import type { ModelProvider } from '../../models/provider.ts'
import { providerOf } from '../../models/registry.ts'
import { isSettingFault } from '../../user-code.ts'
import type { Train } from '../decider/jobs.ts'
import { callBudgetOf } from '../learner/call-budget.ts'
import { createCounts, endpointOf, tryOut } from '../learner/endpoint.ts'
import { AT_ENDPOINT, fixedLearner } from '../learner/fixed-learner.ts'
import { type PromptFile, readPrompt } from '../learner/prompts.ts'
import { openServedModel } from '../learner/served-model.ts'
import { askFitting, isTooLong, SHORTENED } from '../learner/shortening.ts'
import { type ActReply, type ActRequest, EMPTY_REPLY } from '../rollout/act.ts'
import { promptedTexts } from '../writing/text-acting.ts'
import { toolActing } from '../writing/tool-acting.ts'
import { type Acting, faultOf } from './acting.ts'
import { openPolicyBatch } from './batch-of.ts'
import { instructedBy, notInstructed } from './instructed.ts'
import { weighingOf } from './instructions-fold.ts'
import { instructionLearner } from './instructions-learner.ts'
import type { OpenedPolicy } from './opened-policy.ts'
import { type Form, free, numbered, promptedActing } from './prompted-acting.ts'
import { samplingOf } from './sampling.ts'
import { seeingActing } from './seeing-acting.ts'

/** Prompts for settings without prompts of their own. */
const PROMPTS = { numbered: 'policy', free: 'policy-free' } as const
const TEXTS_PROMPT = 'policy-text'

export async function openEndpointPolicy(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedPolicy> {
  const { policy } = config
  const sampling = samplingOf(policy, config.evaluation)
  const { stepSeconds, llmCallSeconds } = config.run.deadlines
  const calling = { budgetSeconds: stepSeconds, callSeconds: llmCallSeconds }
  const provider = providerOf(policy, config)
  const served = await openServedModel('policy', policy, provider, calling, log)
  const { instructions } = policy
  const instructed = instructions === undefined ? notInstructed : instructedBy(log)
  const proposing =
    instructions === undefined ? null : await openProposer(policy, provider, llmCallSeconds, log)
  // Settings that only agents outside play have no acting, and nobody asks.
  let acting: Acting | undefined
  const counted = createCounts()

  /** Acts for a batch. A fault concerns only its own rollout: the others of the batch get their answers. */
  async function act(requests: readonly ActRequest[], signal: AbortSignal): Promise<ActReply[]> {
    return Promise.all(requests.map((request) => actOne(request, signal)))
  }

  async function actOne(request: ActRequest, signal: AbortSignal): Promise<ActReply> {
    acting ??= actingByPrompt(opened, policy)
    const act = acting
    const turn = (shown: number) => act(request, sampling(request.evaluation), shown)
    const { length } = request.actions
    const steps = Math.min(length, policy.historySteps ?? length)
    try {
      // Every turn of a prompt has a request.
      const { generation, leftOut } = await askFitting(steps, (shown) => turn(shown).request!, {
        fits: served.fits,
        async generate(one) {
          const asked = await instructed(one, request.policyVersion)
          return itemAt(await served.generate(request.policyVersion, [asked], signal), 0)
        },
      })
      if (leftOut > 0) counted.add(SHORTENED)
      const reply = turn(steps - leftOut).reply(generation)
      if (reply.invalid !== null) counted.add(`invalid: ${reply.invalid}`)
      return reply
    } catch (error) {
      if (isSettingFault(error)) return faultOf(error)
      return { ...EMPTY_REPLY, ...(isTooLong(error) ? {} : { fault: explain(error) }) }
    }
  }

  async function tryActing() {
    const [training, evaluating] = [sampling(false), sampling(true)]
    await tryOut(served.first, training)
    if (evaluating.temperature !== training.temperature || evaluating.topP !== training.topP)
      await tryOut(served.first, evaluating)
    return {}
  }

  const batchOf = openPolicyBatch(config, log)

  /** Measures the batch that an update would have had, although nothing is learned here. */
  async function measure(job: Train) {
    const { samples, health, trajectories } = await batchOf(job)
    return {
      metrics: { ...health, trainableSamples: samples.length },
      stopped: trajectories.some(({ trainable }) => trainable)
        ? AT_ENDPOINT
        : 'the endpoint tells no token ids and log-probs',
    }
  }

  return {
    note: `${policy.model} behind an endpoint, acting ${policy.frames > 0 ? 'on screens' : policy.acting}`,
    learner:
      proposing === null
        ? fixedLearner('policy', tryActing, measure)
        : instructionLearner(log, {
            weighing: weighingOf(instructions, config),
            iterations: config.run.iterations,
            maxCalls: policy.expert.maxCalls,
            tryOut: tryActing,
            measure,
            ...proposing,
          }),
    act,
    counters: () => ({ ...served.counters(), ...counted.counts() }),
    async close() {
      await proposing?.proposer.close()
      await served.close()
    },
  }
}

/** Opens the model that proposes instructions. It is behind the policy's endpoint, and its calls count in the policy's budget. */
async function openProposer(
  policy: PolicyConfig,
  provider: ModelProvider,
  callSeconds: number,
  log: LogClient,
) {
  const model = policy.instructions?.proposer ?? policy.model
  const calls = callBudgetOf(log, 'policy', policy.expert.maxCalls)
  const calling = { budgetSeconds: callSeconds, callSeconds, calls }
  const section = { ...policy, model }
  return { model, proposer: await endpointOf('policy', section, provider, calling) }
}

/** Returns how the model is asked: for an action on the screen, a text, the number of a command, or a command. */
export function actingByPrompt({ setting, section }: OpenSetting, policy: PolicyConfig): Acting {
  const seeing = setting.pictures?.seeing(section)
  if (seeing) return seeingActing(readPrompt(seeing.prompt), seeing, policy.frames, policy.historySteps)
  const { historySteps, expert } = policy
  const prompting = { historySteps, trainReasoning: expert.trainReasoning }
  const part = partOf(setting, 'acting', 'a policy that reads prompts')
  if (part.kind === 'texts' && part.tools)
    return toolActing(part, part.tools, readPrompt(part.prompt ?? TEXTS_PROMPT), prompting)
  if (part.kind === 'texts') return promptedTexts(part, readPrompt(part.prompt ?? TEXTS_PROMPT), prompting)
  const { prompt, form } = listedPrompt(part, policy)
  return promptedActing(prompt, form, prompting)
}

/** Returns the prompt that lists commands, and the form of its answer. */
export function listedPrompt(
  { prompts = PROMPTS }: Pick<Choosing, 'prompts'>,
  { acting }: Pick<PolicyConfig, 'acting'>,
): { readonly prompt: PromptFile; readonly form: Form } {
  const name = acting === 'free' ? 'free' : 'numbered'
  return { prompt: readPrompt(prompts[name]), form: { free, numbered }[name] }
}

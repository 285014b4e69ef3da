/** Starts the gateway: as a worker of a live run, or with its own run for recording agents. */

import { configsOf } from '../actors/configs.ts'
import { codeVersion } from '../actors/head/code-version.ts'
import { startHeadCore } from '../actors/head/head-core.ts'
import { callBudgetOf } from '../actors/learner/call-budget.ts'
import { openTargets, type Target, type Targets, targetEvents } from '../actors/learner/targets.ts'
import { readEvents } from '../actors/rollout/log-queries.ts'
import { startActor } from '../actors/runtime/actor.ts'
import { knowKeys, redact } from '../actors/runtime/redact.ts'
import { addressOf } from '../actors/start.ts'
import { runFolder } from '../broker/connection.ts'
import { configDigest, loggable, parseConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import { connectLog, type LogClient } from '../events/log-client.ts'
import { connectBus } from '../events/nats/connect.ts'
import { hasBegun } from '../events/starts.ts'
import { subscribe } from '../events/subscription.ts'
import { weightRoutes } from '../models/openai/adapters.ts'
import { MODEL_PROVIDERS } from '../models/registry.ts'
import { keyIn } from '../openai-api/key.ts'
import { agentCalls } from './calls.ts'
import { localTargets } from './local-targets.ts'
import { openRollouts } from './rollouts.ts'
import { type GatewayServer, startGatewayServer } from './server.ts'
import { agentsOwn, openOffers, type RolloutSource } from './source.ts'
import type { RecordedTraining } from './trajectory.ts'
import { keyOf, openUpstream, type Upstream, type UpstreamOptions } from './upstream.ts'
import { gatewayWorker } from './worker.ts'

export type GatewayOptions = {
  readonly run: string
  readonly host?: string
  readonly port?: number
  /** Token of the server. It is random if absent. */
  readonly token?: string
  /** The model. It is the policy of the live run if absent. */
  readonly target?: Target
  /** Environment variable with the key of the model's endpoint. It is the policy's variable if absent. */
  readonly keyEnv?: string
  readonly maxCalls?: number
  /** Whether calls may bring the answer themselves, as a recording does. */
  readonly takesAnswers?: boolean
  /** Tells a person each notice once. */
  readonly say?: (line: string) => void
}

export type Gateway = {
  readonly server: GatewayServer
  readonly counters: () => Readonly<Record<string, number>>
  /** Returns the address and the key at which a version of the model is called. */
  readonly modelOf: (policyVersion: number) => Target & { readonly key: string | null }
  /** Rejects if the run cannot be served any longer. */
  readonly done: Promise<void>
  readonly close: () => Promise<void>
}

/** Calls in progress may take this long before connections are closed. */
const DRAIN_MS = 10_000

/**
 * Serves the rollouts that a live run asks for. Errors: `cli.usage` if there is no head, and `server.listen`. Error
 * `config.invalid` if the run plays its rollouts itself, or if the key of the endpoint fits no header.
 */
export async function joinRun(options: GatewayOptions & { readonly nats: string | null }): Promise<Gateway> {
  const { run, nats } = options
  const address = addressOf(run, nats, 'environment-worker')
  const bus = await connectBus({ ...address, name: 'gateway' })
  const log = connectLog({ bus, run, actor: 'environment/gateway' })
  const undo: (() => Promise<void> | void)[] = [() => bus.close(), log.close]
  try {
    const { config } = await configsOf(log)
    knowKeys(config)
    if (config.environment.player !== 'gateway')
      throw new RlError(`run '${run}' plays its rollouts itself`, {
        code: 'config.invalid',
        hint: 'start it with --set environment.player=gateway',
      })
    const { model, baseUrl, publish, expert } = config.policy
    const { openAi } = MODEL_PROVIDERS.find(config.policy.provider, config.models.module) ?? {}
    const isLocal = options.target === undefined && config.policy.provider === 'local'
    const target = options.target ?? (openAi && baseUrl ? { baseUrl, model } : undefined)
    if (target === undefined && !isLocal)
      throw new RlError(`the policy of run '${run}' is behind no endpoint`, {
        code: 'cli.usage',
        hint: 'give --upstream and --model',
      })
    const local = target === undefined ? await localTargets(log) : null
    const targets =
      local ??
      openTargets({
        role: 'policy',
        first: target!,
        publishing: publish.as !== 'none',
        modelOf: weightRoutes(publish).calledBy(model),
      })
    const types = [...targetEvents('policy'), 'InstructionsChosen', 'ActorStarted'] as const
    const view = await subscribe({ bus, run, types }, targets.see)
    undo.push(view.stop)
    const key = keyIn(options.keyEnv ?? expert.apiKeyEnv)
    const offers = openOffers()
    const inner = await serve(options, targets, offers, {
      key: local?.key ?? key,
      patient: local?.patient,
      isLocal,
      callMs: config.run.deadlines.llmCallSeconds * 1000,
      permit: callBudgetOf(log, 'environment', config.policy.expert.maxCalls)?.spend,
      training: expert,
    })
    undo.push(() => inner.close(false))
    const actor = await startActor({
      role: 'environment',
      run,
      address,
      worker: gatewayWorker(config.run, config.policy, log, { offers, targets, counters: inner.counters }),
      note: `gateway for agents on ${inner.server.url}`,
      heartbeatMs: config.run.expert.heartbeatSeconds * 1000,
      attempts: config.run.expert.attempts,
      elsewhere: { say: options.say ?? (() => {}) },
    })
    undo.push(actor.stop)
    return {
      server: inner.server,
      counters: inner.counters,
      modelOf: (version) => ({ ...targets.targetOf(version), key: local ? local.key() : key }),
      done: Promise.race([actor.done, view.done]),
      close: () => unwind(undo),
    }
  } catch (error) {
    await unwind(undo)
    throw error
  }
}

export type RecordOptions = GatewayOptions & {
  readonly target: Target
  readonly deadlineSeconds: number
  readonly callSeconds: number
  readonly maxRolloutCalls: number
}

/**
 * Records agents in a run of the gateway's own. Agents bring their tasks, and nothing is judged or trained. An existing run of that name
 * continues. Errors: as `joinRun`.
 */
export async function recordRun(options: RecordOptions): Promise<Gateway> {
  const { run, target } = options
  const folder = runFolder(run)
  const resumed = hasBegun(folder.log)
  const key = keyIn(options.keyEnv)
  const undo: (() => Promise<void> | void)[] = []
  try {
    const core = await startHeadCore({ folder, work: [] })
    undo.push(core.close)
    const config = recordedConfig(options)
    core.service.append([
      resumed
        ? {
            type: 'RunResumed',
            data: { reason: 'the gateway was started again', codeVersion: codeVersion() },
          }
        : {
            type: 'RunStarted',
            data: {
              config: loggable(config),
              configDigest: configDigest(config),
              codeVersion: codeVersion(),
              seed: config.run.seed,
              parent: null,
            },
          },
    ])
    const log = connectLog({ bus: core.bus, run, actor: 'environment/gateway' })
    undo.push(log.close)
    const source = await ownSource(log, options, config.run.seed)
    const inner = await serve(
      options,
      openTargets({ role: 'policy', first: target, publishing: false }),
      source,
      { key, callMs: options.callSeconds * 1000 },
    )
    undo.push(() => inner.close(true))
    const forever = new Promise<void>(() => {})
    return {
      server: inner.server,
      counters: inner.counters,
      modelOf: () => ({ ...target, key }),
      done: forever,
      close: () => unwind(undo),
    }
  } catch (error) {
    await unwind(undo)
    throw error
  }
}

async function ownSource(
  log: LogClient,
  { deadlineSeconds, maxRolloutCalls }: RecordOptions,
  seed: number,
): Promise<RolloutSource> {
  const { events } = await readEvents(log, 1, ['TaskAdded', 'RolloutRequested'])
  return agentsOwn({
    log,
    seed,
    deadlineMs: deadlineSeconds * 1000,
    maxCalls: maxRolloutCalls,
    tasks: events.flatMap((event) => (event.type === 'TaskAdded' ? [event.data] : [])),
    requests: events.flatMap((event) => (event.type === 'RolloutRequested' ? [event.data] : [])),
  })
}

function recordedConfig({ target, deadlineSeconds, callSeconds, maxRolloutCalls }: RecordOptions) {
  return parseConfig({
    run: {
      iterations: 1,
      deadlines: {
        llmCallSeconds: callSeconds,
        stepSeconds: callSeconds + 1,
        rolloutSeconds: Math.max(deadlineSeconds, callSeconds + 2),
        scoringSeconds: Math.max(deadlineSeconds, callSeconds + 2) + 1,
      },
    },
    environment: {
      name: 'agents',
      player: 'gateway',
      source: 'data',
      data: 'brought by agents',
      maxSteps: maxRolloutCalls,
    },
    policy: { provider: 'openai', acting: 'free', ...target, training: { enabled: false } },
    rewardModel: { mode: 'off' },
    learning: { reward: 'outcome' },
    adaptation: { enabled: false },
    evaluation: { splits: [] },
  })
}

type Serving = {
  readonly permit?: () => Promise<void>
  readonly training?: RecordedTraining
  /** Whether the run's own policy answers. Its defaults of sampling are neutral, and it takes seeds of 64 bits. */
  readonly isLocal?: boolean
  /** Changes how the model is called. */
  readonly patient?: (upstream: Upstream) => Upstream
}

/** Starts rollouts, calls and the server. */
async function serve(
  { host, port, token, maxCalls, takesAnswers, say }: GatewayOptions,
  { targetOf }: Targets,
  source: RolloutSource,
  {
    key,
    callMs,
    permit,
    training,
    isLocal = false,
    patient = (upstream) => upstream,
  }: UpstreamOptions & Serving,
) {
  const upstream = patient(openUpstream({ key, callMs }))
  function secrets(): readonly string[] {
    const own = keyOf(key)
    return own === null ? [] : [own, JSON.stringify(own).slice(1, -1)]
  }
  const rollouts = openRollouts(training)
  const faults: Record<string, number> = {}
  const untrainable = new Map<string, number>()
  let untold = 0
  const calls = agentCalls({
    upstream,
    targetOf,
    permit,
    takesAnswers,
    isLocal,
    clean: (text) => redact(text, secrets()),
    onFault(kind) {
      faults[`fault ${kind}`] = (faults[`fault ${kind}`] ?? 0) + 1
    },
    onUntold(parameters) {
      if (untold++ === 0)
        say?.(
          `agents leave ${parameters.join(', ')} to the endpoint: if its defaults are not neutral, log-probs are not those of the sampling (docs/gateway.md)`,
        )
    },
    onUntrainable(kind, text) {
      const before = untrainable.get(kind) ?? 0
      untrainable.set(kind, before + 1)
      if (before === 0) say?.(`the endpoint: ${text}`)
    },
  })
  const server = await startGatewayServer({ source, rollouts, calls, targetOf, host, port, token, maxCalls })
  return {
    server,
    counters: () => ({
      ...rollouts.counts(),
      ...faults,
      ...(untold > 0 ? { 'sampling left to the endpoint': untold } : {}),
      ...Object.fromEntries([...untrainable].map(([kind, count]) => [`untrainable ${kind}`, count])),
    }),
    /** @param giveUp whether open rollouts end as failed; else the run requests them again */
    async close(giveUp: boolean): Promise<void> {
      await server.close(DRAIN_MS)
      await rollouts.stop(giveUp)
      upstream.close()
    },
  }
}

/** Undoes the steps of the start, the last one first. */
async function unwind(undo: (() => Promise<void> | void)[]): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step()
}

/**
 * The head of a run. It takes the log, starts what the run needs, shows the progress, and ends everything in good
 * order.
 */

import { mkdirSync } from 'node:fs'
import { relative } from 'node:path'
import { type RunFolder, runFolder, runsFolder } from '../../broker/connection.ts'
import { WIDTH, wrap } from '../../columns.ts'
import { isSimulated } from '../../config/roles.ts'
import { type Config, configDigest, loggable } from '../../config.ts'
import type { RunConfig } from '../../config-schema/sections.ts'
import { explain, RlError } from '../../errors.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { ROLES } from '../../events/envelope.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { refuseLostRun } from '../../events/lost-log.ts'
import { patiently } from '../../events/patience.ts'
import { BY_A_PERSON } from '../../events/run-turn.ts'
import { hasBegun } from '../../events/starts.ts'
import { subscribe } from '../../events/subscription.ts'
import { interrupted } from '../../interrupted.ts'
import { itemAt } from '../../item-at.ts'
import { providerOf } from '../../models/registry.ts'
import { codeDigest, packageVersion } from '../../package.ts'
import { makePrivateFolder } from '../../platform/files.ts'
import { giveSigns } from '../../platform/signs-of-life.ts'
import { loadAllUserParts, loadUserParts } from '../../user-parts.ts'
import { makeKeptResults } from '../executing/kept.ts'
import { executorQueue } from '../executing/requests.ts'
import { executorsOf } from '../executing/worker.ts'
import { plannedIterations } from '../planned-iterations.ts'
import { startActor } from '../runtime/actor.ts'
import { openKeyFrames } from '../runtime/key-frame.ts'
import { knowKeys } from '../runtime/redact.ts'
import type { Wait } from '../runtime/waits.ts'
import { ROLLOUT_WORK } from '../runtime/work.ts'
import type { StartOptions } from '../start-options.ts'
import { headAddress, waitBesideHead } from './become-head.ts'
import { type Children, type ChildSpec, startChildren } from './children.ts'
import { codeVersion } from './code-version.ts'
import { openCollector } from './collector.ts'
import { serveControl } from './control.ts'
import { type End, fails, interruptedBy, runOver, spent } from './ends.ts'
import { type HeadCore, startHeadCore } from './head-core.ts'
import { fetchHere, hubCopyOf } from './hub-model.ts'
import type { HeadContext } from './iterations.ts'
import { openLiveProjections } from './live-projections.ts'
import { headDecider } from './machine.ts'
import { serveMove } from './move.ts'
import { checkNeededFiles } from './needed-files.ts'
import { openNotifier } from './notify.ts'
import { openCodeCheck } from './other-code.ts'
import { markOwn } from './own-runs.ts'
import { besidePages, INTERRUPTED, type OpenPages, type ShowPages } from './pages.ts'
import { filesRecorded } from './record-files.ts'
import { newConfig, resumedConfigs, tellIfOver } from './run-configs.ts'
import { backendLine } from './terminal/backend-line.ts'
import { openDisplay } from './terminal/display.ts'
import { dryRun } from './terminal/dry-run.ts'
import { inColumns, planLines } from './terminal/plan.ts'
import { openReports } from './terminal/reports.ts'
import { runtimeLine } from './terminal/runtime-line.ts'
import { summaryLines } from './terminal/summary.ts'
import { awaitedBy } from './waits.ts'

/** @param openPages opens the pages of a run. Null: there are none. */
export function startHead(options: StartOptions, openPages: OpenPages | null): Promise<number> {
  return besidePages(openPages, interrupted, async (show) => {
    if (!options.standby) return runHead(options, show)
    for (;;) {
      const turn = await waitBesideHead(options)
      if ('status' in turn) return turn.status
      try {
        return await runHead(options, show, turn.silent)
      } catch (error) {
        if (!(error instanceof RlError) || error.code !== 'head.second') throw error
        process.stdout.write(`${error.message}: this standby waits beside it\n`)
      }
    }
  })
}

/** @param silent revision of an earlier head's record that this process saw in silence for a lease */
async function runHead(options: StartOptions, showPages: ShowPages, silent?: number): Promise<number> {
  if (options.run !== null) refuseLostRun(runFolder(options.run).log)
  const resumed = options.run !== null && hasBegun(runFolder(options.run).log)
  const { first, config } = resumed
    ? await resumedConfigs(runFolder(options.run ?? ''), options)
    : await newConfig(options)
  if (resumed && !options.dryRun && tellIfOver(runFolder(options.run ?? ''))) return 0
  if (resumed && !options.dryRun) await checkNeededFiles(runFolder(options.run ?? ''), options.roles)
  knowKeys(config)
  await loadUserParts(first)
  const own = await loadAllUserParts(config)
  const madeBy: MadeBy = { codeVersion: codeVersion(), ...(own.length > 0 ? { rules: [...own] } : {}) }
  const hub = await hubCopyOf(config.policy, providerOf(config.policy, config))
  const run = options.run ?? (options.dryRun ? newRunId() : claimedRunId())
  const folder = runFolder(run)
  if (options.dryRun) return dryRun(run, config, options, hub)

  giveSigns(folder.alive, 'head')
  const stopped = interrupted()
  const planned = plannedIterations(config.run)
  const simulated = isSimulated(config)
  const display = openDisplay({ iterations: planned, simulated })
  const backend = await backendLine(config, display.say)
  const runtime = await runtimeLine(config, options)
  for (const line of planLines({ run, folder, config, resumed, options, backend, hub, runtime }))
    display.say(line)
  if (hub?.missing && !(await fetchHere(hub.missing, hub.folder, stopped, display.say))) {
    display.end()
    return INTERRUPTED
  }
  const executors = await executorsOf(config.environment)
  const core = await startHeadCore({
    folder,
    queues: executors === null ? [] : [executorQueue(run)],
    nats: headAddress(options),
    join: options.join ?? undefined,
    replicas: config.run.replicas,
    silent,
    cluster: options.cluster ?? undefined,
    monitor: options.monitor ?? undefined,
    work: [ROLLOUT_WORK],
    // Agents outside take hours for a rollout, and are paid for each.
    copies: config.environment.player === 'own',
    heartbeatMs: config.run.expert.heartbeatSeconds * 1000,
    minFreeBytes: config.run.expert.keepFreeMegabytes * 1024 * 1024,
    onBrokerRestart: display.say,
  })
  let children: Children | null = null
  const projections = openLiveProjections({ folder, modules: config.projections.modules, say: display.say })
  try {
    if (executors !== null) await patiently(() => makeKeptResults(core.bus, run))
    for (const line of elsewhereLines(options, folder, core, executors)) display.say(line)
    if (core.broker?.monitor) display.say(`  figures of the broker, for KEDA: ${core.broker.monitor}`)
    if (resumed) for (const line of changeLines(core.log, madeBy)) display.say(line)
    const shown = display.goOn(core.log)
    const apart = isApart(options, core)
    const files = apart ? await filesRecorded(config, core.log) : []
    const begun = itemAt(core.service.append([firstEvent(config, madeBy, resumed), ...files]), 0)
    markOwn(core.log)
    await showPages(run, display.say)
    const over = runOver(begun.position)
    const endControl = serveControl(core)
    const replicated = (config.run.replicas ?? 1) > 1
    const moved = new Promise<End>((resolve) => {
      serveMove(core.bus, run, replicated, (host) => resolve({ kind: 'moved', host }))
    })
    // Before the head folds its own log: on a processor of their own they fold theirs meanwhile.
    children = startChildren({
      run,
      folder: folder.folder,
      apart,
      address: core.broker || options.join ? { url: core.address.url } : core.address,
      specs: childSpecs(config.run, options, executors ?? 0),
      onGone: core.watch.forget,
      onExit: ({ spec, reason }) => display.say(`${spec.role} ${reason}; it is started again`),
      onPrinted: openReports(display.say),
      silentMs: ({ role }, pid) => core.watch.silentMs(role === 'executor' ? 'environment' : role, pid),
      mostSilentMs:
        Math.max(config.run.deadlines.expert.silenceSeconds, 4 * config.run.expert.heartbeatSeconds) * 1000,
      mostStartMs: config.run.deadlines.expert.coldStartSeconds * 1000,
    })
    const notifier = config.ui?.notify === undefined ? null : openNotifier(config.ui.notify, display.say)
    const append = (events: readonly NewEvent[]) => void core.service.append(events)
    const collect = openCollector({ folder, log: core.log, keep: config.run.keepVersions, append })
    collect()
    const seeCode = openCodeCheck({ version: packageVersion(), digest: codeDigest() }, display.say)
    const view = await subscribe({ bus: core.bus, run, from: shown + 1 }, (event) => {
      display.see(event, event.position >= begun.position)
      if (event.position >= begun.position) notifier?.see(event)
      if (event.position >= begun.position) seeCode(event)
      over.see(event)
      if (event.type === 'IterationCompleted' || event.type === 'RunCompleted') projections.follow()
      if (event.type === 'IterationCompleted' && event.position >= begun.position) collect()
    })
    const decider = headDecider(first)
    const frames = await openKeyFrames({ folder, decider, configs: [first, config], hashAt: core.log.hashAt })
    const head = await startActor({
      role: 'head',
      run,
      address: core.address,
      connect: core.connect,
      note: frames.note,
      decider,
      frames,
      worker: { jobs: {} },
      heartbeatMs: config.run.expert.heartbeatSeconds * 1000,
      headGoneMs: Number.POSITIVE_INFINITY,
      waits: (context) => waitsNow(core, context as HeadContext, config),
    })
    const end = await Promise.race([
      over.end,
      stopped.then((signal) => interruptedBy(signal, core, replicated)),
      moved,
      fails(head.done),
      fails(view.done),
      spent(children.done),
      core.fenced.then((error) => Promise.reject(error)),
    ])
    display.end()
    endControl()
    if (end.kind === 'interrupted' || end.kind === 'paused') {
      const reason = end.kind === 'paused' ? end.reason : BY_A_PERSON
      try {
        core.service.append([{ type: 'RunPaused', data: { reason } }], { urgent: true })
      } catch (error) {
        display.say(`the log does not know of this pause: ${explain(error)}`)
      }
    }
    await children.stop()
    await head.stop()
    await view.stop()
    await notifier?.done()
    if (end.kind === 'moved') {
      await core.close(end.host)
      display.say(`run ${run} goes on at host ${end.host}`)
      return 0
    }
    for (const line of summaryLines({ folder, splits: config.evaluation.splits, planned, simulated, end }))
      display.say(line)
    return end.kind === 'completed' ? 0 : end.kind === 'interrupted' ? INTERRUPTED : 1
  } finally {
    display.end()
    await children?.stop()
    await projections.close()
    await core.close()
  }
}

/** While a person has paused the run, nothing is late. */
function waitsNow({ service }: HeadCore, context: HeadContext, config: Config): readonly Wait[] {
  const { personPause } = service
  return personPause.now() === null ? awaitedBy(context, config, personPause.resumedAt()) : []
}

/** `r` and the time to the second: sorts by age. */
function newRunId(): string {
  return `r${new Date().toISOString().replace(/[-:]/g, '').slice(0, 15).toLowerCase()}`
}

/** Returns a new id whose folder is this run's alone. Heads that start within one second get different ids. */
function claimedRunId(): string {
  makePrivateFolder(runsFolder())
  const id = newRunId()
  for (let count = 1; ; count++) {
    const run = count === 1 ? id : `${id}-${count}`
    try {
      mkdirSync(runFolder(run).folder, { mode: 0o700 })
      return run
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function firstEvent(config: Config, made: MadeBy, resumed: boolean): NewEvent {
  if (resumed) return { type: 'RunResumed', data: { reason: 'the head was started again', ...made } }
  return {
    type: 'RunStarted',
    data: {
      config: loggable(config),
      configDigest: configDigest(config),
      seed: config.run.seed,
      parent: null,
      ...made,
    },
  }
}

/** Code and rules that decide and answer in a run from here on, including the user's own. */
type MadeBy = Pick<EventData<'RunStarted'>, 'codeVersion' | 'rules'>

/** Returns lines to show if a run goes on under other code or rules than those that decided it last. */
function changeLines(log: LogReader, now: MadeBy): string[] {
  const before = [...log.events({ types: ['RunStarted', 'RunResumed'] })]
    .map(({ data }) => data)
    .findLast(({ codeVersion }) => codeVersion !== undefined)
  if (before === undefined) return []
  const check = `are its decisions the same? npm run -s rl -- replay ${log.run}`
  return [
    ...(before.codeVersion === now.codeVersion
      ? []
      : inColumns('code', `${now.codeVersion}; before it was ${before.codeVersion}; ${check}`)),
    ...(JSON.stringify(before.rules) === JSON.stringify(now.rules)
      ? []
      : inColumns('rules', `a module of yours has changed; ${check}`)),
  ]
}

/** Tells how to start the roles that this head was told not to start. */
function elsewhereLines(
  { roles, cluster }: StartOptions,
  { run, credentials }: RunFolder,
  { bus, broker }: HeadCore,
  executors: number | null,
): readonly string[] {
  const missing: string[] = ROLES.filter((role) => role !== 'head' && !roles.includes(role))
  if (executors === 0) missing.push('executor')
  if (missing.length === 0) return []
  if (cluster !== null)
    return [
      ...wrap(
        `  waiting for ${missing.join(', ')}; write a file for each host, and copy it there`,
        WIDTH,
        '    ',
      ),
      `    npm run -s rl -- join ${run} --role ${missing[0]} -o ${missing[0]}.join`,
      `    npm start -- --join ${missing[0]}.join`,
    ]
  const user = missing[0] === 'executor' ? 'environment-worker' : missing[0]
  const from = broker
    ? `from another account, with NATS_USER and NATS_PASSWORD of ${relative('', credentials)}/${user}.json`
    : 'from other hosts, with the same NATS_... variables'
  return [
    ...wrap(`  waiting for ${missing.join(', ')}; start each with (${from})`, WIDTH, '    '),
    `    npm start -- --role ${missing[0]} --run ${run} --nats ${bus.url}`,
  ]
}

/** Whether roles may lie on other disks: some are started elsewhere, or the broker is one that others reach. */
function isApart({ roles, cluster }: StartOptions, { broker }: HeadCore): boolean {
  return broker === null || cluster !== null || ROLES.some((role) => role !== 'head' && !roles.includes(role))
}

/** Executors are started with the environment. */
function childSpecs({ workers }: RunConfig, { roles }: StartOptions, executors: number): ChildSpec[] {
  const specs = roles.flatMap((role): ChildSpec[] => {
    const count = role === 'environment' || role === 'reward-model' ? workers[role] : 1
    return Array.from({ length: count }, (_, index) => ({ role, worker: index > 0 }))
  })
  if (!roles.includes('environment')) return specs
  return [
    ...specs,
    ...Array.from({ length: executors }, (): ChildSpec => ({ role: 'executor', worker: false })),
  ]
}

/** What a run lacks whose log came back from a copy, e.g. from Litestream's. */
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openIterations } from '../actors/head/needed-files.ts'
import { checkedFolder, checkpointFolder, MODEL_ROLES, UPDATED } from '../actors/learner/checkpoints.ts'
import { runFolder } from '../broker/connection.ts'
import { isoTime } from '../clock.ts'
import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { explain, RlError } from '../errors.ts'
import { markPath, readMark } from '../events/log-mark.ts'
import { type LogReader, openLogReader } from '../events/log-reader.ts'
import { turnOf } from '../events/run-turn.ts'
import { verifyLog } from '../events/verify.ts'
import { takeWriterLock } from '../events/writer-lock.ts'
import type { Command } from './command.ts'

const HELP = `
rl restore RUN [--accept] [--json]

After the log of a run came back from a copy: says which events, weights and files are missing, and how the run goes on. Exit
status 0 if a head can go on with it, else 1.

  --accept   gives up the events that the copy lacks. Without it a head refuses a log that ends earlier than it once did

A log of one head can be copied all the time with Litestream, which may lack the last second:
  litestream replicate runs/RUN/events.db s3://BUCKET/RUN        beside the head
  litestream restore -o runs/RUN/events.db s3://BUCKET/RUN       on another machine, with the folders blobs and checkpoints
`

type Weights = {
  readonly role: string
  readonly version: number
  /** `log` and `store`: a head fetches them from there. */
  readonly from: 'disk' | 'log' | 'store' | 'nowhere'
  readonly reason: string | null
}

type Restored = {
  readonly run: string
  readonly state: string
  readonly position: number
  /** Time of the last event, ms since 1970. */
  readonly time: number | null
  /** First fault of the log or of a file that it names, or null. */
  readonly fault: string | null
  /** A position that the old head wrote, perhaps not its last. Null if nothing here tells it. */
  readonly wasAt: number | null
  readonly lost: number
  readonly accepted: boolean
  readonly openIterations: readonly { readonly iteration: number; readonly openRollouts: number }[]
  readonly weights: readonly Weights[]
  readonly goesOn: boolean
}

export const command: Command = {
  summary: 'what a run lacks whose log came back from a copy',
  help: HELP,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: { accept: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
        allowPositionals: true,
      },
      argv,
    )
    const [run, ...rest] = positionals
    if (run === undefined || rest.length > 0)
      throw new RlError('expected one run', { code: 'cli.usage', hint: 'rl runs lists them' })
    const { log: path, folder } = runFolder(run)
    if (!existsSync(path))
      throw new RlError(`there is no event log at ${path}`, {
        code: 'log.missing',
        hint: `put the copy there first: litestream restore -o ${path} s3://BUCKET/${run}`,
      })
    // A head that is at work lacks nothing, and no mark of its log may be removed.
    const release = takeWriterLock(join(folder, 'writer.lock'))
    try {
      const restored = await lookAt(run, path, values.accept)
      if (values.json) printJson(restored)
      else for (const line of linesOf(restored)) printLine(line)
      return restored.goesOn ? 0 : 1
    } finally {
      release()
    }
  },
}

async function lookAt(run: string, path: string, accept: boolean): Promise<Restored> {
  const log = openLogReader(path)
  try {
    const { position } = log.head()
    const mark = readMark(path)
    const lost = mark?.closed === null ? Math.max(0, mark.position - position) : 0
    const checked = verifyLog(log, { files: true })
    // An end that is missing is told as lost, and is no fault of what is here.
    const fault = checked.ok || (checked.position ?? 0) > position ? null : faultText(checked)
    const weights = await weightsOf(log)
    const { kind } = turnOf(log)
    const isSound =
      position > 0 &&
      fault === null &&
      (kind === 'completed' || weights.every(({ from }) => from !== 'nowhere'))
    const accepted = accept && isSound && lost > 0
    if (accepted) rmSync(markPath(path), { force: true })
    return {
      run,
      state: kind,
      position,
      time: position === 0 ? null : (log.row(position)?.time ?? null),
      fault,
      wasAt: mark?.position ?? null,
      lost,
      accepted,
      openIterations: kind === 'completed' ? [] : openRollouts(log),
      weights,
      goesOn: isSound && (lost === 0 || accepted),
    }
  } finally {
    log.close()
  }
}

function faultText({
  position,
  reason,
}: {
  readonly position: number | null
  readonly reason: string
}): string {
  return position === null ? reason : `position ${position}: ${reason}`
}

function openRollouts(log: LogReader): Restored['openIterations'] {
  return openIterations(log).map(({ data: { iteration } }) => {
    const open = [...log.events({ types: ['RolloutRequested'] })].filter(
      ({ data }) => data.iteration === iteration && log.positionOf('key', `Rollout/${data.rollout}`) === null,
    )
    return { iteration, openRollouts: open.length }
  })
}

/** The newest weights of each model, and the place from which a head takes them. */
async function weightsOf(log: LogReader): Promise<Weights[]> {
  const found: Weights[] = []
  for (const role of MODEL_ROLES) {
    const made = [...log.events({ types: [UPDATED[role]] })].findLast(({ data }) => data.checkpoint !== null)
    if (!made?.data.checkpoint) continue
    const { version, checkpoint } = made.data
    const told = { role, version }
    try {
      await checkedFolder(made.run, checkpoint, `${role} version ${version}`)
      found.push({ ...told, from: 'disk', reason: null })
    } catch (error) {
      const isThere = existsSync(checkpointFolder(made.run, checkpoint))
      const shared = isThere ? null : log.byKey(`CheckpointShared/${role}/${version}`)
      const reason = isThere
        ? explain(error)
        : `${checkpointFolder(made.run, checkpoint)} is not here; copy it from the old head's disk`
      found.push({ ...told, ...sourceOf(log, shared, reason) })
    }
  }
  return found
}

function sourceOf(
  log: LogReader,
  shared: ReturnType<LogReader['byKey']>,
  reason: string,
): Pick<Weights, 'from' | 'reason'> {
  if (shared?.type !== 'CheckpointShared') return { from: 'nowhere', reason }
  if (shared.data.store !== undefined) return { from: 'store', reason: null }
  const missing = shared.data.files
    .flatMap(({ parts }) => parts)
    .filter(({ sha256 }) => !log.blobs.has(sha256))
  return missing.length === 0
    ? { from: 'log', reason: null }
    : {
        from: 'nowhere',
        reason: `${reason}, or the ${missing.length} missing files of ${dirname(log.path)}/blobs`,
      }
}

function linesOf(restored: Restored): string[] {
  const { run, state, position, time, fault, wasAt, lost, accepted, openIterations, weights, goesOn } =
    restored
  const until = time === null ? '' : `, the last of ${isoTime(time).slice(0, 19)}Z`
  const lines = [
    `run ${run}: ${state}, ${position} events${until}`,
    fault === null ? '  whole: chain, columns, files that events name' : `  damaged: ${fault}`,
  ]
  if (wasAt === null)
    lines.push('  how far the old head was cannot be told: events.db-mark is not in the folder')
  else if (lost > 0)
    lines.push(
      `  ${accepted ? 'given up' : 'lost'}: at least ${lost} events, from position ${position + 1} on`,
    )
  else lines.push('  lost: nothing')
  for (const { iteration, openRollouts } of openIterations)
    lines.push(`  open: iteration ${iteration}, in which ${openRollouts} rollouts are played again`)
  for (const { role, version, from, reason } of weights)
    lines.push(`  ${weightLine(role, version, from, reason)}`)
  lines.push(nextStep(run, state, goesOn, fault === null, lost, weights))
  return lines
}

function weightLine(role: string, version: number, from: Weights['from'], reason: string | null): string {
  const where = { disk: 'here', log: 'come from the log', store: 'come from the store', nowhere: 'missing' }[
    from
  ]
  return `${role} version ${version}: ${where}${reason === null ? '' : `: ${reason}`}`
}

function nextStep(
  run: string,
  state: string,
  goesOn: boolean,
  isWhole: boolean,
  lost: number,
  weights: readonly Weights[],
): string {
  if (goesOn)
    return state === 'completed'
      ? 'the run is complete: nothing is left to do'
      : `go on: npm start -- --role head --run ${run}`
  if (!isWhole) return 'take another copy: this one cannot go on'
  if (weights.some(({ from }) => from === 'nowhere')) return 'bring the missing weights, and look again'
  return lost > 0
    ? `wait for a newer copy, or give these events up: rl restore ${run} --accept`
    : 'the log is empty: put the copy in its place'
}

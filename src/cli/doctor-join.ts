/** Checks of a host before it joins a run: its file, the way to the broker, the run, the code, the clock and the log's store. */
import { configsOf } from '../actors/configs.ts'
import { compareFiles, difference } from '../actors/host-files.ts'
import { checkJoined, joinedAddress } from '../actors/joined.ts'
import { inStore } from '../actors/learner/store.ts'
import { type JoinFile, readJoinFile } from '../broker/joins.ts'
import { isoTime, pause } from '../clock.ts'
import type { Finding } from '../environments/setting.ts'
import { explain, RlError } from '../errors.ts'
import { sha256Of } from '../events/blobs.ts'
import type { Bus } from '../events/bus.ts'
import type { Role } from '../events/envelope.ts'
import { connectLog, type LogClient } from '../events/log-client.ts'
import { unpackUntrusted } from '../events/msgpack.ts'
import { connectBus } from '../events/nats/connect.ts'
import { subjectsOf } from '../events/subjects.ts'
import { codeDigest } from '../package.ts'

const DAY_MS = 86_400_000
/** The head tells its time at least as often. */
const TOLD_MS = 8_000
/** A clock that is off by more spoils the times of the log. */
const MOST_OFF_MS = 1_000
/** The same bytes for all hosts: the log keeps them once. */
const PROBE_BYTES = 4 * 1024 * 1024

/** Checks in order. A failed one ends them, since the next ones rest on it. */
export async function* joinFindings(path: string): AsyncGenerator<Finding> {
  let file: JoinFile
  try {
    file = await readJoinFile(path)
  } catch (error) {
    yield failed('file', error)
    return
  }
  yield fileFinding(file)
  yield codeFinding(file)
  const begun = performance.now()
  let bus: Bus
  try {
    bus = await connectBus({ ...joinedAddress(file), timeoutMs: 5_000 })
  } catch (error) {
    yield failed('broker', error)
    return
  }
  const log = connectLog({ bus, run: file.run, actor: file.role })
  try {
    yield ok('broker', `${bus.url}: TLS, key and name are right, ${Math.round(performance.now() - begun)} ms`)
    yield* runFindings(log, file)
  } finally {
    log.close()
    await bus.close()
  }
}

async function* runFindings(log: LogClient, file: JoinFile): AsyncGenerator<Finding> {
  try {
    await checkJoined(log, file, true)
  } catch (error) {
    yield failed('run', error)
    return
  }
  const begun = performance.now()
  const { position } = await log.head()
  yield ok('run', `${file.run}, ${position} events, round trip ${Math.round(performance.now() - begun)} ms`)
  yield* await keyFindings(log, file.role)
  yield* filesFindings(log)
  yield await clockFinding(log)
  yield await storeFinding('log', log)
  if (file.store === undefined) return
  yield await inStore(log, file.store, (store) => storeFinding('store', store)).catch((error: unknown) =>
    failed('store', error),
  )
}

function fileFinding({ id, run, role, worker, expires }: JoinFile): Finding {
  const days = (expires - Date.now()) / DAY_MS
  const detail = `${id}: ${worker ? 'a further ' : ''}${role} of run ${run}, until ${isoTime(expires).slice(0, 19)}Z`
  return days > 1
    ? ok('file', detail)
    : { check: 'file', result: 'warn', detail, advice: `renew it: rl join ${run} rotate ${id}` }
}

function codeFinding({ code, run }: JoinFile): Finding {
  if (code === codeDigest()) return ok('code', `${code.slice(0, 12)}, as on the head's host`)
  return {
    check: 'code',
    result: 'fail',
    detail: `${codeDigest().slice(0, 12)} here, ${code.slice(0, 12)} where the file was written`,
    advice: `install the same version, write the file anew (rl join ${run}), or start with --any-code`,
  }
}

/** An endpoint that the role asks may want a key, and keys stand in each host's environment alone. */
async function keyFindings(log: LogClient, role: Role): Promise<readonly Finding[]> {
  const { policy, rewardModel, adaptation } = (await configsOf(log)).config
  const section = { policy, 'reward-model': rewardModel, adapter: adaptation, environment: null, head: null }[
    role
  ]
  if (section === null || section.baseUrl === null) return []
  const { apiKeyEnv } = section.expert
  if (process.env[apiKeyEnv]?.trim()) return [ok('key', `${apiKeyEnv} is set, for ${section.baseUrl}`)]
  const detail = `${apiKeyEnv} is not set, and the role asks ${section.baseUrl}`
  return [{ check: 'key', result: 'warn', detail, advice: `set ${apiKeyEnv} if that endpoint wants a key` }]
}

/** Modules, prompt files and tasks of the run, each compared with the head's. */
async function* filesFindings(log: LogClient): AsyncGenerator<Finding> {
  try {
    for await (const one of compareFiles(log, (await configsOf(log)).config)) {
      const detail =
        one.result === 'same'
          ? `${one.key}: ${one.there.slice(0, 12)}, as on the head's host`
          : difference(one)
      if (one.result === 'same') yield ok('files', detail)
      else if (one.result === 'shared')
        yield ok('files', `${one.key}: it comes from the log, ${one.recorded.bytes} bytes`)
      else {
        yield { check: 'files', result: 'fail', detail, advice: `copy it from the head's host` }
        return
      }
    }
  } catch (error) {
    yield failed('files', error)
  }
}

async function clockFinding({ bus, run }: LogClient): Promise<Finding> {
  const late = new AbortController()
  let stop = () => {}
  const told = new Promise<number>((resolve) => {
    stop = bus.subscribe(subjectsOf(run).tap('head'), ({ body }) => {
      const { time } = unpackUntrusted(body) as { readonly time?: unknown }
      if (typeof time === 'number') resolve(Date.now() - time)
    })
  })
  const off = await Promise.race([told, pause(TOLD_MS, late.signal).then(() => null)])
  late.abort()
  stop()
  if (off === null)
    return { check: 'clock', result: 'warn', detail: 'the head did not tell its time', advice: 'rl status' }
  const detail = `${Math.abs(off)} ms ${off < 0 ? 'behind' : 'ahead of'} the head's`
  if (Math.abs(off) <= MOST_OFF_MS) return ok('clock', detail)
  return {
    check: 'clock',
    result: 'warn',
    detail,
    advice: 'set it by NTP: times in the log are those of hosts',
  }
}

/** Puts bytes into the log, or into the run's store, and gets them again. */
async function storeFinding(check: string, log: Pick<LogClient, 'putBlob' | 'getBlob'>): Promise<Finding> {
  const bytes = new Uint8Array(PROBE_BYTES)
  try {
    const ref = await log.putBlob(bytes)
    const begun = performance.now()
    const got = await log.getBlob(ref)
    const seconds = (performance.now() - begun) / 1000
    if (sha256Of(got) !== ref.sha256) throw new RlError('other bytes came back', { code: 'blob.corrupt' })
    return ok(check, `put, got and compared, ${Math.round(PROBE_BYTES / 1e6 / seconds)} MB/s`)
  } catch (error) {
    return failed(check, error)
  }
}

function ok(check: string, detail: string): Finding {
  return { check, result: 'ok', detail, advice: null }
}

function failed(check: string, error: unknown): Finding {
  const hint = error instanceof RlError ? (error.hint ?? null) : null
  return {
    check,
    result: 'fail',
    detail: error instanceof RlError ? error.message : explain(error),
    advice: hint,
  }
}

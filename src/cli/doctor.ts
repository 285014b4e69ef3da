import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runsFolder } from '../broker/connection.ts'
import { lookForNatsServer } from '../broker/find.ts'
import { parseCommandLine, printJson } from '../command-line.ts'
import type { Finding, Setting } from '../environments/setting.ts'
import { loadInstalled } from '../environments/settings.ts'
import { explain } from '../errors.ts'
import { freeBytesOf, MIN_FREE_BYTES } from '../events/log.ts'
import { findGpu, gpuAdvice } from '../platform/gpu.ts'
import { THIS_MACHINE } from '../platform/machine.ts'
import { installHint } from '../platform/programs.ts'
import { brief } from '../user-code.ts'
import type { Command } from './command.ts'
import { settingHere } from './setting.ts'

export const command: Command = {
  summary: 'checks what this machine has and says what to do about the rest',
  help: `
rl doctor [--join FILE] [--json]

Checks node, nats-server, SQLite, tensor backends, needs of the settings (a sandbox, a browser) and free disk, a line each.
--join FILE checks in their place what a host needs to join a run by that file: the file, the code, the way to the
broker, the run, keys of endpoints, files of yours, the clock, the log's store and the disk.
The exit status is 1 if something is missing without which nothing runs. --json prints one object a line.
`,
  async run(argv) {
    const { values } = parseCommandLine(
      { options: { json: { type: 'boolean', default: false }, join: { type: 'string' } } },
      argv,
    )
    let failed = false
    for await (const finding of values.join === undefined ? findings() : joining(values.join)) {
      failed ||= finding.result === 'fail'
      if (values.json) printJson(finding)
      else process.stdout.write(`${line(finding)}\n`)
    }
    return failed ? 1 : 0
  },
}

async function* findings(): AsyncGenerator<Finding> {
  yield node()
  yield natsServer()
  yield await sqlite()
  yield await tensors()
  const broken: Finding[] = []
  const settings = await loadInstalled((error) => broken.push(brokenSetting(error)))
  yield* broken
  for (const setting of settings) yield* await checked(async () => setting)
  yield* await checked(settingHere)
  yield disk()
}

async function* joining(file: string): AsyncGenerator<Finding> {
  const { joinFindings } = await import('./doctor-join.ts')
  yield node()
  yield* joinFindings(file)
  yield disk()
}

/** Returns the finding of a setting's own check. A setting that cannot be loaded or checked is a failure. */
async function checked(load: () => Promise<Setting | undefined>): Promise<readonly Finding[]> {
  try {
    const setting = await load()
    return setting?.doctor ? [await setting.doctor()] : []
  } catch (error) {
    return [brokenSetting(error)]
  }
}

function brokenSetting(error: unknown): Finding {
  return { check: 'setting', result: 'fail', detail: brief(explain(error), 500), advice: null }
}

function line({ check, result, detail, advice }: Finding): string {
  return `${result.padEnd(4)}  ${check.padEnd(12)} ${detail}${advice ? ` - ${advice}` : ''}`
}

/** The launcher has refused or replaced a Node that is too old. */
function node(): Finding {
  const { version, platform, arch } = process
  return { check: 'node', result: 'ok', detail: `${version}, ${platform} ${arch}`, advice: null }
}

function natsServer(): Finding {
  const found = lookForNatsServer()
  return {
    check: 'nats-server',
    result: found ? 'ok' : 'warn',
    detail: found ? found.path : 'not here; the head will try to get it into .cache',
    advice: found ? null : installHint('nats-server'),
  }
}

async function sqlite(): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'rl-doctor-'))
  try {
    const { default: Database } = await import('better-sqlite3')
    const db = new Database(join(folder, 'test.db'))
    const mode = db.pragma('journal_mode = WAL', { simple: true })
    const version = db.prepare('SELECT sqlite_version()').pluck().get()
    db.close()
    return { check: 'SQLite', result: 'ok', detail: `${version}, journal ${mode}`, advice: null }
  } catch (error) {
    return {
      check: 'SQLite',
      result: 'fail',
      detail: explain(error),
      advice: 'run: npm ci',
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function tensors(): Promise<Finding> {
  try {
    const { openBackend } = await import('../models/local/backend/backend.ts')
    const { name, detail, passedOver } = await openBackend()
    const others = passedOver.map(({ name, reason }) => `no ${name}: ${reason}`).join('; ')
    const refusal = passedOver.find(({ name }) => name === 'webgpu')?.reason ?? null
    const slow = name === 'cpu' || name === 'wasm'
    return {
      check: 'tensors',
      result: slow ? 'warn' : 'ok',
      detail: `${name} (${detail})${others ? `; ${others}` : ''}`,
      advice:
        gpuAdvice(findGpu(), name, THIS_MACHINE, refusal) ??
        (slow ? `training is slow without a native BLAS; ${installHint('openblas')}` : null),
    }
  } catch (error) {
    return {
      check: 'tensors',
      result: 'warn',
      detail: explain(error),
      advice: 'local models cannot be used; choose an OpenAI-compatible endpoint in the config',
    }
  }
}

function disk(): Finding {
  const folder = runsFolder()
  try {
    mkdirSync(folder, { recursive: true })
    const free = freeBytesOf(folder)
    const enough = free > 4 * MIN_FREE_BYTES
    return {
      check: 'disk',
      result: enough ? 'ok' : free > MIN_FREE_BYTES ? 'warn' : 'fail',
      detail: `${(free / 1024 ** 3).toFixed(1)} GB free at ${folder}`,
      advice: enough
        ? null
        : 'a run pauses before the disk is full: free some space, or set RL_RUNS to another disk',
    }
  } catch (error) {
    return {
      check: 'disk',
      result: 'fail',
      detail: explain(error),
      advice: `make ${folder} writable, or set RL_RUNS`,
    }
  }
}

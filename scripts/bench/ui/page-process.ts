/** The process of the pages as `rl ui` starts it, with a session, its memory and its processor time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { compileCache, nodeWords } from '../../../src/package.ts'
import { SMALL_HEAPS } from '../../../src/ui/server/door.ts'

export type PageProcess = {
  readonly base: string
  readonly pid: number
  readonly cookie: { readonly name: string; readonly value: string }
  /** Returns the text of an answer on the run, and the time that it took. */
  readonly ask: (path: string) => Promise<{ readonly ms: number; readonly text: string }>
  /** Resident memory now and at its peak, and what no other process shares, in MiB. Null if the system does not tell. */
  readonly memory: () => { readonly now: number; readonly peak: number; readonly own: number } | null
  /** Processor seconds so far. Null if the system does not tell. */
  readonly cpu: () => number | null
  readonly close: () => Promise<void>
}

const TICKS_PER_SECOND = 100

export async function startPages(root: string, run: string): Promise<PageProcess> {
  const own = nodeWords(new URL('../../../src/rl.ts', import.meta.url))
  // As a head starts them.
  const words = [...own.toSpliced(-1, 0, ...SMALL_HEAPS), 'ui', run, '--print-url']
  const child = spawn(process.execPath, words, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...compileCache(), ...process.env, RL_RUNS: root },
  })
  const [link] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { origin, hash } = new URL(link)
  const body = JSON.stringify({ token: hash.slice(1) })
  const session = await fetch(`${origin}/api/session`, { method: 'POST', body })
  const [pair] = (session.headers.get('set-cookie') ?? '').split(';')
  const [name, value] = pair.split('=')
  return {
    base: origin,
    pid: child.pid ?? 0,
    cookie: { name, value },
    async ask(path) {
      const begun = performance.now()
      const answer = await fetch(`${origin}/api/r/${run}${path}`, { headers: { cookie: pair } })
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text.slice(0, 200)}`)
      return { ms: performance.now() - begun, text }
    },
    memory: () => memoryOf(child),
    cpu: () => cpuOf(child),
    async close() {
      child.kill('SIGINT')
      await once(child, 'exit')
    },
  }
}

function memoryOf({ pid }: ChildProcess): { now: number; peak: number; own: number } | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
    return { now: of('VmRSS'), peak: of('VmHWM'), own: of('RssAnon') }
  } catch {
    return null
  }
}

function cpuOf({ pid }: ChildProcess): number | null {
  try {
    const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  } catch {
    return null
  }
}

/** Programs on a SandboxFusion server, by its HTTP interface `POST /run_code` (Apache-2.0, bytedance/SandboxFusion). */

import { setTimeout as sleep } from 'node:timers/promises'
import { firstIssue, httpFetch, RlError, safeParse } from 'rlanything/kit'
import { z } from 'zod'
import { type Limits, type ProgramRun, type Provider, wallLimitMs } from '../provider.ts'
import type { RunResult, Verdict } from '../run-result.ts'
import { isMemoryError } from './runner-protocol.ts'

export type SandboxFusionOptions = {
  /** e.g. `http://127.0.0.1:8080` */
  readonly url: string
  /** Key, sent as a bearer token. */
  readonly key?: string
  /** Number of programs at a time. The reference configuration has 128 workers. */
  readonly concurrency?: number
  /** Tests of a program at once. */
  readonly parallelTests?: number
  /** Number of waits for a busy server. The wait doubles each time, or is as long as the server says. */
  readonly backOff?: { readonly firstMs: number; readonly times: number }
}

const PHASE = z.object({
  status: z.enum(['Finished', 'Error', 'TimeLimitExceeded']),
  execution_time: z.number().nullish(),
  return_code: z.number().nullish(),
  stdout: z.string().nullish(),
  stderr: z.string().nullish(),
})

const RESPONSE = z.object({
  status: z.enum(['Success', 'Failed', 'SandboxError']),
  message: z.string().nullish(),
  compile_result: PHASE.nullish(),
  run_result: PHASE.nullish(),
})

/** Names that the server uses. */
const LANGUAGES = { python: 'python', javascript: 'nodejs', cpp: 'cpp' } as const

const STDERR_TAIL = 4096
const NETWORK_GRACE_MS = 10_000

/** Too many requests, bad gateway, unavailable, gateway timeout: the program was not run. */
const BUSY = [429, 502, 503, 504]
const LONGEST_WAIT_MS = 30_000

export function createSandboxFusionProvider({
  url,
  key,
  concurrency = 16,
  parallelTests = 4,
  backOff = { firstMs: 250, times: 5 },
}: SandboxFusionOptions): Provider {
  const endpoint = endpointOf(url)
  const headers = {
    'content-type': 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  }

  /** Resolves to the first answer of a server that is not busy, or to the last answer. */
  async function ask(body: string, deadlineMs: number, signal?: AbortSignal): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      const timeout = AbortSignal.timeout(deadlineMs)
      const response = await httpFetch(endpoint, {
        method: 'POST',
        headers,
        body,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      })
      if (!BUSY.includes(response.status) || attempt === backOff.times) return response
      await response.arrayBuffer() // read to its end, so that the connection can be used again
      const told = Number(response.headers.get('retry-after')) * 1000
      const waitMs = Math.min(told > 0 ? told : backOff.firstMs * 2 ** attempt, LONGEST_WAIT_MS)
      await sleep(waitMs, undefined, { signal })
    }
  }

  async function runOnce(
    { program, language = 'python', limits }: ProgramRun,
    stdin: string,
    signal?: AbortSignal,
  ): Promise<RunResult> {
    // The server knows wall time only. The caller's wall limit keeps load from changing verdicts.
    const begun = performance.now()
    const request = JSON.stringify({
      code: language === 'cpp' ? `#define ONLINE_JUDGE\n#line 1\n${program}` : program,
      language: LANGUAGES[language],
      stdin,
      run_timeout: wallLimitMs(limits) / 1000,
      compile_timeout: 10,
      memory_limit_MB: limits.memoryMB,
      files: {},
      fetch_files: [],
    })
    let body: unknown
    try {
      const response = await ask(request, wallLimitMs(limits) + NETWORK_GRACE_MS, signal)
      if (!response.ok) throw new Error(`HTTP ${response.status}: ${(await response.text()).slice(0, 200)}`)
      body = await response.json()
    } catch (cause) {
      signal?.throwIfAborted()
      throw failure(`${endpoint}: ${cause instanceof Error ? cause.message : cause}`, cause)
    }
    const parsed = safeParse(RESPONSE, body)
    if (!parsed.success) {
      const { path, message } = firstIssue(parsed.error)
      throw failure(`${endpoint} did not answer like /run_code: ${path.join('.')}: ${message}`)
    }
    return resultOf(parsed.data, limits, performance.now() - begun)
  }

  async function run(
    job: ProgramRun,
    report: (test: number, result: RunResult) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const waiting = [...job.stdins.entries()]
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift())
        report(next[0], await runOnce(job, next[1], signal))
    }
    const ended = await Promise.allSettled(Array.from({ length: parallelTests }, work))
    const failed = ended.find((one) => one.status === 'rejected')
    if (failed) throw failed.reason
  }

  return {
    name: 'sandbox-fusion',
    detail: endpoint,
    semantics: `sandbox-fusion-1 ${endpoint}`,
    languages: ['python', 'javascript', 'cpp'],
    concurrency,
    run,
    close: async () => {},
  }
}

function endpointOf(url: string): string {
  try {
    return new URL('run_code', url.endsWith('/') ? url : `${url}/`).href
  } catch (cause) {
    throw new RlError(`'${url}' is not a URL`, {
      code: 'coding.no-url',
      hint: 'write http://HOST:PORT',
      cause,
    })
  }
}

function failure(message: string, cause?: unknown): RlError {
  return new RlError(`sandbox-fusion: ${message}`, {
    code: 'coding.sandbox',
    hint: 'check that the server runs and is reachable',
    cause,
  })
}

function resultOf(response: z.infer<typeof RESPONSE>, limits: Limits, wallMs: number): RunResult {
  const phase = response.run_result ?? response.compile_result
  if (response.status === 'SandboxError' || !phase)
    throw failure(`the server reports ${response.status}: ${response.message ?? ''}`)
  const stdout = Buffer.from(phase.stdout ?? '')
  const stderrTail = (phase.stderr ?? '').slice(-STDERR_TAIL)
  const truncated = stdout.length > limits.outputBytes
  return {
    verdict: truncated ? 'output_limit' : verdictOf(phase, response.run_result !== null, stderrTail),
    stdout: stdout.subarray(0, limits.outputBytes).toString(),
    stderrTail,
    exitCode: phase.return_code ?? null,
    signal: null,
    cpuMs: (phase.execution_time ?? 0) * 1000,
    wallMs,
    peakKB: 0,
    truncated,
  }
}

function verdictOf(phase: z.infer<typeof PHASE>, wasRun: boolean, stderrTail: string): Verdict {
  if (phase.status === 'TimeLimitExceeded') return 'timeout'
  if (phase.status === 'Error') throw failure(`the server could not run the program: ${stderrTail}`)
  if (!wasRun) return 'compile_error'
  if (phase.return_code === 0) return 'ok'
  return isMemoryError(stderrTail) ? 'memory' : 'runtime_error'
}

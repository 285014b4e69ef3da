/**
 * Calls into a user's code. A fault is one of three: the code threw, gave no answer in time, or gave a value
 * that makes no sense. The error names file and line, the called part, and the task or step.
 */
import { sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { within } from './clock.ts'
import { RlError } from './errors.ts'
import { PACKAGE_ROOT, SOURCES } from './package.ts'
import { firstIssue, safeParse } from './safe-parse.ts'

export type UserCall = {
  /** Name of the module in messages. */
  readonly file: string
  /** The called part, e.g. `step('left')`. */
  readonly part: string
  /** Subjects of the call, e.g. `task 'train-3'`, `step 2`. */
  readonly about?: readonly string[]
  /** Code of its errors, e.g. `setting.broken`. A thrown error that has a code keeps its own. */
  readonly code: string
  /** Names the page that says what the part must give. */
  readonly hint: string
}

/** Time limit of a call, and the key of the config that sets it. */
export type CallLimit = { readonly ms: number; readonly key: string }

/** Returns what is wrong with a value, e.g. `.turn.observation: expected string`, or null. */
export type Check = (value: unknown) => string | null

/** A fault of a user's code, in one task, one episode or one answer. The caller decides what it costs. */
export class UserCodeError extends RlError {
  override readonly name = 'UserCodeError'
  readonly fault: 'threw' | 'late' | 'nonsense'
  /** The module that was called. */
  readonly file: string
  /** Code of the part's errors, even if the thrown error has a code of its own. */
  readonly of: string

  constructor(
    { file, part, about = [], code, hint }: UserCall,
    fault: UserCodeError['fault'],
    what: {
      readonly place?: string
      readonly message: string
      readonly hint?: string
      readonly code?: string
    },
    cause?: unknown,
  ) {
    const told = about.length === 0 ? '' : ` (${about.join(', ')})`
    super(`${what.place ?? file}: ${part}${what.message}${told}`, {
      code: what.code ?? code,
      hint: what.hint ?? hint,
      cause,
    })
    this.fault = fault
    this.file = file
    this.of = code
  }
}

/** Whether a part of the setting is at fault and does not blame the infrastructure. */
export function isSettingFault(error: unknown): error is UserCodeError {
  return error instanceof UserCodeError && error.of === 'setting.broken' && error.code !== 'rollout.infra'
}

let hear: (fault: UserCodeError) => void = () => {}

/**
 * Sets the listener of this process for faults of users' code. It hears each fault once, even if the fault costs only a
 * rollout.
 */
export function onUserFault(listener: (fault: UserCodeError) => void): void {
  hear = listener
}

let begin: (call: UserCall) => void = () => {}

/** Sets the listener of this process for calls. It hears each call before the call begins. */
export function onUserCall(listener: (call: UserCall) => void): void {
  begin = listener
}

/**
 * Calls code that must give its value at once.
 * @throws UserCodeError
 */
export function callNow<T>(call: UserCall, work: () => T, check?: Check): T {
  return settled(call, check, () => {
    const value = work()
    if (isPromise(value)) {
      // Nobody awaits the promise: its rejection must not end the process.
      value.then(undefined, () => {})
      throw told(
        new UserCodeError(call, 'nonsense', { message: ': expected a value at once, got a promise' }),
      )
    }
    return value
  })
}

/**
 * Calls code that may give its value later. The value is checked if `check` is given.
 *
 * @param limit time limit of the call, or null for none
 * @throws UserCodeError if the code threw, was late, or gave a value that `check` refuses
 * @example
 * const call = { file: 'mine.ts', part: 'answer()', code: 'setting.broken', hint: 'docs/environments.md' }
 * const answer = await callWithin(call, { ms: 1000, key: 'run.deadlines.stepSeconds' }, () => mine.answer())
 */
export async function callWithin<T>(
  call: UserCall,
  limit: CallLimit | null,
  work: () => T | Promise<T>,
  check?: Check,
): Promise<T> {
  const value = await callEither(call, limit, work, check)
  return value
}

/**
 * Calls code that may give its value at once or later.
 * @throws UserCodeError
 */
export function callEither<T>(
  call: UserCall,
  limit: CallLimit | null,
  work: () => T | Promise<T>,
  check?: Check,
): T | Promise<T> {
  const value = settled<T | Promise<T>>(call, undefined, work)
  if (!isPromise(value)) return settled(call, check, () => value)
  return later(call, limit, value, check)
}

async function later<T>(
  call: UserCall,
  limit: CallLimit | null,
  work: PromiseLike<T>,
  check: Check | undefined,
): Promise<T> {
  let value: T
  try {
    const waited = Promise.resolve(work)
    value = await (limit === null ? waited : within(waited, limit.ms, () => late(call, limit)))
  } catch (error) {
    throw named(call, error)
  }
  return settled(call, check, () => value)
}

function settled<T>(call: UserCall, check: Check | undefined, work: () => T): T {
  begin(call)
  let wrong: string | null
  let value: T
  try {
    value = work()
    // A value may be a proxy, or have getters: looking at it is a call as well.
    wrong = check?.(value) ?? null
  } catch (error) {
    throw named(call, error)
  }
  if (wrong === null) return value
  throw told(new UserCodeError(call, 'nonsense', { message: wrong }))
}

/** Returns the error for a value that makes no sense. The caller found it by comparing it with others. */
export function nonsense(call: UserCall, wrong: string): UserCodeError {
  return told(new UserCodeError(call, 'nonsense', { message: wrong }))
}

function late(call: UserCall, { ms, key }: CallLimit): UserCodeError {
  const message = `: no answer within ${ms / 1000} s`
  return told(new UserCodeError(call, 'late', { message, hint: `${key} sets the time limit` }))
}

/**
 * Returns the thrown error with its place. If a part calls another part of the same module, the inner one is
 * named.
 */
function named(call: UserCall, error: unknown): UserCodeError {
  if (error instanceof UserCodeError && error.file === call.file) return error
  const own = error instanceof RlError ? { code: error.code, hint: error.hint } : codeOf(error)
  const what = { ...own, place: placeOf(error, call.file), message: ` failed: ${reasonOf(error)}` }
  return told(new UserCodeError(call, 'threw', what, error))
}

function told(fault: UserCodeError): UserCodeError {
  hear(fault)
  return fault
}

/** An environment may blame the infrastructure without using one of our error classes. */
function codeOf(error: unknown): { readonly code?: string } {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code
  return code === 'rollout.infra' ? { code } : {}
}

const MOST_CHARACTERS = 500

function reasonOf(error: unknown): string {
  const text =
    error instanceof Error
      ? error.name === 'Error' || error instanceof RlError
        ? error.message
        : `${error.name}: ${error.message}`
      : `threw ${inWords(error)}`
  return brief(text, MOST_CHARACTERS)
}

function inWords(value: unknown): string {
  try {
    return typeof value === 'string' ? `'${value}'` : (JSON.stringify(value) ?? String(value))
  } catch {
    return typeof value
  }
}

/** Returns the text on one line, cut if it is long. */
export function brief(text: string, most = 40): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most)}...`
}

/** Whether a value can be awaited. */
function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}

const OURS = `${PACKAGE_ROOT}${SOURCES ? 'src' : 'dist'}${sep}`
const LIBRARY = `${sep}node_modules${sep}`
const FRAME = /\(?((?:file:|\/|[A-Za-z]:[\\/]).*):(\d+):(\d+)\)?$/

type Frame = { readonly file: string; readonly place: string }

/**
 * Returns `file:line:column` of the first frame in the user's code, or the module's file if there is none.
 */
export function placeOf(error: unknown, file: string): string {
  const frames = framesOf(error)
  const theirs =
    frames.find((frame) => !frame.file.includes(LIBRARY)) ?? frames.find((frame) => frame.file === file)
  return theirs?.place ?? file
}

/** Frames that are neither ours nor Node's, the innermost first. */
function framesOf(error: unknown): readonly Frame[] {
  const { stack } = (error ?? {}) as { readonly stack?: unknown }
  if (typeof stack !== 'string') return []
  return stack.split('\n').flatMap((line) => {
    if (!/^\s+at /.test(line) || /\bnode:[\w/]+:\d+:\d+\)?$/.test(line)) return []
    const [, address, row, column] = FRAME.exec(line) ?? []
    if (address === undefined) return []
    const file = pathOf(address)
    return file.startsWith(OURS) ? [] : [{ file, place: `${file}:${row}:${column}` }]
  })
}

function pathOf(address: string): string {
  try {
    return address.startsWith('file:') ? fileURLToPath(address.replace(/\?.*$/, '')) : address
  } catch {
    return address
  }
}

/** Returns a check by a schema. It reports the first mistake, with its field. */
export function shape(schema: z.ZodType): Check {
  return (value) => {
    const { error } = safeParse(schema, value)
    if (!error) return null
    const { path, message } = firstIssue(error)
    return `${fieldOf(path)}: ${message}`
  }
}

function fieldOf(path: readonly PropertyKey[]): string {
  return path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
}

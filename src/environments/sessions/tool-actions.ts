/** Actions of sessions with tools: calls in a model's text, or choices. */
import type { ToolSpec } from '../../models/port.ts'
import type { Rng } from '../../random.ts'
import { PROBLEM } from '../setting.ts'
import { BETWEEN_RESULTS, type ReadCall, readCalls, writeCall } from '../tool-calls.ts'
import { broken } from './fault.ts'
import { anyOf, fewValues } from './few-values.ts'

/** Most calls of one action that are done. */
const MOST_CALLS = 8
/** Most characters of a result that a model is shown. */
const MOST_SHOWN = 20_000
/** Most bytes of files that are kept of one action. */
const MOST_KEPT = 16 * 1024 * 1024
/** Most actions to choose from. Each step of the log has all of them. */
const MOST_CHOICES = 10_000

/** A call that an action asks for. */
export type Asked = { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }

/** The result of one call. */
export type CallResult = {
  readonly text: string
  readonly failed: boolean
  /** True if nothing was called. */
  readonly void?: boolean
  /** True if the episode is over. */
  readonly ends?: boolean
  /** Pay of the tool. Absent for none. */
  readonly reward?: number
  /** Last words of a model that ended the episode. */
  readonly answer?: string
  /** Files that the text names. */
  readonly files?: readonly Uint8Array[]
}

/** A call that was not made. */
export const problem = (why: string): CallResult => ({ text: `${PROBLEM}${why}`, failed: true, void: true })

/** Returns a text without its end if it is too long. */
export function cut(text: string): string {
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}... (${text.length} characters)`
}

/** Returns why an answer of a model has nothing to act by, or null. */
export function invalidCalls(answer: string, without: string | null): string | null {
  const calls = readCalls(answer)
  if (calls.some((call) => 'unreadable' in call)) return 'a call cannot be read'
  if (answer.trim() === '') return 'no action'
  return calls.length === 0 ? without : null
}

/**
 * Returns the actions that a model may choose from: tools whose arguments have few values.
 *
 * @param given actions of the config, in place of those of the schemas
 * @throws RlError `environment.answer` if the schemas allow too many
 */
export function choicesOf(tools: readonly ToolSpec[], given: readonly string[]): readonly string[] {
  if (given.length > 0) return [...new Set(given)]
  const choices: string[] = []
  for (const { name, parameters } of tools) {
    for (const values of fewValues(parameters)?.keys() ?? []) choices.push(`${name} ${values}`.trim())
    if (choices.length > MOST_CHOICES)
      throw broken(
        `the tools allow more than ${MOST_CHOICES} actions`,
        'list some as actions of the section, or let a model write calls: acting: texts',
      )
  }
  return choices
}

/** Returns the calls of an action: those of a model's text, or a choice such as `add {"a": 1}` or `toggle on true`. */
export function callsOf(action: string, tools: ReadonlyMap<string, ToolSpec>): readonly ReadCall[] {
  const calls = readCalls(action)
  if (calls.length > 0) return calls
  const text = action.trim()
  const [name = ''] = text.split(/\s/, 1)
  const rest = text.slice(name.length).trim()
  const tool = tools.get(name)
  if (!tool) return []
  const chosen = fewValues(tool.parameters)?.get(rest)
  if (chosen) return [{ name, arguments: chosen }]
  if (!rest.startsWith('{')) return []
  return readCalls(`<tool_call>{"name": ${JSON.stringify(name)}, "arguments": ${rest}}</tool_call>`)
}

/** Returns a call by chance, as a model would write it. */
export function anyCall(tools: readonly ToolSpec[], random: Rng): string {
  const [first] = tools
  if (!first) return ''
  const { name, parameters } = random.pick(tools)
  return writeCall(name, anyOf(parameters, random))
}

export type Done = {
  /** The results, as many texts as the calls that were made. */
  readonly observation: string
  readonly results: readonly CallResult[]
  readonly failed: boolean
  /** True if nothing was called. */
  readonly void?: boolean
  /** Files that the observation names, at most `MOST_KEPT` bytes of them. */
  readonly files?: readonly Uint8Array[]
}

/** Makes calls one after another, until one ends the episode. */
export async function doCalls(
  calls: readonly ReadCall[],
  perform: (asked: Asked) => Promise<CallResult>,
): Promise<Done> {
  const results: CallResult[] = []
  for (const asked of calls.slice(0, MOST_CALLS)) {
    const result =
      'unreadable' in asked ? problem('the call is no JSON with name and arguments') : await perform(asked)
    results.push(result)
    if (result.ends) break
  }
  if (calls.length > MOST_CALLS && !results.some(({ ends }) => ends))
    results.push(problem(`at most ${MOST_CALLS} calls are done in a turn`))
  return {
    observation: together(results.map(({ text }) => text)),
    results,
    failed: results.some(({ failed }) => failed),
    ...(results.every((result) => result.void) ? { void: true } : {}),
    ...filesOf(results),
  }
}

function filesOf(results: readonly CallResult[]): Pick<Done, 'files'> {
  let bytes = 0
  const files = results
    .flatMap((result) => result.files ?? [])
    .filter(({ byteLength }) => {
      bytes += byteLength
      return bytes <= MOST_KEPT
    })
  return files.length === 0 ? {} : { files }
}

/** Returns several results as one observation, in which no result has the mark that separates them. */
function together(texts: readonly string[]): string {
  if (texts.length === 1) return cut(texts.join(''))
  return texts.map((text) => cut(text.replaceAll(/\n{2,}/g, '\n'))).join(BETWEEN_RESULTS)
}

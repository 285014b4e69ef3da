/** A process of a user's agent or grade: it loads the module, and calls what it exports, one call after another. */
import { explain } from '../errors.ts'
import { placeOf } from '../user-code.ts'
import { loadUserModule } from '../user-module.ts'

export type Called = {
  /** Drawn at random, so that the code of one call cannot answer a later one. */
  readonly id: string
  readonly args: readonly unknown[]
  /** Another export to call. Nothing is returned if there is none. */
  readonly other?: string
}
export type Said =
  | { readonly kind: 'ready' }
  | { readonly kind: 'broken'; readonly error: string }
  | { readonly kind: 'result'; readonly id: string; readonly value: unknown }
  | { readonly kind: 'threw'; readonly id: string; readonly error: string }

/** Node has no public name for a stream that writes at once. */
type Printed = { readonly _handle?: { readonly setBlocking?: (on: boolean) => void } }

const MOST_RESULT = 1_000_000

const [, , file = '', name = ''] = process.argv
const say = (said: Said) => void process.send?.(said)

// An agent that prints in a loop would else fill its memory, and nobody would see it.
for (const { _handle } of [process.stdout, process.stderr] as readonly Printed[]) _handle?.setBlocking?.(true)

process.on('disconnect', () => process.exit(0))
process.on('SIGINT', () => {})

try {
  const { exports, file: found } = await loadUserModule(file, `--${name}`)
  const called = exports[name] ?? exports.default
  if (typeof called !== 'function') throw new TypeError(`${file} exports no function '${name}'`)
  process.on('message', ({ id, args, other }: Called) => {
    const controller = new AbortController()
    const [first, second, ...rest] = args
    const given = name === 'agent' ? [first, { ...(second as object), signal: controller.signal, log }] : args
    void (async () => {
      try {
        const target = other === undefined ? called : exports[other]
        const value: unknown =
          typeof target !== 'function' ? null : await target(...given, ...(name === 'agent' ? rest : []))
        const text = JSON.stringify(value) ?? 'null'
        if (text.length > MOST_RESULT) throw new RangeError(`the result has ${text.length} characters`)
        say({ kind: 'result', id, value: JSON.parse(text) })
      } catch (error) {
        say({ kind: 'threw', id, error: `${explain(error)} (${placeOf(error, found)})`.slice(0, 2_000) })
      } finally {
        controller.abort()
      }
    })()
  })
  say({ kind: 'ready' })
} catch (error) {
  say({ kind: 'broken', error: explain(error) })
}

function log(...words: readonly unknown[]): void {
  process.stderr.write(`${words.map(String).join(' ')}\n`)
}

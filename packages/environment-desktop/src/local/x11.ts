/** A connection to an X display through the package x11. Each request has a deadline. */
import { connect } from 'node:net'
import { itemAt, RlError } from 'rlanything/kit'
import type { ScreenSize } from '../screen/action.ts'
import { faultError } from './sandbox.ts'

const DEADLINE_MS = 10_000

/** Asks one thing. Errors: that of the display, or `desktop.died` if it has ended or does not answer in time. */
type Ask = <Answer>(request: (done: Done<Answer>) => void) => Promise<Answer>

export type X11Connection = {
  readonly client: X11Client
  /** Number of the root window. */
  readonly root: number
  readonly ask: Ask
  /** Resolves when the server has taken all requests before. */
  readonly sync: () => Promise<unknown>
  readonly close: () => void
}

/** @param socket of the display, e.g. below /proc/<pid>/root */
export async function connectDisplay(socket: string): Promise<X11Connection> {
  const { createClient } = await library()
  const stream = connect(socket)
  const { client, screen } = await new Promise<X11Display>((resolve, reject) => {
    createClient({ stream, display: ':0' }, (error, display) => (error ? reject(error) : resolve(display)))
  })
  // All connections of the package share one table of atoms, though each display numbers them itself.
  client.atoms = { ...client.atoms }
  let broken: string | null = null
  client.on('error', (error) => {
    // Errors of windows that have gone in the meantime come here as well; only the connection's end is one of the desktop.
    if (!('error' in error)) broken ??= error.message
  })
  client.on('end', () => {
    broken ??= 'the display has ended'
  })

  function ask<Answer>(request: (done: Done<Answer>) => void): Promise<Answer> {
    if (broken !== null) return Promise.reject(faultError(broken))
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(faultError('the display does not answer')), DEADLINE_MS)
      const end = (why: string) => reject(faultError(why))
      const onClose = () => end('the display has ended')
      stream.once('close', onClose)
      request((error, answer) => {
        clearTimeout(timer)
        stream.off('close', onClose)
        if (error) reject(error)
        else resolve(answer)
      })
    })
  }

  return {
    client,
    root: itemAt(screen, 0).root,
    ask,
    sync: () => ask((done) => client.GetInputFocus(done)),
    close: () => stream.destroy(),
  }
}

type Done<Answer> = (error: Error | null, answer: Answer) => void

/** What is used here of the package x11. */
type X11Client = {
  readonly display: { readonly min_keycode: number; readonly max_keycode: number }
  atoms: Readonly<Record<string, number>>
  on(event: 'error', listener: (error: Error) => void): void
  on(event: 'end', listener: () => void): void
  require(extension: 'xtest', done: Done<XTest>): void
  GetInputFocus(done: Done<unknown>): void
  GetKeyboardMapping(first: number, count: number, done: Done<readonly (readonly number[])[]>): void
  ChangeKeyboardMapping(first: number, columns: number, keysyms: readonly number[]): void
  QueryPointer(window: number, done: Done<{ readonly rootX: number; readonly rootY: number }>): void
  InternAtom(onlyIfThere: boolean, name: string, done: Done<number>): void
  GetProperty(
    remove: 0,
    window: number,
    name: number,
    type: number,
    offset: number,
    length: number,
    done: Done<{ readonly data: Buffer }>,
  ): void
  GetGeometry(window: number, done: Done<ScreenSize>): void
  SendEvent(window: number, propagate: 0, mask: number, event: Buffer): void
}

export type XTest = {
  FakeInput(type: number, detail: number, time: number, window: number, x: number, y: number): void
}

type X11Display = { readonly client: X11Client; readonly screen: readonly { readonly root: number }[] }

type X11 = {
  createClient(
    options: { readonly stream: object; readonly display: string },
    done: (error: Error | null, display: X11Display) => void,
  ): void
}

async function library(): Promise<X11> {
  try {
    // A name that compilers do not follow: the package has no types and may be absent.
    const name: string = 'x11'
    return ((await import(name)) as { readonly default: X11 }).default
  } catch (cause) {
    throw new RlError('local desktops need the npm package x11', {
      code: 'desktop.missing',
      hint: 'run: npm install x11',
      cause,
    })
  }
}

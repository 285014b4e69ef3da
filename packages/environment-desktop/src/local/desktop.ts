/** A desktop of this machine: a sandbox with a display, its input, its screen and its accessibility tree. */

import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RlError } from 'rlanything/kit'
import type { Computer, Executed, WindowQuery } from '../computer.ts'
import type { ScreenSize } from '../screen/action.ts'
import { encodePng } from '../screen/png.ts'
import { readAccessibility } from './accessibility.ts'
import { type Dbus, openDbus } from './dbus.ts'
import { type Display, openDisplay } from './display.ts'
import { type Framebuffer, openFramebuffer } from './framebuffer.ts'
import { faultError, openSandbox, type Sandbox } from './sandbox.ts'
import { keyDistances, strokes } from './strokes.ts'
import { fits, type Window } from './windows.ts'

const SCREEN: ScreenSize = { width: 1280, height: 800 }

/** A desktop is at rest if two frames at this distance are equal. The wait has an upper limit. */
const FRAME_MS = 20
const MOST_REST_MS = 2000
/**
 * Longest total wait for rest of one answer's actions. A program that never rests must not keep a desktop for
 * hours.
 */
const MOST_RESTS_MS = 60_000
/** A program that starts, or that saves a file, stands still for a moment now and then. */
const FRAMES_OF_WORK = 15
const MOST_WORK_MS = 20_000
const WINDOW_MS = 60_000
const LOOK_MS = 20
const EXECUTE_MS = 120_000
const START_MS = 30_000

export interface LocalDesktop extends Computer {
  readonly windows: () => Promise<readonly Window[]>
  readonly pointer: Display['pointer']
  readonly windowSize: (windowClass: string) => Promise<ScreenSize | null>
  /** Reason why the desktop is gone: the sandbox ended, or a program crashed. Null while all is well. */
  readonly fault: () => string | null
}

type Parts = {
  readonly sandbox: Sandbox
  readonly screen: Framebuffer
  readonly display: Display
  readonly bus: Dbus
}

async function start(size: ScreenSize): Promise<Parts> {
  const sandbox = await openSandbox(size)
  const opened: (() => unknown)[] = [sandbox.end]
  try {
    const files = `/proc/${sandbox.pid}/root`
    const screen = await openFramebuffer(`${files}/run/fb/Xvfb_screen0`, size)
    opened.unshift(screen.close)
    const display = await openDisplay(`${files}/tmp/.X11-unix/X0`, size)
    opened.unshift(display.close)
    const bus = await openDbus(`${files}/run/user/at-spi/bus_0`)
    opened.unshift(bus.close)
    const end = Date.now() + START_MS
    while (!(await display.managed())) {
      if (Date.now() > end || sandbox.fault() !== null)
        throw faultError(sandbox.fault() ?? 'its window manager does not start')
      await sleep(LOOK_MS)
    }
    return { sandbox, screen, display, bus }
  } catch (cause) {
    for (const close of opened) await close()
    throw cause
  }
}

export async function openDesktop(size: ScreenSize = SCREEN): Promise<LocalDesktop> {
  let parts = await start(size)
  const distances = keyDistances()
  let [last, next] = [Buffer.alloc(parts.screen.bytes), Buffer.alloc(parts.screen.bytes)]

  /** A program that a signal ended has crashed. Whatever follows is not the agent's doing. */
  const fault = () => {
    const crashed = [...parts.sandbox.exits.values()].find((exit) => CRASHES.includes(String(exit)))
    return parts.sandbox.fault() ?? (crashed === undefined ? null : `a program ended with ${crashed}`)
  }
  const sound = () => {
    const why = fault()
    if (why !== null) throw faultError(why)
  }

  /** Waits until this number of consecutive frames is equal. No program runs in between. */
  async function rest(wanted = 1, mostMs = MOST_REST_MS): Promise<void> {
    const end = Date.now() + mostMs
    await sleep(FRAME_MS)
    await parts.screen.read(last)
    for (let equal = 0; equal < wanted && Date.now() < end; ) {
      await sleep(FRAME_MS)
      const { threads } = await parts.sandbox.ask('busy', {})
      await parts.screen.read(next)
      equal = threads === 0 && last.equals(next) ? equal + 1 : 0
      ;[last, next] = [next, last]
    }
  }

  async function waitForWindow(query: WindowQuery): Promise<void> {
    const end = Date.now() + WINDOW_MS
    while (!(await parts.display.windows()).some((window) => fits(window, query))) {
      sound()
      if (Date.now() > end)
        throw new RlError(`no window '${query.name}' came in ${WINDOW_MS / 1000} s`, {
          code: 'desktop.refused',
        })
      await sleep(LOOK_MS)
    }
    await rest(FRAMES_OF_WORK, MOST_WORK_MS)
  }

  async function close(): Promise<void> {
    parts.display.close()
    parts.bus.close()
    await parts.screen.close()
    await parts.sandbox.end()
  }

  const { ask } = { ask: (...words: Parameters<Sandbox['ask']>) => parts.sandbox.ask(...words) }

  return {
    size: async () => size,
    windows: () => parts.display.windows(),
    pointer: () => parts.display.pointer(),
    async windowSize(name) {
      const windows = await parts.display.windows()
      const found = windows.find((window) => fits(window, { name, strict: false, byClass: true }))
      return found ? parts.display.geometry(found.id) : null
    },
    waitForWindow,
    fault,
    async act(actions) {
      const end = Date.now() + MOST_RESTS_MS
      for (const action of actions) {
        sound()
        if (action.type === 'wait') await sleep(action.seconds * 1000)
        else if (action.type === 'end') await rest(FRAMES_OF_WORK, MOST_WORK_MS)
        else {
          await sleep(distances.untilActionMs(action))
          for (const part of strokes(action)) {
            await sleep(distances.untilPortionMs(part))
            if (await parts.display.prepare(part)) await rest(1, Math.min(MOST_REST_MS, end - Date.now()))
            await parts.display.input(part)
            distances.notePortion(part)
            await rest(1, Math.min(MOST_REST_MS, end - Date.now()))
          }
          distances.noteAction(action)
        }
      }
      sound()
    },
    async screenshot() {
      sound()
      const { pixels } = await parts.screen.read()
      return encodePng(size, pixels)
    },
    async accessibility() {
      sound()
      return readAccessibility(parts.bus)
    },
    async execute(command, { shell = false, timeoutMs = EXECUTE_MS } = {}) {
      return (await ask('execute', { command, shell }, timeoutMs)) as unknown as Executed
    },
    async launch(command, { shell = false } = {}) {
      await ask('launch', { command, shell })
    },
    async readFile(path) {
      const { base64 } = await ask('read', { path })
      return typeof base64 === 'string' ? Buffer.from(base64, 'base64') : null
    },
    async writeFile(path, bytes) {
      await ask('write', { path, base64: Buffer.from(bytes).toString('base64') })
    },
    listDirectory: async (path) => (await ask('list', { path })).tree,
    async openFile(path) {
      const name = basename(path)
      await ask('launch', { command: opener(path), shell: false })
      await waitForWindow({ name, strict: false, byClass: false })
      await parts.display.activate({ name, strict: false, byClass: false })
      await rest()
    },
    async activateWindow(query) {
      const found = await parts.display.activate(query)
      if (found) await rest()
      return found
    },
    async closeWindow(query) {
      const found = await parts.display.shut(query)
      if (found) await rest()
      return found
    },
    async reset() {
      await close()
      parts = await start(size)
    },
    close,
  }
}

const CRASHES = ['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP']

const OPENERS: readonly (readonly [pattern: RegExp, words: readonly string[]])[] = [
  [/\.(ods|xlsx?|csv)$/i, ['libreoffice', '--calc']],
  [/\.(odt|docx?|rtf)$/i, ['libreoffice', '--writer']],
  [/\.(odp|pptx?)$/i, ['libreoffice', '--impress']],
  [/\.(html?|pdf)$/i, ['chromium']],
  [/\.[a-z]+$/i, ['mousepad']],
]

function opener(path: string): readonly string[] {
  const words = OPENERS.find(([pattern]) => pattern.test(path))?.[1]
  return words ? [...words, path] : ['pcmanfm', path]
}

/** A desktop behind a server that speaks OSWorld's endpoints: a virtual machine of somebody's, or `rl desktop serve`. */

import { setTimeout as sleep } from 'node:timers/promises'
import { RlError } from 'rlanything/kit'
import type { AccessibleNode, Computer, Executed } from '../computer.ts'
import { BUTTONS, type ScreenAction, type ScreenSize } from '../screen/action.ts'
import { isImage } from '../screen/png.ts'
import { fromXml } from './accessibility-xml.ts'

const MOST_BODY = 64 * 2 ** 20
const READ_MS = 30_000
const CHANGE_MS = 120_000
const WINDOW_MS = 60_000
const LOOK_MS = 300
/** Tries of a read. A call that changes something is sent once. */
const READ_TRIES = 3

export type ClientOptions = {
  /** e.g. `http://127.0.0.1:5000` */
  readonly url: string
  /** Resets the machine to its start. Default: `POST /rl/reset`, which only our servers know. */
  readonly reset?: () => Promise<void>
}

export function openClient({ url, reset }: ClientOptions): Computer {
  const base = url.replace(/\/$/, '')

  async function call(method: string, path: string, init: RequestInit, timeoutMs: number): Promise<Buffer> {
    let answer: Response
    try {
      answer = await fetch(base + path, { ...init, method, signal: AbortSignal.timeout(timeoutMs) })
    } catch (cause) {
      throw new RlError(`${base} does not answer ${method} ${path}`, { code: 'desktop.died', cause })
    }
    const bytes = await bodyOf(answer, `${method} ${path}`)
    if (answer.ok) return bytes
    const told = bytes.toString('utf8', 0, 300)
    throw new RlError(`${method} ${path} was answered ${answer.status}: ${told}`, {
      code: answer.status === 404 ? 'desktop.missing-file' : 'desktop.refused',
    })
  }

  async function read(method: string, path: string, init: RequestInit = {}): Promise<Buffer> {
    for (let tries = 1; ; tries++) {
      try {
        return await call(method, path, init, READ_MS)
      } catch (error) {
        if (tries >= READ_TRIES || (error instanceof RlError && error.code === 'desktop.missing-file'))
          throw error
        await sleep(LOOK_MS)
      }
    }
  }

  const change = (path: string, value: unknown, timeoutMs = CHANGE_MS) =>
    call(
      'POST',
      path,
      { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) },
      timeoutMs,
    )
  const form = (values: Readonly<Record<string, string>>) => ({ body: new URLSearchParams(values) })

  async function execute(command: unknown, shell: boolean, timeoutMs = CHANGE_MS): Promise<Executed> {
    const { output, error, returncode } = jsonIn(await change('/execute', { command, shell }, timeoutMs))
    if (typeof output !== 'string' || typeof error !== 'string')
      throw new RlError('POST /execute was answered without output and error', { code: 'desktop.refused' })
    return { output, error, returncode: Number(returncode ?? 0) }
  }

  async function accessibility(): Promise<AccessibleNode | null> {
    const { AT } = jsonIn(await read('GET', '/accessibility'))
    return typeof AT === 'string' ? fromXml(AT) : null
  }

  const client: Computer = {
    async size() {
      const { width, height } = jsonIn(await read('POST', '/screen_size'))
      return { width: Number(width), height: Number(height) } satisfies ScreenSize
    },
    async act(actions) {
      for (const action of actions) {
        if (action.type === 'wait') await sleep(action.seconds * 1000)
        else if (action.type !== 'end') {
          // A server that runs Python says by the status alone that a call failed.
          const code = `import pyautogui; import time; pyautogui.FAILSAFE = False; ${codeOf(action)}`
          const { returncode, error } = await execute(['python', '-c', code], false)
          if (returncode !== 0)
            throw new RlError(`the desktop could not do '${action.type}': ${error}`, {
              code: 'desktop.refused',
            })
        }
      }
    },
    async screenshot() {
      const bytes = await read('GET', '/screenshot')
      if (!isImage(bytes))
        throw new RlError('GET /screenshot was answered by no image', { code: 'desktop.refused' })
      return bytes
    },
    accessibility,
    execute: (command, { shell = false, timeoutMs } = {}) => execute(command, shell, timeoutMs),
    async launch(command, { shell = false } = {}) {
      await change('/setup/launch', { command, shell })
    },
    async readFile(path) {
      try {
        return await read('POST', '/file', form({ file_path: path }))
      } catch (error) {
        if (error instanceof RlError && error.code === 'desktop.missing-file') return null
        throw error
      }
    },
    async writeFile(path, bytes) {
      const body = new FormData()
      body.set('file_path', path)
      body.set('file_data', new Blob([Uint8Array.from(bytes)]), 'file')
      await call('POST', '/setup/upload', { body }, CHANGE_MS)
    },
    async listDirectory(path) {
      const body = JSON.stringify({ path })
      return jsonIn(
        await read('POST', '/list_directory', { headers: { 'content-type': 'application/json' }, body }),
      ).directory_tree
    },
    async openFile(path) {
      await change('/setup/open_file', { path })
    },
    async waitForWindow({ name, strict, byClass }) {
      const end = Date.now() + WINDOW_MS
      const fits = (title: string) =>
        strict ? title === name : title.toLowerCase().includes(name.toLowerCase())
      for (;;) {
        // Classes are not told. The program's name is the next best.
        const programs = (await accessibility())?.children ?? []
        const names = programs.flatMap((program) =>
          byClass ? [program.name] : program.children.map((one) => one.name),
        )
        if (names.some(fits)) return
        if (Date.now() > end) throw new RlError(`no window '${name}' came`, { code: 'desktop.refused' })
        await sleep(LOOK_MS)
      }
    },
    async activateWindow({ name, strict, byClass }) {
      await change('/setup/activate_window', { window_name: name, strict, by_class: byClass })
      return true
    },
    async closeWindow({ name, strict, byClass }) {
      await change('/setup/close_window', { window_name: name, strict, by_class: byClass })
      return true
    },
    async reset() {
      if (reset) return reset()
      await change('/rl/reset', {})
    },
    async close() {},
  }
  return client
}

async function bodyOf(answer: Response, what: string): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > MOST_BODY)
      throw new RlError(`${what} was answered by more than ${MOST_BODY} bytes`, { code: 'desktop.refused' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function jsonIn(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // reported below
  }
  throw new RlError(
    `the desktop answered ${JSON.stringify(bytes.toString('utf8', 0, 60))} in place of JSON`,
    {
      code: 'desktop.refused',
    },
  )
}

/** An action as a call of pyautogui. JSON's texts are Python's as well. */
export function codeOf(action: Exclude<ScreenAction, { type: 'wait' | 'end' }>): string {
  const py = (value: string) =>
    JSON.stringify(value).replace(
      /[\u007f-\uffff]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
  const at = 'at' in action && action.at ? `x=${action.at.x}, y=${action.at.y}, ` : ''
  const button = 'button' in action ? py(BUTTONS.find((one) => one === action.button) ?? 'left') : ''
  switch (action.type) {
    case 'move':
      return `pyautogui.moveTo(${action.to.x}, ${action.to.y})`
    case 'click':
      return `pyautogui.click(${at}clicks=${action.count}, button=${button})`
    case 'button-down':
      return `pyautogui.mouseDown(${at}button=${button})`
    case 'button-up':
      return `pyautogui.mouseUp(${at}button=${button})`
    case 'drag':
      return `pyautogui.dragTo(${action.to.x}, ${action.to.y}, duration=0.5, button=${button})`
    case 'scroll': {
      const across = action.dx === 0 ? '' : `pyautogui.hscroll(${action.dx}, ${at.slice(0, -2) || 'x=None'})`
      const along = action.dy === 0 ? '' : `pyautogui.scroll(${action.dy}, ${at.slice(0, -2) || 'x=None'})`
      return [across, along].filter(Boolean).join('; ') || 'pyautogui.scroll(0)'
    }
    case 'type':
      return typing(action.text, py)
    case 'press':
      return pressing(action.keys, py)
    case 'hotkey':
      return `pyautogui.hotkey(${action.keys.flatMap(keysFor).map(py).join(', ')})`
    case 'key-down':
      return keysFor(action.key)
        .map((key) => `pyautogui.keyDown(${py(key)})`)
        .join('; ')
    case 'key-up':
      return keysFor(action.key)
        .reverse()
        .map((key) => `pyautogui.keyUp(${py(key)})`)
        .join('; ')
  }
}

/** pyautogui presses the key of `>` for `<` on X11. So `<` is sent by its own keys. */
const LESS = ['shift', ',']
const keysFor = (key: string): string[] => (key === '<' ? [...LESS] : [key])
const less = (py: (value: string) => string) => `pyautogui.hotkey(${LESS.map(py).join(', ')})`

function typing(text: string, py: (value: string) => string): string {
  const parts = text.split(/(<)/).filter((part) => part !== '')
  if (parts.length === 0) return 'pyautogui.typewrite("")'
  return parts.map((part) => (part === '<' ? less(py) : `pyautogui.typewrite(${py(part)})`)).join('; ')
}

function pressing(keys: readonly string[], py: (value: string) => string): string {
  if (!keys.includes('<')) return `pyautogui.press([${keys.map(py).join(', ')}])`
  return keys.map((key) => (key === '<' ? less(py) : `pyautogui.press(${py(key)})`)).join('; ')
}

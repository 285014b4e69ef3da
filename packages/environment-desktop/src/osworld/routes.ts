/** OSWorld's endpoints, and one of ours: `POST /rl/reset` resets the desktop to its start. */

import { machine } from 'node:os'
import { RlError } from 'rlanything/kit'
import type { Command } from '../computer.ts'
import type { LocalDesktop } from '../local/desktop.ts'
import { HOME } from '../local/sandbox.ts'
import { parseScript, type Script } from '../screen/grammars/pyautogui.ts'
import { toXml } from './accessibility-xml.ts'
import { pyautoguiIn } from './pyautogui-command.ts'

export type Answer = {
  /** Default 200. */
  readonly status?: number
  readonly json?: unknown
  readonly text?: string
  readonly bytes?: Uint8Array
  readonly type?: string
}

type Call = {
  readonly desktop: LocalDesktop
  readonly type: string
  readonly body: Buffer
  /** State for which a desktop of openbox has no place. */
  readonly state: { wallpaper: string | null }
}

/** Programs of a desktop run on this machine's processor. */
const MACHINE = { architecture: machine(), home: HOME }
const RUN_PYTHON_MS = 30_000
const RUN_BASH_SECONDS = 100
const LONGEST_SECONDS = 1800
const LOOK_MS = 50

type Fields = Readonly<Record<string, unknown>>

function bad(message: string): RlError {
  return new RlError(message, { code: 'desktop.request' })
}

function fieldsOf({ body }: Call): Fields {
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch {
    throw bad('the body is no JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('the body is no object')
  return value as Fields
}

async function formOf({ type, body }: Call): Promise<FormData> {
  try {
    const request = { method: 'POST', headers: { 'content-type': type }, body: Uint8Array.from(body) }
    return await new Request('http://desktop', request).formData()
  } catch {
    throw bad('the body is no form')
  }
}

async function formText(call: Call, name: string): Promise<string> {
  const value = (await formOf(call)).get(name)
  if (typeof value !== 'string' || value === '') throw bad(`${name} is required`)
  return value
}

function text(fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '' || value.includes('\0')) throw bad(`${name} is required`)
  return value
}

function seconds(fields: Fields, name: string, otherwise: number): number {
  const value = fields[name] ?? otherwise
  if (typeof value !== 'number' || !(value > 0) || value > LONGEST_SECONDS)
    throw bad(`${name} is no number of seconds up to ${LONGEST_SECONDS}`)
  return value
}

function commandOf({ command, shell = false }: Fields): {
  readonly command: Command
  readonly shell: boolean
} {
  const isText = (value: unknown) => typeof value === 'string' && value !== '' && !value.includes('\0')
  const isCommand = Array.isArray(command)
    ? command.length > 0 &&
      isText(command[0]) &&
      command.every((one) => typeof one === 'string' && !one.includes('\0'))
    : isText(command)
  if (!isCommand) throw bad('command is no text and no list of texts')
  return { command: command as Command, shell: shell === true }
}

/** Code of pyautogui is parsed and done by this process, never run. Any other program runs in the sandbox. */
async function execute(call: Call): Promise<Answer> {
  const { command, shell } = commandOf(fieldsOf(call))
  let script: Script | null
  try {
    const code = pyautoguiIn(command)
    script = code === null ? null : parseScript(code, MACHINE)
  } catch (error) {
    if (!(error instanceof RlError)) throw error
    return { json: { status: 'success', output: '', error: `${error.message}\n`, returncode: 1 } }
  }
  if (script) {
    await call.desktop.act(script.actions)
    return { json: { status: 'success', output: script.output, error: '', returncode: 0 } }
  }
  const done = await call.desktop.execute(command, { shell })
  return { json: { status: 'success', ...done } }
}

async function launch(call: Call): Promise<Answer> {
  const { command, shell } = commandOf(fieldsOf(call))
  await call.desktop.launch(command, { shell })
  return { text: `${Array.isArray(command) ? command.join(' ') : command} launched successfully` }
}

async function verified(call: Call): Promise<Answer> {
  const fields = fieldsOf(call)
  const { verification } = fields
  if (typeof verification !== 'object' || verification === null) throw bad('verification is required')
  const { window_exists: window, command_success: check } = verification as Fields
  const began = Date.now()
  const end = began + 1000 * seconds(fields, 'max_wait_time', 10)
  const done = await call.desktop.execute(...words(commandOf(fields)))
  for (;;) {
    const windows = typeof window === 'string' ? await call.desktop.windows() : []
    const seen = typeof window !== 'string' || windows.some(({ title }) => title.includes(window))
    const passed =
      check === undefined ||
      (await call.desktop.execute(...words(commandOf({ command: check, shell: true })))).returncode === 0
    if (seen && passed)
      return {
        json: { status: 'success', ...done, verification: 'passed', wait_time: (Date.now() - began) / 1000 },
      }
    if (Date.now() > end)
      return {
        status: 500,
        json: { status: 'verification_failed', ...done, wait_time: (Date.now() - began) / 1000 },
      }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}

function words({ command, shell }: ReturnType<typeof commandOf>) {
  return [command, { shell }] as const
}

async function upload(call: Call): Promise<Answer> {
  const form = await formOf(call)
  const [path, data] = [form.get('file_path'), form.get('file_data')]
  if (typeof path !== 'string' || path === '' || data === null || typeof data === 'string')
    throw bad('file_path and file_data are required')
  const bytes = new Uint8Array(await data.arrayBuffer())
  await call.desktop.writeFile(path, bytes)
  return { text: `File Uploaded: ${bytes.length} bytes` }
}

async function openFile(call: Call): Promise<Answer> {
  const path = text(fieldsOf(call), 'path')
  if ((await call.desktop.execute(['test', '-e', path])).returncode !== 0)
    return { status: 404, text: `there is no ${path}` }
  await call.desktop.openFile(path)
  return { text: 'File opened and window activated successfully' }
}

const withWindow =
  (act: 'activateWindow' | 'closeWindow', done: string) =>
  async (call: Call): Promise<Answer> => {
    const fields = fieldsOf(call)
    const query = {
      name: text(fields, 'window_name'),
      strict: fields.strict === true,
      byClass: fields.by_class === true,
    }
    await call.desktop[act](query)
    return { text: done }
  }

async function file(call: Call): Promise<Answer> {
  const path = await formText(call, 'file_path')
  const bytes = await call.desktop.readFile(path)
  return bytes === null
    ? { status: 404, json: { error: 'File not found' } }
    : { bytes, type: 'application/octet-stream' }
}

async function runPython(call: Call): Promise<Answer> {
  const code = text(fieldsOf(call), 'code')
  const done = await call.desktop.execute(['python3', '-c', code], { timeoutMs: RUN_PYTHON_MS })
  return {
    json: {
      status: done.returncode === 0 ? 'success' : 'error',
      message: done.output + done.error,
      need_more: false,
      output: done.output,
      error: done.error,
      return_code: done.returncode,
    },
  }
}

async function runBash(call: Call): Promise<Answer> {
  const fields = fieldsOf(call)
  const script = text(fields, 'script')
  const timeoutMs = 1000 * seconds(fields, 'timeout', RUN_BASH_SECONDS)
  const folder = typeof fields.working_dir === 'string' ? fields.working_dir : '.'
  const words = ['bash', '-c', 'cd -- "$1" && exec bash -c "$2" 2>&1', 'bash', folder, script]
  const { output, returncode } = await call.desktop.execute(words, { timeoutMs })
  return { json: { status: returncode === 0 ? 'success' : 'error', output, error: '', returncode } }
}

async function changeWallpaper(call: Call): Promise<Answer> {
  const path = text(fieldsOf(call), 'path')
  if ((await call.desktop.readFile(path)) === null) return { status: 404, text: `there is no ${path}` }
  call.state.wallpaper = path
  return { text: 'Wallpaper changed successfully' }
}

async function wallpaper({ desktop, state }: Call): Promise<Answer> {
  const bytes = state.wallpaper === null ? null : await desktop.readFile(state.wallpaper)
  return bytes === null
    ? { status: 404, json: { error: 'no wallpaper was set' } }
    : { bytes, type: 'application/octet-stream' }
}

const refused = (what: string) => async (): Promise<Answer> => ({
  status: 501,
  json: { status: 'error', message: `${what} is not done by desktops of this kind` },
})

export const ROUTES: Readonly<Record<string, (call: Call) => Promise<Answer>>> = {
  'GET /screenshot': async ({ desktop }) => ({ bytes: await desktop.screenshot(), type: 'image/png' }),
  'GET /accessibility': async ({ desktop }) => {
    const tree = await desktop.accessibility()
    return tree ? { json: { AT: toXml(tree) } } : { status: 500, json: { error: 'there is no tree' } }
  },
  // Terminals of our desktops tell assistive programs nothing.
  'GET /terminal': async () => ({ json: { output: null, status: 'success' } }),
  'GET /platform': async () => ({ text: 'Linux' }),
  'GET /cursor_position': async ({ desktop }) => {
    const { x, y } = await desktop.pointer()
    return { json: [x, y] }
  },
  'POST /execute': execute,
  'POST /setup/execute': execute,
  'POST /execute_with_verification': verified,
  'POST /setup/execute_with_verification': verified,
  'POST /setup/launch': launch,
  'POST /setup/upload': upload,
  'POST /setup/download_file': refused('fetching from the network'),
  'POST /setup/open_file': openFile,
  'POST /setup/activate_window': withWindow('activateWindow', 'Window activated successfully'),
  'POST /setup/close_window': withWindow('closeWindow', 'Window closed successfully'),
  'POST /setup/change_wallpaper': changeWallpaper,
  'POST /wallpaper': wallpaper,
  'POST /file': file,
  'POST /list_directory': async (call) => ({
    json: { directory_tree: await call.desktop.listDirectory(text(fieldsOf(call), 'path')) },
  }),
  'POST /screen_size': async ({ desktop }) => ({ json: await desktop.size() }),
  'POST /window_size': async (call) => {
    const size = await call.desktop.windowSize(await formText(call, 'app_class_name'))
    return size ? { json: size } : { status: 500, json: { error: 'no such window' } }
  },
  'POST /desktop_path': async () => ({ json: { desktop_path: `${HOME}/Desktop` } }),
  'POST /run_python': runPython,
  'POST /run_bash_script': runBash,
  'POST /start_recording': refused('recording'),
  'POST /end_recording': refused('recording'),
  'POST /rl/reset': async ({ desktop, state }) => {
    state.wallpaper = null
    await desktop.reset()
    return { json: { status: 'success' } }
  },
}

/**
 * Runs inside a desktop's sandbox: starts the display, the message buses and the window manager, then does what lines of JSON on
 * standard input ask for, each answered by one line with its id. It ends with its standard input.
 */
import { spawn } from 'node:child_process'
import { existsSync, constants as modes, readdirSync, readFileSync } from 'node:fs'
import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

const [WIDTH, HEIGHT] = process.argv.slice(2).map(Number)
const HOME = process.env.HOME
const MOST_OUTPUT = 4 * 2 ** 20
const MOST_FILE = 64 * 2 ** 20
const MOST_ENTRIES = 10_000
const BUS = 'unix:path=/run/user/bus'

/** Readers of lines take these two for ends of lines as well. */
const ENDS = /[\u2028\u2029]/g
const say = (message) =>
  process.stdout.write(
    `${JSON.stringify(message).replace(ENDS, (end) => `\\u${end.charCodeAt(0).toString(16)}`)}\n`,
  )

/** What must live as long as the desktop does. */
function keep(program, words, options = {}) {
  const child = spawn(program, words, { stdio: ['ignore', 'ignore', 'ignore'], ...options })
  child.on('error', (error) => died(program, error.message))
  child.on('exit', (status, signal) => died(program, `ended with ${signal ?? status}`))
  return child
}

function died(program, why) {
  say({ died: program, why })
}

async function until(ready, what) {
  const end = Date.now() + 15_000
  while (!(await ready())) {
    if (Date.now() > end) throw new Error(`${what} was not there in 15 s`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Whether the screen lies in memory with its header, which tells its width as the fifth word. */
function hasScreen() {
  const path = '/run/fb/Xvfb_screen0'
  if (!existsSync(path)) return false
  const content = readFileSync(path)
  return content.length > 100 && content.readUInt32BE(16) === WIDTH
}

async function boot() {
  await mkdir('/run/fb', { recursive: true })
  await mkdir('/tmp/.X11-unix', { recursive: true })
  keep('Xvfb', [
    ':0',
    ...['-screen', '0', `${WIDTH}x${HEIGHT}x24`, '-fbdir', '/run/fb', '-nolisten', 'tcp', '-ac', '-noreset'],
    // On a busy machine a key that was just let go would be repeated.
    '-r',
  ])
  keep('dbus-daemon', ['--session', `--address=${BUS}`, '--nofork', '--nopidfile', '--nosyslog'])
  // Its socket is there before its screen is.
  const isUp = () => existsSync('/tmp/.X11-unix/X0') && existsSync('/run/user/bus') && hasScreen()
  await until(isUp, 'the display')
  Object.assign(process.env, {
    DISPLAY: ':0',
    DBUS_SESSION_BUS_ADDRESS: BUS,
    GTK_MODULES: 'gail:atk-bridge',
    QT_ACCESSIBILITY: '1',
  })
  keep('openbox', ['--sm-disable', '--config-file', '/opt/rl/openbox.xml'])
  keep('/usr/libexec/at-spi-bus-launcher', ['--launch-immediately', '--a11y=1'])
  await until(() => existsSync('/run/user/at-spi/bus_0'), 'the accessibility bus')
}

function wordsOf(command, shell) {
  if (shell) return ['/bin/sh', '-c', Array.isArray(command) ? command.join(' ') : command]
  const words = Array.isArray(command) ? command : split(command)
  return words.map((word) => (word === '~' || word.startsWith('~/') ? HOME + word.slice(1) : word))
}

/** As a POSIX shell splits words, without any expansion. */
function split(line) {
  const words = []
  let word = null
  let quote = null
  for (let i = 0; i < line.length; i++) {
    const c = line[i]
    if (quote === "'") {
      if (c === "'") quote = null
      else word += c
    } else if (c === '\\' && (quote === null || '"\\$`'.includes(line[i + 1])))
      word = (word ?? '') + (line[++i] ?? '')
    else if (quote === '"') {
      if (c === '"') quote = null
      else word += c
    } else if (c === "'" || c === '"') {
      quote = c
      word ??= ''
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word)
      word = null
    } else word = (word ?? '') + c
  }
  if (quote !== null) throw new Error('a quotation is not closed')
  if (word !== null) words.push(word)
  return words
}

function execute({ command, shell, timeoutMs, input, cwd }) {
  return new Promise((resolve, reject) => {
    const [program, ...words] = wordsOf(command, shell)
    const child = spawn(program, words, { cwd: cwd ?? HOME, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    const output = collected(child.stdout)
    const error = collected(child.stderr)
    let late = false
    const kill = () => {
      try {
        process.kill(-(/** @type {number} */ (child.pid)), 'SIGKILL')
      } catch {
        // it has ended
      }
    }
    const timer = setTimeout(() => {
      late = true
      kill()
      child.stdout.destroy()
      child.stderr.destroy()
    }, timeoutMs)
    child.on('error', (cause) => {
      clearTimeout(timer)
      reject(cause)
    })
    child.on('close', (status, signal) => {
      clearTimeout(timer)
      if (late) reject(new Error(`the command took longer than ${timeoutMs / 1000} s`))
      else
        resolve({
          output: output(),
          error: error(),
          returncode: status ?? -constants.signals[/** @type {NodeJS.Signals} */ (signal)],
        })
    })
    child.stdin.on('error', () => {})
    child.stdin.end(input ?? '')
  })
}

function collected(stream) {
  const chunks = []
  let bytes = 0
  stream.on('data', (chunk) => {
    if (bytes < MOST_OUTPUT) chunks.push(chunk.subarray(0, MOST_OUTPUT - bytes))
    bytes += chunk.length
  })
  return () => Buffer.concat(chunks).toString()
}

function launch({ command, shell }) {
  return new Promise((resolve, reject) => {
    const [program, ...words] = wordsOf(command, shell)
    const child = spawn(program, words, { cwd: HOME, stdio: 'ignore', detached: true })
    child.on('error', reject)
    child.on('spawn', () => resolve({ pid: child.pid }))
    child.on('exit', (status, signal) => say({ exited: child.pid, program, status: signal ?? status }))
  })
}

function pathOf(path) {
  const whole = path === '~' || path.startsWith('~/') ? HOME + path.slice(1) : path
  return whole.replace(/\$\{?([A-Z_]+)\}?/g, (all, name) => process.env[name] ?? all)
}

/** What opening something says that is no file for this user. */
const NO_FILE = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENXIO']

async function read({ path }) {
  let file
  try {
    // A pipe would wait for who writes to it.
    file = await open(pathOf(path), modes.O_RDONLY | modes.O_NONBLOCK)
  } catch (/** @type {any} */ cause) {
    if (NO_FILE.includes(cause.code)) return { missing: true }
    throw cause
  }
  try {
    const stat = await file.stat()
    // What is too large to be read is none either: an agent may have made it so.
    if (!stat.isFile() || stat.size > MOST_FILE) return { missing: true }
    return { base64: (await file.readFile()).toString('base64') }
  } finally {
    await file.close()
  }
}

async function write({ path, base64 }) {
  const target = pathOf(path)
  await mkdir(dirname(target), { recursive: true })
  await writeFile(target, Buffer.from(base64, 'base64'))
  return {}
}

async function list({ path }) {
  let left = MOST_ENTRIES
  const tree = async (folder, name) => {
    const children = []
    for (const entry of (await readdir(folder, { withFileTypes: true })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      if (left-- <= 0) break
      if (entry.isDirectory()) children.push(await tree(join(folder, entry.name), entry.name))
      else children.push({ type: 'file', name: entry.name })
    }
    return { type: 'directory', name, children }
  }
  const root = pathOf(path)
  return { tree: await tree(root, root.split('/').filter(Boolean).at(-1) ?? '/') }
}

/** Threads of other processes that run or wait for a disk: none of them is at rest. */
function busy() {
  let threads = 0
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || pid === '1' || Number(pid) === process.pid) continue
    try {
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')
        if (/^[RD]/.test(stat.slice(stat.lastIndexOf(')') + 2))) threads++
      }
    } catch {
      // it has ended
    }
  }
  return { threads }
}

const OPERATIONS = {
  busy,
  execute,
  launch,
  read,
  write,
  list,
  remove: async ({ path }) => {
    await rm(pathOf(path), { recursive: true, force: true })
    return {}
  },
}

createInterface({ input: process.stdin })
  .on('line', async (line) => {
    const { id, operation, ...values } = JSON.parse(line)
    try {
      say({ id, ...(await OPERATIONS[operation](values)) })
    } catch (/** @type {any} */ error) {
      say({ id, failed: error.message })
    }
  })
  .on('close', () => process.exit(0))

try {
  await boot()
  say({ ready: true })
} catch (/** @type {any} */ error) {
  say({ died: 'desktop', why: error.message })
}

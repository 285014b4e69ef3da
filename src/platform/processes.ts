/** Processes that end with this one, and how to ask one to end. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { type Machine, THIS_MACHINE } from './machine.ts'

/**
 * Runs the program and, in the background, waits for the end of standard input, a pipe from this process. The
 * pipe ends with this process, even after SIGKILL. Then the program is killed. Only its owner can read the
 * files that it writes.
 */
const SHELL_GUARD = `
umask 077
exec 3<&0
"$@" 3<&- </dev/null &
program=$!
( while read -r _ <&3; do :; done; kill -9 $program 2>/dev/null ) &
guard=$!
wait $program
status=$?
kill $guard 2>/dev/null
exit $status
`

/** The same without a shell: a Node process, at the price of its 40 MB. */
const NODE_GUARD = `
const [program, ...words] = process.argv.slice(1)
const child = require('node:child_process').spawn(program, words, { stdio: 'ignore', windowsHide: true })
process.stdin.on('end', () => child.kill('SIGKILL')).resume()
child.on('error', () => process.exit(127))
child.on('exit', (status) => process.exit(status ?? 1))
`

/**
 * Variables of this process's environment that a program may see: they say where things are. It gets no keys
 * of services.
 */
const PASSED =
  /^(PATH|HOME|TMPDIR|TEMP|TMP|TZ|LANG|LC_[A-Z]+|GOMAXPROCS|GOMEMLIMIT|GOGC|GODEBUG|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|USERPROFILE)$/i

/** Returns the variables that a program may see. */
export function plainEnvironment(env: Machine['env'] = THIS_MACHINE.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)))
}

/**
 * Starts a program that ends with this process, however this process ends. To kill the program, close the
 * standard input of the returned process. It has a process group of its own: a Ctrl-C at the terminal does
 * not reach it.
 */
export function spawnGuarded(
  program: string,
  words: readonly string[],
  { platform, env }: Machine = THIS_MACHINE,
): ChildProcess {
  const [guard, ...before] =
    platform === 'win32' ? [process.execPath, '-e', NODE_GUARD, '--'] : ['sh', '-c', SHELL_GUARD, 'sh']
  return spawn(guard, [...before, program, ...words], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    windowsHide: true,
    env: plainEnvironment(env),
  })
}

/**
 * Waits for the end of standard input, as above. The second `rm` takes what other ending processes wrote
 * meanwhile.
 */
const SHELL_REMOVER = 'while read -r _; do :; done; rm -rf -- "$1"; sleep 2; rm -rf -- "$1"'

const NODE_REMOVER = `
const remove = () => require('node:fs').rmSync(process.argv[1], { recursive: true, force: true, maxRetries: 20 })
process.stdin.on('end', remove).resume()
`

/** Removes a folder when this process ends, however it ends. */
export function removeAtEnd(folder: string, { platform }: Machine = THIS_MACHINE): void {
  const [program, ...words] =
    platform === 'win32'
      ? [process.execPath, '-e', NODE_REMOVER, '--', folder]
      : ['sh', '-c', SHELL_REMOVER, 'sh', folder]
  const child = spawn(program, words, {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    windowsHide: true,
  })
  // Without a shell the folder is removed at an orderly end alone.
  child.on('error', () => {})
  child.unref()
  ;(child.stdin as Socket | null)?.unref()
}

/**
 * Asks a process of ours to end in an orderly way. Windows has no signals (a kill is a kill). There the pipe
 * from the parent is closed, and such a process then ends.
 */
export function askToEnd(child: ChildProcess, { platform }: Machine = THIS_MACHINE): void {
  if (platform === 'win32') child.stdin?.end()
  else child.kill('SIGTERM')
}

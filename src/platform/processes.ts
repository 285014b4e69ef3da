/** Processes that end with this one, and how one is asked to end. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { type Machine, THIS_MACHINE } from './machine.ts'

/**
 * Waits for the program and, in the background, for the end of standard input, which is a pipe from this process: the
 * pipe ends with the process, even after SIGKILL, and then the program is killed. What it writes is its owner's alone.
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

/** The same where there is no shell: a Node, at the price of its 40 MB. */
const NODE_GUARD = `
const [program, ...words] = process.argv.slice(1)
const child = require('node:child_process').spawn(program, words, { stdio: 'ignore', windowsHide: true })
process.stdin.on('end', () => child.kill('SIGKILL')).resume()
child.on('error', () => process.exit(127))
child.on('exit', (status) => process.exit(status ?? 1))
`

/** What a program may know of this process's environment: where things are. Keys of services are no matter of its. */
const PASSED =
  /^(PATH|HOME|TMPDIR|TEMP|TMP|TZ|LANG|LC_[A-Z]+|GOMAXPROCS|GOMEMLIMIT|GOGC|GODEBUG|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|USERPROFILE)$/i

function plainEnvironment(env: Machine['env']): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => PASSED.test(name)))
}

/**
 * Starts a program that ends with this process, however that ends; closing the standard input of what is returned kills
 * it. It has a process group of its own: a Ctrl-C at the terminal does not reach it.
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

/** Waits for the end of standard input, as above; what still writes into the folder ends in the meantime. */
const SHELL_REMOVER = 'while read -r _; do :; done; rm -rf -- "$1"; sleep 2; rm -rf -- "$1"'

const NODE_REMOVER = `
const remove = () => require('node:fs').rmSync(process.argv[1], { recursive: true, force: true, maxRetries: 20 })
process.stdin.on('end', remove).resume()
`

/** Removes a folder when this process ends, however that ends. */
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
  // Without a shell the folder goes with an end in good order alone.
  child.on('error', () => {})
  child.unref()
  ;(child.stdin as Socket | null)?.unref()
}

/**
 * Asks a process of ours to end in good order. Windows has no signals (a kill is a kill): there the pipe from its
 * parent is closed, which such a process takes as the word to end.
 */
export function askToEnd(child: ChildProcess, { platform }: Machine = THIS_MACHINE): void {
  if (platform === 'win32') child.stdin?.end()
  else child.kill('SIGTERM')
}

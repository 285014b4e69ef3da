/**
 * `node bin/launch.mjs scripts/newcomer.ts [COUNTS]` runs README's two commands in a fresh clone. The machine
 * seems to have nothing that set-up fetches or tests can do without: nats-server, bwrap, a Chromium, Xvfb,
 * OpenBLAS, caches, an old home folder. `.ci/run` prepares its machine first, so nothing else sees what a
 * newcomer sees.
 *
 * These things are hidden in a mount namespace. Without the right to make one this prints SKIP. Only the Node
 * of the launcher is taken over. The numbers of passed and failed tests are written into the file COUNTS.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join, normalize, relative } from 'node:path'
import { BROWSERS } from '../packages/environment-web/src/browser/browsers.ts'
import { libraryFolders } from '../src/platform/blas.ts'
import { isProgram, programFolders } from '../src/platform/programs.ts'

/**
 * Words of tests that look for something of the machine. The clone runs test files with such a word, in
 * themselves or in what they import from test/. All other files run the same way in the whole suite, which
 * follows. To run them twice would double its time.
 */
const LOOKS_FOR =
  /findNatsServer|lookForNatsServer|ensureOpenBlas|openBlas\b|openProvider|createBwrapProvider|hasBrowser|lookForBrowser|missingParts|'doctor'|unshare/
/** Pyodide comes with npm: these attacks are the same on every machine, and take two minutes. */
const SAME_EVERYWHERE = /attacks-pyodide/
/** The default run, as short as a run can be that learns: a cold start and two iterations. */
const SETTINGS = [
  ...['run.iterations=2', 'run.evaluateEvery=2', 'evaluation.tasks=4', 'evaluation.splits=[in-domain]'],
  ...['environment.tasks=6', 'environment.tasksPerIteration=4', 'environment.rolloutsPerTask=4'],
  ...['environment.minGroupSize=2', 'environment.maxSteps=6', 'learning.mixedOutcomes=false'],
  ...['policy.coldStart.demonstrations=40', 'policy.coldStart.updates=8', 'policy.training.updates=2'],
]
const TEST_FOLDERS = ['test', ...readdirSync('packages').map((name) => join('packages', name, 'test'))]
const PROGRAMS = ['nats-server', 'bwrap', 'Xvfb']

const place = mkdtempSync(join(tmpdir(), 'rl-newcomer-'))
const clone = join(place, 'clone')
let [passed, failed] = [0, 0]

/** Files of this machine that are hidden. */
function present(): string[] {
  const programs = programFolders().flatMap((folder) =>
    [...PROGRAMS, ...BROWSERS].map((name) => join(folder, name)),
  )
  const libraries = libraryFolders().flatMap(openBlasIn)
  return [...new Set([...programs.filter(isProgram), ...libraries])]
}

/** Debian keeps each build of OpenBLAS in a folder of its own, and links to one of them. */
function openBlasIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.includes('openblas'))
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path, { throwIfNoEntry: false })?.isDirectory() ? openBlasIn(path) : [path]))
}

/**
 * Lays a writable layer over the root's folders with the files, for this process and its children alone, and
 * removes the files there. Nothing is removed unless writes below a folder land in its layer.
 */
const HIDE = `
set -e
layers=$1; files=$2; shift 2
mount --make-rprivate /
mount -t tmpfs tmpfs "$layers"
for root in $(cut -d / -f 2 "$files" | sort -u); do
  mkdir -p "$layers/$root/up" "$layers/$root/work"
  mount -t overlay overlay -o "lowerdir=/$root,upperdir=$layers/$root/up,workdir=$layers/$root/work" "/$root"
  touch "/$root/.hidden"
  [ -e "$layers/$root/up/.hidden" ]
done
while read -r file; do rm -f -- "$file"; done < "$files"
exec "$@"
`

/**
 * Returns the words before a command that hide the files. If that cannot be done here, prints SKIP and
 * returns null.
 */
function hiding(files: readonly string[]): readonly string[] | null {
  if (files.length === 0) return []
  const list = join(place, 'hidden')
  // The resolved folder: /bin and /lib are links into /usr.
  writeFileSync(list, `${[...new Set(files.map(resolved))].join('\n')}\n`)
  const layers = join(place, 'layers')
  mkdirSync(layers)
  const words = ['unshare', '-m', 'sh', '-c', HIDE, 'sh', layers, list]
  const tried = spawnSync(words[0], [...words.slice(1), 'true'], { encoding: 'utf8' })
  if (tried.status === 0) return words
  const why = (tried.stderr ?? '').trim().split('\n').at(-1) || tried.error?.message
  process.stdout.write(
    `SKIP README's commands as a newcomer has them: ${files.length} files cannot be hidden (${why})\n`,
  )
  return null
}

function resolved(file: string): string {
  const folder = execFileSync('realpath', ['--', dirname(file)], { encoding: 'utf8' }).trim()
  return join(folder, file.slice(file.lastIndexOf('/') + 1))
}

/** Clones the checkout, with uncommitted changes. */
function makeClone(): void {
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'safe.directory=*', ...words], { encoding: 'utf8', maxBuffer: 1 << 26 })
  git('clone', '--quiet', '.', clone)
  const changed = git('ls-files', '-z', '--modified', '--others', '--exclude-standard').split('\0')
  for (const path of changed.filter((name) => name !== ''))
    if (existsSync(path)) cpSync(path, join(clone, path), { recursive: true })
    else rmSync(join(clone, path), { force: true })
  if (!existsSync('.cache')) return
  for (const name of readdirSync('.cache').filter((name) => name.startsWith('node-')))
    cpSync(join('.cache', name), join(clone, '.cache', name), { recursive: true })
}

/** Returns the machine's environment without leftovers of an earlier use: our variables, a home, caches. */
function environment(): NodeJS.ProcessEnv {
  const home = join(place, 'home')
  mkdirSync(home)
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(RL_|NATS_|XDG_|PYTHON$|NODE_|npm_)/.test(name),
  )
  // The launcher put its Node before the machine's own.
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('/.cache/node-'))
  const npmrc = join(homedir(), '.npmrc')
  return {
    ...Object.fromEntries(own),
    PATH: path.join(delimiter),
    HOME: home,
    FORCE_COLOR: '0',
    // Which registry is used is no cache.
    ...(existsSync(npmrc) ? { npm_config_userconfig: npmrc } : {}),
  }
}

function testFiles(): string[] {
  return TEST_FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ).filter((path) => path.endsWith('.test.ts') && !SAME_EVERYWHERE.test(path) && looksFor(path))
}

function isOfTests(path: string): boolean {
  return TEST_FOLDERS.some((folder) => !relative(folder, path).startsWith('..'))
}

function looksFor(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path) || !existsSync(path)) return false
  seen.add(path)
  const text = readFileSync(path, 'utf8')
  if (LOOKS_FOR.test(text)) return true
  return [...text.matchAll(/from '(\.[^']+)'/g)]
    .map(([, to]) => normalize(join(dirname(path), to)))
    .some((to) => isOfTests(to) && looksFor(to, seen))
}

function step(name: string, words: readonly string[], env: NodeJS.ProcessEnv): string {
  process.stdout.write(`\n== newcomer: ${name}\n`)
  const started = performance.now()
  const { status, stdout } = spawnSync(words[0], words.slice(1), {
    cwd: clone,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 28,
    timeout: 900_000,
  })
  process.stdout.write(stdout)
  const [, own, lost] = /^(\d+) passed, (\d+) failed/m.exec(stdout.slice(stdout.lastIndexOf('\n\n'))) ?? []
  const broken = status === 0 ? 0 : 1
  passed += own === undefined ? 1 - broken : Number(own)
  failed += lost === undefined ? broken : Math.max(Number(lost), broken)
  process.stdout.write(`== newcomer: ${name}: ${((performance.now() - started) / 1000).toFixed(0)} s\n`)
  return stdout
}

function start(hidden: readonly string[]): void {
  const env = environment()
  const settings = SETTINGS.map((setting) => `--set '${setting}'`).join(' ')
  const both = (command: string) => [...hidden, 'sh', '-c', `npm ci && ${command}`]
  const output = step('npm ci && npm start', both(`npm start -- --role head ${settings}`), env)
  if (!/is complete: 2 iterations/.test(output)) failed++
  step('npm ci && npm test', both(`npm test -- ${testFiles().join(' ')}`), { ...env, RL_TEST_AGAIN: '3' })
}

try {
  if (process.platform === 'linux') {
    const hidden = hiding(present())
    if (hidden !== null) {
      makeClone()
      start(hidden)
    }
  } else
    process.stdout.write("SKIP README's commands as a newcomer has them: files are hidden on Linux alone\n")
} finally {
  rmSync(place, { recursive: true, force: true })
}
process.stdout.write(`newcomer: ${passed} passed, ${failed} failed\n`)
if (process.argv[2] !== undefined) writeFileSync(process.argv[2], JSON.stringify({ passed, failed }))
process.exitCode = failed > 0 ? 1 : 0

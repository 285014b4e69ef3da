/** The packages as others get them: `npm pack`, installed in an empty folder by npm, used by plain node. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join, resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { BUILT } from '../../scripts/build.ts'
import { emptyProject } from '../../scripts/example/project.ts'
import { exampleNames, runExample } from '../../scripts/example/run.ts'
import { OLD_NODE as OLD } from '../support/old-node.ts'
import { temporaryFolder } from '../support/run.ts'

const MOST_MB = 200
/** npm's words for a registry that does not answer. */
const UNREACHABLE = /ENOTFOUND|ECONNREFUSED|ETIMEDOUT|ECONNRESET|EAI_AGAIN|ENETUNREACH|network/
/** The examples that take seconds; `npm run -s example -- --all` runs all of them. */
const QUICK = ['subscriber']

const project = emptyProject()
const { folder, env } = project
// Thousands of files: at the end of the process there is no time for them.
test.after(project.remove)
const entries = entriesOf('.')
/** Packages with settings, in the order in which they are built. */
const others = BUILT.filter((path) => path !== '.')

/** What can be imported of a package. */
function entriesOf(path: string): string[] {
  const { name, exports } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  return Object.keys(exports as object)
    .filter((entry) => entry !== './package.json')
    .map((entry) => entry.replace('.', name))
}

/** Packs and installs; why that cannot be done here, or null. */
function install(paths: readonly string[]): string | null {
  const tarballs = paths.map((path) => {
    const words = ['pack', '--silent', '--pack-destination', folder, resolve(path)]
    const packed = execFileSync('npm', words, { encoding: 'utf8' })
    return join(folder, packed.trim().split('\n').at(-1) ?? '')
  })
  const words = ['install', '--omit=dev', '--prefer-offline', '--no-audit', ...tarballs]
  const installed = spawnSync('npm', words, { cwd: folder, env, encoding: 'utf8' })
  if (installed.status === 0) return null
  if (UNREACHABLE.test(installed.stderr)) return 'no registry answers'
  throw new Error(installed.stderr)
}

/** What a module prints that plain node runs in the project. */
function node(source: string): string {
  const file = join(folder, 'probe.mjs')
  writeFileSync(file, source)
  return execFileSync(process.execPath, [file], { cwd: folder, env, encoding: 'utf8' }).trim()
}

function megabytes(path: string): number {
  const bytes = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((total, { parentPath, name }) => total + statSync(join(parentPath, name)).size, 0)
  return bytes / 1e6
}

const lacking = install(['.'])
if (lacking) console.log(`SKIP the package in an empty folder: ${lacking}`)
else {
  test(`takes at most ${MOST_MB} MB with what it depends on`, () => {
    const size = megabytes(join(folder, 'node_modules'))
    assert.ok(size <= MOST_MB, `${size.toFixed(0)} MB`)
  })

  test('every entry can be imported', () => {
    for (const entry of entries)
      assert.not.equal(node(`console.log(Object.keys(await import('${entry}')).length)`), '0', entry)
  })

  test('events need no native module', () => {
    const loaded = node(`
      await import('rlanything/events')
      console.log(JSON.stringify(process.report.getReport().sharedObjects.filter((path) => path.endsWith('.node'))))`)
    assert.is(loaded, '[]')
  })

  /** They stand without this repository. */
  function checkDeclarations(names: readonly string[]): void {
    const lines = names.map((entry, i) => `export * as entry${i} from '${entry}'`)
    writeFileSync(join(folder, 'entries.mts'), lines.join('\n'))
    const compiler = createRequire(resolve('package.json')).resolve('typescript/bin/tsc')
    const words = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--skipLibCheck',
      'false',
    ]
    const checked = spawnSync(process.execPath, [compiler, ...words, 'entries.mts'], {
      cwd: folder,
      env,
      encoding: 'utf8',
    })
    assert.is(checked.stdout, '')
  }

  test('the declarations of every entry stand without this repository', () => checkDeclarations(entries))

  test('rl runs compiled', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const rl = (...words: readonly string[]) =>
      execFileSync('npx', ['rl', ...words], { cwd: folder, env, encoding: 'utf8' }).trim()
    assert.is(rl('start', '--version'), version)
    assert.match(rl('start', '--role', 'head', '--dry-run'), /local nano/)
  })

  test('without a home most commands work, and the others name HOME', () => {
    if (process.getuid?.() !== 0)
      return console.log('SKIP a user without a home: this user is none but itself')
    execFileSync('chmod', ['-R', 'a+rX', folder])
    const other = ['--reuid', '54321', '--regid', '54321', '--clear-groups', 'env', '-i', `PATH=${env.PATH}`]
    const rl = (...words: readonly string[]) =>
      spawnSync('setpriv', [...other, process.execPath, 'node_modules/rlanything/bin/rl.mjs', ...words], {
        cwd: folder,
        encoding: 'utf8',
      })
    const helped = rl('--help')
    if (/setpriv: |Permission denied/.test(helped.stderr))
      return console.log(`SKIP a user without a home: ${helped.stderr}`)
    assert.is(helped.status, 0, helped.stderr)
    assert.match(rl('start', '--role', 'head', '--dry-run').stdout, /local nano/)
    assert.match(rl('alfworld', 'download').stderr, /no home folder.*HOME.*XDG_CACHE_HOME/)
  })

  test('rl init writes a project that installs, passes its test and the compiler, and can be started, with an old Node in front too', () => {
    const own = join(temporaryFolder(), 'own')
    const run = (program: string, words: readonly string[], cwd = own) => {
      const old = OLD === undefined ? env : { ...env, PATH: `${dirname(OLD)}${delimiter}${env.PATH}` }
      return execFileSync(program, words, {
        cwd,
        env: old,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
    }
    run('npx', ['rl', 'init', own], folder)
    const { dependencies } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'))
    assert.match(dependencies.rlanything, /^file:.*rlanything-[\d.]+\.tgz$/)
    run('npm', ['install', '--prefer-offline', '--no-audit'])
    assert.match(run('npm', ['test']), /fail 0/)
    assert.match(run('npm', ['start', '--', '--dry-run']), /find-number, generated/)
    run('npm', ['run', 'typecheck'])
    const again = spawnSync('npx', ['rl', 'init', own], { cwd: folder, env, encoding: 'utf8' })
    assert.match(again.stderr, /own is not empty/)
    rmSync(join(own, 'environment.test.ts'))
    assert.throws(() => run('npm', ['test']), /there is no test in/)
    rmSync(own, { recursive: true })
  })

  test('documents link to files that are there', () => {
    const root = join(folder, 'node_modules', 'rlanything')
    const documents = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.md'),
    )
    const lost = documents.flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
        .map(([, link]) => link)
        // Pictures of the pages stay in the repository: they weigh more than the pages.
        .filter((link) => {
          const place = join(dirname(path), link)
          const home = place.startsWith(join('docs', 'ui')) ? '.' : root
          return !/^[a-z]+:/.test(link) && !existsSync(join(home, place))
        })
        .map((link) => `${path}: ${link}`),
    )
    assert.ok(documents.length > 20)
    assert.equal(lost, [])
  })

  test('a config whose setting is in another package names what to install, and then it can be used', () => {
    const dryRun = (config: string) =>
      spawnSync('npx', ['rl', 'start', '--role', 'head', '--config', config, '--dry-run'], {
        cwd: folder,
        env,
        encoding: 'utf8',
      })
    const before = dryRun('config/tools.yaml')
    assert.is(before.status, 1)
    assert.match(before.stderr, /'tools' needs @rlanything\/environment-tools.*npm install/s)
    assert.is(install(others), null)
    for (const entry of others.flatMap(entriesOf))
      assert.not.equal(node(`console.log(Object.keys(await import('${entry}')).length)`), '0', entry)
    const after = dryRun('config/tools.yaml')
    assert.is(after.status, 0, after.stderr)
    const help = execFileSync('npx', ['rl', '--help'], { cwd: folder, env, encoding: 'utf8' })
    for (const name of ['coding', 'web', 'desktop']) assert.match(help, new RegExp(`^  ${name} `, 'm'))
    checkDeclarations(others.flatMap(entriesOf))
  })

  for (const name of exampleNames().filter((name) => QUICK.includes(name)))
    test(`the example ${name} runs with plain node`, async () => {
      assert.is(await runExample(name, project), 'ok')
    })
}

test.run()

/**
 * `node bin/launch.mjs scripts/sbom.ts FILE` writes the software bill of materials (CycloneDX) of an
 * installed package, from the lockfile. The same lockfile gives the same bytes.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export type Bom = {
  serialNumber?: string
  readonly metadata: { timestamp?: string; readonly component: { name: string } }
  readonly components: readonly {
    readonly name: string
    readonly version: string
    readonly hashes?: readonly unknown[]
  }[]
}

export function buildBom(): Bom {
  const folder = installedAlone()
  const words = ['sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx']
  const output = execFileSync('npm', words, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32', // where npm is a script
  })
  rmSync(folder, { recursive: true })
  const bom = JSON.parse(output) as Bom
  delete bom.serialNumber
  delete bom.metadata.timestamp
  bom.metadata.component.name = JSON.parse(readFileSync('package.json', 'utf8')).name // npm takes the folder's
  return bom
}

/**
 * A folder with the manifest and lockfile of what an install of the package alone brings. npm takes packages for parts of development
 * if a link of the workspace reaches them too.
 */
function installedAlone(): string {
  const { devDependencies, workspaces, scripts, ...manifest } = read('package.json')
  const { packages, ...lock } = read('package-lock.json')
  const kept = Object.entries(packages as Record<string, Record<string, unknown>>)
    .filter(([path, one]) => !path.startsWith('packages/') && one.link !== true && one.dev !== true)
    .map(([path, { devDependencies, workspaces, ...one }]) => [path, one])
  const folder = mkdtempSync(join(tmpdir(), 'rl-sbom-'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ ...lock, packages: Object.fromEntries(kept) }),
  )
  return folder
}

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const bom = buildBom()
  writeFileSync(process.argv[2], `${JSON.stringify(bom, null, 1)}\n`)
  process.stdout.write(`${process.argv[2]}: ${bom.components.length} components\n`)
}

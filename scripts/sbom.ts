/**
 * `node bin/launch.mjs scripts/sbom.ts FILE` writes the software bill of materials (CycloneDX) of an
 * installed package, from the lockfile. The same lockfile gives the same bytes.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
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
  const words = ['sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx']
  const output = execFileSync('npm', words, {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32', // npm is a script there
  })
  const bom = JSON.parse(output) as Bom
  delete bom.serialNumber
  delete bom.metadata.timestamp
  bom.metadata.component.name = JSON.parse(readFileSync('package.json', 'utf8')).name // npm takes the folder's
  return bom
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const bom = buildBom()
  writeFileSync(process.argv[2], `${JSON.stringify(bom, null, 1)}\n`)
  process.stdout.write(`${process.argv[2]}: ${bom.components.length} components\n`)
}

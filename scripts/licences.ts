/**
 * `node bin/launch.mjs scripts/licences.ts` prints the licences of all packages that an install can bring, on
 * any platform, and the packages with each. Exits with status 1 if one is not in the list of licences that an
 * Apache-2.0 project may use.
 */
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/** SPDX names. MPL-2.0 binds changes to its own files alone, and there are none. */
const ALLOWED: ReadonlySet<string> = new Set([
  ...['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'CC0-1.0', 'ISC', 'MIT'],
  ...['MIT-0', 'MPL-2.0', 'Python-2.0', 'Unlicense', 'Zlib'],
])

/**
 * Licences read in the package's own LICENSE, because lockfiles do not keep how its package.json names it.
 */
const READ: Readonly<Record<string, string>> = { 'x11@4.2.2': 'MIT' }

export type Licensed = { readonly name: string; readonly licence: string; readonly allowed: boolean }

type Lock = {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly license?: string; readonly link?: boolean }>
  >
}

/** Returns every package of a lockfile, by name and version. A package without a licence has `none`. */
export function licencesOf({ packages }: Lock): readonly Licensed[] {
  return Object.entries(packages)
    .filter(([path, { link }]) => path !== '' && link !== true)
    .map(([path, { version, license }]) => {
      const name = `${path.split('node_modules/').at(-1)}@${version}`
      const licence = license ?? READ[name] ?? 'none'
      return { name, licence, allowed: isAllowed(licence) }
    })
}

/**
 * Whether an expression such as `(MIT OR GPL-3.0) AND ISC` is allowed: one of several alternatives, and all
 * joint licences.
 */
function isAllowed(expression: string): boolean {
  return expression
    .split(' AND ')
    .every((part) => part.split(' OR ').some((name) => ALLOWED.has(name.replace(/[()]/g, '').trim())))
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const all = licencesOf(JSON.parse(readFileSync('package-lock.json', 'utf8')))
  for (const licence of new Set(all.map((one) => one.licence))) {
    const names = all.filter((one) => one.licence === licence).map(({ name }) => name)
    process.stdout.write(`${licence} (${names.length}): ${names.join(' ')}\n`)
  }
  const refused = all.filter(({ allowed }) => !allowed)
  for (const { name, licence } of refused) process.stdout.write(`not allowed: ${name} (${licence})\n`)
  process.exitCode = refused.length > 0 ? 1 : 0
}

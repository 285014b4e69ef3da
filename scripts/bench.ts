/**
 * `npm run -s bench -- SUITE` runs scripts/bench/SUITE.ts, which prints one JSON object a line: {"suite",
 * "name", "value", "unit", "goal", "n", "note"}. The value is the median of n. The suite `all` runs all
 * others.
 */
import { readdirSync } from 'node:fs'

const suites = readdirSync('scripts/bench')
  .filter((file) => file.endsWith('.ts') && file !== 'report.ts')
  .map((file) => file.slice(0, -3))
const [suite] = process.argv.slice(2)
if (suite === undefined || !suites.includes(suite)) {
  process.stderr.write(
    `usage: npm run -s bench -- <suite>, or all [--check] [--only SUITE,...]\nsuites: ${suites.join(', ')}\n`,
  )
  process.exit(2)
}
await import(`./bench/${suite}.ts`)

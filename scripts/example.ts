/**
 * Runs examples as a stranger would, in a project of its own that has the compiled package.
 *
 * npm run -s example -- NAME...   or --all
 */
import { build } from './build.ts'
import { projectWithBuild } from './example/project.ts'
import { type ExampleResult, exampleNames, runExample } from './example/run.ts'

const known = exampleNames()
const words = process.argv.slice(2)
const names = words.includes('--all') ? known : words
const unknown = names.filter((name) => !known.includes(name))
if (names.length === 0 || unknown.length > 0) {
  const problem = unknown.length > 0 ? `there is no example ${unknown.join(', ')}` : 'which example?'
  process.stderr.write(`${problem} - npm run -s example -- NAME or --all; they are ${known.join(', ')}\n`)
  process.exit(2)
}

build('.')
const results: ExampleResult[] = []
for (const name of names) {
  const project = projectWithBuild()
  try {
    results.push(await runExample(name, project))
  } finally {
    project.remove()
  }
}
const count = (result: ExampleResult) => results.filter((one) => one === result).length
if (count('skipped') > 0) process.stdout.write(`\n${count('skipped')} skipped\n`)
process.stdout.write(`examples=${results.length} failed=${count('failed')}\n`)
process.exitCode = count('failed') > 0 ? 1 : 0

/**
 * Runs examples as a stranger would, in a project of its own that has the compiled package.
 *
 * npm run -s example -- NAME...   or --all, or --agents [NAME...]
 * npm run -s example -- instructions [--whole]   learns instructions in 20 seeds, all of them through the whole system
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BUILT, build } from './build.ts'
import { runAgents } from './example/agents.ts'
import { AGENT_FILES } from './example/lines-changed.ts'
import { projectWithBuild } from './example/project.ts'
import { type ExampleResult, exampleNames, runExample } from './example/run.ts'

const words = process.argv.slice(2)
if (words[0] === 'instructions' && [undefined, '--whole'].includes(words[1])) {
  const { instructionSeeds } = await import('./example/instructions.ts')
  process.exit(await instructionSeeds(words[1] === '--whole'))
}
const ofAgents = words.includes('--agents')
const known = ofAgents ? Object.keys(AGENT_FILES) : exampleNames()
const named = words.filter((word) => !word.startsWith('--'))
const names = words.includes('--all') || (ofAgents && named.length === 0) ? known : named
const unknown = names.filter((name) => !known.includes(name))
if (names.length === 0 || unknown.length > 0) {
  const problem = unknown.length > 0 ? `there is no example ${unknown.join(', ')}` : 'which example?'
  process.stderr.write(
    `${problem} - npm run -s example -- NAME, --all or --agents; they are ${known.join(', ')}\n`,
  )
  process.exit(2)
}

// The package counts the code of those that bring settings, so each of them must be built once.
for (const folder of BUILT) if (folder === '.' || !existsSync(join(folder, 'dist'))) build(folder)
const results: ExampleResult[] = []
for (const name of ofAgents ? ['agents'] : names) {
  const project = projectWithBuild()
  try {
    if (ofAgents) results.push(...(await runAgents(names, project)))
    else results.push(await runExample(name, project))
  } finally {
    project.remove()
  }
}
const count = (result: ExampleResult) => results.filter((one) => one === result).length
if (count('skipped') > 0) process.stdout.write(`\n${count('skipped')} skipped\n`)
process.stdout.write(`examples=${results.length} failed=${count('failed')}\n`)
process.exitCode = count('failed') > 0 ? 1 : 0

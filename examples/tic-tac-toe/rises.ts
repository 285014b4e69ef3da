/** Reads a run's log: how often the policy won at the start and at the end. */
import { openLogReader, runFolder } from 'rlanything'

const rates: number[] = []
for (const { type, data } of openLogReader(runFolder(process.argv[2]).log).events())
  if (type === 'EvaluationCompleted') rates.push(data.rollouts.successes / data.rollouts.n)
console.log(`won at the start ${rates[0].toFixed(2)}, at the end ${rates[rates.length - 1].toFixed(2)}`)
process.exit(rates[rates.length - 1] > rates[0] ? 0 : 1)

/** Reads a run's log: how often the policy won at the start and at the end. */
import { openLogReader, runFolder } from 'rlanything'

const log = openLogReader(runFolder(process.argv[2]).log)
const rates: number[] = []
for (const { type, data } of log.events({ types: ['EvaluationCompleted'] }))
  if (type === 'EvaluationCompleted') rates.push(data.rollouts.successes / data.rollouts.n)
log.close()
console.log(`won at the start ${rates[0].toFixed(2)}, at the end ${rates[rates.length - 1].toFixed(2)}`)
if (rates[rates.length - 1] <= rates[0]) process.exit(1)

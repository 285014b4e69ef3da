/** Follows a run from its first event to its last: counts outcomes, and may be stopped and started again at any moment. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { runAddress, runFolder } from 'rlanything'
import { subscribe } from 'rlanything/events'

const run = process.argv[2] ?? 'demo'
// Known once the head is up. On another host it is { url, user, password }, and rlanything/events is all that is needed.
let address = runAddress(run)
for (; address === null; address = runAddress(run)) await setTimeout(100)

type State = { position: number; successes: number; rollouts: number }
const file = `${runFolder(run).folder}/subscriber.json`
const state: State = existsSync(file)
  ? JSON.parse(readFileSync(file, 'utf8'))
  : { position: 0, successes: 0, rollouts: 0 }

const types = [
  'TrajectoryCompleted',
  'PolicyUpdated',
  'IterationCompleted',
  'RunCompleted',
  'RunFailed',
] as const
const subscription = await subscribe({ ...address, run, from: state.position + 1, types }, (event) => {
  if (event.type === 'TrajectoryCompleted' && event.data.outcome.kind === 'scored') {
    state.rollouts++
    if (event.data.outcome.success) state.successes++
  } else if (event.type === 'PolicyUpdated')
    console.log(`${event.position} policy ${event.data.version} is there`)
  else if (event.type === 'IterationCompleted')
    console.log(
      `${event.position} iteration ${event.data.iteration}: ${state.successes} of ${state.rollouts} rollouts succeeded so far`,
    )
  state.position = event.position
  // What was made of the event and its position are stored in one step: each event counts exactly once.
  writeFileSync(`${file}.part`, JSON.stringify(state))
  renameSync(`${file}.part`, file)
  if (event.type === 'RunCompleted' || event.type === 'RunFailed') void subscription.stop()
})
await subscription.done
console.log(`${run} is over: ${state.successes} of ${state.rollouts} rollouts succeeded`)

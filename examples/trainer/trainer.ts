/** Makes the new versions of a run's policy: takes each batch from the run, updates the weights its own way, and tells the run. */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { decodeBatch, runAddress, runFolder } from 'rlanything'
import { connectBus, connectLog, type EventData, subscribe } from 'rlanything/events'
import { openLocalModel, type TrainableModel } from 'rlanything/models'

const run = process.argv[2] ?? 'trained-outside'
// A trainer is a worker of the policy: it may append the policy's events, which a tool may not.
let address = runAddress(run, 'policy-worker')
for (; address === null; address = runAddress(run, 'policy-worker')) await setTimeout(100)
const bus = await connectBus(address)
const log = connectLog({ bus, run, actor: 'policy/trainer' })
let model: TrainableModel | undefined

async function answer(batch: EventData<'BatchReady'>, cause: string): Promise<void> {
  const [known] = await log.positionsOf([`PolicyUpdated/${batch.version}`])
  // Another role's, or answered before this program was started.
  if (batch.role || known !== null || batch.parent === null) return
  const { samples } = decodeBatch(await log.getBlob(batch.file))
  const parent = join(runFolder(batch.parent.run).folder, batch.parent.path)
  if (model) await model.load(parent)
  else model = await openLocalModel({ folder: parent })
  const { loss, kl } = await model.update(samples, {
    loss: { kind: 'policy', clipLow: 0.2, clipHigh: 0.28, dualClip: null, klWeight: 0, aggregate: 'batch' },
    ...{ learningRate: 1e-3, updates: 2, clipNorm: 1, klLimit: null, tokenBudget: 4096, seed: batch.seed },
  })
  const path = `checkpoints/policy/${String(batch.version).padStart(5, '0')}`
  const sha256 = await model.save(join(runFolder(run).folder, path))
  const { iteration, version, parentVersion, trainedOn } = batch
  const updated = { iteration, version, parentVersion, trainedOn, samples: batch.samples, stopped: null }
  await log.append(
    [
      { type: 'CheckpointSealed', data: { role: 'policy', version, sha256, path } },
      {
        type: 'PolicyUpdated',
        data: { ...updated, checkpoint: { sha256, path }, metrics: { ...batch.metrics, loss, kl } },
      },
    ],
    { cause },
  )
  console.log(`version ${version} from ${samples.length} samples, loss ${loss.toFixed(4)}`)
}

const types = ['BatchReady', 'RunCompleted'] as const
const subscription = await subscribe({ bus, run, types }, async (event) => {
  if (event.type === 'BatchReady') await answer(event.data, event.id)
  else void subscription.stop()
})
await subscription.done
await model?.close()
log.close()
await bus.close()

/** Weights for the committed run, whose checkpoints are not committed: small models that have learned nothing. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { checkpointPath, type ModelRole } from '../../src/actors/learner/checkpoints.ts'
import { codecOf } from '../../src/actors/rollout/packing.ts'
import type { RunFolder } from '../../src/broker/connection.ts'
import { alfworldWords } from '../../src/environments/alfworld/words.ts'
import { CATALOGUE, type LoggedEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../src/models/local/word-tokenizer.ts'

/** One set of weights for each version of each role, by their order; the log is written again with their digests. */
export async function giveWeights(
  { folder, log }: RunFolder,
  versions: readonly (readonly [role: ModelRole, version: number])[],
): Promise<void> {
  const tokenizer = trainWordTokenizer({ words: alfworldWords() })
  const { size, encode } = createTokenizer(tokenizer)
  const digests = new Map<string, string>()
  for (const [index, [role, version]] of versions.entries()) {
    const model = await openLocalModel({
      config: presetConfig('nano', { vocabSize: size, contextTokens: 512, endToken: codecOf(encode).end }),
      tokenizer,
      seed: 1 + index,
      name: `${role} ${version}`,
      backend: 'auto',
    })
    const path = checkpointPath(role, version)
    digests.set(path, await model.save(join(folder, path)))
    await model.close()
  }
  writeAgain(log, digests)
}

/** The same events, but for the digests of checkpoints at these paths. */
function writeAgain(path: string, digests: ReadonlyMap<string, string>): void {
  const reader = openLogReader(path)
  const { run } = reader
  const events = [...reader.events()].map((event) => withDigest(event, digests))
  reader.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
  const log = openLog(path, { run, minFreeBytes: 0, synchronous: 'NORMAL' })
  for (const { id, type, actor, time, cause, data } of events) {
    const envelope = { id, type, v: CATALOGUE[type].v, run, actor, time, cause, data }
    log.append([log.check(encodeEnvelope(envelope))])
  }
  log.close()
}

function withDigest(event: LoggedEvent, digests: ReadonlyMap<string, string>): LoggedEvent {
  if (event.type !== 'PolicyUpdated' && event.type !== 'RewardModelUpdated') return event
  const { checkpoint } = event.data
  const sha256 = digests.get(checkpoint?.path ?? '')
  if (!checkpoint || sha256 === undefined) return event
  return { ...event, data: { ...event.data, checkpoint: { ...checkpoint, sha256 } } } as LoggedEvent
}

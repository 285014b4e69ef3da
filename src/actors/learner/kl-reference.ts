import type { LogClient } from '../../events/log-client.ts'
import { type Compute, openLocalModel } from '../../models/local/model.ts'
import type { TrainingSample } from '../../models/port.ts'
import { checkpointOf, type ModelRole } from './checkpoints.ts'

/**
 * Returns the samples with the log-probs of the KL reference. For `base` it is version 0. For `iteration` the samples
 * already hold the behaviour log-probs.
 */
export async function withReference(
  samples: readonly TrainingSample[],
  kind: 'iteration' | 'base',
  {
    log,
    role,
    compute,
    temperature,
  }: {
    readonly log: LogClient
    readonly role: ModelRole
    readonly compute: Compute
    /** Temperature of the behaviour log-probs. It is 1 if absent. */
    readonly temperature?: number
  },
): Promise<readonly TrainingSample[]> {
  if (kind === 'iteration') return samples
  const { folder } = await checkpointOf(log, role, 0)
  return withReferenceOf(folder, samples, { compute, temperature })
}

/** The samples with the log-probs that the model of a folder gives them. */
export async function withReferenceOf(
  folder: string,
  samples: readonly TrainingSample[],
  { compute, temperature }: { readonly compute: Compute; readonly temperature?: number },
): Promise<readonly TrainingSample[]> {
  const base = await openLocalModel({ folder, ...compute })
  try {
    const logprobs = await base.score(samples, { temperature })
    return samples.map((sample, i) => ({ ...sample, referenceLogprobs: logprobs[i] }))
  } finally {
    await base.close()
  }
}

/** The learner of a model in this process, and what its worker does for it beside the jobs. */
import type { LogClient } from '../../events/log-client.ts'
import type { TrainableModel } from '../../models/port.ts'
import { type ModelRole, newestVersion } from './checkpoints.ts'
import type { BatchOf, Learner, OpenedModel } from './ports.ts'
import type { ResidentModel } from './resident-model.ts'
import { updateModel } from './update.ts'
import type { TrainingConfig } from './update-options.ts'

type ResidentLearner = Pick<OpenedModel, 'learner' | 'prepare' | 'broken' | 'close'>

/** @param begin makes version 0 */
export function residentLearner(
  role: ModelRole,
  resident: ResidentModel<{ readonly model: TrainableModel }>,
  begin: Learner['begin'],
  batchOf: BatchOf,
  config: TrainingConfig,
  log: LogClient,
): ResidentLearner {
  return {
    learner: {
      begin,
      async update(job) {
        const startedMs = performance.now()
        return updateModel(job, await batchOf(job), { role, log, resident, config }, startedMs)
      },
    },
    async prepare() {
      const version = await newestVersion(log, role)
      if (version !== null) await resident.ready(version)
    },
    broken: resident.broken,
    close: () => resident.close(),
  }
}

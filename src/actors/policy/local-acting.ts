/** A local model as the one that acts: opened from a folder, and asked for the next actions of many episodes. */
import type { Config } from '../../config.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { sampledPrograms } from '../coding/program-acting.ts'
import { programCodec } from '../coding/program-packing.ts'
import type { ActReply, ActRequest } from '../rollout/act.ts'
import { codecOf, viewOf } from '../rollout/packing.ts'
import { type Acting, choiceActing, type Sampling } from './acting.ts'

export type LocalActor = { readonly model: LocalModelFace; readonly acting: Acting }

/** @param folder a Hugging Face folder, e.g. a checkpoint of a run */
export async function openLocalActor(
  folder: string,
  { backend }: Pick<Config, 'backend'>,
  opened: OpenSetting,
): Promise<LocalActor> {
  const model = await openLocalModel({ folder, backend })
  const { contextTokens } = model.describe()
  const acting =
    partOf(opened.setting, 'acting', 'a local policy').kind === 'programs'
      ? sampledPrograms(programCodec(model), contextTokens)
      : choiceActing(codecOf(model.encode, viewOf(opened)), contextTokens)
  return { model, acting }
}

/** One reply a request, in their order. */
export async function actWith(
  { model, acting }: LocalActor,
  requests: readonly ActRequest[],
  samplingFor: (request: ActRequest) => Sampling,
  signal: AbortSignal,
): Promise<ActReply[]> {
  const turns = requests.map((request) => acting(request, samplingFor(request)))
  const generations = (
    await model.generate(
      turns.flatMap(({ request }) => request ?? []),
      signal,
    )
  ).values()
  return turns.map(({ request, reply }) => reply(request ? (generations.next().value ?? null) : null))
}

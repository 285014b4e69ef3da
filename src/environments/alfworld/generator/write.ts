/** Games as files, in the folders that ALFWorld's own loader walks. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Game } from '../game.ts'
import { type Goal, sentenceOf } from '../tasks.ts'

/**
 * Writes `<folder>/<task>/<trial>/` with game.tw-pddl, initial_state.pddl and traj_data.json.
 * @param folder e.g. `OUT/json_2.1.1/train`
 * @param game named `<task>/<trial>`, with its walkthrough
 */
export async function writeGame(folder: string, game: Game, goal: Goal): Promise<string> {
  const path = join(folder, game.name)
  await mkdir(path, { recursive: true })
  const files = {
    'game.tw-pddl': JSON.stringify(game.file),
    'initial_state.pddl': game.file.pddl_problem,
    'traj_data.json': `${JSON.stringify(trajectoryData(game, goal), null, 2)}\n`,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
  return path
}

/** The fields of ALFRED's traj_data.json that ALFWorld reads. There is no recorded trajectory. */
function trajectoryData({ name, task }: Game, { type, object, target }: Goal) {
  const [taskName = name, trial] = name.split('/').slice(-2)
  const isLook = type === 'look_at_obj_in_light'
  return {
    task_id: trial,
    task_type: type,
    pddl_params: {
      object_target: object,
      parent_target: isLook ? '' : target,
      mrecep_target: '',
      toggle_target: isLook ? target : '',
      object_sliced: false,
    },
    turk_annotations: { anns: [{ task_desc: `${sentenceOf(task) ?? task}.`, high_descs: [] }] },
    scene: {
      floor_plan: `generated-${taskName.slice(taskName.lastIndexOf('-') + 1)}`,
      object_poses: [],
      object_toggles: [],
    },
    plan: { high_pddl: [], low_actions: [] },
    images: [],
  }
}

/** Training rollouts for TRL: its conversational form of prompts and completions, with the outcome as the reward. */
import { trajectoryRows } from '../export.ts'
import { type Exporter, writeLines } from '../exporter.ts'
import { rewardedChats } from '../fine-tuning.ts'

export const trl: Exporter = {
  name: 'trl',
  summary: 'training rollouts as {"prompt", "completion", "reward"} a line: messages, and the outcome',
  write: async (log, out) =>
    `${await writeLines(out, rewardedChats(trajectoryRows(log)))} rollouts in ${out}`,
}

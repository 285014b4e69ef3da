/** The closed word list of a small model for ALFWorld, so that no text of its games is spelled by letters. */
import { typeNames } from '../../environments/alfworld/generator/tables.ts'
import { sentencesOf, TASK_TYPES } from '../../environments/alfworld/tasks.ts'
import { judgeWords } from '../reward-model/judging.ts'

/** Words of goals, commands, compact observations and judgements, frequent ones first. */
export function alfworldWords(): string[] {
  const types = [...typeNames.receptacles, ...typeNames.objects].map((name) => name.toLowerCase())
  const goals = TASK_TYPES.flatMap((type) => sentencesOf({ type, object: '', target: '' }))
  return [...new Set([...COMMAND_WORDS, ...OBSERVATION_WORDS, ...judgeWords, ...goals, ...types])]
}

const COMMAND_WORDS = [
  'go',
  'take',
  'move',
  'put',
  'open',
  'close',
  'use',
  'clean',
  'heat',
  'cool',
  'slice',
].concat(['examine', 'look', 'inventory', 'help', 'in/on', 'to', 'from', 'with'])

const OBSERVATION_WORDS = [
  'nothing',
  'closed',
  'ok',
  'fail',
  'plain',
  'hot',
  'cold',
  'sliced',
  'and',
  'on',
  'This',
  'is',
]

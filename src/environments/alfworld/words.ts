/** The closed word list of a small model for ALFWorld. With it no text of the games is spelled by letters. */
import { judgeWords } from '../causes.ts'
import { CAUSES } from './causes.ts'
import { typeNames } from './generator/tables.ts'
import { sentencesOf, TASK_TYPES } from './tasks.ts'

/** Words of goals, commands, compact observations and judgements, frequent ones first. */
export function alfworldWords(): string[] {
  const types = [...typeNames.receptacles, ...typeNames.objects].map((name) => name.toLowerCase())
  const goals = TASK_TYPES.flatMap((type) => sentencesOf({ type, object: '', target: '' }))
  return [...new Set([...COMMAND_WORDS, ...OBSERVATION_WORDS, ...judgeWords(CAUSES), ...goals, ...types])]
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

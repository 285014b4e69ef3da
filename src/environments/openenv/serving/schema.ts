/** Name of a served environment, and JSON Schemas of its messages. */
import { packageVersion } from '../../../package.ts'

const text = (title: string, description: string) => ({ title, description, type: 'string' })
const nullable = (title: string, type: string, description: string) => ({
  title,
  description,
  anyOf: [{ type }, { type: 'null' }],
  default: null,
})
const metadata = { title: 'Metadata', type: 'object', additionalProperties: true, default: {} }

export const SCHEMAS = {
  action: {
    title: 'Action',
    type: 'object',
    properties: {
      metadata,
      action: text('Action', 'One of the admissible actions, or a text if none are listed.'),
    },
    required: ['action'],
    additionalProperties: false,
  },
  observation: {
    title: 'Observation',
    type: 'object',
    properties: {
      done: { title: 'Done', type: 'boolean', default: false },
      reward: nullable('Reward', 'number', 'The outcome in [0, 1] at the end, and 0 before it.'),
      metadata,
      text: text('Text', 'Observation for the agent.'),
      goal: text('Goal', 'Goal of the task.'),
      admissible: {
        title: 'Admissible',
        description: 'Admissible actions. Empty at the end, and if actions are texts.',
        type: 'array',
        items: { type: 'string' },
      },
      ended: nullable('Ended', 'string', 'goal, step-limit or gave-up.'),
    },
    required: ['text', 'goal', 'admissible'],
  },
  state: {
    title: 'State',
    type: 'object',
    properties: {
      episode_id: nullable('Episode Id', 'string', 'The id that the reset gave.'),
      step_count: { title: 'Step Count', type: 'integer', minimum: 0, default: 0 },
      task: nullable('Task', 'string', 'Id of the task.'),
      kind: nullable('Kind', 'string', 'Kind of the task.'),
      max_steps: { title: 'Max Steps', type: 'integer', minimum: 1 },
    },
    additionalProperties: true,
  },
} as const

export function metadataOf(name: string, summary: string) {
  return {
    name,
    description: summary,
    readme_content: null,
    version: packageVersion(),
    author: null,
    documentation_url: null,
  }
}

/** Sections of a config by name. A function that reads one section takes this section, not the whole config. */
import type { Config } from './schema.ts'

export type RunConfig = Config['run']
export type EnvironmentConfig = Config['environment']
export type PolicyConfig = Config['policy']
export type RewardModelConfig = Config['rewardModel']
export type LearningConfig = Config['learning']
export type AdaptationConfig = Config['adaptation']
export type EvaluationConfig = Config['evaluation']
export type SimulationConfig = Config['simulation']
export type UiConfig = Config['ui']

/** Sections that name the rules of learning, and say how these rules weigh. */
export type RulesConfig = Pick<Config, 'learning' | 'environment' | 'adaptation'> & {
  /** Absent if nothing is played. */
  readonly run?: Pick<Config['run'], 'phases'>
}

/** Section of a model that has versions, of either role. */
export type TrainedConfig = PolicyConfig | RewardModelConfig

/**
 * A setting: an environment with all that the loop can do with it. Each environment exports one. Its
 * abilities are parts. Each part is absent or whole. Code that needs a part asks for the part (`partOf`),
 * never for a setting's name.
 */
import type { z } from 'zod'
import type { Config } from '../config-schema/schema.ts'
import { RlError } from '../errors.ts'
import type { Seed } from '../random.ts'
import type { UserPart } from '../registry.ts'
import type { Causes } from './causes.ts'
import type { SettingCommand } from './command.ts'
import type { Environment, Episode, Rewrite, RewriteRequest, Task, Turn, Validation } from './port.ts'
import type { Evidence, TestJudging, Texts } from './texts.ts'

export type * from './texts.ts'

/** Reports a key whose value does not fit. Never returns. */
export type Refuse = (path: string, message: string, hint: string) => never

/** Functions are methods. So a setting of a special environment is also one of `Environment`. */
export interface Setting<E extends Environment = Environment, Section = unknown> {
  /** One word. Tasks, `environment.name` and messages use it. */
  readonly name: string
  /** One line for people. */
  readonly summary: string
  /**
   * Returns the setting's own keys, each with a default and a description. Absent if it has none. `z` is zod.
   */
  config?(zod: typeof z): z.ZodRawShape
  /**
   * Checks rules that the schema of a single key cannot express.
   *
   * @param section the setting's own keys, with defaults
   */
  check?(config: Config, refuse: Refuse, section: Section): void
  /**
   * Opens the environment.
   * @param section the setting's own keys, with defaults
   * @param elsewhere executors of the run, if the section asks for some (`executing`)
   */
  open(config: Config, section: Section, elsewhere?: Elsewhere): E | Promise<E>
  /**
   * Starts what runs the tasks on this machine, e.g. a sandbox. Resolves to its name and the reason for the
   * choice. The plan, ActorStarted and `rl status` show it.
   */
  runtime?(environment: E): Promise<string>
  /** How a model acts. If absent, only agents outside can play. */
  readonly acting?: Choosing<E> | Texts<E>
  /** Other ways to act, by the value of the setting's own key `acting`. A bridge has some. */
  readonly actings?: Readonly<Record<string, Choosing<E> | Texts<E>>>
  /** The names that `environment.taskTypes` may have. Absent if the setting has no types to choose. */
  readonly taskTypes?: readonly string[]
  /** True if training tasks can show the names of things in a random order (`environment.domainRandomization`). */
  readonly domainRandomization?: true
  /** How an episode looks, for models that see and for people who watch. */
  readonly pictures?: Pictures<E, Section>
  /** How a reward model judges. */
  readonly judging?: StepJudging | TestJudging<E>
  /** How harder and easier tasks are made. */
  readonly rewriting?: Rewriting<E>
  /** Work of its episodes that other hosts can do. */
  readonly executing?: Executing<Section>
  /**
   * Returns a teacher for the first version of a policy. It knows no more than an agent can read, and what the words of the goal mean.
   * The task is absent if only its turns are known.
   */
  expert?(environment: E, first: Turn, task?: Task): Expert
  /**
   * Resolves to the true progress of each step of an episode, in order of the actions. The setting defines
   * progress. Resolves to null if it cannot tell.
   */
  progress?(environment: E, task: Task, seed: Seed, actions: readonly string[]): Promise<Float32Array | null>
  /**
   * Resolves to what each step of an episode really gained: by how much the estimate of the steps that remain fell, luck included.
   * Resolves to null if it cannot tell. The reward `outlook` is made of it.
   */
  falls?(environment: E, task: Task, seed: Seed, actions: readonly string[]): Promise<Float32Array | null>
  /**
   * Resolves to by how much each step of an episode shortened the best plan from the true state. Resolves to null if it cannot tell.
   * No agent can know it: it is the ceiling of what a judge is worth, for measuring.
   */
  oracle?(environment: E, task: Task, seed: Seed, actions: readonly string[]): Promise<Float32Array | null>
  /**
   * Resolves to the expected number of steps that remain, [actions + 1]: before each action and after the last. Resolves to null if
   * it cannot tell. A judge of the form `estimate` learns it.
   */
  remaining?(environment: E, task: Task, seed: Seed, actions: readonly string[]): Promise<Float32Array | null>
  /** Returns an expert that seeks another goal than the task's, drawn by the seed. It shows such a judge what misses the goal. */
  astray?(environment: E, first: Turn, seed: Seed, task?: Task): Expert
  /** True if every turn names a role. */
  readonly roles?: true
  /** Resolves to the text of a task's own solution, as actions in lines. Resolves to null if there is none. */
  reference?(environment: E, task: Task): Promise<string | null>
  /**
   * Loads the user's own parts that the section names, e.g. a sandbox. Resolves to their entries for the log.
   */
  userParts?(section: Section): Promise<readonly UserPart[]>
  /** Commands `rl <name> <command>` by their names, e.g. for data sets and checks. */
  readonly commands?: Readonly<Record<string, SettingCommand>>
  /** Checks what the setting needs of this machine, for `rl doctor`. */
  doctor?(): Promise<Finding>
  /**
   * Formulas make rollouts, verdicts and rewrites (src/actors/simulated). No figure of such a run is a
   * measurement.
   */
  readonly simulated?: true
  /** SHA-256 of the file of a user's setting. Results of another version of it are made anew. */
  readonly digest?: string
}

/**
 * Processes of a run that do a part of its episodes' work, e.g. run programs (`--role executor`). They do not
 * play or judge.
 */
export interface Executing<Section = unknown> {
  /**
   * Returns the number of processes that the head starts. Returns null if the work is done beside the
   * episodes.
   */
  processes(section: Section): number | null
  /** @param kept results that the run's executors have worked out already */
  open(config: Config, section: Section, kept: Kept): Promise<OpenExecuting>
}

export type OpenExecuting = {
  /** Description for people. */
  readonly note: string
  /** Number of pieces of work at a time. */
  readonly concurrency: number
  /** Does a piece of work. Rejects if this host could not. Then another host is asked. */
  readonly perform: (work: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>
  readonly counters?: () => Readonly<Record<string, number>>
  readonly close: () => Promise<void>
}

/** The executors of a run, for code that has work for them. */
export type Elsewhere = {
  /**
   * Rejects with an RlError if no executor has done the work by a deadline. That is a fault of the
   * infrastructure.
   */
  readonly perform: (work: Uint8Array, signal?: AbortSignal) => Promise<Uint8Array>
}

/** Bytes by key (letters and digits). Kept bytes may be lost. */
export type Kept = {
  readonly get: (key: string) => Promise<Uint8Array | null>
  readonly set: (key: string, bytes: Uint8Array) => void
}

/** A finding of `rl doctor`. */
export type Finding = {
  /** Name of the check, one word. */
  readonly check: string
  /** `warn`: works, but less well. `fail`: nothing runs. */
  readonly result: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** Next step, or null. */
  readonly advice: string | null
}

/** An action is one of the admissible commands. */
export interface Choosing<E extends Environment = Environment> {
  readonly kind: 'choices'
  /** Returns the short texts that a small model reads. If absent, it reads the full texts. */
  view?(environment: E): CompactView
  /**
   * Returns every word that a small model meets, frequent ones first. If absent or undefined, words are taken
   * from some episodes.
   */
  words?(environment: E): readonly string[] | undefined
  /** Prompt files for models behind endpoints. If absent, those for any setting are used. */
  readonly prompts?: { readonly numbered: string; readonly free: string }
}

/** An episode shows a screen. */
export interface Pictures<E extends Environment = Environment, Section = unknown> {
  /** Resolves to the current picture. If the episode is over, it must not be settled yet. */
  picture(environment: E, episode: Episode): Promise<Picture>
  /**
   * Returns how a model that sees acts by places on the screen. Returns null if actions are named in words.
   */
  seeing(section: Section): Seeing | null
}

/** A PNG. Width and height are in pixels. */
export type Picture = { readonly bytes: Uint8Array; readonly width: number; readonly height: number }

/** The whole answer of a model is the action. */
export type Seeing = {
  /** Prompt file, with the placeholders goal, history and frames. */
  readonly prompt: string
  /**
   * Returns the reason why an answer holds no action, so that such answers are counted, or null. It is a step
   * all the same.
   */
  readonly invalid: (answer: string) => string | null
  /** Returns an answer on one line, for the history in later prompts. */
  readonly brief: (answer: string) => string
}

/**
 * An observation begins with this mark if the action could not be done. The reason follows on the same line.
 */
export const PROBLEM = '! '

/**
 * Returns whether an observation says that the action before it had no effect.
 * @example hadNoEffect('Nothing happens.') // true
 */
export function hadNoEffect(observation: string): boolean {
  return observation.startsWith(PROBLEM) || observation.trim() === 'Nothing happens.'
}

/** Short forms of an episode's texts. Different commands must have different short forms. */
export type CompactView = {
  readonly intro: (goal: string, observation: string) => string
  readonly observation: (observation: string) => string
  readonly command: (command: string) => string
}

/** Each step has its own verdicts. */
export type StepJudging = {
  readonly by: 'steps'
  /** Vocabulary of local judges. */
  readonly causes: Causes
  /** Prompt file for judges behind endpoints. If absent, the one for any setting is used. */
  readonly prompt?: string
}

export interface Rewriting<E extends Environment = Environment> {
  /** Keys of the section `adaptation` that its own rules follow. A run that sets another is refused. */
  readonly follows?: readonly ('anyType' | 'choice')[]
  /** Returns a changed task by the setting's own rules, proven valid. */
  rewrite(environment: E, request: RewriteRequest): Promise<Rewrite>
  /** Whether the task can be solved and is not solved at its start. */
  validate(environment: E, task: Task): Promise<Validation>
  readonly language?: LanguageRewriting<E>
}

/** Rewriting by a language model. */
export interface LanguageRewriting<E extends Environment = Environment> {
  /**
   * `failure` is the prompt that sums up one failed rollout. If it is null, the judge's complaints are used.
   */
  readonly prompts: { readonly rewrite: string; readonly failure: string | null }
  /** Returns the values of the prompt's placeholders. `evidence` is given if judging goes by tests. */
  brief(
    environment: E,
    request: RewriteRequest,
    evidence: Evidence | null,
  ): Promise<Readonly<Record<string, string>>>
  /**
   * Resolves to the task that an answer names, proven like one of `rewrite`, or to the reason for a refusal.
   */
  read(environment: E, request: RewriteRequest, answer: string): Promise<Rewrite>
}

/** Follows one episode and advises on each turn. */
export type Expert = {
  readonly advise: (turn: Turn) => string
  readonly observe: (action: string, turn: Turn) => void
}

/** An open environment with its setting. */
export type OpenSetting<E extends Environment = Environment> = {
  readonly setting: Setting<E>
  readonly environment: E
  /** The setting's own keys with which it was opened. */
  readonly section?: Readonly<Record<string, unknown>>
}

/**
 * Returns what identifies a setting in stored results. It is empty for our own settings: their versions are
 * known otherwise.
 */
export function identityOf({ setting, section }: OpenSetting): object {
  return setting.digest === undefined ? {} : { setting: { digest: setting.digest, section } }
}

/**
 * Returns the setting. It gives types that cannot be inferred: the parts' environment, and the section of
 * `open`.
 *
 * @example export const setting = defineSetting({ name: 'nim', summary: 'take the last match', open: () => nim() })
 */
export function defineSetting<E extends Environment, Shape extends z.ZodRawShape = Record<never, never>>(
  setting: Setting<E, z.output<z.ZodObject<Shape>>> & { config?(zod: typeof z): Shape },
): Setting<E, z.output<z.ZodObject<Shape>>> {
  return setting
}

type Part =
  | 'acting'
  | 'pictures'
  | 'judging'
  | 'rewriting'
  | 'executing'
  | 'expert'
  | 'progress'
  | 'remaining'

/**
 * Returns a part of a setting.
 *
 * @throws RlError `setting.lacks` if the setting does not have it
 */
export function partOf<P extends Part>(setting: Setting, part: P, neededBy: string): NonNullable<Setting[P]> {
  const found = setting[part]
  if (found) return found
  throw new RlError(`the setting '${setting.name}' has no ${part}, which ${neededBy} needs`, {
    code: 'setting.lacks',
    hint: 'docs/environments.md says what each part is',
  })
}

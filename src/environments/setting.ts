/**
 * A setting: an environment with all that the loop can do with it. Each environment exports one. What it can do stands in parts,
 * each absent or present as a whole; whoever needs a part asks for it (`partOf`) and never for a name.
 */
import type { z } from 'zod'
import type { Config } from '../config/schema.ts'
import { RlError } from '../errors.ts'
import type { Seed } from '../random.ts'
import type { UserPart } from '../registry.ts'
import type { Causes } from './causes.ts'
import type { SettingCommand } from './command.ts'
import type { Environment, Episode, Rewrite, RewriteRequest, Task, Turn, Validation } from './port.ts'
import type { Evidence, TestJudging, Texts } from './texts.ts'

export type * from './texts.ts'

/** Told of a key whose value does not fit; never returns. */
export type Refuse = (path: string, message: string, hint: string) => never

/** Functions are methods, so that a setting of a special environment is one of `Environment` as well. */
export interface Setting<E extends Environment = Environment, Section = unknown> {
  /** One word; what tasks, `environment.name` and messages call it. */
  readonly name: string
  /** One line for people. */
  readonly summary: string
  /** Its own keys, each with a default and a description; absent where those of every setting do. `z` is zod. */
  config?(zod: typeof z): z.ZodRawShape
  /**
   * What no key's schema alone can say.
   *
   * @param section its own keys, with defaults
   */
  check?(config: Config, refuse: Refuse, section: Section): void
  /**
   * @param section its own keys, with defaults
   * @param elsewhere the run's executors, where the section asks for some (`executing`)
   */
  open(config: Config, section: Section, elsewhere?: Elsewhere): E | Promise<E>
  /** What runs its tasks here and why that, e.g. a sandbox: told in the plan, by ActorStarted and in `rl status`. It is started. */
  runtime?(environment: E): Promise<string>
  /** How a model acts here. Without it only agents outside do. */
  readonly acting?: Choosing<E> | Texts<E>
  /** What an episode looks like, for models that see and for who looks on. */
  readonly pictures?: Pictures<E, Section>
  /** How a reward model judges. */
  readonly judging?: StepJudging | TestJudging<E>
  /** Harder and easier tasks. */
  readonly rewriting?: Rewriting<E>
  /** What hosts of their own can do for its episodes. */
  readonly executing?: Executing<Section>
  /** A teacher for the first version of a policy; it knows no more than an agent reads. */
  expert?(environment: E, first: Turn): Expert
  /** True progress of each step of an episode (the setting's definition), in order of the actions; null where it cannot tell. */
  progress?(environment: E, task: Task, seed: Seed, actions: readonly string[]): Promise<Float32Array | null>
  /** Loads what of a user's own its section names, e.g. what runs programs; resolves to what the log says of it. */
  userParts?(section: Section): Promise<readonly UserPart[]>
  /** `rl <name> <command>`, by the command's name: its data sets, its checks. */
  readonly commands?: Readonly<Record<string, SettingCommand>>
  /** What it needs of this machine, for `rl doctor`. */
  doctor?(): Promise<Finding>
  /** Rollouts, verdicts and rewrites are made by formulas (src/actors/simulated): no figure of it is a measurement. */
  readonly simulated?: true
  /** SHA-256 of the file of a setting that is not ours: what was made by another version of it is made anew. */
  readonly digest?: string
}

/** Processes of a run that do a part of its episodes' work, e.g. run programs (`--role executor`), and play and judge nothing. */
export interface Executing<Section = unknown> {
  /** How many of them the head starts; null where the work is done where the episodes are played. */
  processes(section: Section): number | null
  /** @param kept what the executors of the run have worked out already */
  open(config: Config, section: Section, kept: Kept): Promise<OpenExecuting>
}

export type OpenExecuting = {
  /** What people want to know of it. */
  readonly note: string
  /** Pieces of work at a time. */
  readonly concurrency: number
  /** Does a piece of work; rejects where this host could not, and then another is asked. */
  readonly perform: (work: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>
  readonly counters?: () => Readonly<Record<string, number>>
  readonly close: () => Promise<void>
}

/** The executors of a run, for those who have work for them. */
export type Elsewhere = {
  /** Rejects with an RlError where none has done it by a deadline: a fault of the infrastructure. */
  readonly perform: (work: Uint8Array, signal?: AbortSignal) => Promise<Uint8Array>
}

/** Bytes by key (letters and digits), best effort: what was kept may be gone. */
export type Kept = {
  readonly get: (key: string) => Promise<Uint8Array | null>
  readonly set: (key: string, bytes: Uint8Array) => void
}

/** What `rl doctor` found. */
export type Finding = {
  /** What was looked at, one word. */
  readonly check: string
  /** `warn`: works, but less well; `fail`: nothing runs. */
  readonly result: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** What to do. */
  readonly advice: string | null
}

/** An action is one of the admissible commands. */
export interface Choosing<E extends Environment = Environment> {
  readonly kind: 'choices'
  /** The texts as a small model reads them; absent: as they are. */
  view?(environment: E): CompactView
  /** Every word that a small model meets, frequent ones first; absent or undefined: read off some episodes. */
  words?(environment: E): readonly string[] | undefined
  /** Prompt files for models behind endpoints; absent: those for any setting. */
  readonly prompts?: { readonly numbered: string; readonly free: string }
}

/** An episode shows a screen. */
export interface Pictures<E extends Environment = Environment, Section = unknown> {
  /** What it shows now; of one that is over, before it is settled. */
  picture(environment: E, episode: Episode): Promise<Picture>
  /** How a model that sees acts by places on the screen; null where actions are named in words. */
  seeing(section: Section): Seeing | null
}

/** A PNG, width and height in pixels. */
export type Picture = { readonly bytes: Uint8Array; readonly width: number; readonly height: number }

/** A model's answer, as it is, is the action. */
export type Seeing = {
  /** Prompt file, with placeholders goal, history, frames. */
  readonly prompt: string
  /** Why an answer holds no action, so that such answers are counted; null where it does. It is a step all the same. */
  readonly invalid: (answer: string) => string | null
  /** An answer in a line, for the history that later prompts show. */
  readonly brief: (answer: string) => string
}

/** Begins an observation where the action could not be done, and why; in line one. */
export const PROBLEM = '! '

/** Short forms of an episode's texts. Different commands must keep different forms. */
export type CompactView = {
  readonly intro: (goal: string, observation: string) => string
  readonly observation: (observation: string) => string
  readonly command: (command: string) => string
}

/** Each step has verdicts of its own. */
export type StepJudging = {
  readonly by: 'steps'
  /** For local judges. */
  readonly causes: Causes
  /** Prompt file for judges behind endpoints; absent: the one for any setting. */
  readonly prompt?: string
}

export interface Rewriting<E extends Environment = Environment> {
  /** A changed task by the setting's own rules; proven valid. */
  rewrite(environment: E, request: RewriteRequest): Promise<Rewrite>
  /** Whether the task can be solved and is not solved at its start. */
  validate(environment: E, task: Task): Promise<Validation>
  readonly language?: LanguageRewriting<E>
}

/** Rewriting by a language model. */
export interface LanguageRewriting<E extends Environment = Environment> {
  /** `failure`: sums up one failed rollout; null where the judge's complaints do. */
  readonly prompts: { readonly rewrite: string; readonly failure: string | null }
  /** What the model is to know, by the placeholders of the prompt. `evidence` where judging goes by tests. */
  brief(
    environment: E,
    request: RewriteRequest,
    evidence: Evidence | null,
  ): Promise<Readonly<Record<string, string>>>
  /** The task that an answer names, proven as one of `rewrite` is, or why it is refused. */
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
  /** The setting's own keys that it was opened with. */
  readonly section?: Readonly<Record<string, unknown>>
}

/** What tells apart things that were made with a setting; nothing for ours, whose versions are told otherwise. */
export function identityOf({ setting, section }: OpenSetting): object {
  return setting.digest === undefined ? {} : { setting: { digest: setting.digest, section } }
}

/** Says what types cannot infer by themselves: the environment that the parts get, and the section that `open` gets. */
export function defineSetting<E extends Environment, Shape extends z.ZodRawShape = Record<never, never>>(
  setting: Setting<E, z.output<z.ZodObject<Shape>>> & { config?(zod: typeof z): Shape },
): Setting<E, z.output<z.ZodObject<Shape>>> {
  return setting
}

type Part = 'acting' | 'pictures' | 'judging' | 'rewriting' | 'executing' | 'expert' | 'progress'

/** A part of a setting, for one who cannot do without it. Error: `setting.lacks`. */
export function partOf<P extends Part>(setting: Setting, part: P, neededBy: string): NonNullable<Setting[P]> {
  const found = setting[part]
  if (found) return found
  throw new RlError(`the setting '${setting.name}' has no ${part}, which ${neededBy} needs`, {
    code: 'setting.lacks',
    hint: 'docs/environments.md says what each part is',
  })
}

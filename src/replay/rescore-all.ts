/** A row a rule: what it would have made of a run, from one reading of the log. */
import { isDeepStrictEqual } from 'node:util'
import { changeConfig, loggedConfig, parseConfig } from '../config.ts'
import type { Config } from '../config-schema/schema.ts'
import { explain } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { itemAt } from '../item-at.ts'
import { configNaming, ruleNames } from '../learning/registry.ts'
import { type Need, needsOf, type RuleKind } from '../learning/rules.ts'
import { RULE_KINDS, SHELVES } from '../learning/shelves.ts'
import { type CompletedIteration, completedIterations } from './completed-iterations.ts'
import { isPlayingKind, type PlayingFigures, playingFigures } from './playing-figures.ts'
import {
  acceptedBy,
  advantagesOf,
  decisionsUnder,
  loggedDecisions,
  needsOfAll,
  remembered,
} from './rescore.ts'
import { checkRescored } from './rescored-keys.ts'
import type { CreditBook } from './rule-credit.ts'
import { type OpenRuleFigures, openRuleFigures, type RuleFigures } from './rule-figures.ts'

export type RuleRow = {
  readonly kind: RuleKind
  readonly rule: string
  /** True if the run had this rule. */
  readonly own: boolean
  /** Null if the rule decides what is played, or cannot be asked. */
  readonly figures: RuleFigures | null
  /** Groups that a rule of what is played would have asked for. Null for other rules. */
  readonly playing: PlayingFigures | null
  /** Input of the rule that the log has not, as a sentence. Null if it has all of it. */
  readonly lacks: string | null
  /** Why the rule cannot be asked at all, or null. */
  readonly refused: string | null
}

export type RulesRescore = {
  readonly iterations: number
  readonly trajectories: number
  readonly steps: number
  readonly rows: readonly RuleRow[]
}

type Asked = {
  readonly kind: RuleKind
  readonly rule: string
  readonly own: boolean
  readonly needs: readonly Need[]
  /** Returns the config of the run with this rule in the place of its own. */
  readonly under: (config: Config) => Config
  readonly open: OpenRuleFigures
  readonly refused: string | null
}

/**
 * Asks each rule: those that weigh what was played, and those that decide what is played. A user's module must have been loaded.
 *
 * @param set keys in the form of `--set` that hold for every rule, e.g. `learning.module=./mine.ts`
 * @param credits causal credit of drawn steps, which each rule's advantages are held to
 * @throws RlError `rescore.no-effect`
 */
export function rescoreAll(
  log: LogReader,
  set: readonly string[] = [],
  credits: CreditBook = new Map(),
): RulesRescore {
  checkRescored(set)
  const config = changeConfig(loggedConfig(startsOf(log).last.data.config), set)
  const asked = RULE_KINDS.flatMap((kind) => askedOf(kind, config, set, credits))
  const readable = asked.filter(({ kind, refused }) => refused === null && !isPlayingKind(kind))
  const needs = needsOfAll([config, ...readable.map(({ under }) => under(config))])
  const isAsPlayed = rememberedSame()
  const counts = { iterations: 0, trajectories: 0, steps: 0 }
  const judged = { verdicts: false, progress: false, falls: false, unsure: false, traced: false }
  for (const played of completedIterations(log, needs)) {
    const all = [...played.groups.values()].flatMap(({ rollouts }) => rollouts)
    counts.iterations++
    counts.trajectories += all.length
    counts.steps += all.reduce((sum, { steps }) => sum + steps, 0)
    judged.verdicts ||= played.scored.some(isJudged)
    judged.progress ||= played.scored.some(({ progress }) => progress !== null)
    judged.falls ||= played.scored.some(({ fall }) => fall !== undefined)
    judged.traced ||= all.some(({ trace }) => trace !== undefined)
    judged.unsure ||= all.some(({ outcome }) => outcome.kind === 'scored' && outcome.unsure === true)
    const accepted = loggedDecisions(played)
    const was = advantagesOf(played, accepted, played.config)
    for (const { kind, under, open } of readable) {
      const other = under(played.config)
      const decided = kind === 'acceptance' ? decisionsUnder(played, other) : []
      const acceptedNow = kind === 'acceptance' ? acceptedBy(decided, 'after') : accepted
      const same = isAsPlayed(other, played.config, kind) && isDeepStrictEqual(acceptedNow, accepted)
      const now = same ? was : advantagesOf(played, acceptedNow, other)
      const flipped = decided.filter(({ before, after }) => before.accepted !== after.accepted).length
      open.see(all, played.scored, { was, now, weights: now.weights, flipped })
    }
  }
  const playing = playingOf(log, asked)
  const rows = asked.map((one) => rowOf(one, judged, playing.get(one) ?? null))
  return { ...counts, rows }
}

/** Returns whether two configs give equal advantages to equal decisions, since nothing that enters them differs. */
function rememberedSame(): (other: Config, own: Config, kind: RuleKind) => boolean {
  const known = new WeakMap<Config, boolean>()
  return (other, own, kind) => {
    const found =
      known.get(other) ??
      isDeepStrictEqual(
        other,
        kind === 'acceptance'
          ? { ...own, adaptation: { ...own.adaptation, rule: other.adaptation.rule } }
          : own,
      )
    known.set(other, found)
    return found
  }
}

function playingOf(log: LogReader, asked: readonly Asked[]): ReadonlyMap<Asked, PlayingFigures> {
  const ofPlaying = asked.flatMap((one) =>
    one.refused === null && isPlayingKind(one.kind) ? [{ one, kind: one.kind, under: one.under }] : [],
  )
  const figures = playingFigures(log, ofPlaying)
  return new Map(ofPlaying.map(({ one }, i) => [one, itemAt(figures, i)]))
}

function isJudged({ judgements, probability }: CompletedIteration['scored'][number]): boolean {
  return judgements.length > 0 || probability !== null
}

function askedOf(
  kind: RuleKind,
  config: Config,
  set: readonly string[],
  credits: CreditBook,
): readonly Asked[] {
  return SHELVES[kind].registry.all(config.learning.module).map((rule): Asked => {
    const under = remembered((from: Config) =>
      parseConfig(configNaming(changeConfig(from, set), kind, rule.name)),
    )
    let refused: string | null = null
    try {
      under(config)
    } catch (error) {
      refused = explain(error).split('\n', 1).join()
    }
    return {
      ...{ kind, rule: rule.name, under, refused, open: openRuleFigures(credits) },
      own: ruleNames(config, kind).includes(rule.name),
      needs: needsOf(rule),
    }
  })
}

/** Words for input that a log may not have. */
const INPUT: { readonly [N in Need]: string } = {
  verdicts: 'verdicts',
  progress: 'true progress',
  passRates: 'pass rates',
  unsure: 'outcomes that were guessed (unsure)',
  observations: 'observations',
  logprobs: 'log-probabilities of steps',
  noops: 'marks of actions without effect',
  invalid: 'marks of void answers',
  errors: 'marks of failed calls',
  durationsMs: 'step times',
  entropies: 'entropies of steps (policy.entropies)',
  baseLogprobs: 'log-probabilities under version 0 (policy.baseLogprobs)',
  roles: 'roles of steps',
  criteria: 'criteria of votes (rewardModel.criteria)',
  reference: 'reference solutions (environment.reference)',
  traced: 'rollouts on recorded traces (environment.traces)',
  falls: 'falls of the estimate (learning.reward outlook)',
}

/** Input that a setting tells or does not. */
const OF_SETTINGS: ReadonlySet<Need> = new Set(['progress', 'falls'])

function rowOf(
  { kind, rule, own, needs, open, refused }: Asked,
  judged: Readonly<Partial<Record<Need, boolean>>>,
  playing: PlayingFigures | null,
): RuleRow {
  const figures = open.figures()
  // A setting that cannot tell them refuses the rule as well, if it is loaded. It is the log that lacks them.
  const untold = refused !== null && needs.some((need) => OF_SETTINGS.has(need) && judged[need] === false)
  const why = untold ? null : refused
  const lacked =
    needs.find((need) => judged[need] === false) ??
    (figures.rewarded === 0 ? needs.find((need) => figures.lacking[need] !== undefined) : undefined)
  const without = lacked === undefined ? null : `the log has no ${INPUT[lacked]}`
  const lacks = why !== null ? null : kind === 'alarm' ? 'it changes no reward: rl status tells it' : without
  const told = why === null && lacks === null && !isPlayingKind(kind)
  return { kind, rule, own, figures: told ? figures : null, playing, lacks, refused: why }
}

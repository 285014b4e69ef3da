/** The six task types of ALFWorld: their goal formulas and their sentences. */

export const TASK_TYPES = [
  'pick_and_place_simple',
  'look_at_obj_in_light',
  'pick_clean_then_place_in_recep',
  'pick_heat_then_place_in_recep',
  'pick_cool_then_place_in_recep',
  'pick_two_obj_and_place',
] as const

export type TaskType = (typeof TASK_TYPES)[number]

/**
 * A goal by its two tokens: type names as PDDL has them but without `Type`, e.g. `Apple`, `Fridge`. `target` is the
 * receptacle, for look_at_obj_in_light the lamp.
 */
export type Goal = { readonly type: TaskType; readonly object: string; readonly target: string }

/** State of the object that a clean, heat or cool task asks for. */
export type Property = 'clean' | 'hot' | 'cool'

export function propertyOf(type: TaskType): Property | null {
  if (type === 'pick_clean_then_place_in_recep') return 'clean'
  if (type === 'pick_heat_then_place_in_recep') return 'hot'
  return type === 'pick_cool_then_place_in_recep' ? 'cool' : null
}

/** The receptacle type that gives the property, in lower case. */
export const APPLIANCES: Readonly<Record<Property, string>> = {
  clean: 'sinkbasin',
  hot: 'microwave',
  cool: 'fridge',
}

export function sameGoal(a: Goal, b: Goal): boolean {
  return a.type === b.type && lower(a.object) === lower(b.object) && lower(a.target) === lower(b.target)
}

/** The two sentences that ALFWorld has for a goal, without the full stop. */
export function sentencesOf({ type, object, target }: Goal): readonly [string, string] {
  const [first, second] = SENTENCES[type]
  const fill = (template: string) => template.replace('{o}', lower(object)).replace('{t}', lower(target))
  return [fill(first), fill(second)]
}

/**
 * Returns the goal of a sentence, with lower-case type names. Returns null if the sentence has another form.
 */
export function goalOfSentence(sentence: string): Goal | null {
  return goalIn(sentence.trim().replace(/\.$/, ''), SENTENCE_PATTERNS)
}

type GoalPattern = { readonly type: TaskType; readonly pattern: RegExp }

/** Returns the goal of the first pattern that fits. Its groups `o` and `t` are the object and the target. */
function goalIn(text: string, patterns: readonly GoalPattern[]): Goal | null {
  for (const { type, pattern } of patterns) {
    const { o: object, t: target } = pattern.exec(text)?.groups ?? {}
    if (object !== undefined && target !== undefined) return { type, object, target }
  }
  return null
}

/** Returns the task sentence in a game's first observation, or null. */
export function sentenceOf(observation: string): string | null {
  return /Your task is to: ([^\n]*?)\.?\s*$/m.exec(observation)?.[1] ?? null
}

/** The `(:goal …)` block as ALFWorld's problems write it. */
export function goalText({ type, object, target }: Goal): string {
  return GOALS[type].replaceAll('{o}', object).replaceAll('{t}', target)
}

/** Returns the goal of a problem's text. Returns null if it has none of the six shapes. */
export function goalOfProblem(problem: string): Goal | null {
  const at = problem.indexOf('(:goal')
  if (at < 0) return null
  return goalIn(condense(problem.slice(at, at + 4_000)), GOAL_PATTERNS)
}

/** Returns the problem's text with another goal. Everything before the goal stays byte for byte. */
export function withGoal(problem: string, goal: Goal): string {
  const at = problem.indexOf('(:goal')
  return `${problem.slice(0, at)}${goalText(goal)}\n    )\n    `
}

/** The grammar's text with another task sentence. */
export function withSentence(grammar: string, sentence: string): string {
  return grammar.replace(/"(?:UNKNOWN GOAL|Your task is to: [^"]*)"/, `"Your task is to: ${sentence}."`)
}

/** The name of a task's folder, e.g. `pick_and_place_simple-Book-None-SideTable-329`. */
export function folderOf(goal: Goal, scene: number | string): string {
  return `${goal.type}-${goal.object}-None-${goal.target}-${scene}`
}

function lower(name: string): string {
  return name.toLowerCase()
}

function condense(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/ ?([()]) ?/g, '$1')
}

const SENTENCES: Readonly<Record<TaskType, readonly [string, string]>> = {
  pick_and_place_simple: ['put a {o} in {t}', 'put some {o} on {t}'],
  look_at_obj_in_light: ['look at {o} under the {t}', 'examine the {o} with the {t}'],
  pick_clean_then_place_in_recep: ['put a clean {o} in {t}', 'clean some {o} and put it in {t}'],
  pick_heat_then_place_in_recep: ['put a hot {o} in {t}', 'heat some {o} and put it in {t}'],
  pick_cool_then_place_in_recep: ['put a cool {o} in {t}', 'cool some {o} and put it in {t}'],
  pick_two_obj_and_place: ['put two {o} in {t}', 'find two {o} and put them in {t}'],
}

const SENTENCE_PATTERNS = TASK_TYPES.flatMap((type) =>
  SENTENCES[type].map((template) => ({
    type,
    pattern: new RegExp(`^${template.replace('{o}', '(?<o>[a-z]+)').replace('{t}', '(?<t>[a-z]+)')}$`),
  })),
)

const treated = (able: string, is: string) => `(:goal
            (and
                (exists (?r - receptacle)
                    (exists (?o - object)
                        (and
                            (${able} ?o)
                            (objectType ?o {o}Type)
                            (receptacleType ?r {t}Type)
                            (${is} ?o)
                            (inReceptacle ?o ?r)
                        )
                    )
                )
            )
        )`

const GOALS: Readonly<Record<TaskType, string>> = {
  pick_and_place_simple: `(:goal
            (and
                (exists (?r - receptacle)
                    (exists (?o - object)
                        (and
                            (inReceptacle ?o ?r)
                            (objectType ?o {o}Type)
                            (receptacleType ?r {t}Type)
                        )
                    )
                )
            )
        )`,
  look_at_obj_in_light: `(:goal
             (and
                 (exists (?ot - object
                          ?r - receptacle
                          ?a - agent
                          ?l - location)
                     (and
                         (objectType ?ot {t}Type)
                         (toggleable ?ot)
                         (isToggled ?ot)
                         (receptacleAtLocation ?r ?l)
                         (atLocation ?a ?l)
                         (inReceptacle ?ot ?r)
                     )
                 )
                 (exists (?o - object
                          ?a - agent)
                     (and
                         (objectType ?o {o}Type)
                         (holds ?a ?o)
                     )
                 )
             )
        )`,
  pick_clean_then_place_in_recep: treated('cleanable', 'isClean'),
  pick_heat_then_place_in_recep: treated('heatable', 'isHot'),
  pick_cool_then_place_in_recep: treated('coolable', 'isCool'),
  pick_two_obj_and_place: `(:goal
                    (and
                        (exists (?r - receptacle)
                            (exists (?o1 - object)
                                (and
                                    (objectType ?o1 {o}Type)
                                    (receptacleType ?r {t}Type)
                                    (inReceptacle ?o1 ?r)
                                    (exists (?o2 - object)
                                        (and
                                            (not (= ?o1 ?o2))
                                            (objectType ?o2 {o}Type)
                                            (receptacleType ?r {t}Type)
                                            (inReceptacle ?o2 ?r)
                                        )
                                    )
                                )
                            )
                        )
                    )
                )`,
}

/**
 * The goals as patterns over condensed text. A repeated token must repeat. Case is ignored: planners lower
 * it.
 */
const GOAL_PATTERNS = TASK_TYPES.map((type) => {
  const seen = new Set<string>()
  const source = condense(GOALS[type])
    .replace(/[()?\\.*+^$|[\]]/g, '\\$&')
    .replace(/\{(o|t)\}/g, (_, key: string) => {
      if (seen.has(key)) return `\\k<${key}>`
      seen.add(key)
      return `(?<${key}>\\w+?)`
    })
  return { type, pattern: new RegExp(`^${source}`, 'i') }
})

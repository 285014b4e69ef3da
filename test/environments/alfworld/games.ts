import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type GameFile, parseGameFile } from '../../../src/environments/alfworld/game-file.ts'

export const FIXTURES = 'test/fixtures/alfworld'

/** Texts of all fixture games by path; six kinds of tasks, the last of release 2.1.1. */
export function fixtureTexts(): Map<string, string> {
  return new Map(
    readdirSync(FIXTURES, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.tw-pddl.gz'))
      .sort()
      .map((path) => [path, gunzipSync(readFileSync(join(FIXTURES, path))).toString()]),
  )
}

/** The text of the fixture game whose path holds these words. */
export function fixtureText(words: string): string {
  const found = [...fixtureTexts()].find(([path]) => path.includes(words))
  if (!found) throw new Error(`no fixture game '${words}'`)
  return found[1]
}

export const fixtureFile = (words: string): GameFile => parseGameFile(fixtureText(words), words)

/** A small game of its own domain: lamps in rooms, to test the interpreter apart from ALFRED's domain. */
export function smallGame({
  predicates = '',
  actions = '',
  texts = '',
  rules = {},
  objects = 'me - agent hall_bar_1 - room hall_bar_2 - room lamp_bar_1 - lamp',
  init = '(in me hall_bar_1) (at lamp_bar_1 hall_bar_2)',
  goal = '(lit)',
}: {
  readonly predicates?: string
  readonly actions?: string
  /** Of the additional actions. */
  readonly texts?: string
  readonly rules?: Readonly<Record<string, readonly { readonly rhs: string; readonly condition?: string }[]>>
  readonly objects?: string
  readonly init?: string
  readonly goal?: string
} = {}): GameFile {
  return {
    pddl_domain: `(define (domain lamps)
  (:requirements :adl) (:types agent room lamp)
  (:predicates (in ?a - agent ?r - room) (at ?l - lamp ?r - room) (on ?l - lamp) (lit) ${predicates})
  (:action walk :parameters (?a - agent ?from - room ?to - room)
    :precondition (and (in ?a ?from) (not (= ?from ?to)))
    :effect (and (not (in ?a ?from)) (in ?a ?to)))
  (:action switch :parameters (?a - agent ?l - lamp)
    :precondition (exists (?r - room) (and (in ?a ?r) (at ?l ?r)))
    :effect (and (when (on ?l) (not (on ?l))) (when (not (on ?l)) (and (on ?l) (lit)))))
  ${actions})`,
    pddl_problem: `(define (problem p) (:domain lamps) (:objects ${objects}) (:init ${init}) (:goal ${goal}))`,
    grammar: `grammar :: """${JSON.stringify({
      intro: [{ rhs: 'Hello.\n\n#task#' }],
      task: [{ rhs: 'Your task is to: make light.' }],
      list_empty: [{ rhs: 'nothing' }],
      list_separator: [{ rhs: ', ' }],
      list_last_separator: [{ rhs: ', and ' }],
      ...rules,
    })}""";
action Walk { template :: "walk to {to}"; feedback :: "You are in {to.name}."; }
action switch { template :: "switch {l}"; feedback :: "Click."; }
${texts}`,
  }
}

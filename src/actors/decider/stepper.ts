/**
 * Steps through a decider's chart as XState does: the same transitions, in the same order. A decider's chart is plain (names of guards
 * and actions, no history, no parallel states), so XState's general steps cost more than the rules themselves. XState remains the
 * authority: it builds, draws and starts the charts, and a test holds both to the same decisions.
 */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { type Outputs, outputsOf } from './fold.ts'
import type { Output } from './output.ts'

type Scope = { readonly context: unknown; readonly event: LoggedEvent }
type Guard = (scope: Scope) => boolean

/** A transition whose names are looked up. */
type Step = {
  readonly guard: Guard | null
  readonly actions: readonly Outputs[]
  /** The state in which it ends. Null if the state stays. */
  readonly target: AnyStateNode | null
}

/** A state without inner states, and the transitions of all states around it. Inner ones come first. */
type Leaf = {
  /** State as XState gives it, e.g. `{ serving: 'waiting' }`. */
  readonly value: unknown
  readonly isFinal: boolean
  readonly on: ReadonlyMap<string, readonly Step[]>
  readonly always: readonly Step[]
}

export type Stepper = {
  readonly value: () => unknown
  readonly context: unknown
  /** Takes an event. Gives each output in order. */
  readonly send: (event: LoggedEvent, emit: (output: Output) => void) => void
}

/** Returns null for a chart with more than named guards and actions. XState takes the steps of such a chart. */
export function openStepper(
  machine: AnyStateMachine,
  at: { readonly value: unknown; readonly context: unknown },
): Stepper | null {
  const leaves = leavesOf(machine)
  if (leaves === null) return null
  const { context } = at
  const leafAt = (node: AnyStateNode) => leaves.get(innermost(node))!
  let leaf = leafAt(nodeAt(machine.root, at.value))

  function take({ actions, target }: Step, event: LoggedEvent, emit: (output: Output) => void): void {
    for (const outputs of actions) for (const output of outputs(context, event)) emit(output)
    if (target !== null) leaf = leafAt(target)
  }

  return {
    context,
    value: () => leaf.value,
    send(event, emit) {
      if (leaf.isFinal) return
      const scope = { context, event }
      const first = chosen(leaf.on.get(event.type) ?? NONE, scope)
      if (first !== null) take(first, event, emit)
      for (;;) {
        const before = leaf
        const next = chosen(leaf.always, scope)
        if (next === null) return
        take(next, event, emit)
        if (leaf === before) return
      }
    },
  }
}

const NONE: readonly Step[] = []

function chosen(steps: readonly Step[], scope: Scope): Step | null {
  for (const step of steps) if (step.guard === null || step.guard(scope)) return step
  return null
}

function leavesOf({ root, implementations }: AnyStateMachine): ReadonlyMap<AnyStateNode, Leaf> | null {
  const guards: Readonly<Record<string, unknown>> = implementations.guards
  const named: Readonly<Record<string, unknown>> = implementations.actions
  const leaves = new Map<AnyStateNode, Leaf>()
  let isPlain = true

  function stepOf({ guard, actions, target }: AnyTransitionDefinition): Step {
    const looked = typeof guard === 'string' ? guardOf(guards[guard]) : null
    const does = actions.map((action) => outputsOf(typeof action === 'string' ? named[action] : action))
    isPlain &&= guard === undefined || looked !== null
    isPlain &&= does.every((outputs) => outputs !== null) && (target?.length ?? 1) === 1
    return {
      guard: looked,
      actions: does.filter((outputs) => outputs !== null),
      target: target?.[0] ?? null,
    }
  }

  function enter(node: AnyStateNode, around: Omit<Leaf, 'value' | 'isFinal'>): void {
    isPlain &&= isPlainNode(node)
    const on = new Map(around.on)
    for (const [type, transitions] of node.transitions)
      on.set(type, [...transitions.map(stepOf), ...(around.on.get(type) ?? [])])
    const always = [...(node.always ?? []).map(stepOf), ...around.always]
    const inner = Object.values(node.states as Record<string, AnyStateNode>)
    for (const child of inner) enter(child, { on, always })
    if (inner.length > 0) return
    leaves.set(node, { value: namedBy(node.path), isFinal: node.type === 'final', on, always })
  }

  enter(root, { on: new Map(), always: [] })
  return isPlain ? leaves : null
}

function guardOf(found: unknown): Guard | null {
  // Those of `not`, `and` and `or` are functions that only XState can ask.
  return typeof found === 'function' && !('check' in found) ? (scope) => Boolean(found(scope)) : null
}

/** Only names of events lead out of it, nothing is done on entry or exit, and an end of it is the end of the machine. */
function isPlainNode({
  type,
  path,
  entry,
  exit,
  invoke,
  after,
  initial,
  transitions,
}: AnyStateNode): boolean {
  if (type === 'parallel' || type === 'history' || (type === 'final' && path.length > 1)) return false
  const types = [...transitions.keys()]
  return (
    entry.length + exit.length + invoke.length + after.length + (initial?.actions.length ?? 0) === 0 &&
    types.every((name) => /^[A-Za-z]+$/.test(name))
  )
}

/** Returns a state's first inner state, down to one without any. */
function innermost(node: AnyStateNode): AnyStateNode {
  const [first] = node.initial?.target ?? []
  return first === undefined ? node : innermost(first as AnyStateNode)
}

function nodeAt(node: AnyStateNode, value: unknown): AnyStateNode {
  const states = node.states as Readonly<Record<string, AnyStateNode>>
  if (typeof value === 'string') return states[value]!
  const [[name, inner] = ['', {}]] = Object.entries(value as Readonly<Record<string, unknown>>)
  return name === '' ? node : nodeAt(states[name]!, inner)
}

function namedBy(path: readonly string[]): unknown {
  const [first = '', ...rest] = path
  return rest.length === 0 ? first : { [first]: namedBy(rest) }
}

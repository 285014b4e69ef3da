/** Tests of deciders: `given(decider, events).when(event).then(outputs)`. */
import assert from 'node:assert/strict'
import { type Decider, type Output, type RunningDecider, startDecider } from '../actors/decider/decider.ts'
import { keyOf, type LoggedEvent, type NewEvent } from '../events/catalogue.ts'

export type Given = {
  /** Gives the decider one more event, after those that it has decided. */
  readonly when: (event: NewEvent) => When
}

export type When = {
  /**
   * Expects all outputs of the decider for the event, in order. An empty list means that it stays silent. An
   * output is given whole or as a natural key: of the event, or of the event that ends the job.
   */
  readonly then: (outputs: readonly (Output | string)[]) => When
  /** Expects the state of the decider afterwards, e.g. `collecting`. */
  readonly inState: (name: string) => When
  readonly outputs: readonly Output[]
}

/**
 * Starts the decider anew for each `when`, so one history serves many tests.
 *
 * @example given(decider, [started]).when(planned).then(['Requested:1']).inState('collecting')
 */
export function given(decider: Decider, events: readonly NewEvent[]): Given {
  return {
    when(event) {
      const running: RunningDecider = startDecider(decider)
      for (const [index, before] of events.entries()) running.handle(logged(before, index + 1))
      const outputs = [...running.handle(logged(event, events.length + 1))]
      const when: When = {
        outputs,
        // biome-ignore lint/suspicious/noThenProperty: given, when, then; it is a chain of its own, and nobody awaits it
        then(expected) {
          assert.deepEqual(
            outputs.map((output, i) => (typeof expected[i] === 'string' ? keyOfOutput(output) : output)),
            expected,
            `${decider.role}: other outputs after ${event.type}`,
          )
          return when
        },
        inState(name) {
          assert.equal(running.state(), name, `${decider.role}: another state after ${event.type}`)
          return when
        },
      }
      return when
    },
  }
}

function keyOfOutput(output: Output): string | null {
  return output.type === 'job' ? output.job.done : keyOf(output.event)
}

/** Returns the event as the log would hold it. Deciders know no clock, so any time will do. */
function logged(event: NewEvent, position: number): LoggedEvent {
  const id = `00000000-0000-8000-8000-${String(position).padStart(12, '0')}`
  return {
    v: 1,
    run: 'test',
    actor: 'test',
    cause: null,
    ...event,
    id,
    position,
    time: position,
  } as LoggedEvent
}

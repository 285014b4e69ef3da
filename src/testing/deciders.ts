/** What a decider makes of an event, after others: `given(decider, events).when(event).then(outputs)`. */
import assert from 'node:assert/strict'
import { type Decider, type Output, type RunningDecider, startDecider } from '../actors/decider/decider.ts'
import { keyOf, type LoggedEvent, type NewEvent } from '../events/catalogue.ts'

export type Given = {
  /** The event that is looked at; what came before has been decided. */
  readonly when: (event: NewEvent) => When
}

export type When = {
  /**
   * All that the decider asks for because of the event, in order; none: it stays silent. Each whole, or as a natural key: that
   * of the event, or that of the event which ends the job.
   */
  readonly then: (outputs: readonly (Output | string)[]) => When
  /** The state that it is in afterwards, e.g. `collecting`. */
  readonly inState: (name: string) => When
  readonly outputs: readonly Output[]
}

/** Starts the decider anew for each `when`, so that one history serves many tests. */
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

/** As the log would hold it; deciders know no clock, so any time does. */
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

/** Types of `rlanything/testing`. `tsc --noEmit` is the test: an expected error that does not come is an error. */
import type { defineSetting } from 'rlanything/environments'
import type { NewEvent } from 'rlanything/events'
import { given, testEnvironment } from 'rlanything/testing'

declare const decider: Parameters<typeof given>[0]
declare const event: NewEvent
declare const setting: ReturnType<typeof defineSetting>

given(decider, [event]).when(event).then(['TaskProposed']).inState('running')

// @ts-expect-error a decider is one of ours, and no function
given(() => [], [])

// @ts-expect-error an event has its data
given(decider, [{ type: 'RunStarted' }])

// @ts-expect-error `then` comes behind `when`
given(decider, []).then([])

// @ts-expect-error one event at a time
given(decider, []).when([event])

testEnvironment(setting, { tasks: 2, answer: async (task) => task.goal })

// @ts-expect-error a number of tasks, and no list of them
testEnvironment(setting, { tasks: ['a'] })

// @ts-expect-error a setting, and not its name
testEnvironment('alfworld')

// @ts-expect-error an option that the test does not have
testEnvironment(setting, { seeds: 3 })

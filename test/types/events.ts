/** Types of `rlanything/events`. `tsc --noEmit` is the test: an expected error that does not come is an error. */
import {
  type EventData,
  type EventType,
  keyOf,
  type LoggedEvent,
  type NewEvent,
  subscribe,
} from 'rlanything/events'

export const failed: NewEvent<'RolloutFailed'>['type'] = 'RolloutFailed'

// @ts-expect-error there is no such event
export const unknown: EventType = 'RolloutLost'

export const wrongField: EventData<'RolloutClaimed'> = {
  rollout: 'a',
  task: 't',
  agent: 'own',
  deadlineSeconds: 60,
  // @ts-expect-error a field that the event does not have
  deadline: 60,
}

// @ts-expect-error a field is missing
export const missing: EventData<'RolloutClaimed'> = { rollout: 'a', task: 't', agent: 'own' }

export const mixed: NewEvent = {
  type: 'RolloutClaimed',
  // @ts-expect-error the data of another event
  data: { version: 1 },
}

const key: string | null = keyOf({
  type: 'RolloutClaimed',
  data: { rollout: 'a', task: 't', agent: 'own', deadlineSeconds: 60 },
})

/** Types that a subscriber asks for are those that it gets. */
export const following = subscribe(
  { url: 'nats://localhost', run: key ?? '', types: ['PolicyUpdated'] },
  (event) => {
    const version: number = event.data.version
    // @ts-expect-error an event of another type does not come
    const other: LoggedEvent<'RewardModelUpdated'> = event
    // @ts-expect-error an event of the log cannot be changed
    event.position = version
    return void other
  },
)

// @ts-expect-error there is no such event
subscribe({ url: 'nats://localhost', run: 'a', types: ['PolicyUpdate'] }, () => {})

/** Plays the actions of a task on a page of the pool. A page that stands on an earlier state of the episode goes on from there. */
import type { Task } from 'rlanything/environments'
import { RlError } from 'rlanything/kit'
import type { Page } from './browser/page.ts'
import type { Pool, Slot, Wish } from './browser/pool.ts'
import type { Site } from './site.ts'
import { perform, type Step } from './steps.ts'

/** The state that a page may still stand on, and the number of actions that led there. */
export type Standing = { readonly holder: object; readonly done: number }

export type Player = {
  /**
   * Brings a page to the state after some actions, and asks it.
   * @param from the state that a page may still stand on
   * @param holder holds what the page shows then; null if no one goes on from there
   * @param then what to do on the page before it is given back; otherwise the result is the page's answer
   */
  readonly play: (
    task: Task,
    actions: readonly Step[],
    from: Standing | null,
    ask: Readonly<Record<string, unknown>>,
    holder: object | null,
    then?: (page: Page) => Promise<unknown>,
  ) => Promise<unknown>
  /** Does a job on a page of an address, on which nothing stands. */
  readonly onPage: <T>(path: string, fresh: boolean, job: (page: Page) => Promise<T>) => Promise<T>
}

export function createPlayer(pool: Pick<Pool, 'run'>, start: Site['start'], deadlineMs: number): Player {
  /** Sees to it that an address is loaded; nothing stands on the page then. */
  async function bring(slot: Slot, path: string, fresh: boolean): Promise<void> {
    slot.holder = null
    if (!fresh && slot.path === path) return
    slot.path = null
    await slot.page.load(path, deadlineMs)
    slot.path = path
  }

  /** Lends a page. That browsers go on ending is no fault of the task that waits for one. */
  async function lent<T>(wish: Wish, job: (slot: Slot) => Promise<T>): Promise<T> {
    try {
      return await pool.run(wish, job)
    } catch (cause) {
      if (!(cause instanceof RlError && cause.code === 'web.gone')) throw cause
      throw new RlError(cause.message, { code: 'rollout.infra', cause })
    }
  }

  return {
    play(task, actions, from, ask, holder, then) {
      const { path, fresh, request } = start(task.recipe)
      return lent({ path, holder: from?.holder ?? null }, async (slot) => {
        const goesOn = from !== null && slot.holder === from.holder
        if (!goesOn) await bring(slot, path, fresh)
        slot.holder = null
        const told = goesOn
          ? await perform(slot.page, null, actions.slice(from.done), ask, deadlineMs)
          : await perform(slot.page, request, actions, ask, deadlineMs)
        slot.holder = holder
        // A program that a text became may have changed the page for the episodes behind.
        if (hasPrograms(told)) slot.path = null
        return then ? then(slot.page) : told
      })
    },
    onPage: (path, fresh, job) =>
      lent({ path, holder: null }, async (slot) => {
        await bring(slot, path, fresh)
        return job(slot.page)
      }),
  }
}

const hasPrograms = (told: unknown): boolean => {
  const { sinks } = (told ?? {}) as { readonly sinks?: { readonly programs?: readonly unknown[] } }
  return (sinks?.programs?.length ?? 0) > 0
}

/** Errors of a page. */
import { RlError } from 'rlanything/kit'

export const pageError = (why: string) =>
  new RlError(`the page failed: ${why}`, {
    code: 'web.page',
    hint: 'if this goes on, the task is set aside',
  })

/** Ignores a failure that may come because the page is gone already. */
export async function quietly(done: Promise<unknown>): Promise<void> {
  await done.catch(() => {})
}

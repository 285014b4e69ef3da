import { RlError, type RlErrorOptions } from '../../errors.ts'
import type { Near } from '../logic/answers.ts'

/** Something that was asked for is not there. It names what is nearest, so that the page can link it. */
export class NotHere extends RlError {
  override readonly name = 'NotHere'
  readonly near: Near

  constructor(message: string, { near, ...options }: RlErrorOptions & { readonly near: Near }) {
    super(message, options)
    this.near = near
  }
}

/** Keys of users: the server knows the public half, and asks for a signature by the secret one. */
import { nkeys } from '@nats-io/transport-node'

/** @example const { key, secret } = newKey() // key: 'U...', secret: 'SU...' */
export function newKey(): { readonly key: string; readonly secret: string } {
  const pair = nkeys.createUser()
  return { key: pair.getPublicKey(), secret: Buffer.from(pair.getSeed()).toString() }
}

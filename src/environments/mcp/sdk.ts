/** The official client, an optional package: it is loaded if a config names this bridge. */
import { RlError } from '../../errors.ts'

export type Sdk = typeof import('@modelcontextprotocol/client')

const PACKAGE = '@modelcontextprotocol/client'

/** @throws RlError `mcp.missing` if the package is not installed */
export async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@modelcontextprotocol/client')
  } catch (cause) {
    throw new RlError(`the package ${PACKAGE} cannot be loaded`, {
      code: 'mcp.missing',
      hint: `npm install ${PACKAGE}@2.4.0`,
      cause,
    })
  }
}

/**
 * Finds the proxy of a call. HTTP_PROXY, HTTPS_PROXY and NO_PROXY are read as curl reads them: lower case
 * comes first.
 */
import { BlockList, isIP } from 'node:net'
import { RlError } from '../errors.ts'

export type HttpProxy = {
  /** Address without user and password. */
  readonly url: URL
  /** The header `Proxy-Authorization`, or null. */
  readonly authorization: string | null
  /** The variable that names the proxy, for messages. */
  readonly variable: string
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Returns null for a call that goes straight to its server. Then no variable names a proxy, NO_PROXY names
 * the host, or the host is this machine.
 * @throws RlError `config.proxy` if the variable holds no address of an HTTP proxy
 */
export function proxyFor(
  { protocol, hostname, port }: URL,
  env: Environment = process.env,
): HttpProxy | null {
  const scheme = protocol.slice(0, -1)
  const found = variableOf(`${scheme}_proxy`, env)
  if (!found || isLoopback(hostname)) return null
  const { value: without = '' } = variableOf('no_proxy', env) ?? {}
  const ownPort = port || (scheme === 'https' ? '443' : '80')
  if (without.split(/[\s,]+/).some((entry) => entry !== '' && names(entry, hostOf(hostname), ownPort)))
    return null
  return proxyIn(found)
}

/** Whether a host is this machine. Calls to it go by no proxy. */
export function isLoopback(hostname: string): boolean {
  const host = hostOf(hostname)
  if (isIP(host) === 0) return host === 'localhost' || host.endsWith('.localhost')
  return LOOPBACK.check(host, familyOf(host))
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('0.0.0.0', 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')
LOOPBACK.addAddress('::', 'ipv6')

/** An empty variable counts as unset. */
function variableOf(name: string, env: Environment) {
  const variable = [name, name.toUpperCase()].find((one) => env[one]?.trim())
  return variable === undefined ? null : { variable, value: env[variable]?.trim() ?? '' }
}

function proxyIn({ variable, value }: { readonly variable: string; readonly value: string }): HttpProxy {
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(value) ? value : `http://${value}`)
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '')
    throw new RlError(`${variable} names no HTTP proxy${url ? `: its scheme is ${url.protocol}//` : ''}`, {
      code: 'config.proxy',
      hint: `set it to http://HOST:PORT, or name the host in NO_PROXY`,
    })
  const { username, password } = url
  const credentials = `${decoded(username)}:${decoded(password)}`
  url.username = ''
  url.password = ''
  const authorization = username || password ? `Basic ${Buffer.from(credentials).toString('base64')}` : null
  return { url, authorization, variable }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Whether an entry of NO_PROXY covers a host: `*`, a name with all below it, an address or a network. Each
 * may have a port.
 */
function names(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [, bracketed, plain, ownPort] = /^(?:\[([^\]]+)\]|([^:]+|.*:.*:.*))(?::(\d+))?$/.exec(entry) ?? []
  const name = (bracketed ?? plain ?? entry).toLowerCase()
  if (ownPort !== undefined && ownPort !== port) return false
  const [network = '', bits] = name.split('/')
  if (isIP(network)) return isIP(host) !== 0 && isWithin(host, network, bits)
  const suffix = name.replace(/^\*?\./, '').replace(/\.$/, '')
  return host === suffix || host.endsWith(`.${suffix}`)
}

function isWithin(host: string, network: string, bits: string | undefined): boolean {
  const list = new BlockList()
  const most = isIP(network) === 6 ? 128 : 32
  const prefix = bits === undefined ? most : Number(bits)
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > most) return false
  list.addSubnet(network, prefix, familyOf(network))
  return list.check(host, familyOf(host))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}

/** Returns a host as addresses have it: IPv6 without brackets, a name without the last dot. */
function hostOf(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}

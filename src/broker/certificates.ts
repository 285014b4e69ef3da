/**
 * Certificates of a run's broker for other hosts: an authority of the run's own, and a server's certificate that it
 * signs. The authority stays, so hosts that trust it go on. The server's is made anew at each start of the head.
 */
import 'reflect-metadata'
import type { webcrypto } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import * as x509 from '@peculiar/x509'
import { writePrivately } from './connection.ts'

/** PEM files. */
export type Certificates = {
  /** Certificate of the authority: what a host needs to trust the server. */
  readonly ca: string
  readonly certificate: string
  readonly key: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000
/** A host's clock may be behind. */
const EARLY_MS = DAY_MS
const AUTHORITY_MS = 3_650 * DAY_MS
const SERVER_MS = 398 * DAY_MS

/**
 * Returns the files of a broker at an address, in a folder that only its owner reads.
 * @param address a name or an IP address: hosts compare it with the certificate
 * @param name of the files of the server, if the folder holds those of several
 * @example const { ca } = await certificatesFor('10.0.0.1', 'runs/run-1/broker/tls')
 */
export async function certificatesFor(
  address: string,
  folder: string,
  name = 'server',
): Promise<Certificates> {
  const files = {
    ca: join(folder, 'ca.pem'),
    certificate: join(folder, `${name}.pem`),
    key: join(folder, `${name}-key.pem`),
  }
  const authority = await authorityIn(files.ca, join(folder, 'ca-key.pem'))
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: `CN=${address}`,
    issuer: authority.certificate.subject,
    ...lasting(SERVER_MS),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: authority.key,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: isIP(address) === 0 ? 'dns' : 'ip', value: address },
      ]),
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      // Brokers of a cluster prove themselves to each other.
      new x509.ExtendedKeyUsageExtension([
        x509.ExtendedKeyUsage.serverAuth,
        x509.ExtendedKeyUsage.clientAuth,
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey),
    ],
  })
  writePrivately(files.certificate, `${certificate.toString('pem')}\n`)
  writePrivately(files.key, await pemOf(keys.privateKey))
  return files
}

type Authority = { readonly certificate: x509.X509Certificate; readonly key: webcrypto.CryptoKey }

async function authorityIn(certificateFile: string, keyFile: string): Promise<Authority> {
  if (existsSync(certificateFile) && existsSync(keyFile)) {
    const certificate = new x509.X509Certificate(readFileSync(certificateFile, 'utf8'))
    const [der] = x509.PemConverter.decode(readFileSync(keyFile, 'utf8'))
    const key = await crypto.subtle.importKey('pkcs8', der ?? new ArrayBuffer(0), ALGORITHM, false, ['sign'])
    return { certificate, key }
  }
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: 'CN=authority of an RLAnything run',
    ...lasting(AUTHORITY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  writePrivately(keyFile, await pemOf(keys.privateKey))
  writePrivately(certificateFile, `${certificate.toString('pem')}\n`)
  return { certificate, key: keys.privateKey }
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<webcrypto.CryptoKeyPair>
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`
}

function lasting(ms: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(Date.now() - EARLY_MS), notAfter: new Date(Date.now() + ms) }
}

/** A positive number of 127 bits. */
function serial(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return Buffer.from(bytes).toString('hex')
}

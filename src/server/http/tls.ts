import { readFile, stat } from 'node:fs/promises'
import { platform } from 'node:process'
import { createSecureContext } from 'node:tls'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'

export interface TlsFiles {
  /** Path of the PEM file with the certificate and its intermediate certificates. */
  certFile: string
  /** Path of the PEM file with the unencrypted key, which only its owner can read. */
  keyFile: string
}

export interface TlsPair {
  cert: Buffer
  key: Buffer
}

/** TLS options. Versions before 1.2 are insecure. */
export const TLS_OPTIONS = { minVersion: 'TLSv1.2', handshakeTimeout: 10_000 } as const

const GROUP_AND_OTHERS = 0o077

/**
 * Reads the certificate and the key, and checks that they match.
 *
 * @throws GdnError `usage`
 */
export async function readTlsPair({ certFile, keyFile }: TlsFiles): Promise<TlsPair> {
  const cert = await readPem(certFile, '--tls-cert')
  const key = await readPem(keyFile, '--tls-key')
  const { mode } = await stat(keyFile)
  if (platform !== 'win32' && (mode & GROUP_AND_OTHERS) !== 0) {
    throw tlsFlagError(
      '--tls-key',
      `other users can read the private key ${keyFile}`,
      `Run \`chmod 600 ${shellWord(keyFile)}\`.`,
    )
  }
  try {
    createSecureContext({ cert, key, minVersion: TLS_OPTIONS.minVersion })
  } catch (cause) {
    throw tlsError(cause, { certFile, keyFile })
  }
  return { cert, key }
}

async function readPem(path: string, flag: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    const reason = systemCode(cause) === 'ENOENT' ? 'does not exist' : `can't be read: ${messageOf(cause)}`
    throw tlsFlagError(flag, `${path} ${reason}`, 'Pass the path of a PEM file.', cause)
  }
}

/**
 * Returns the error to report for invalid TLS files. OpenSSL's messages are terse, but its error codes show which file
 * is invalid.
 */
function tlsError(cause: unknown, { certFile, keyFile }: TlsFiles): GdnError {
  const code = systemCode(cause) ?? ''
  if (code.includes('KEY_VALUES_MISMATCH') || code.includes('KEY_TYPE_MISMATCH')) {
    return tlsFlagError(
      '--tls-key',
      `${keyFile} is not the key of ${certFile}`,
      'Pass a certificate and its private key.',
      cause,
    )
  }
  if (code.includes('INTERRUPTED_OR_CANCELLED') || code.includes('BAD_PASSWORD') || code.includes('BAD_DECRYPT')) {
    return tlsFlagError(
      '--tls-key',
      `${keyFile} is encrypted`,
      'Use a key without a passphrase, in a file with mode 0600.',
      cause,
    )
  }
  const text = `${certFile} and ${keyFile} can't be used: ${messageOf(cause)}`
  return tlsFlagError('--tls-cert', text, 'Use PEM files: a certificate with its chain, and its private key.', cause)
}

const tlsFlagError = (flag: string, message: string, hint: string, cause?: unknown) =>
  new GdnError('usage', message, { hint, place: { flag }, cause })

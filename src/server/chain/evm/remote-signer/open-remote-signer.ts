import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { getAddress, isAddress, toHex } from 'viem'
import { backoffMs } from '../../../../core/backoff.ts'
import { GdnError, messageOf } from '../../../../core/errors.ts'
import type { Secret } from '../../../../core/secret.ts'
import { parsePassword, passwordProblem, readPasswordFile } from '../../../../keystore/password.ts'
import { readSecretFile } from '../../../../keystore/private-file.ts'
import { readCredential } from '../../../settings/credentials.ts'
import type { RemoteSignerEntry } from '../../../settings/signer-schema.ts'
import { RPC_ERRORS } from '../../rpc/rpc-response.ts'
import { type Signer, toViemTransaction, type UnsignedTransaction } from '../evm-signer.ts'
import type { Hex } from '../network.ts'
import { checkSigned } from './check-signed.ts'
import { connectSigner } from './signer-rpc.ts'

const MAX_PEM_BYTES = 256 * 1024
const TIMEOUT_MS = 10_000
const MAX_PAUSE_MS = 30_000

export interface RemoteSignerOptions {
  credentialsDirectory: string | undefined
  timeoutMs?: number
  now?: () => number
}

/**
 * Opens a signer whose key is in another process. Doesn't contact the other process, so that the backend can start
 * without it. After a failure, the other process isn't contacted for a short time, so that work for other signers isn't
 * delayed.
 *
 * @throws GdnError `invalid_config` or `invalid_input` with the file that has a problem
 */
export function openRemoteSigner(entry: RemoteSignerEntry, options: RemoteSignerOptions): Required<Signer> {
  const { credentialsDirectory, timeoutMs = TIMEOUT_MS, now = () => performance.now() } = options
  const { remote_signer: url, address } = entry
  const token = createTokenReader(entry, credentialsDirectory)
  // Report a missing token at startup instead of at the first mint.
  token?.()
  const rpc = connectSigner({ url, token, tls: readTlsOptions(entry, credentialsDirectory), timeoutMs })
  let failureCount = 0
  let lastFailure: { error: unknown; until: number } | null = null
  const pause = () => (lastFailure !== null && now() < lastFailure.until ? lastFailure.error : null)

  return {
    address,
    remote: true,

    async sign(transaction) {
      const pauseError = pause()
      if (pauseError !== null) throw pauseError
      try {
        const response = await rpc.call('eth_signTransaction', [toSigningParams(transaction, address)])
        const signed = await checkSigned(transaction, address, extractRaw(response), rpc.host)
        failureCount = 0
        lastFailure = null
        return signed
      } catch (error) {
        failureCount += 1
        lastFailure = {
          error,
          until: now() + backoffMs(failureCount, { firstMs: 1000, maxMs: MAX_PAUSE_MS, jitter: 0 }),
        }
        throw error
      }
    },

    problem: () => {
      const error = pause()
      return error === null ? null : messageOf(error)
    },

    async check() {
      let accounts: unknown
      try {
        accounts = await rpc.call('eth_accounts', [])
      } catch (error) {
        if (!isMissingMethod(error)) throw error
        return `${rpc.host} responds, but does not list its accounts`
      }
      const isOwn = (account: unknown) =>
        typeof account === 'string' && isAddress(account) && getAddress(account) === address
      if (Array.isArray(accounts) && accounts.some(isOwn)) {
        return `${rpc.host} has the key of ${address}`
      }
      throw new GdnError('invalid_config', `the signer at ${rpc.host} does not have the key of ${address}`, {
        hint: 'Set address to an account of this signer, or load the key of the address into the signer.',
      })
    },

    close: () => rpc.close(),
  }
}

/**
 * Returns the parameters of a signing request. `from` is the signer's address. Web3Signer has one chain and ignores
 * `chainId`, which other signers require.
 */
function toSigningParams(transaction: UnsignedTransaction, from: Hex): Record<string, unknown> {
  const { type, chainId, nonce, to, data, gas, ...fees } = toViemTransaction(transaction)
  const prices = Object.entries(fees).map(([name, value]) => [name, toHex(value)])
  return {
    from,
    ...(to === null ? {} : { to }),
    nonce: toHex(nonce),
    gas: toHex(gas),
    ...Object.fromEntries(prices),
    value: '0x0',
    data,
    chainId: toHex(chainId),
    ...(type === 'legacy' ? {} : { type: '0x2', accessList: [] }),
  }
}

/**
 * Returns the signed bytes in a response. Geth and its forks return an object with the bytes and the fields. Other
 * signers return only the bytes.
 */
const extractRaw = (response: unknown): unknown =>
  typeof response === 'object' && response !== null && 'raw' in response ? response.raw : response

const isMissingMethod = (error: unknown): boolean =>
  error instanceof GdnError &&
  error.code === 'refused' &&
  (error.details as { code?: unknown } | undefined)?.code === RPC_ERRORS.methodNotFound

function createTokenReader(entry: RemoteSignerEntry, credentialsDirectory: string | undefined): (() => Secret) | null {
  const { token_file: file, token_credential: credential } = entry
  if (file !== undefined) return () => readPasswordFile(file, tokenProblem)
  if (credential === undefined) return null
  return () => {
    const { text, path } = readCredential(credential, 'authorizes requests to the signer', credentialsDirectory)
    return parsePassword(text, path, tokenProblem)
  }
}

/** Returns why a token can't be sent in a header, which must be ASCII; null if the token can be sent. */
const tokenProblem = (token: string): string | null =>
  passwordProblem(token) ?? (/^[\x21-\x7e]+$/.test(token) ? null : 'must be a token without spaces')

function readTlsOptions(entry: RemoteSignerEntry, credentialsDirectory: string | undefined) {
  const { client_cert_file, client_key_file, client_key_credential, ca_file } = entry
  const key =
    client_key_file !== undefined
      ? readSecretFile(client_key_file, MAX_PEM_BYTES)
      : client_key_credential !== undefined
        ? readCredential(client_key_credential, 'identifies this backend to the signer', credentialsDirectory).text
        : undefined
  const [cert, ca] = [client_cert_file, ca_file].map((file) => (file === undefined ? undefined : readPem(file)))
  const keyFile = client_key_file ?? client_key_credential ?? ''
  const parsePem = <Found>(file: string, problem: string, parse: () => Found): Found => {
    try {
      return parse()
    } catch (cause) {
      throw new GdnError('invalid_config', problem, { place: { file }, cause })
    }
  }
  const certificate = (file: string | undefined, text: string | undefined) =>
    file === undefined || text === undefined
      ? null
      : parsePem(file, 'has no certificate in PEM format', () => new X509Certificate(text))
  certificate(ca_file, ca)
  const clientCertificate = certificate(client_cert_file, cert)
  if (clientCertificate !== null && key !== undefined) {
    const parsed = parsePem(keyFile, 'has no unencrypted private key in PEM format', () => createPrivateKey(key))
    if (!clientCertificate.checkPrivateKey(parsed)) {
      throw new GdnError('invalid_config', `is not the key of ${client_cert_file}`, { place: { file: keyFile } })
    }
  }
  return { cert, key, ca }
}

function readPem(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new GdnError('invalid_config', `can't be read: ${messageOf(cause)}`, { place: { file }, cause })
  }
}

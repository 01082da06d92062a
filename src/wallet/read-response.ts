import { checksumAddress } from '../api/address.ts'
import { generatedWalletSchema } from '../api/endpoints/getpresignedurl.ts'
import { isSameAddress } from '../api/same-address.ts'
import { parseJson } from '../core/json.ts'
import type { Secret } from '../core/secret.ts'
import { terminalText } from '../core/terminal-text.ts'
import { deriveAddress, privateKeyBytes, readPrivateKey } from '../keystore/private-key.ts'

/** A verified wallet from the service. The key is valid for the curve, and the address belongs to the key. */
export interface ServiceWallet {
  ok: true
  /** The address with a checksum. */
  address: string
  privateKey: Secret
}

/**
 * Reads the response of a signed URL. Problems are reported without any part of the body, because it may contain a key.
 *
 * @param body the body of a 2xx response
 */
export function readWalletResponse(body: Uint8Array): ServiceWallet | { ok: false; problem: string } {
  const invalidResponse = (problem: string) => ({ ok: false, problem }) as const
  const json = parseJson(body)
  if (json === undefined) return invalidResponse('is not JSON')
  const parsed = generatedWalletSchema.safeParse(json)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const field = issue?.path.join('.') || 'the whole'
    return invalidResponse(`does not match the API's schema: ${terminalText(field)} is invalid`)
  }
  const { address: statedAddress, private_key } = parsed.data.wallet
  const privateKey = readPrivateKey(private_key)
  if (privateKey === null) return invalidResponse('has a private_key that is not 32 bytes in hex')
  const bytes = privateKeyBytes(privateKey)
  const derived = deriveAddress(bytes)
  bytes.fill(0)
  if (derived === null) return invalidResponse('has a private_key that is invalid for this curve')
  if (isSameAddress(statedAddress, derived)) return { ok: true, address: checksumAddress(derived), privateKey }
  return invalidResponse(
    `has the address ${terminalText(statedAddress.slice(0, 100))}, but its key belongs to ${checksumAddress(derived)}`,
  )
}

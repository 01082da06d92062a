import { checksumAddress } from '../api/address.ts'
import { generatedWallet } from '../api/endpoints/getpresignedurl.ts'
import { sameAddress } from '../api/same-address.ts'
import { parseJson } from '../client/answers.ts'
import type { Secret } from '../core/secret.ts'
import { terminalText } from '../core/terminal-text.ts'
import { addressOfKey, privateKeyBytes, readPrivateKey } from '../keystore/private-key.ts'

/** A wallet as the service answered it, proven: the key is one of the curve, and the address is its address. */
export interface Answered {
  ok: true
  /** In its checksum spelling. */
  address: string
  privateKey: Secret
}

/**
 * Reads what a signed URL answered. What is wrong is told without anything of the body: there may be a key in it.
 *
 * @param body of an answer of 2xx
 */
export function readWalletAnswer(body: Uint8Array): Answered | { ok: false; problem: string } {
  const wrong = (problem: string) => ({ ok: false, problem }) as const
  const json = parseJson(body)
  if (json === undefined) return wrong('is no JSON')
  const read = generatedWallet.safeParse(json)
  if (!read.success) {
    const [issue] = read.error.issues
    const field = issue?.path.join('.') || 'the whole'
    return wrong(`breaks the contract: ${terminalText(field)} isn't as it must be`)
  }
  const { address: named, private_key } = read.data.wallet
  const privateKey = readPrivateKey(private_key)
  if (privateKey === null) return wrong('has a private_key that is no 32 bytes in hex')
  const bytes = privateKeyBytes(privateKey)
  const derived = addressOfKey(bytes)
  bytes.fill(0)
  if (derived === null) return wrong('has a private_key that is none of this curve')
  if (sameAddress(named, derived)) return { ok: true, address: checksumAddress(derived), privateKey }
  return wrong(
    `tells the address ${terminalText(named.slice(0, 100))}, but its key is that of ${checksumAddress(derived)}`,
  )
}

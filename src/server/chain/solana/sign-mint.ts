import { base58btc } from 'multiformats/bases/base58'
import { feeInstructions } from './fee-instructions.ts'
import { fitText } from './fit-text.ts'
import { type Key, parseKey } from './key.ts'
import { encodeMessage, type Instruction } from './message.ts'
import { type MintSpec, mintInstructions } from './mint-instructions.ts'
import type { BlockhashLifetime, SolanaNetwork } from './network.ts'
import { MAX_TRANSACTION_BYTES, SIGNATURE_BYTES } from './sizes.ts'
import type { SolanaSigner } from './solana-signer.ts'

export interface SolanaSignedBytes {
  /** The transaction in base64. */
  raw: string
  signature: string
  lastValidBlockHeight: number
}

export interface SignedMint extends SolanaSignedBytes {
  mint: string
}

/**
 * Signs the transaction that creates one token. Shortens a name that would exceed the network's limit; the metadata
 * file has the full name.
 */
export async function signMint(
  signer: SolanaSigner,
  network: Pick<SolanaNetwork, 'minimumBalance' | 'computeUnitPrice'>,
  spec: MintSpec,
  lifetime: BlockhashLifetime,
  { urgent = false } = {},
): Promise<SignedMint> {
  const price = (await network.computeUnitPrice?.({ urgent })) ?? 0n
  const payer = parseKey(signer.address)
  let address = ''
  const message = await fitMessage(spec.name, async (name) => {
    const { mint, instructions } = await mintInstructions(payer, { ...spec, name }, (bytes) =>
      network.minimumBalance(bytes),
    )
    address = mint.address
    return encodeTransactionMessage(payer, lifetime, price, instructions)
  })
  return { ...signMessage(signer, message, lifetime), mint: address }
}

/** Encodes a message with as much of the name as fits into a transaction. */
export async function fitMessage(name: string, encode: (name: string) => Promise<Buffer>): Promise<Buffer> {
  // Truncate the name first, so that a name of a megabyte isn't encoded in full.
  const fittedName = fitText(name, MAX_TRANSACTION_BYTES)
  const message = await encode(fittedName)
  const excess = 1 + SIGNATURE_BYTES + message.length - MAX_TRANSACTION_BYTES
  return excess > 0 ? await encode(fitText(fittedName, Buffer.byteLength(fittedName) - excess)) : message
}

/**
 * Returns a signed transaction.
 *
 * @param price micro-lamports for a compute unit
 */
export function encodeTransactionMessage(
  payer: Key,
  { blockhash }: BlockhashLifetime,
  price: bigint,
  instructions: readonly Instruction[],
): Buffer {
  return encodeMessage(payer, parseKey(blockhash).bytes, [...feeInstructions(price), ...instructions])
}

export function signMessage(
  signer: SolanaSigner,
  message: Buffer,
  { lastValidBlockHeight }: BlockhashLifetime,
): SolanaSignedBytes {
  const signature = signer.sign(message)
  return {
    // The message follows the only signature.
    raw: Buffer.concat([Uint8Array.of(1), signature, message]).toString('base64'),
    signature: base58btc.baseEncode(signature),
    lastValidBlockHeight,
  }
}

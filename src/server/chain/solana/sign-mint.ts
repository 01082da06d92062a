import { base58btc } from 'multiformats/bases/base58'
import { feeInstructions } from './fee-instructions.ts'
import { fitText } from './fit-text.ts'
import { keyOf } from './key.ts'
import { encodeMessage } from './message.ts'
import { type MintSpec, mintInstructions } from './mint-instructions.ts'
import type { Lifetime, SolanaNetwork } from './network.ts'
import type { SolanaSigner } from './signer.ts'

/** Maximum size of a transaction: one packet of the network. */
const MAX_TRANSACTION_BYTES = 1232
const SIGNATURE_BYTES = 64

export interface SignedMint {
  /** base64 */
  raw: string
  /** The address of the token. */
  mint: string
  signature: string
  lastValidBlockHeight: number
}

/**
 * Signs the transaction that creates one token. A name that would exceed the network's limit is shortened; the metadata
 * file has the full name.
 */
export async function signMint(
  signer: SolanaSigner,
  network: Pick<SolanaNetwork, 'minimumBalance' | 'computeUnitPrice'>,
  spec: MintSpec,
  lifetime: Lifetime,
  { urgent = false } = {},
): Promise<SignedMint> {
  const price = (await network.computeUnitPrice?.({ urgent })) ?? 0n
  const tools = { signer, network, price, lifetime }
  // Cut first: otherwise a name of a megabyte would be encoded and then dropped.
  const named = { ...spec, name: fitText(spec.name, MAX_TRANSACTION_BYTES) }
  let { mint, message } = await encode(tools, named)
  const excess = 1 + SIGNATURE_BYTES + message.length - MAX_TRANSACTION_BYTES
  if (excess > 0) {
    const name = fitText(named.name, Buffer.byteLength(named.name) - excess)
    ;({ mint, message } = await encode(tools, { ...named, name }))
  }
  const signature = signer.sign(message)
  return {
    // One signature, then the message.
    raw: Buffer.concat([Uint8Array.of(1), signature, message]).toString('base64'),
    mint,
    signature: base58btc.baseEncode(signature),
    lastValidBlockHeight: lifetime.lastValidBlockHeight,
  }
}

interface Tools {
  signer: SolanaSigner
  network: Pick<SolanaNetwork, 'minimumBalance'>
  /** Micro-lamports for a compute unit. */
  price: bigint
  lifetime: Lifetime
}

async function encode({ signer, network, price, lifetime }: Tools, spec: MintSpec) {
  const payer = keyOf(signer.address)
  const { mint, instructions } = await mintInstructions(payer, spec, (bytes) => network.minimumBalance(bytes))
  const all = [...feeInstructions(price), ...instructions]
  return { mint: mint.address, message: encodeMessage(payer, keyOf(lifetime.blockhash).bytes, all) }
}

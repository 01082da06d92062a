import {
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransactionMessage,
  createTransactionMessage,
  getCompiledTransactionMessageEncoder,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { base58btc } from 'multiformats/bases/base58'
import { feeInstructions } from './fee-instructions.ts'
import { fitText } from './fit-text.ts'
import { type MintSpec, mintInstructions } from './mint-instructions.ts'
import type { Lifetime, SolanaNetwork } from './network.ts'
import type { SolanaSigner } from './signer.ts'

/** Maximum size of a transaction: one packet of the network. */
const MAX_TRANSACTION_BYTES = 1232
const SIGNATURE_BYTES = 64

export interface SignedMint {
  /** base64 */
  raw: string
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
  let message = await encode(tools, named)
  const excess = 1 + SIGNATURE_BYTES + message.length - MAX_TRANSACTION_BYTES
  if (excess > 0) {
    const name = fitText(named.name, Buffer.byteLength(named.name) - excess)
    message = await encode(tools, { ...named, name })
  }
  const signature = signer.sign(message)
  return {
    // One signature, then the message.
    raw: Buffer.concat([Uint8Array.of(1), signature, message]).toString('base64'),
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

async function encode({ signer, network, price, lifetime: until }: Tools, spec: MintSpec): Promise<Uint8Array> {
  const { blockhash, lastValidBlockHeight } = until
  const instructions = [
    ...feeInstructions(price),
    ...(await mintInstructions(signer.address, spec, (bytes) => network.minimumBalance(bytes))),
  ]
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: BigInt(lastValidBlockHeight) }
  const message = pipe(
    createTransactionMessage({ version: 'legacy' }),
    (draft) => setTransactionMessageFeePayer(address(signer.address), draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
  )
  return Uint8Array.from(getCompiledTransactionMessageEncoder().encode(compileTransactionMessage(message)))
}

import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import { newId } from '../../../core/ids.ts'
import { mintAddress } from '../../chain/solana/mint-address.ts'
import type { MintOrder } from '../../chain/solana/mint-instructions.ts'
import type { Lifetime, SolanaNetwork } from '../../chain/solana/network.ts'
import { signMint } from '../../chain/solana/sign-mint.ts'
import type { SolanaSigner } from '../../chain/solana/signer.ts'
import type { NewTransaction } from '../../state/transactions.ts'

interface Facts {
  collectionId: string
  directory: string
  now: number
  /** An earlier transaction for the same came to nothing. */
  urgent?: boolean
}

/**
 * Signs for a token. Nothing is sent: once the row is stored, these bytes and no others are what the network gets,
 * until they have expired for good.
 */
export async function signRow(
  { signer, network, lifetime }: { signer: SolanaSigner; network: SolanaNetwork; lifetime: Lifetime },
  order: MintOrder,
  { collectionId, directory, now, urgent = false }: Facts,
): Promise<NewTransaction & { id: string }> {
  const { raw, signature, lastValidBlockHeight } = await signMint(signer, network, order, lifetime, { urgent })
  return {
    id: newId(),
    blockchain: network.blockchain satisfies SolanaBlockchain,
    signer: signer.address,
    nonce: null,
    kind: order.group === null ? 'collection' : 'mint',
    collection_id: collectionId,
    start_id: null,
    mint: mintAddress(signer.address, order.id),
    token_count: order.group === null ? 0 : 1,
    directory,
    raw,
    hash: signature,
    last_valid_height: lastValidBlockHeight,
    block_number: null,
    block_hash: null,
    gas_used: null,
    created_at: now,
    next_attempt_at: now,
  }
}

import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { readCollectionState, readLifecycle, readMetadataState, readOwnerOf } from '../chain/evm/collection-reads.ts'
import type { Hex } from '../chain/evm/network.ts'
import { keyOf, TOKEN_2022 } from '../chain/solana/key.ts'
import { readMint } from '../chain/solana/read-mint.ts'
import { holds } from '../chain/solana/token-account.ts'
import type { CollectionRow } from '../store/collections.ts'
import { askChain, askSolana } from './ask-chain.ts'
import type { ServiceDeps } from './services.ts'

interface Question {
  /** Name of the value that is read, for messages. */
  subject: string
  /** Tokens to read, and whether they were created as dynamic. */
  tokens?: readonly { tokenId: string; isDynamic: boolean }[]
  /** The token whose owner is asked for, and the wallet that should be it. */
  held?: { tokenId: string; holder: string }
}

/** What the service may do with tokens of a collection, by the chain. */
export interface Rights {
  state: { revoked: boolean; enableApi: boolean }
  lifecycle: { frozen: boolean; enableBurn: boolean; updateCount: number }
  tokens: { revision: number; dynamic: boolean; frozen: boolean; burned: boolean }[]
  /** The owner of the token that was asked for; on Solana null if it isn't the holder that was named. */
  owner: string | null
}

/** Reads what the service may do with tokens of a collection, and whether they can be updated. */
export async function readRights(
  deps: Pick<ServiceDeps, 'chains'>,
  collection: CollectionRow,
  { subject, tokens = [], held }: Question,
): Promise<Rights> {
  const blockchain = collection.blockchain as Blockchain
  if (isEvm(blockchain)) {
    const contract = collection.contract_address as Hex
    return await askChain(deps, blockchain, subject, async (network) => {
      const [state, lifecycle, owner, ...found] = await Promise.all([
        readCollectionState(network, contract),
        readLifecycle(network, contract),
        held === undefined ? null : readOwnerOf(network, contract, BigInt(held.tokenId)),
        ...tokens.map(({ tokenId }) => readMetadataState(network, contract, BigInt(tokenId))),
      ])
      if (state === null || lifecycle === null) throw new Error(`${blockchain} has no contract at ${contract}`)
      return { state, lifecycle, owner, tokens: found.map((token) => ({ ...token, burned: false })) }
    })
  }
  const state = { revoked: false, enableApi: collection.enable_api === 1 }
  const lifecycle = { frozen: false, enableBurn: collection.enable_burn === 1, updateCount: 0 }
  if (tokens.length === 0 && held === undefined) return { state, lifecycle, tokens: [], owner: null }
  return await askSolana(deps, blockchain, subject, async (network) => {
    const isHolder = held !== undefined && (await holds(network, keyOf(held.holder), keyOf(held.tokenId)))
    const found = tokens.map(async ({ tokenId, isDynamic }) => {
      const account = await network.account(tokenId)
      if (account?.owner !== TOKEN_2022) throw new Error(`${blockchain} has no token ${tokenId}`)
      const { supply, revision, updateAuthority } = readMint(account.data)
      const dynamic = isDynamic || updateAuthority !== null
      return { revision: revision ?? 0, dynamic, frozen: dynamic && updateAuthority === null, burned: supply === 0n }
    })
    return { state, lifecycle, tokens: await Promise.all(found), owner: isHolder ? held.holder : null }
  })
}

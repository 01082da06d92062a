import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import { parseKey, TOKEN_2022 } from '../../chain/solana/key.ts'
import { mintAddress } from '../../chain/solana/mint-address.ts'
import { decodeMintAccount } from '../../chain/solana/read-mint.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import { holdsToken } from '../../chain/solana/token-account.ts'
import type { ChainFacts } from '../facts.ts'
import { checkGroup } from './group-members.ts'

/**
 * IDs of collections for which this process has verified that the database has all tokens. One check is enough, because
 * groups are compared again before each mint is signed.
 */
const comparedCollections = new WeakMap<SolanaChains, Set<string>>()

/**
 * Returns the functions that read the state and the rules of a Solana chain, either embedded or a cluster. A collection
 * isn't a program, so its permissions are stored in its row.
 */
export const createSolanaFacts = (solana: SolanaChains, blockchain: SolanaBlockchain): ChainFacts => ({
  async predictAddresses(_, { id }) {
    const factory_address = await solana.address(blockchain)
    return { factory_address, contract_address: mintAddress(factory_address, id) }
  },

  readState: async ({ enable_api, enable_transfer, is_locked }) => ({
    revoked: false,
    enableApi: enable_api === 1,
    enableTransfer: enable_transfer === 1,
    locked: is_locked === 1,
  }),

  readLifecycle: async ({ enable_burn }) => ({ isFrozen: false, enableBurn: enable_burn === 1, hasUpdatesLeft: true }),

  async readOwner(_, tokenId, wallet) {
    return (await holdsToken(await solana.network(blockchain), parseKey(wallet), parseKey(tokenId))) ? wallet : null
  },

  async readToken(_, { tokenId, isDynamic }) {
    const account = await (await solana.network(blockchain)).account(tokenId)
    if (account?.owner !== TOKEN_2022) throw new Error(`${blockchain} has no token ${tokenId}`)
    const { supply, revision, updateAuthority } = decodeMintAccount(account.data)
    const dynamic = isDynamic || updateAuthority !== null
    return {
      revision: revision ?? 0,
      isDynamic: dynamic,
      isFrozen: dynamic && updateAuthority === null,
      isBurned: supply === 0n,
    }
  },

  async hasAllTokens(store, collection) {
    const comparedIds = comparedCollections.get(solana) ?? new Set()
    comparedCollections.set(solana, comparedIds)
    if (comparedIds.has(collection.id) || !solana.clusters.has(blockchain)) return true
    if ((await checkGroup(store, solana.clusters.network(blockchain), collection)) !== 'known') return false
    comparedIds.add(collection.id)
    return true
  },

  readBlockTime: async () => null,
})

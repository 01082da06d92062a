import {
  type BlockReference,
  type CollectionAtBlock,
  type CollectionLifecycle,
  readCollectionState,
  readLifecycle,
} from '../../chain/evm/collection-reads.ts'
import { MAX_UPDATES } from '../../chain/evm/collection-updates.ts'
import type { EvmNetwork, Hex } from '../../chain/evm/network.ts'
import type { CollectionRow } from '../../store/collections.ts'
import type { TransactionKind } from '../../store/schema.ts'
import { isRefusedAtFinality } from './judge-reverted-call.ts'

/** The state that an update depends on, as of one block. */
export interface UpdateTerms {
  state: CollectionAtBlock
  lifecycle: CollectionLifecycle
}

/** Reads the state that an update depends on. Returns null if the node doesn't have the collection at that block. */
export async function readUpdateTerms(
  network: EvmNetwork,
  { contract_address }: CollectionRow,
  block: BlockReference,
): Promise<UpdateTerms | null> {
  const contract = contract_address as Hex
  const state = await readCollectionState(network, contract, block)
  const lifecycle = state && (await readLifecycle(network, contract, block))
  return state && lifecycle && { state, lifecycle }
}

/** Returns why the service can't update or freeze tokens of a collection. Returns null if it can. */
export function findUpdateRefusal({ state, lifecycle }: UpdateTerms, kind: TransactionKind): string | null {
  if (state.revoked) return "the collection's owner has revoked the service's rights"
  if (!state.enableApi) return "the collection's owner has disabled enable_api"
  if (kind !== 'update') return null
  if (lifecycle.frozen) return "the collection's owner has frozen its metadata"
  return lifecycle.updateCount < MAX_UPDATES ? null : 'the collection has reached the maximum number of updates'
}

/** Returns whether the service's right to update or freeze tokens is missing in the newest final state. */
export const isUpdateRefusedAtFinality = (
  network: EvmNetwork,
  collection: CollectionRow,
  kind: TransactionKind,
): Promise<boolean> =>
  isRefusedAtFinality(network, async (block) => {
    const terms = await readUpdateTerms(network, collection, block)
    return terms !== null && findUpdateRefusal(terms, kind) !== null
  })

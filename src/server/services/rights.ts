import { setTimeout as delay } from 'node:timers/promises'
import { ZERO_ADDRESS } from '../../api/address.ts'
import { RunsInOtherProcessError } from '../chain/chains.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import type { ChainFacts, CollectionState } from '../pipeline/facts.ts'
import type { CollectionRow } from '../store/collections.ts'
import type { findNft } from '../store/nfts.ts'
import type { Db } from '../store/schema.ts'
import { hasPendingTransfer } from '../store/transfers.ts'
import { pendingUpdates } from '../store/updates.ts'
import { badRequestError, temporarilyUnavailableError } from './refusals.ts'
import type { ServiceDeps } from './services.ts'

type FoundNft = NonNullable<Awaited<ReturnType<typeof findNft>>>

/** Rejects a transfer that the collection's settings or its owner don't permit. */
export function refuseUnlessTransferable(collection: Omit<CollectionState, 'enableApi'>): void {
  if (collection.locked) throw badRequestError("the collection is locked: its NFTs can't be transferred")
  if (collection.revoked) throw badRequestError("the collection's owner has revoked the service's rights")
  if (!collection.enableTransfer) {
    throw badRequestError(
      'enable_transfer is off for this collection: its owner can enable it with setEnableTransfer(true) on the contract',
    )
  }
}

/** Rejects a change if the collection's owner has revoked the service's rights or disabled the API. */
export function refuseUnlessService({ revoked, enableApi }: Pick<CollectionState, 'revoked' | 'enableApi'>): void {
  if (revoked) throw badRequestError("the collection's owner has revoked the service's rights")
  if (!enableApi) throw badRequestError('enable_api is off for this collection')
}

/** Returns the token ID of an NFT. Rejects an NFT of another collection, or one without a token. */
export function requireTokenId(nft: FoundNft | null, collection: CollectionRow): string {
  if (nft?.collection_id !== collection.id) {
    throw badRequestError('nft_gdn_id and contract_address are inconsistent: the collection has no such NFT')
  }
  if (nft.status === 'failed') throw badRequestError(`the NFT failed and was not created: ${nft.error}`)
  if (nft.status !== 'deployed' || nft.token_id === null)
    throw badRequestError('the NFT is not deployed yet: wait until its status in getnfts is deployed')
  if (nft.owner === ZERO_ADDRESS) throw badRequestError('the NFT was burned')
  return nft.token_id
}

export const pendingUpdateError = (id: string) =>
  badRequestError(
    `an update of the NFT ${id} is pending: check its outcome with gettransactions before you change the NFT again`,
  )

/** Rejects a change of an NFT while another change of the NFT is pending. */
export async function refusePending(db: Db, ...nftIds: string[]): Promise<void> {
  const [updated] = (await pendingUpdates(db, nftIds)).keys()
  if (updated !== undefined) throw pendingUpdateError(updated)
  for (const id of nftIds) {
    if (!(await hasPendingTransfer(db, id))) continue
    throw badRequestError(
      `a transfer or burn of the NFT ${id} is pending: check its outcome with gettransactions before you change the NFT again`,
    )
  }
}

/** Timeout in milliseconds for reading chain state that a request depends on. */
const CHAIN_PATIENCE_MS = 10_000

/**
 * Reads chain state that a request depends on. If the chain can't be read for any reason, rejects the request.
 *
 * @param subject the name of the state, for error messages
 * @throws Refusal 503
 */
export async function readChainState<Result>(
  { chains }: Pick<ServiceDeps, 'chains'>,
  collection: CollectionRow,
  subject: string,
  ask: (facts: ChainFacts) => Promise<Result>,
): Promise<Result> {
  const { blockchain } = collection
  const tooLong = async () => {
    await delay(CHAIN_PATIENCE_MS, undefined, { ref: false })
    throw new Error(`${blockchain} did not respond within ${CHAIN_PATIENCE_MS / 1000} s`)
  }
  try {
    return await Promise.race([ask(chainFacts(chains, blockchain)), tooLong()])
  } catch (cause) {
    const message =
      cause instanceof RunsInOtherProcessError
        ? `${cause.message}, so ${subject} can't be verified; nothing was accepted`
        : `${subject} on ${blockchain} can't be verified, so nothing was accepted: try again`
    const refusal = temporarilyUnavailableError(message, 1)
    refusal.cause = cause
    throw refusal
  }
}

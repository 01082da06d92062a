import type * as z from 'zod'
import { checksumAddress } from '../../api/address.ts'
import { transfernft, type transferRequestV12Schema } from '../../api/endpoints/transfernft.ts'
import { addTransfer } from '../state/transfers.ts'
import type { CollectionRow } from '../store/collections.ts'
import { findNft } from '../store/nfts.ts'
import type { Db } from '../store/schema.ts'
import { finalTransfers, hasPendingTransfer } from '../store/transfers.ts'
import { acceptChange } from './accept-change.ts'
import { badRequestError } from './refusals.ts'
import { readChainState, refuseUnlessTransferable, requireTokenId } from './rights.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

type TransferRequest = z.output<typeof transferRequestV12Schema>

/**
 * Accepts a transfer if the sender currently owns the NFT on chain. The receiver may be the sender: the API reference
 * doesn't forbid it, and ERC-721 allows it.
 */
export async function transferNft(deps: ServiceDeps, request: ServiceRequest<TransferRequest>) {
  const { store, pipeline } = deps
  const { parsed } = request
  const { contract_address, blockchain, nft_gdn_id, sender_wallet_address, receiver_wallet_address } = parsed
  const { receiver_name, replaces_transfers } = parsed
  return await acceptChange(deps, request, {
    operation: transfernft.name,
    fields: { nft_gdn_id, sender_wallet_address, receiver_wallet_address, receiver_name, replaces_transfers },
    echo: { contract_address, receiver_wallet_address, receiver_name, blockchain, sender_wallet_address },
    async checkInDatabase(collection) {
      await refuseUnlessSameNft(deps, collection, parsed)
      if (await hasPendingTransfer(store.db, nft_gdn_id)) throw pendingTransferError()
      await refuseStale(store.db, parsed)
    },
    async check(collection) {
      const sender = checksumAddress(sender_wallet_address)
      const [owner, state] = await readChainState(deps, collection, "the NFT's owner", (facts) =>
        Promise.all([facts.readOwner(collection, parsed.token_id, sender), facts.readState(collection)]),
      )
      refuseUnlessTransferable(state)
      if (owner !== sender) throw badRequestError(`sender_wallet_address does not own the NFT: its owner is ${owner}`)
      return sender
    },
    async write(db, { id, request_id, collection: { id: collection_id, blockchain }, prepared: sender }) {
      const receiver = checksumAddress(receiver_wallet_address)
      const row = { id, request_id, collection_id, nft_id: nft_gdn_id, blockchain, sender, receiver }
      if (!(await addTransfer(db, { ...row, receiver_name: receiver_name ?? null }))) throw pendingTransferError()
      // Check again, because another transfer may have become final. From now on, this pending transfer prevents
      // others.
      await refuseStale(db, parsed)
    },
    onAccepted: () => pipeline.onTransferAccepted(),
  })
}

/**
 * Returns the rejection for an NFT with a pending transfer. The API reference defines 400 for every failure of
 * transfernft. 409 would mean that a request with this Idempotency-Key is in progress, so clients would treat the
 * outcome as unknown, although nothing was accepted.
 */
const pendingTransferError = () =>
  badRequestError(
    'a transfer of this NFT is pending: check its outcome with gettransactions before you transfer it again',
  )

async function refuseStale(db: Db, { nft_gdn_id, replaces_transfers: replaces }: TransferRequest): Promise<void> {
  if (replaces === undefined) return
  const count = (await finalTransfers(db, [nft_gdn_id])).get(nft_gdn_id)?.count ?? 0
  if (replaces === count) return
  throw badRequestError(
    `replaces_transfers is ${replaces}, but the NFT has ${count === 1 ? '1 transfer' : `${count} transfers`}: read the NFT again with getnfts`,
  )
}

async function refuseUnlessSameNft(
  { store }: Pick<ServiceDeps, 'store'>,
  collection: CollectionRow,
  { nft_gdn_id, token_id }: TransferRequest,
): Promise<void> {
  if (requireTokenId(await findNft(store.db, nft_gdn_id), collection) !== token_id) {
    throw badRequestError('nft_gdn_id and token_id identify different NFTs')
  }
}

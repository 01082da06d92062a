import type * as z from 'zod'
import { checksumAddress, ZERO_ADDRESS } from '../../api/address.ts'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { transfernft, type transferRequest12 } from '../../api/endpoints/transfernft.ts'
import { operationDigest } from '../../api/operation-digest.ts'
import { newId } from '../../core/ids.ts'
import { addTransfer } from '../state/transfers.ts'
import type { CollectionRow } from '../store/collections.ts'
import { findNft } from '../store/nfts.ts'
import type { Db } from '../store/schema.ts'
import { countTransfers, hasPendingTransfer } from '../store/transfers.ts'
import { accept } from './accept.ts'
import { askChain } from './ask-chain.ts'
import { findOwnCollection } from './find-collection.ts'
import { keepRefusedLimit, prepareCostCheck, startChange } from './limit-cost.ts'
import { claimReferences, findAllNamed, idOf, type Known, showAccepted } from './references.ts'
import { badRequest } from './refusal.ts'
import { refuseValue } from './refuse-value.ts'
import { requireChain } from './require-chain.ts'
import { refuseUnlessTransferable } from './rights.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

type Parsed = z.output<typeof transferRequest12>

/**
 * Accepts a transfer if the sender owns the NFT on chain now. The receiver may be the sender: the reference has no rule
 * against it, and ERC-721 allows it.
 */
export async function transferNft(deps: ServiceDeps, request: ServiceRequest<Parsed>) {
  const { store, pipeline, now } = deps
  const { accountId, parsed, body, idempotencyKey, requestId, run, maxCost } = request
  const { reference_id, nft_gdn_id, sender_wallet_address, receiver_wallet_address, replaces_transfers } = parsed
  const acceptedAt = now()
  const fields = { nft_gdn_id, sender_wallet_address, receiver_wallet_address, replaces_transfers }
  const references =
    reference_id === undefined ? [] : [{ reference_id, digest: operationDigest(transfernft.name, fields) }]
  const findCollection = () =>
    findOwnCollection(store.db, accountId, {
      contractAddress: parsed.contract_address,
      blockchain: parsed.blockchain,
    })
  const answer = (transfer: string | Known) => ({
    requests: {
      contract_address: parsed.contract_address,
      receiver_wallet_address,
      ...(parsed.blockchain === undefined ? {} : { blockchain: parsed.blockchain }),
      sender_wallet_address,
      ...(reference_id === undefined ? {} : { reference_id }),
    },
    response: { transaction_gdn_id: idOf(transfer), ...showAccepted(transfer, acceptedAt, reference_id) },
  })
  const accepted = await accept(
    store,
    { accountId, endpoint: transfernft.name, body, idempotencyKey, requestId, run },
    acceptedAt,
    {
      async findExisting() {
        if (reference_id === undefined) return null
        const scope = { scope_id: (await findCollection()).id, operation: transfernft.name }
        const [known] = (await findAllNamed(store.db, scope, references)) ?? []
        return known === undefined ? null : answer(known)
      },
      async prepare() {
        const collection = await findCollection()
        const blockchain = collection.blockchain as EvmBlockchain
        refuseValue(deps, request, blockchain)
        await refuseUnlessSameNft(deps, collection, parsed)
        if (await hasPendingTransfer(store.db, nft_gdn_id)) throw pending()
        await refuseStale(store.db, parsed)
        await requireChain(deps, blockchain)
        const sender = checksumAddress(sender_wallet_address)
        const [owner, state] = await askChain(deps, collection, "the NFT's owner", (facts) =>
          Promise.all([facts.ownerOf(collection, parsed.token_id, sender), facts.state(collection)]),
        )
        refuseUnlessTransferable(state)
        if (owner !== sender) throw badRequest(`sender_wallet_address does not own the NFT: its owner is ${owner}`)
        const costCheck = await prepareCostCheck(deps, { accountId, run, maxCost }, blockchain)
        return { collection, blockchain, sender, costCheck }
      },
      async write(db, requestId, { collection, blockchain, sender, costCheck }) {
        const id = newId()
        const scope = { scope_id: collection.id, operation: transfernft.name }
        const named = references.map((reference) => ({ ...reference, target_id: id }))
        const existing = (await claimReferences(db, scope, named)).get(reference_id ?? '')
        if (existing !== undefined) return answer(existing)
        const inserted = await addTransfer(db, {
          id,
          request_id: requestId,
          collection_id: collection.id,
          nft_id: nft_gdn_id,
          blockchain,
          sender,
          receiver: checksumAddress(receiver_wallet_address),
        })
        if (!inserted) throw pending()
        // While this one is pending, no other transfer becomes final.
        await refuseStale(db, parsed)
        await startChange(db, { accountId, run, requestId, acceptedAt, costCheck }, collection)
        return answer(id)
      },
      rejected: (error, { collection, costCheck }) =>
        keepRefusedLimit(deps, error, costCheck, { accountId, run, collectionId: collection.id, at: acceptedAt }),
    },
  )
  pipeline.transferAccepted()
  return accepted
}

/**
 * 400 is what the reference has for every failure of transfernft. 409 would mean that a request with this
 * Idempotency-Key is in progress, and clients then treat the outcome as unknown. Here nothing was accepted.
 */
const pending = () =>
  badRequest('a transfer of this NFT is pending: check its outcome with gettransactions before the next one')

async function refuseStale(db: Db, { nft_gdn_id, replaces_transfers: given }: Parsed): Promise<void> {
  if (given === undefined) return
  const has = (await countTransfers(db, [nft_gdn_id])).get(nft_gdn_id) ?? 0
  if (given === has) return
  throw badRequest(`replaces_transfers is ${given}, but the NFT has ${has} transfers: read it again with getnfts`)
}

async function refuseUnlessSameNft(
  { store }: Pick<ServiceDeps, 'store'>,
  collection: CollectionRow,
  { nft_gdn_id, token_id }: Parsed,
): Promise<void> {
  const nft = await findNft(store.db, nft_gdn_id)
  if (nft?.collection_id !== collection.id) {
    throw badRequest('nft_gdn_id and contract_address are inconsistent: the collection has no such NFT')
  }
  if (nft.status === 'failed') throw badRequest(`the NFT failed and was not created: ${nft.error}`)
  if (nft.status !== 'deployed')
    throw badRequest('the NFT is not deployed yet: wait until its status in getnfts is deployed')
  if (nft.owner === ZERO_ADDRESS) throw badRequest('the NFT was burned')
  if (nft.token_id !== token_id) {
    throw badRequest('nft_gdn_id and token_id are inconsistent: they are not the same NFT')
  }
}

import { canonicalAddress, checksumAddress, evmAddressProblem } from '../../api/address.ts'
import type { MintEndpoint } from '../../api/mint-endpoints.ts'
import { operationDigest } from '../../api/operation-digest.ts'
import { newId } from '../../core/ids.ts'
import { addNfts } from '../state/nfts.ts'
import type { CollectionRow } from '../store/collections.ts'
import { accept } from './accept.ts'
import { findOwnCollection } from './find-own-collection.ts'
import { joinRun, prepareCostCheck, reserveCost, storeRefusedLimit } from './limit-cost.ts'
import {
  acceptedFields,
  claimReferences,
  findExistingOperations,
  type KnownOperation,
  operationIdOf,
  refuseRepeated,
  toReferenceScope,
  type WantedReference,
} from './references.ts'
import { badRequestError } from './refusals.ts'
import { refuseUnknownMints } from './refuse-unknown-mints.ts'
import { refuseValue } from './refuse-value.ts'
import { requireChain } from './require-chain.ts'
import { reserveSupply } from './reserve-supply.ts'
import { refuseUnlessTransferable } from './rights.ts'
import { refuseSealed } from './seal-drop.ts'
import type { InputOf, ServiceDeps, ServiceRequest } from './services.ts'
import { findStoredPlaces } from './stored-files.ts'

/** The parsed request, with the fields of all three endpoints. */
type MintRequest = InputOf<'createnft'> & { sender_wallet_address?: string | undefined }

type Request = ServiceRequest<MintRequest>

/** The ID of a new NFT, or the operation of an existing NFT. */
type Accepted = string | KnownOperation

/** The properties that differ between the endpoints. */
const ENDPOINTS = {
  createnft: { isDynamic: false, isGrant: false, message: 'The request to create NFTs was accepted.' },
  /** NFTs that can be updated even in a collection that isn't dynamic. */
  creatednft: { isDynamic: true, isGrant: false, message: 'The request to create NFTs was accepted.' },
  /** NFTs that are minted to the sender and transferred to the receiver in the same transaction. */
  createnfttrans: { isDynamic: false, isGrant: true, message: 'The request to create and transfer NFTs was accepted.' },
} as const

/** Returns the service of an endpoint that creates NFTs. */
export const createNftsService = (endpoint: MintEndpoint) => (deps: ServiceDeps, request: Request) =>
  acceptNfts(deps, request, endpoint)

/** Accepts NFTs by adding a row for each. NFTs whose reference IDs already exist aren't created again. */
async function acceptNfts(deps: ServiceDeps, request: Request, endpoint: MintEndpoint) {
  const { store, pipeline, now } = deps
  const { accountId, parsed, run } = request
  const { contract_address: contractAddress, blockchain, reference_ids } = parsed
  refuseRepeated(reference_ids ?? [])
  const acceptedAt = now()
  const references = buildReferences(parsed, endpoint)
  let wakePipeline = () => {}
  const findCollection = () => findOwnCollection(store.db, accountId, { contractAddress, blockchain })
  const accepted = await accept(store, { ...request, endpoint }, acceptedAt, {
    async findExisting() {
      if (reference_ids === undefined) return null
      const { id } = await findCollection()
      const existing = await findExistingOperations(store.db, toReferenceScope(id, endpoint), references)
      return existing && responseFor(request, endpoint, acceptedAt, existing)
    },
    prepare: async () => await checkNfts(deps, request, endpoint, await findCollection()),
    async write(db, requestId, { collectionId, maxSupply, sender, asDynamic, files, costCheck }) {
      const ids = parsed.metadata.map(() => newId())
      const claims = references.map((reference, index) => ({ ...reference, target_id: ids[index] ?? '' }))
      const existing = await claimReferences(db, toReferenceScope(collectionId, endpoint), claims)
      const nfts = ids.map((id, index) => existing.get(reference_ids?.[index] ?? '') ?? id)
      const rows = newRows(parsed.metadata, nfts, files, {
        request_id: requestId,
        collection_id: collectionId,
        sender,
        receiver: canonicalAddress(parsed.receiver_wallet_address, blockchain),
        receiver_name: parsed.receiver_name ?? null,
        dynamic: asDynamic ? 1 : 0,
        next_attempt_at: acceptedAt,
      })
      if (rows.length > 0) await refuseSealed(db, collectionId, parsed.metadata)
      if (maxSupply !== null && rows.length > 0) await reserveSupply(db, collectionId, rows.length)
      if (run !== null && rows.length > 0) {
        await joinRun(db, { account_id: accountId, run, collection_id: collectionId, started_at: acceptedAt })
        const { isGrant } = ENDPOINTS[endpoint]
        const cost = { accountId, run, count: rows.length, isGrant, isDynamic: asDynamic }
        if (costCheck !== null) await reserveCost(db, costCheck, cost)
      }
      await addNfts(db, rows)
      const steps = new Set(rows.map(({ step }) => step))
      if (steps.size > 0)
        wakePipeline = () =>
          pipeline.onNftsAccepted(collectionId, { files: steps.has('files'), mint: steps.has('mint') })
      return responseFor(request, endpoint, acceptedAt, nfts)
    },
    onRejected: (error, { collectionId, costCheck }) =>
      storeRefusedLimit(deps, error, costCheck, { accountId, run, collectionId, at: acceptedAt }),
  })
  wakePipeline()
  return accepted
}

/** Returns the reference IDs of a request with the digests of their operations; empty if the request has none. */
function buildReferences(parsed: MintRequest, endpoint: MintEndpoint): WantedReference[] {
  const { metadata: list, receiver_wallet_address, receiver_name, sender_wallet_address } = parsed
  const { reference_label, reference_kinds } = parsed
  return (parsed.reference_ids ?? []).map((reference_id, index) => {
    const metadata = list[index] as MintRequest['metadata'][number]
    // Use the sender as requested. The default sender is the collection's owner, who may change before a repeated
    // request.
    const receiver = { receiver_wallet_address, receiver_name }
    const digest = operationDigest(endpoint, { metadata, ...receiver, sender_wallet_address })
    return { reference_id, digest, label: reference_label ?? null, kind: reference_kinds?.[index] ?? null }
  })
}

function responseFor({ parsed, body }: Request, endpoint: MintEndpoint, acceptedAt: number, nfts: readonly Accepted[]) {
  const { contract_address, sender_wallet_address, receiver_wallet_address, receiver_name } = parsed
  const { reference_ids, reference_label } = parsed
  return {
    message: ENDPOINTS[endpoint].message,
    requests: {
      contract_address,
      sender_wallet_address,
      receiver_wallet_address,
      receiver_name,
      metadata: body.metadata,
      reference_ids: reference_ids && body.reference_ids,
      reference_label,
      reference_kinds: parsed.reference_kinds && body.reference_kinds,
    },
    nfts: nfts.map((nft, index) => ({
      nft_gdn_ids: operationIdOf(nft),
      ...acceptedFields(nft, acceptedAt, reference_ids?.[index]),
    })),
  }
}

/** Checks a request outside of the transaction that accepts it. */
async function checkNfts(deps: ServiceDeps, request: Request, endpoint: MintEndpoint, collection: CollectionRow) {
  const { isDynamic, isGrant } = ENDPOINTS[endpoint]
  const { blockchain, metadata, sender_wallet_address } = request.parsed
  refuseValue(deps, request, blockchain)
  await requireChain(deps, blockchain)
  if (collection.enable_api !== 1) throw badRequestError('enable_api is off for this collection')
  if (collection.status === 'failed') throw badRequestError(`the collection failed: ${collection.error}`)
  if (isGrant) refuseGrant(collection)
  await refuseUnknownMints(deps, collection)
  const files = await findStoredPlaces(deps, metadata)
  const costCheck = await prepareCostCheck(deps, request, blockchain)
  const sender = isGrant ? checksumAddress(sender_wallet_address ?? requireFirstOwner(collection)) : null
  // All NFTs of a dynamic collection are dynamic, so mint them as plain NFTs, which costs less.
  const asDynamic = isDynamic && collection.dynamic !== 1
  const { id: collectionId, max_supply: maxSupply } = collection
  return { collectionId, maxSupply, sender, asDynamic, files, costCheck }
}

/** Returns rows for the NFTs that don't exist yet. */
function newRows<Common>(
  list: MintRequest['metadata'],
  nfts: readonly Accepted[],
  files: readonly (Record<string, string> | null)[],
  common: Common,
) {
  return list.flatMap((metadata, index) => {
    const id = nfts[index]
    if (typeof id !== 'string') return []
    const stored = files[index]
    return {
      ...common,
      id,
      metadata: JSON.stringify(metadata),
      files: stored ? JSON.stringify(stored) : null,
      step: stored ? ('mint' as const) : ('files' as const),
    }
  })
}

/** Rejects a collection whose NFTs the service isn't allowed to transfer. */
function refuseGrant({ is_locked, revoked, enable_transfer }: CollectionRow): void {
  refuseUnlessTransferable({ locked: is_locked === 1, revoked: revoked === 1, enableTransfer: enable_transfer === 1 })
}

/** Returns the first owner of a collection's NFTs, which is the owner of the collection. */
function requireFirstOwner({ wallet_address }: CollectionRow): string {
  if (evmAddressProblem(wallet_address) === null) return wallet_address
  throw badRequestError('the collection no longer has an owner: add sender_wallet_address')
}

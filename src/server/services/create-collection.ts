import { canonicalAddress } from '../../api/address.ts'
import { createcollection } from '../../api/endpoints/createcollection.ts'
import { type OperationFields, operationDigest } from '../../api/operation-digest.ts'
import { newId } from '../../core/ids.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import { addCollection } from '../state/collections.ts'
import { accept } from './accept.ts'
import { prepareCostCheck, startChange } from './limit-cost.ts'
import {
  acceptedFields,
  claimReferences,
  findExistingOperations,
  type KnownOperation,
  operationIdOf,
} from './references.ts'
import { refuseValue } from './refuse-value.ts'
import { requireChain } from './require-chain.ts'
import type { InputOf, RequestOf, ServiceDeps } from './services.ts'

type CollectionRequest = InputOf<'createcollection'>

const MAX_SYMBOL_LENGTH = 5

/** Fields that the response repeats if the request has them. */
const OPTIONAL = [
  'description',
  'image',
  'is_locked',
  'dynamic',
  'enable_burn',
  'royalty_bps',
  'royalty_receiver',
  'max_supply',
  'reference_id',
] as const

/**
 * Accepts a collection. Determines its address, so that NFTs can be created in the collection before it is deployed.
 */
export async function createCollection(deps: ServiceDeps, request: RequestOf<'createcollection'>) {
  const { store, chains, pipeline, now } = deps
  const { accountId, parsed, body, run } = request
  const { blockchain, reference_id } = parsed
  const acceptedAt = now()
  const references =
    reference_id === undefined
      ? []
      : [{ reference_id, digest: operationDigest(createcollection.name, toOperationFields(parsed)) }]
  const scope = { scope_id: accountId, operation: createcollection.name }
  const response = (collection: string | KnownOperation) => ({
    request: {
      name: parsed.name,
      blockchain,
      enable_api: parsed.enable_api ?? true,
      enable_transfer: parsed.enable_transfer ?? false,
      wallet_address: parsed.wallet_address,
      ...Object.fromEntries(OPTIONAL.filter((field) => field in body).map((field) => [field, body[field]])),
    },
    response: {
      transaction_gdn_id: operationIdOf(collection),
      ...acceptedFields(collection, acceptedAt, reference_id),
    },
  })
  const accepted = await accept(store, { ...request, endpoint: createcollection.name }, acceptedAt, {
    async findExisting() {
      if (reference_id === undefined) return null
      const [existing] = (await findExistingOperations(store.db, scope, references)) ?? []
      return existing === undefined ? null : response(existing)
    },
    async prepare() {
      refuseValue(deps, request, blockchain)
      const costCheck = await prepareCostCheck(deps, request, blockchain)
      await requireChain(deps, blockchain)
      return { facts: chainFacts(chains, blockchain), costCheck }
    },
    async write(db, requestId, { facts, costCheck }) {
      const id = newId()
      const targetedReferences = references.map((reference) => ({ ...reference, target_id: id }))
      const existing = (await claimReferences(db, scope, targetedReferences)).get(reference_id ?? '')
      if (existing !== undefined) return response(existing)
      const collection = {
        id,
        account_id: accountId,
        request_id: requestId,
        blockchain,
        name: parsed.name,
        symbol: deriveSymbol(parsed.name),
        wallet_address: canonicalAddress(parsed.wallet_address, blockchain),
        enable_api: (parsed.enable_api ?? true) ? 1 : 0,
        enable_transfer: (parsed.enable_transfer ?? false) ? 1 : 0,
        is_locked: (parsed.is_locked ?? false) ? 1 : 0,
        dynamic: parsed.dynamic ? 1 : 0,
        enable_burn: parsed.enable_burn ? 1 : 0,
        royalty_bps: parsed.royalty_bps ?? 0,
        royalty_receiver: chooseRoyaltyReceiver(parsed),
        max_supply: parsed.max_supply === undefined ? null : String(parsed.max_supply),
        description: parsed.description ?? null,
        image: parsed.image ?? null,
        next_token_id: '1',
        next_attempt_at: acceptedAt,
      }
      await addCollection(db, { ...collection, ...(await facts.predictAddresses(db, collection)) })
      await startChange(db, { accountId, run, requestId, acceptedAt, costCheck }, { id })
      return response(id)
    },
  })
  pipeline.onCollectionAccepted(blockchain)
  return accepted
}

/** Returns the fields of the operation. Omits fields that have their default value. */
function toOperationFields({
  reference_id: _,
  dynamic,
  enable_burn,
  royalty_bps,
  ...fields
}: CollectionRequest): OperationFields['createcollection'] {
  return {
    ...fields,
    dynamic: dynamic || undefined,
    enable_burn: enable_burn || undefined,
    royalty_bps: royalty_bps || undefined,
  }
}

/** Returns the wallet that receives royalties. Default: the owner's wallet. Returns null without royalties. */
function chooseRoyaltyReceiver({
  royalty_bps,
  royalty_receiver,
  wallet_address,
  blockchain,
}: CollectionRequest): string | null {
  return royalty_bps ? canonicalAddress(royalty_receiver ?? wallet_address, blockchain) : null
}

/**
 * Returns a token symbol for a collection's name. The symbol consists of the first letters and digits in upper case. If
 * the name has none, the symbol is `NFT`.
 */
export function deriveSymbol(name: string): string {
  const letters = name.normalize('NFKD').replace(/[^A-Za-z0-9]/g, '')
  return letters === '' ? 'NFT' : letters.slice(0, MAX_SYMBOL_LENGTH).toUpperCase()
}

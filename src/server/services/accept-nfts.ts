import type * as z from 'zod'
import { canonicalAddress } from '../../api/address.ts'
import type { createnft } from '../../api/endpoints/createnft.ts'
import { operationDigest } from '../../api/operation-digest.ts'
import { newId } from '../../core/ids.ts'
import { addNfts } from '../state/nfts.ts'
import type { CollectionRow } from '../store/collections.ts'
import { startRun } from '../store/runs.ts'
import { accept } from './accept.ts'
import { findOwnCollection } from './find-collection.ts'
import { keepRefusedLimit, prepareCostCheck, reserveCost } from './limit-cost.ts'
import { claimReferences, findAllNamed, idOf, type Known, refuseRepeated, scopeIn, showAccepted } from './references.ts'
import { badRequest, otherCollection } from './refusal.ts'
import { refuseValue } from './refuse-value.ts'
import { requireChain } from './require-chain.ts'
import { requireExplained } from './require-explained.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'
import { storedFiles } from './stored-files.ts'

type Parsed = z.output<typeof createnft.request> & { sender_wallet_address?: string | undefined }

interface Creation<Echo> {
  endpoint: 'createnft' | 'createnfttrans' | 'creatednft'
  message: string
  /** Returns the first owner of the NFTs, if they are transferred in the same step. */
  sender: (collection: CollectionRow) => string | null
  /** Whether their metadata can be updated, also in a collection that isn't dynamic. */
  dynamic?: boolean
  /** Fields of the response in addition to the common ones. */
  echo: Echo
  /** Rejects a collection that doesn't allow this operation. */
  check?: (collection: CollectionRow) => void
}

/**
 * Accepts NFTs: adds a row for each, with its pipeline state. NFTs whose reference IDs already exist are not created
 * again.
 */
export async function acceptNfts<Echo extends object>(
  deps: ServiceDeps,
  request: ServiceRequest<Parsed>,
  { endpoint, message, sender, dynamic = false, echo, check }: Creation<Echo>,
) {
  const { store, pipeline, now } = deps
  const { accountId, parsed, body, idempotencyKey, requestId, run, maxCost } = request
  const { contract_address, blockchain, receiver_wallet_address, metadata: list } = parsed
  const { reference_ids, reference_label, reference_kinds } = parsed
  refuseRepeated(reference_ids ?? [])
  const acceptedAt = now()
  let wake = () => {}
  // As requested: the owner of a collection, who is the sender otherwise, may change before a repetition.
  const named = { sender_wallet_address: parsed.sender_wallet_address }
  const references = reference_ids?.map((reference_id, index) => {
    const metadata = list[index] as Parsed['metadata'][number]
    const digest = operationDigest(endpoint, { metadata, receiver_wallet_address, ...named })
    return { reference_id, digest, label: reference_label ?? null, kind: reference_kinds?.[index] ?? null }
  })
  const findCollection = () => findOwnCollection(store.db, accountId, { contractAddress: contract_address, blockchain })
  const answer = (rows: readonly (string | Known)[]) => ({
    message,
    requests: {
      contract_address,
      ...echo,
      receiver_wallet_address,
      metadata: body.metadata,
      ...(reference_ids === undefined ? {} : { reference_ids: body.reference_ids }),
      ...(reference_label === undefined ? {} : { reference_label }),
      ...(reference_kinds === undefined ? {} : { reference_kinds: body.reference_kinds }),
    },
    nfts: rows.map((row, index) => ({
      nft_gdn_ids: idOf(row),
      ...showAccepted(row, acceptedAt, reference_ids?.[index]),
    })),
  })
  const accepted = await accept(store, { accountId, endpoint, body, idempotencyKey, requestId, run }, acceptedAt, {
    async findExisting() {
      if (references === undefined) return null
      const { id } = await findCollection()
      const known = await findAllNamed(store.db, scopeIn(id, endpoint), references)
      return known && answer(known)
    },
    async prepare() {
      const collection = await findCollection()
      refuseValue(deps, request, blockchain)
      await requireChain(deps, blockchain)
      if (collection.enable_api !== 1) throw badRequest('enable_api is off for this collection')
      if (collection.status === 'failed') throw badRequest(`the collection failed: ${collection.error}`)
      check?.(collection)
      await requireExplained(deps, collection)
      const files = await storedFiles(deps, list)
      const costCheck = await prepareCostCheck(deps, { accountId, run, maxCost }, blockchain)
      // In a dynamic collection, a plain mint costs less.
      const isDynamic = dynamic && collection.dynamic !== 1
      return { collectionId: collection.id, sender: sender(collection), isDynamic, files, costCheck }
    },
    async write(db, requestId, { collectionId, sender: firstOwner, isDynamic, files, costCheck }) {
      const receiver = canonicalAddress(receiver_wallet_address, blockchain)
      const ids = list.map(() => newId())
      const claims = (references ?? []).map((reference, index) => ({ ...reference, target_id: ids[index] ?? '' }))
      const existing = await claimReferences(db, scopeIn(collectionId, endpoint), claims)
      const all = ids.map((id, index) => existing.get(reference_ids?.[index] ?? '') ?? id)
      const rows = list.flatMap((metadata, index) => {
        const id = all[index]
        if (typeof id !== 'string') return []
        const stored = files[index]
        return {
          id,
          request_id: requestId,
          collection_id: collectionId,
          sender: firstOwner,
          receiver,
          dynamic: isDynamic ? 1 : 0,
          metadata: JSON.stringify(metadata),
          files: stored ? JSON.stringify(stored) : null,
          step: stored ? ('mint' as const) : ('files' as const),
          next_attempt_at: acceptedAt,
        }
      })
      if (run !== null && rows.length > 0) {
        const started = { account_id: accountId, run, collection_id: collectionId, started_at: acceptedAt }
        if (!(await startRun(db, started))) throw otherCollection(run)
      }
      if (costCheck !== null && run !== null && rows.length > 0) {
        await reserveCost(db, costCheck, {
          ...{ accountId, run, count: rows.length, isGrant: firstOwner !== null, isDynamic },
        })
      }
      await addNfts(db, rows)
      if (rows.length === 0) return answer(all)
      wake = () =>
        pipeline.nftsAccepted(collectionId, {
          files: rows.some(({ step }) => step === 'files'),
          mint: rows.some(({ step }) => step === 'mint'),
        })
      return answer(all)
    },
    rejected: (error, { collectionId, costCheck }) =>
      keepRefusedLimit(deps, error, costCheck, { accountId, run, collectionId, at: acceptedAt }),
  })
  wake()
  return accepted
}

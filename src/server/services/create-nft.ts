import type * as z from 'zod'
import { canonicalAddress } from '../../api/address.ts'
import { createnft } from '../../api/endpoints/createnft.ts'
import { newId } from '../../core/ids.ts'
import { formatAcceptedDate } from '../../core/time.ts'
import { addNfts } from '../state/nfts.ts'
import type { CollectionRow } from '../store/collections.ts'
import { startRun } from '../store/runs.ts'
import { accept } from './accept.ts'
import { findOwnCollection } from './find-collection.ts'
import { badRequest } from './refusal.ts'
import { requireChain } from './require-chain.ts'
import { requireExplained } from './require-explained.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'
import { storedFiles } from './stored-files.ts'

type Parsed = z.output<typeof createnft.request>

/** Accepts NFTs. No chain is asked. */
export function createNft(deps: ServiceDeps, request: ServiceRequest<Parsed>) {
  return acceptNfts(deps, request, {
    endpoint: createnft.name,
    message: 'The request to create NFTs was accepted.',
    sender: null,
    echo: {},
  })
}

interface Creation<Echo> {
  endpoint: string
  message: string
  /** Who has the NFTs first, where they are transferred in the same step. */
  sender: string | null
  /** Echoed beside what every creation echoes. */
  echo: Echo
  /** Refuses a collection that this can't be done in. */
  check?: (collection: CollectionRow) => void
}

/** Accepts NFTs: a row for each, with its place in the pipeline. */
export async function acceptNfts<Echo extends object>(
  deps: ServiceDeps,
  request: ServiceRequest<Parsed>,
  { endpoint, message, sender, echo, check }: Creation<Echo>,
) {
  const { store, pipeline, now } = deps
  const { accountId, parsed, body, idempotencyKey, requestId, run } = request
  const acceptedAt = now()
  let wake = () => {}
  const accepted = await accept(
    store,
    { accountId, endpoint, body, idempotencyKey, requestId, run },
    acceptedAt,
    async () => {
      const collection = await findOwnCollection(store.db, accountId, {
        contractAddress: parsed.contract_address,
        blockchain: parsed.blockchain,
      })
      await requireChain(deps, parsed.blockchain)
      if (collection.enable_api !== 1) throw badRequest('enable_api is off for this collection')
      if (collection.status === 'failed') throw badRequest(`the collection failed: ${collection.error}`)
      check?.(collection)
      await requireExplained(deps, collection)
      const files = await storedFiles(deps, parsed.metadata)
      return { collectionId: collection.id, files }
    },
    async (db, requestId, { collectionId, files }) => {
      const receiver = canonicalAddress(parsed.receiver_wallet_address, parsed.blockchain)
      const rows = parsed.metadata.map((metadata, index) => ({
        id: newId(),
        request_id: requestId,
        collection_id: collectionId,
        sender,
        receiver,
        metadata: JSON.stringify(metadata),
        files: files[index] ? JSON.stringify(files[index]) : null,
        step: files[index] ? ('mint' as const) : ('files' as const),
        next_attempt_at: acceptedAt,
      }))
      if (run !== null)
        await startRun(db, { account_id: accountId, run, collection_id: collectionId, started_at: acceptedAt })
      await addNfts(db, rows)
      wake = () =>
        pipeline.nftsAccepted(collectionId, {
          files: files.some((stored) => stored === null),
          mint: files.some((stored) => stored !== null),
        })
      const accepted_date = formatAcceptedDate(acceptedAt)
      return {
        message,
        requests: {
          contract_address: parsed.contract_address,
          ...echo,
          receiver_wallet_address: parsed.receiver_wallet_address,
          metadata: body.metadata,
        },
        nfts: rows.map(({ id }) => ({ nft_gdn_ids: id, accepted_date })),
      }
    },
  )
  wake()
  return accepted
}

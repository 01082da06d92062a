import type { Selectable } from 'kysely'
import { adoptMembers, withdrawBundle } from '../../src/server/state/nfts.ts'
import {
  requeueLostTransaction,
  requeueTransaction,
  updateSignedTransaction,
} from '../../src/server/state/transactions.ts'
import * as updateStates from '../../src/server/state/updates.ts'
import * as attempts from '../../src/server/store/attempts.ts'
import {
  collectionAddresses,
  findCollectionById,
  findFirstDeployment,
  hasCollections,
  listDeployedCollectionIds,
} from '../../src/server/store/collections.ts'
import { listDeployedCommitments } from '../../src/server/store/explorer-commitments.ts'
import { filterSeqsWithTerms } from '../../src/server/store/explorer-terms.ts'
import * as nfts from '../../src/server/store/nfts.ts'
import type { Store } from '../../src/server/store/open-store.ts'
import * as publications from '../../src/server/store/publications.ts'
import * as runCosts from '../../src/server/store/run-costs.ts'
import { startRun } from '../../src/server/store/runs.ts'
import type { TransactionsTable } from '../../src/server/store/schema.ts'
import { createStoredFiles } from '../../src/server/store/stored-files.ts'
import * as transactions from '../../src/server/store/transactions.ts'
import * as unknownMints from '../../src/server/store/unknown-mints.ts'
import * as updates from '../../src/server/store/updates.ts'
import * as watched from '../../src/server/store/watched.ts'
import * as deliveries from '../../src/server/store/webhook-deliveries.ts'
import * as webhooks from '../../src/server/store/webhooks.ts'

const CLAIM = { now: 1, leaseMs: 1, limit: 10 }

/** Runs what only networks by RPC URL, publishing and webhooks use, without changing minted NFTs and sent events. */
export async function useRestOfStore(
  { db, transaction }: Store,
  {
    transaction: signed,
    nft,
    updated,
  }: {
    transaction: Selectable<TransactionsTable>
    nft: { seq: number }
    /** The ID of a final update. */
    updated: string
  },
): Promise<void> {
  const { signer, collection_id } = signed
  const collectionId = collection_id ?? ''
  await attempts.insertAttempts(db, [
    {
      ...{ transaction_id: signed.id, number: 0, raw: '', hash: 'none', created_at: 1 },
      ...{ max_fee_per_gas: '1', max_priority_fee_per_gas: '1' },
    },
  ])
  await attempts.listAttempts(db, [signed.id])
  await transactions.heldCollections(db, [collectionId])
  await collectionAddresses(db, 'polygon')
  await listDeployedCommitments(db, collectionId, [`0x${'ab'.repeat(32)}`])
  await hasCollections(db, 'polygon')
  const { account_id = '' } = (await findCollectionById(db, collectionId)) ?? {}
  const limited = { account_id, run: 'limited', collection_id: collectionId }
  await startRun(db, { ...limited, started_at: 1 })
  await runCosts.findRunWithoutCostLimit(db, { accountId: account_id, run: 'limited' })
  await runCosts.lockSigningForRun(db, limited)
  await runCosts.assignRunToTransaction(db, 'none', ['none'])
  await runCosts.lockRun(db, { accountId: account_id, run: 'limited' })
  await runCosts.setLimit(db, limited, { max_cost: '1', nft_gas: 1, nft_bytes: 1 })
  await nfts.listMintable(db, collectionId, 1, { except: ['limited'] })
  await runCosts.assignTransactionsToRun(db, limited)
  await transactions.delaysOthers(db, signed)
  await runCosts.lockRunOfCollection(db, { collection_id: collectionId, run: 'limited' })
  await transactions.lockTransactionAndReadRun(db, signed)
  await runCosts.readTransactionsOfRun(db, limited)
  await runCosts.listUnminedOfRun(db, limited)
  await runCosts.listRunsOfUnmined(db, [signed.id])
  await runCosts.readRunsOfRequests(db, ['none'])
  await runCosts.feesPaid(db, ['none'])
  await runCosts.readFeesOfMined(db, { collectionId, run: 'limited' })
  await nfts.lockNfts(db, ['none'])
  await updates.hasUnfinalUpdate(db, { id: collectionId, blockchain: 'polygon' })
  await updates.updatesFollowUnfinal(db, { id: 'none', blockchain: 'polygon', collectionId })
  await updates.hasUpdateInFlight(db, collectionId)
  await updates.listUpdatesOfTransaction(db, 'none')
  await updates.findCollectionOfUpdates(db, 'none')
  await updates.listUnsignedUpdates(db, collectionId, ['1001'])
  await updates.findBlockOfLastUpdate(db, { id: collectionId, transaction_id: 'none' })
  const unknown = {
    ...{ collectionId: 'none', sequence: 1, directory: 'd', tokenIds: [1n] },
    ...{ blockchain: 'polygon' as const, block_number: 1, transaction_hash: 'none' },
  }
  await updates.recordUnknownUpdate(db, unknown)
  await updates.deleteUnknownUpdates(db, 'polygon', 1)
  await updateStates.requeueUpdates(db, 'none', true)
  await updateStates.failUpdates(db, [0], 'refused')
  await updateStates.deployCommitment(db, 0, '1')
  const of = db.selectFrom('updates').select('transaction_id').where('id', '=', updated)
  await updateStates.withdrawUpdates(db, (await of.executeTakeFirst())?.transaction_id ?? 'none')
  await findFirstDeployment(db, 'polygon')
  await filterSeqsWithTerms(db, [nft.seq], ['term'])
  await publications.addPublications(db, 'pins', ['cid'])
  for (const publication of await publications.claimPublications(db, 'pins', CLAIM)) {
    await publications.settlePublication(db, publication, { state: 'done', attempts: 1, nextAttemptAt: 0 })
  }
  await publications.readNextPublicationDueAt(db, 'pins')
  await unknownMints.knownMembers(db, collectionId)
  await nfts.listNftsOfDirectory(db, collectionId, 'd1')
  await listDeployedCollectionIds(db, 'solana')
  await nfts.listTokens(db, collectionId, { after: 0, limit: 100 })
  await adoptMembers(db, [])
  await withdrawBundle(db, { collectionId, transactionId: 'none', startId: '1', count: 2 })
  const files = createStoredFiles(db, transaction, 'place')
  await files.size('cid')
  await files.filterStored(['cid'])
  await updateSignedTransaction(db, { id: 'none', generation: 0 }, { attempts: 1 })
  await requeueLostTransaction(db, 'none', {})
  await transactions.raiseNonce(db, 'polygon', signer, 0)
  await transactions.readNextNonces(db, 'polygon', [signer])
  await transactions.findTransactionByNonce(db, 'polygon', signer, transactions.requireNonce(signed))
  await transactions.deleteFactoryTransaction(db, 'none')
  await transactions.listSignedTransactions(db, 'polygon', signer)
  await transactions.transactionFollowsUnfinal(db, signed)
  const none = { collection_id: 'none', hash: 'none' }
  await unknownMints.addUnknownMembers(db, { id: 'none', blockchain: 'solana', contract_address: 'none' }, 1)
  await unknownMints.deleteUnknownMints(db, 'polygon', 0)
  await unknownMints.updateUnknownMint(db, none, { state: 'released' })
  await unknownMints.removeUnknownMint(db, none)
  await unknownMints.releaseUnknownMints(db, 'none')
  await unknownMints.listLostMints(db, collectionId)
  await unknownMints.nextKnownTokenId(db, { id: collectionId, startId: 0n }, 1n)
  await watched.listWatchedTransactions(db, 'polygon')
  await watched.endWatch(db, [signed])
  await watched.updateWatched(db, signed, { block_number: 1 })
  await requeueTransaction(db, { ...signed, block_hash: 'none' }, 1)
  await webhooks.claimWebhooks(db, CLAIM)
  await webhooks.updateClaimedWebhook(db, { id: 'none', generation: 0 }, { failures: 0 })
  await webhooks.findWebhook(db, 'none')
  await webhooks.reviveWebhook(db, 'none')
  await webhooks.extendListener(db, 'none', 1)
  await webhooks.findListenerSecret(db, 'none')
  const delivery = { webhook_id: 'listener', event_id: 'none' }
  await deliveries.listDueDeliveries(db, 'listener', 1, 10)
  await deliveries.findDelivery(db, 'listener', 'none')
  await deliveries.recordAttempt(db, delivery, { attempts: 1 })
  await deliveries.failPendingDeliveries(db, 'listener', 'gone', 1)
  await deliveries.removeDeliveries(db, 'listener', ['none'])
  await deliveries.deleteOldEvents(db, 1, 1, 10)
}

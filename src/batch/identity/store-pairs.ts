import { MAX_REFERENCES_PER_REQUEST } from '../../api/endpoints/getreferences.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { GdnError } from '../../core/errors.ts'
import { withState } from '../../state/open-state.ts'
import { renameStoredRows } from '../../state/row-outcomes.ts'
import { isDuplicateOperation } from '../../state/transitions.ts'
import { leaseStoredRun } from '../runs/open-stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import type { Pair } from './pairing.ts'
import { MINT_OPERATIONS } from './server-names.ts'

/** The part of a pair that is needed to store it. */
export type StoredPair = Pick<Pair, 'nftGdnId' | 'operation' | 'reference' | 'sent' | 'alias'> & { key: string }

/**
 * Stores pairs as aliases on the server. Repeating the call is safe.
 *
 * @throws GdnError `refused` if another machine has stored a conflicting pair in the meantime
 */
export async function storeAliases(
  client: Pick<BatchClient, 'call'>,
  { contractAddress, blockchain, signal }: Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'signal'>,
  pairs: readonly Pick<StoredPair, 'nftGdnId' | 'operation' | 'reference' | 'alias'>[],
): Promise<void> {
  for (const operation of MINT_OPERATIONS) {
    const pairsToStore = pairs.filter((pair) => pair.alias === 'wanted' && pair.operation === operation)
    for (const page of chunksOf(pairsToStore, MAX_REFERENCES_PER_REQUEST)) {
      await client.call(
        'aliasreferences',
        {
          operation,
          contract_address: contractAddress,
          blockchain,
          reference_ids: page.map(({ reference }) => reference),
          nft_gdn_ids: page.map(({ nftGdnId }) => nftGdnId),
        },
        { signal },
      )
    }
  }
}

/**
 * Stores pairs in the state, which assigns IDs to rows that were sent without one.
 *
 * @throws GdnError `run_busy`; `already_accepted` if another run has a row with one of these IDs
 */
export async function storePairs(options: BatchOptions, pairs: readonly StoredPair[]): Promise<void> {
  const renamed = pairs.flatMap(({ sent, key, nftGdnId }) =>
    sent === null ? [] : [{ operation: sent, key, nftGdnId, line: null }],
  )
  if (renamed.length === 0) return
  await withState(options.stateDir, async (state) => {
    const run = await leaseStoredRun(state, options)
    try {
      const { drop } = run
      await run.write((sql) => renameStoredRows(sql, drop, renamed))
    } catch (error) {
      if (!isDuplicateOperation(error)) throw error
      throw new GdnError('already_accepted', 'another run of this collection has a row with an ID of this manifest', {
        hint: 'Run `gdn batch list` to find the other run. If both runs are one drop, add --run <name>.',
        cause: error,
      })
    } finally {
      await run.release()
    }
  })
}

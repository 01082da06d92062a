import { GdnError } from '../core/errors.ts'
import type { Gathered } from './gather.ts'
import type { Adopted } from './manifest-row.ts'
import { type Plan, positionsOf } from './plan.ts'
import { referenceId } from './row-key.ts'
import type { RunStore } from './run-store.ts'
import type { BatchClient, BatchOptions } from './types.ts'

const PER_CALL = 1_000

/**
 * Rows that the server knows by their reference IDs: an earlier run, on whatever machine, had it create them.
 *
 * @returns null where the server doesn't announce reference IDs
 */
export async function knownReferences(
  store: RunStore,
  { contractAddress, blockchain, signal }: BatchOptions,
  client: BatchClient,
  { gathered, plan }: { gathered: Gathered; plan: Plan },
): Promise<Adopted[] | null> {
  if (client.supportsReferences === undefined) return null
  if (client.supportsReferences() === null) await learn(client, signal)
  if (client.supportsReferences() !== true) return null
  const positions = [...positionsOf(plan)].sort((a, b) => a - b)
  const adopted: Adopted[] = []
  for (let from = 0; from < positions.length; from += PER_CALL) {
    const page = positions.slice(from, from + PER_CALL)
    const records = await store.read((sql) => store.recordsAt(sql, gathered.rows, page))
    for (const operation of ['createnft', 'createnfttrans'] as const) {
      const sent = records.filter(({ sender }) => (sender === null) === (operation === 'createnft'))
      if (sent.length === 0) continue
      const byId = new Map(sent.map((row) => [referenceId(store.drop.referenceScope, row.reference ?? row.key), row]))
      const { references } = await client.call(
        'getreferences',
        { operation, reference_ids: [...byId.keys()], contract_address: contractAddress, blockchain },
        { signal },
      )
      for (const { reference_id, nft_gdn_id, is_free } of references) {
        const row = byId.get(reference_id)
        if (row === undefined || is_free || typeof nft_gdn_id !== 'string') continue
        adopted.push({ row: store.keep(row), nftGdnId: nft_gdn_id })
      }
    }
  }
  return adopted
}

/** Any response says whether the server has them. */
async function learn(client: BatchClient, signal: AbortSignal | undefined): Promise<void> {
  const nobody = '00000000-0000-0000-0000-000000000000'
  try {
    await client.call('getnfts', { nft_gdn_ids: [nobody] }, { signal })
  } catch (error) {
    if (!(error instanceof GdnError) || signal?.aborted === true) throw error
  }
}

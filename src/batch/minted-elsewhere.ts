import { freshRows, vanishedRows } from '../state/edited-rows.ts'
import type { RowsIn } from '../state/rows.ts'
import type { Paired } from './edited-rows.ts'
import { referenceId } from './row-key.ts'
import type { RunStore } from './run-store.ts'
import { ServerNames } from './server-names.ts'
import type { BatchClient, BatchOptions } from './types.ts'

/**
 * Adds the rows that are new to this machine, and that the server knows by their reference IDs: another machine has
 * minted them, so they are no edits of rows that left the manifest.
 */
export async function withMintedElsewhere(
  store: RunStore,
  options: Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'signal'>,
  client: Pick<BatchClient, 'call' | 'supports' | 'learnIdempotency'>,
  { rows, paired }: { rows: RowsIn; paired: Paired },
): Promise<Paired> {
  const { drop } = store
  const fresh = await store.read((sql) =>
    vanishedRows(sql, drop, rows).length === 0 ? [] : freshRows(sql, drop, rows, drop.setId),
  )
  if (fresh.length === 0) return paired
  if (client.supports('references') === null) await client.learnIdempotency({ signal: options.signal })
  if (client.supports('references') !== true) return paired
  const referenceOf = ({ key, reference }: (typeof fresh)[number]) => referenceId(drop.referenceScope, reference ?? key)
  const nfts = await new ServerNames(client, options).nftsOf(fresh.map(referenceOf))
  const onServer = fresh.filter((row) => nfts.has(referenceOf(row))).map(({ position }) => position)
  return { ...paired, positions: new Set([...paired.positions, ...onServer]) }
}

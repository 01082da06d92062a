import { freshRows } from '../../state/edited-rows.ts'
import type { RowsIn } from '../../state/rows.ts'
import { missingRows, type Paired } from '../rows/edited-rows.ts'
import { isContentKey, referenceOf } from '../rows/row-key.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { ServerNames } from './server-names.ts'

/**
 * Adds the rows that are new to this machine, and that the server knows by their reference IDs: another machine has
 * minted them, so they are no edits of rows that left the manifest. If other rows are new, it also adds the rows that
 * left the manifest and whose NFTs failed or were burned.
 */
export async function withMintedElsewhere(
  store: RunStore,
  options: Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'signal'>,
  client: Pick<BatchClient, 'call' | 'supports' | 'learnIdempotency'>,
  { rows, paired }: { rows: RowsIn; paired: Paired },
): Promise<Paired> {
  const { drop } = store
  const missing = await store.read((sql) => missingRows(sql, drop, rows, paired))
  const all = missing.length === 0 ? [] : await store.read((sql) => freshRows(sql, drop, rows, drop.setId))
  const fresh = all.filter(({ position }) => !paired.positions.has(position))
  if (fresh.length === 0) return paired
  const server = new ServerNames(client, options)
  if (client.supports('references') === null) await client.learnIdempotency({ signal: options.signal })
  const names = new Map(fresh.map((row) => [row, referenceOf(drop, row)]))
  const nfts = client.supports('references') === true ? await server.nftsOf([...names.values()]) : new Map()
  // A row with the reference ID of a row that left the manifest is an edit of it: for example, it got another file.
  const own = new Set<unknown>(missing.flatMap(({ key, nft }) => (isContentKey(key) ? [nft] : [])))
  const known = [...names].flatMap(([{ position }, name]) =>
    nfts.has(name) && !own.has(nfts.get(name)) ? position : [],
  )
  const positions = new Set([...paired.positions, ...known])
  if (known.length === fresh.length) return { ...paired, positions }
  const ended = await server.endedOf(missing.flatMap(({ nft }) => nft ?? []))
  const endedRows = missing.filter(({ nft }) => ended.has(nft ?? '')).map(({ id }) => id)
  return { operations: new Set([...paired.operations, ...endedRows]), positions }
}

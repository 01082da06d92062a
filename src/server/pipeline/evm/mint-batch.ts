import { encodeGrant, encodeMint, MAX_BATCH, type MintRun } from '../../chain/evm/collection.ts'
import type { CurrentFees } from '../../chain/evm/cost/network-fees.ts'
import { isTooExpensive } from '../../chain/evm/cost/run-fee.ts'
import { grantGasLimit, mintGasLimit } from '../../chain/evm/gas-limits.ts'
import type { Hex } from '../../chain/evm/network.ts'
import type { BuiltDirectory } from '../../storage/directory.ts'
import type { CollectionRow } from '../../store/collections.ts'
import { listMintable } from '../../store/nfts.ts'
import { type LimitedRun, limitedRuns, runsOfRequests } from '../../store/run-costs.ts'
import type { Db } from '../../store/schema.ts'
import { batchDirectory } from '../metadata-file.ts'

/** Maximum gas of one batch. Networks limit a transaction to 16.78 million (EIP-7825). */
export const MAX_BATCH_GAS = 10_000_000n

type Mintable = Awaited<ReturnType<typeof listMintable>>[number]

/** NFTs that one transaction mints. */
export interface MintBatch {
  nfts: readonly Mintable[]
  kind: 'mint' | 'grant'
  startId: bigint
  directory: BuiltDirectory
  data: Hex
  gas: bigint
  /** Whether more NFTs are pending than one transaction can mint. */
  isFull: boolean
  /** Their run, if it has a limit. */
  run: LimitedRun | null
}

/**
 * Returns the next batch of a collection, as much as one transaction can mint; null if nothing is pending. NFTs with a
 * transfer in the same step need another call, with one sender at a time, and so do dynamic ones. A batch therefore ends
 * where the kind or the sender changes, so that a collection's NFTs are minted in the order of acceptance. NFTs of a run
 * with a limit have transactions of their own. Those of a run that waits for cheaper blocks let the others pass.
 *
 * @param payable gas that the signer can pay for
 * @param current fees that runs wait for; null if no run has a limit
 */
export async function nextBatch(
  db: Db,
  collection: CollectionRow,
  payable: bigint,
  current: CurrentFees | null,
): Promise<MintBatch | null> {
  const locked = collection.is_locked === 1
  const limit = collection.batch_limit ?? MAX_BATCH
  const except = current === null ? [] : await waitingRuns(db, collection.id, current)
  const rows = await listMintable(db, collection.id, limit, { except })
  const { nfts: ofRun, run } = await ofOneRun(db, collection.id, ofOneKind(rows))
  const nfts = fitIntoGas(ofRun, payable, locked)
  const [first] = nfts
  if (first === undefined) return null
  const directory = await batchDirectory(nfts)
  const startId = BigInt(collection.next_token_id)
  const call = { startId, digest: directory.digest }
  const data =
    first.sender === null
      ? encodeMint({ ...call, runs: toRuns(nfts), dynamic: first.dynamic === 1 && collection.dynamic === 0 })
      : encodeGrant({ ...call, sender: first.sender as Hex, receivers: receiversOf(nfts) })
  const kind = first.sender === null ? 'mint' : 'grant'
  const isFull = nfts.length < rows.length || rows.length === limit
  return { nfts, kind, startId, directory, data, gas: gasOf(nfts, locked), isFull, run }
}

/** Returns the runs that wait for cheaper blocks. */
async function waitingRuns(db: Db, collectionId: string, current: CurrentFees): Promise<string[]> {
  const limited = await limitedRuns(db, collectionId)
  return limited.filter(({ max_fee }) => isTooExpensive(max_fee, current)).map(({ run }) => run)
}

/** Groups consecutive NFTs with the same receiver, as the contract requires. */
export function toRuns(batch: readonly Pick<Mintable, 'receiver'>[]): MintRun[] {
  const runs: MintRun[] = []
  for (const { receiver } of batch) {
    const last = runs.at(-1)
    if (last?.receiver === receiver) last.count += 1
    else runs.push({ receiver: receiver as Hex, count: 1 })
  }
  return runs
}

/**
 * Returns the first rows that fit into one call: NFTs that are only minted, dynamic ones, or those with the same first
 * owner.
 */
export function ofOneKind<Row extends Pick<Mintable, 'sender' | 'dynamic'>>(rows: readonly Row[]): readonly Row[] {
  const [first] = rows
  const end = rows.findIndex((row) => row.sender !== first?.sender || row.dynamic !== first?.dynamic)
  return end === -1 ? rows : rows.slice(0, end)
}

/** Returns the first rows of a run with a limit, or those before one. */
async function ofOneRun(
  db: Db,
  collectionId: string,
  rows: readonly Mintable[],
): Promise<{ nfts: readonly Mintable[]; run: LimitedRun | null }> {
  const runs = await limitedRunsOf(db, collectionId, rows)
  const [run = null] = runs
  const end = runs.findIndex((other) => other !== run)
  return { nfts: end === -1 ? rows : rows.slice(0, end), run }
}

/** Returns the run of each row; null without a limit. */
export async function limitedRunsOf(
  db: Db,
  collectionId: string,
  rows: readonly Pick<Mintable, 'request_id'>[],
): Promise<(LimitedRun | null)[]> {
  const limited = rows.length === 0 ? [] : await limitedRuns(db, collectionId)
  if (limited.length === 0) return rows.map(() => null)
  const names = await runsOfRequests(db, [...new Set(rows.map(({ request_id }) => request_id))])
  return rows.map(({ request_id }) => limited.find(({ run }) => run === names.get(request_id)) ?? null)
}

const receiversOf = (batch: readonly Mintable[]) => batch.map(({ receiver }) => receiver as Hex)

function gasOf(batch: readonly Mintable[], locked: boolean): bigint {
  const granted = batch.some(({ sender }) => sender !== null)
  return granted ? grantGasLimit(receiversOf(batch)) : mintGasLimit(toRuns(batch), locked, batch[0]?.dynamic === 1)
}

function fitIntoGas(rows: readonly Mintable[], payable: bigint, locked: boolean): readonly Mintable[] {
  const most = payable < MAX_BATCH_GAS ? payable : MAX_BATCH_GAS
  let batch = rows
  while (batch.length > 1 && gasOf(batch, locked) > most) {
    batch = batch.slice(0, Math.ceil(batch.length * 0.9) - 1)
  }
  return batch
}

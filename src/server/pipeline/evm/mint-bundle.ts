import { zeroHash } from 'viem'
import { encodeGrant, encodeMint, MAX_TOKENS_PER_CALL, type ReceiverGroup } from '../../chain/evm/collection.ts'
import { isTooExpensive } from '../../chain/evm/cost/run-fee.ts'
import { grantGasLimit, mintGasLimit } from '../../chain/evm/gas-limits.ts'
import type { Fees, Hex } from '../../chain/evm/network.ts'
import type { CurrentFees } from '../../chain/fees.ts'
import type { BuiltDirectory } from '../../storage/directory.ts'
import { type CollectionRow, findCollectionById } from '../../store/collections.ts'
import { firstSeqInBucket, listBuckets } from '../../store/explorer-counts.ts'
import { listMintable } from '../../store/nfts.ts'
import { type CostLimitedRun, type LimitedRun, limitedRuns } from '../../store/run-costs.ts'
import type { Db } from '../../store/schema.ts'
import { countMintableTokens } from '../../store/supply.ts'
import { buildMintDirectory } from '../metadata-file.ts'
import { computeFeesWithinLimits, findCostWaitReason } from './limit-fees.ts'
import { takeRowsOfOneRun } from './limited-runs.ts'

/** Maximum gas of one bundle. Networks limit a transaction to 16.78 million (EIP-7825). */
export const MAX_BUNDLE_GAS = 10_000_000n

type MintableNft = Awaited<ReturnType<typeof listMintable>>[number]

/** NFTs that one transaction mints. */
export interface MintBundle {
  nfts: readonly MintableNft[]
  kind: 'mint' | 'grant'
  startId: bigint
  directory: BuiltDirectory
  data: Hex
  gas: bigint
  /** Whether pending NFTs may remain outside this bundle. */
  isFull: boolean
  /** The run of the NFTs, if it has a limit. */
  run: LimitedRun | null
}

/** The fees and funds that limit a bundle. */
interface MintBudget {
  /** Amount of gas that the signer can pay for. */
  payableGas: bigint
  /** Suggested fees, before the limit of a run is applied. */
  fees: Fees
  /** The current fees, with which the limits of runs are compared; null if no run has a limit. */
  current: CurrentFees | null
}

/**
 * Returns the largest bundle that the collection's next transaction can mint; null if nothing can be minted. NFTs that
 * are transferred in the same transaction need a separate call for each sender, and so do dynamic NFTs. To keep the
 * order of acceptance, a bundle ends where the kind or the sender changes. NFTs of a run with a limit get separate
 * transactions. While a run waits because of its limits, later NFTs that don't belong to it are minted first.
 */
export async function nextBundle(
  db: Db,
  collection: CollectionRow,
  { payableGas, fees, current }: MintBudget,
): Promise<MintBundle | null> {
  const skippedRuns = current === null ? [] : await waitingRuns(db, collection.id, current)
  for (;;) {
    const draft = await draftBundle(db, collection, payableGas, { except: skippedRuns })
    if (draft === null) return null
    const { run, call, ...bundle } = draft
    // The run waits until fees fall, or until one of its pending transactions costs less than its reserved maximum.
    if (run !== null && current !== null && (await computeFeesWithinLimits(db, run, draft, fees, current)) === null) {
      skippedRuns.push(run.run)
      continue
    }
    const directory = await buildMintDirectory(bundle.nfts)
    return { ...bundle, run, directory, data: call(directory.digest) }
  }
}

/** A bundle whose metadata directory isn't built yet. */
type BundleDraft = Omit<MintBundle, 'directory'> & { call: (digest: Hex) => Hex }

/** A placeholder with the length of a digest. */
const DIGEST_PLACEHOLDER = zeroHash

async function draftBundle(
  db: Db,
  collection: CollectionRow,
  payableGas: bigint,
  filter: Parameters<typeof listMintable>[3],
): Promise<BundleDraft | null> {
  const locked = collection.is_locked === 1
  const limit = Math.min(collection.batch_limit ?? MAX_TOKENS_PER_CALL, countMintableTokens(collection))
  if (limit === 0) return null
  const rows = await listMintable(db, collection.id, limit, filter)
  const { rows: ofRun, run } = await takeRowsOfOneRun(db, collection.id, takeRowsOfOneKind(rows))
  const nfts = fitIntoGas(ofRun, payableGas, locked)
  const [first] = nfts
  if (first === undefined) return null
  const startId = BigInt(collection.next_token_id)
  const { sender } = first
  const call = (digest: Hex) =>
    sender === null
      ? encodeMint({
          startId,
          digest,
          groups: groupByReceiver(nfts),
          dynamic: first.dynamic === 1 && collection.dynamic === 0,
        })
      : encodeGrant({ startId, digest, sender: sender as Hex, receivers: toReceivers(nfts) })
  const kind = sender === null ? 'mint' : 'grant'
  const isFull = nfts.length < rows.length || rows.length === limit
  return { nfts, kind, startId, data: call(DIGEST_PLACEHOLDER), call, gas: computeGasLimit(nfts, locked), isFull, run }
}

/** Returns the runs whose gas price limit is below the current fees. */
async function waitingRuns(db: Db, collectionId: string, current: CurrentFees): Promise<string[]> {
  const limited = await limitedRuns(db, collectionId)
  return limited.filter(({ max_fee }) => isTooExpensive(max_fee, current)).map(({ run }) => run)
}

/** Returns why a run's cost limit blocks the run's next NFTs. Returns null if the limit doesn't block them. */
export async function findMintWaitReason(
  db: Db,
  run: CostLimitedRun,
  fees: Fees,
  current: CurrentFees,
): Promise<string | null> {
  const collection = await findCollectionById(db, run.collection_id)
  const buckets = await listBuckets(db, { collectionId: run.collection_id, run: run.run })
  const first = buckets.find(({ waiting }) => waiting > 0)
  if (collection === null || first === undefined) return null
  const filter = { only: run.run, after: firstSeqInBucket(first.bucket) - 1 }
  const draft = await draftBundle(db, collection, MAX_BUNDLE_GAS, filter)
  return draft && (await findCostWaitReason(db, run, draft, fees, current))
}

/** Groups consecutive NFTs with the same receiver, as the contract requires. */
export function groupByReceiver(bundle: readonly Pick<MintableNft, 'receiver'>[]): ReceiverGroup[] {
  const groups: ReceiverGroup[] = []
  for (const { receiver } of bundle) {
    const last = groups.at(-1)
    if (last?.receiver === receiver) last.count += 1
    else groups.push({ receiver: receiver as Hex, count: 1 })
  }
  return groups
}

/**
 * Returns the first rows that can share one call: only plain mints, only dynamic NFTs, or only NFTs with the same
 * sender.
 */
export function takeRowsOfOneKind<Row extends Pick<MintableNft, 'sender' | 'dynamic'>>(
  rows: readonly Row[],
): readonly Row[] {
  const [first] = rows
  const end = rows.findIndex((row) => row.sender !== first?.sender || row.dynamic !== first?.dynamic)
  return end === -1 ? rows : rows.slice(0, end)
}

const toReceivers = (bundle: readonly MintableNft[]) => bundle.map(({ receiver }) => receiver as Hex)

function computeGasLimit(bundle: readonly MintableNft[], locked: boolean): bigint {
  const granted = bundle.some(({ sender }) => sender !== null)
  return granted
    ? grantGasLimit(toReceivers(bundle))
    : mintGasLimit(groupByReceiver(bundle), locked, bundle[0]?.dynamic === 1)
}

function fitIntoGas(rows: readonly MintableNft[], payableGas: bigint, locked: boolean): readonly MintableNft[] {
  const maxGas = payableGas < MAX_BUNDLE_GAS ? payableGas : MAX_BUNDLE_GAS
  let bundle = rows
  while (bundle.length > 1 && computeGasLimit(bundle, locked) > maxGas) {
    bundle = bundle.slice(0, Math.ceil(bundle.length * 0.9) - 1)
  }
  return bundle
}

import { isSameAddress } from '../api/same-address.ts'
import { replaceRowPart, rowTexts } from '../batch/rows/row-text.ts'
import type { BatchClient, BatchOptions } from '../batch/types.ts'
import { openState } from '../state/open-state.ts'
import { isUnrecorded, type NftState, recordChangedNft, recordedRow } from '../state/row-outcomes.ts'
import type { NftChange } from './compare.ts'
import { type NftSource, readCandidates } from './find-nfts.ts'
import type { ChangePlan, PlannedRun } from './planned.ts'
import { toNftState } from './seen-nfts.ts'

type Options = Pick<BatchOptions, 'stateDir' | 'contractAddress' | 'blockchain' | 'signal'>

const PAGE_SIZE = 200

/**
 * Updates the state with the NFTs that were changed before this plan.
 *
 * @returns the number of NFTs whose changes to match the manifest weren't recorded
 */
export async function recordSeenNfts(options: Options, plan: ChangePlan): Promise<number> {
  return await recordNfts(options, plan.run, plan.seen())
}

/** Updates the state with the NFTs that this plan changed. */
export async function recordMadeChanges(
  options: Options,
  client: Pick<BatchClient, 'call'>,
  plan: ChangePlan,
): Promise<void> {
  const { contractAddress, blockchain, signal } = options
  const source: NftSource = { client, contractAddress, blockchain, signal, hasReferences: true, hasUpdates: true }
  await recordNfts(options, plan.run, nftsToChange(source, plan))
}

/**
 * Updates the state with the current NFTs of a run. Does nothing if this machine has no record of the run.
 *
 * @returns the number of NFTs whose changes to match the manifest weren't recorded
 */
export async function recordNfts(
  { stateDir }: Pick<Options, 'stateDir'>,
  run: PlannedRun,
  pages: AsyncIterable<NftState[]>,
): Promise<number> {
  if (!run.isKnown) return 0
  let unrecorded = 0
  let state: Awaited<ReturnType<typeof openState>> | null = null
  try {
    for await (const page of pages) {
      state ??= await openState(stateDir)
      unrecorded += await state.write((sql) => {
        let count = 0
        for (const { has, ...nft } of page) {
          const { nftGdnId, body: row } = nft
          const before = row === null || has === 'all' ? null : recordedRow(sql, run.id, nftGdnId)
          const body = row === null || has === 'all' ? row : before && replaceRowPart(before, row, has)
          if (isUnrecorded(sql, run.id, { ...nft, body })) count++
          recordChangedNft(sql, run.id, { ...nft, body })
        }
        return count
      })
    }
    return unrecorded
  } finally {
    state?.close()
  }
}

interface ChangedNft {
  nftGdnId: string
  changes: readonly NftChange[]
  /** The receiver in the NFT's row; null for a burn. `body` contains the row. */
  receiver: string | null
  body: Uint8Array | null
}

/** Yields the NFTs that the plan changes, as the server currently has them. */
async function* nftsToChange(source: NftSource, plan: ChangePlan): AsyncGenerator<NftState[]> {
  let waiting: ChangedNft[] = []
  const read = async (): Promise<NftState[]> => {
    const records = await readCandidates(source, waiting)
    const nftsNow = waiting.flatMap(({ nftGdnId, changes, receiver, body }) => {
      const nft = records.get(nftGdnId)
      if (nft === undefined) return []
      const owner = nft.receiver_wallet_address
      const isMade = ({ action, revision }: NftChange) =>
        action === 'update'
          ? (nft.revision ?? 0) > (revision ?? 0)
          : action === 'transfer' && owner != null && receiver !== null && isSameAddress(owner, receiver)
      return [
        toNftState(
          nft,
          body,
          changes.filter((change) => !isMade(change)),
        ),
      ]
    })
    waiting = []
    return nftsNow
  }
  for await (const changed of changedNfts(plan)) {
    waiting.push(changed)
    if (waiting.length === PAGE_SIZE) yield await read()
  }
  if (waiting.length > 0) yield await read()
}

async function* changedNfts(plan: ChangePlan): AsyncGenerator<ChangedNft> {
  for await (const { row, changes } of plan.rows()) {
    const nftGdnId = changes.find(({ action }) => action === 'update' || action === 'transfer')?.nftGdnId ?? null
    if (nftGdnId === null) continue
    yield { nftGdnId, changes, receiver: row.row.receiver, body: Buffer.from(rowTexts(row.row).kept) }
  }
  for await (const { action, nftGdnId } of plan.burns()) {
    if (action === 'burn' && nftGdnId !== null) yield { nftGdnId, changes: [], receiver: null, body: null }
  }
}

import { rowTexts } from '../batch/row-text.ts'
import type { BatchClient, BatchOptions } from '../batch/types.ts'
import { openState } from '../state/open-state.ts'
import { type NftNow, noteChanged } from '../state/row-outcomes.ts'
import { type Place, readRecords } from './find-nfts.ts'
import type { ChangePlan } from './planned.ts'
import { nowOf } from './seen-nfts.ts'

type Options = Pick<BatchOptions, 'stateDir' | 'contractAddress' | 'blockchain' | 'signal'>

const PAGE = 200

/** Records in the state what the NFTs of a plan are after changes that were made before. */
export async function noteSeen(options: Options, plan: ChangePlan): Promise<void> {
  await note(options, plan, plan.seen())
}

/** Records in the state what the NFTs of a plan are after its changes were made. */
export async function noteMade(options: Options, client: Pick<BatchClient, 'call'>, plan: ChangePlan): Promise<void> {
  const { contractAddress, blockchain, signal } = options
  const place: Place = { client, contractAddress, blockchain, signal, hasReferences: true, hasUpdates: true }
  await note(options, plan, madeOf(place, plan))
}

async function note({ stateDir }: Options, { run }: ChangePlan, pages: AsyncIterable<NftNow[]>): Promise<void> {
  if (!run.isKnown) return
  let state: Awaited<ReturnType<typeof openState>> | null = null
  try {
    for await (const page of pages) {
      state ??= await openState(stateDir)
      await state.write((sql) => {
        for (const nft of page) noteChanged(sql, run.id, nft)
      })
    }
  } finally {
    state?.close()
  }
}

interface Changed {
  nftGdnId: string
  /** The revision that an update replaced; null without one. */
  replaced: number | null
  body: Uint8Array | null
}

/** Yields the NFTs that the plan changes, as they are now. */
async function* madeOf(place: Place, plan: ChangePlan): AsyncGenerator<NftNow[]> {
  let waiting: Changed[] = []
  const read = async (): Promise<NftNow[]> => {
    const records = await readRecords(place, waiting)
    const now = waiting.flatMap(({ nftGdnId, replaced, body }) => {
      const nft = records.get(nftGdnId)
      return nft === undefined ? [] : [nowOf(nft, replaced === null || (nft.revision ?? 0) > replaced ? body : null)]
    })
    waiting = []
    return now
  }
  for await (const one of changedOf(plan)) {
    waiting.push(one)
    if (waiting.length === PAGE) yield await read()
  }
  if (waiting.length > 0) yield await read()
}

async function* changedOf(plan: ChangePlan): AsyncGenerator<Changed> {
  for await (const { row, changes } of plan.rows()) {
    const made = changes.filter(({ action }) => action === 'update' || action === 'transfer')
    const nftGdnId = made[0]?.nftGdnId ?? null
    if (nftGdnId === null) continue
    const update = made.find(({ action }) => action === 'update')
    const isLike = changes.every(({ action, want }) => action === want)
    yield {
      nftGdnId,
      replaced: update === undefined ? null : (update.revision ?? 0),
      body: isLike ? Buffer.from(rowTexts(row.row).kept) : null,
    }
  }
  for await (const { action, nftGdnId } of plan.burns()) {
    if (action === 'burn' && nftGdnId !== null) yield { nftGdnId, replaced: null, body: null }
  }
}

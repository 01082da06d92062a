import * as z from 'zod'
import { GdnError } from '../../core/errors.ts'
import { IDS_PER_CALL, type Nft, nftsAnswer } from '../nft-record.ts'
import type { BatchClient, BatchOptions, ReadEndpoint } from '../types.ts'

/** Who asks: a run, or what comes before it. */
export interface Asker {
  client: BatchClient
  /** Leave to ask; null when there is nothing to be asked any more. */
  take(endpoint: ReadEndpoint): Promise<{ done(): void } | null>
  signal: AbortSignal | undefined
}

type Collection = Pick<BatchOptions, 'contractAddress' | 'blockchain'>

const idsAnswer = z.looseObject({ nft_gdn_ids: z.array(z.string()) })

/**
 * The ids of a collection, each once; null when the run was stopped meanwhile.
 *
 * @throws GdnError
 */
export async function listIds(asker: Asker, { contractAddress, blockchain }: Collection): Promise<Set<string> | null> {
  const request = { contract_addresses: contractAddress, blockchain }
  const answer = await ask(asker, 'getnftgdnids', idsAnswer, (options) =>
    asker.client.call('getnftgdnids', request, options),
  )
  return answer === null ? null : new Set(answer.nft_gdn_ids)
}

/**
 * Reads NFTs so many at a time that none of them need be kept. The server leaves out what it doesn't know.
 *
 * @param onChunk told of each answer and how many ids were asked for so far
 * @returns whether it came to the end; false when the run was stopped
 * @throws GdnError
 */
export async function readNfts(
  asker: Asker,
  ids: readonly string[],
  onChunk: (nfts: readonly Nft[], done: number) => void,
): Promise<boolean> {
  for (let from = 0; from < ids.length; from += IDS_PER_CALL) {
    const chunk = ids.slice(from, from + IDS_PER_CALL)
    const answer = await ask(asker, 'getnfts', nftsAnswer, (options) =>
      asker.client.call('getnfts', { nft_gdn_ids: chunk }, options),
    )
    if (answer === null) return false
    const wanted = new Set(chunk)
    // What wasn't asked for is nothing that could be relied on.
    onChunk(
      answer.nfts.filter(({ nft_gdn_id }) => wanted.delete(nft_gdn_id)),
      from + chunk.length,
    )
  }
  return true
}

async function ask<Answer>(
  { take, signal }: Asker,
  endpoint: ReadEndpoint,
  schema: z.ZodType<Answer>,
  call: (options: { signal: AbortSignal | undefined }) => Promise<unknown>,
): Promise<Answer | null> {
  const slot = await take(endpoint)
  if (slot === null) return null
  try {
    const parsed = schema.safeParse(await call({ signal }))
    if (parsed.success) return parsed.data
    throw new GdnError('bad_answer', `the server answered ${endpoint} with something else than the API says`)
  } catch (error) {
    if (signal?.aborted === true) return null
    throw error
  } finally {
    slot.done()
  }
}

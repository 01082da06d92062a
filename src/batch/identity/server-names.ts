import { MAX_IDS_PER_REQUEST } from '../../api/endpoints/getnfts.ts'
import { MAX_REFERENCES_PER_REQUEST } from '../../api/endpoints/getreferences.ts'
import { hasFailed } from '../../api/nft-status.ts'
import type { ResponseOf } from '../../client/api-client.ts'
import { readNftPages } from '../../client/read-records.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { GdnError } from '../../core/errors.ts'
import type { MintOperation } from '../../state/row-requests.ts'
import { rowKey, rowReferenceId } from '../rows/row-key.ts'
import type { BatchClient, BatchOptions } from '../types.ts'

export const MINT_OPERATIONS: readonly MintOperation[] = ['createnft', 'createnfttrans']

export type ReferenceRecord = ResponseOf<'getreferences'>['references'][number]

/** The record of a reference ID that belongs to an NFT. */
export type MintRecord = ReferenceRecord & { operation: MintOperation; nft_gdn_id: string }

interface ReferenceQuery<Operation = MintOperation> {
  operation: Operation
  reference: string
}

/** An NFT that was minted from one of several equal rows. */
export interface MintedCopy extends ReferenceQuery {
  content: string
  copy: number
  nftGdnId: string
  label: string | null
}

/** Number of copies of the same content that are queried at once, after the first copy was found. */
const COPIES_PER_BATCH = 20

/** Maximum number of pages in one listing. No collection needs this many pages. */
const MAX_PAGES = 10_000

/** Looks up reference IDs and NFTs of a collection, on a server that supports reference IDs. */
export class ReferenceLookup {
  readonly #client: Pick<BatchClient, 'call'>
  readonly #collection: { contract_address: string; blockchain: BatchOptions['blockchain'] }
  readonly #signal: AbortSignal | undefined

  constructor(
    client: Pick<BatchClient, 'call'>,
    {
      contractAddress,
      blockchain,
      signal,
    }: Pick<BatchOptions, 'contractAddress' | 'blockchain'> & { signal?: AbortSignal | undefined },
  ) {
    this.#client = client
    this.#collection = { contract_address: contractAddress, blockchain }
    this.#signal = signal
  }

  /** Returns the records of reference IDs. Omits IDs that a retry may reuse. */
  async lookUp<One extends ReferenceQuery<MintOperation | 'transfernft'>>(
    items: readonly One[],
  ): Promise<Map<One, ReferenceRecord>> {
    const records = new Map<One, ReferenceRecord>()
    for (const operation of new Set(items.map((item) => item.operation))) {
      const all = items.filter((item) => item.operation === operation)
      for (const chunk of chunksOf(all, MAX_REFERENCES_PER_REQUEST)) {
        const page = new Map(chunk.map((item) => [item.reference, item]))
        const { references } = await this.#client.call(
          'getreferences',
          { ...this.#collection, operation, reference_ids: [...page.keys()] },
          { signal: this.#signal },
        )
        for (const record of references) {
          const item = page.get(record.reference_id)
          if (item !== undefined && !record.is_free) records.set(item, record)
        }
      }
    }
    return records
  }

  /**
   * Returns the records of reference IDs that belong to NFTs. Queries both operations, because a row's sender may have
   * been added or removed after the mint.
   */
  async findMints(references: readonly string[]): Promise<Map<string, MintRecord>> {
    const mints = new Map<string, MintRecord>()
    for (const operation of MINT_OPERATIONS) {
      const items = references
        .filter((reference) => !mints.has(reference))
        .map((reference) => ({ operation, reference }))
      for (const [{ reference }, record] of await this.lookUp(items)) {
        const { nft_gdn_id } = record
        if (typeof nft_gdn_id === 'string') mints.set(reference, { ...record, operation, nft_gdn_id })
      }
    }
    return mints
  }

  /** Returns the NFT of each reference ID that has one. */
  async findNfts(references: readonly string[]): Promise<Map<string, string>> {
    return new Map(
      [...(await this.findMints(references))].map(([reference, { nft_gdn_id }]) => [reference, nft_gdn_id]),
    )
  }

  /** Returns the NFTs of reference IDs that were derived from content and have no alias. */
  async findUnaliasedNfts(
    references: readonly string[],
  ): Promise<(ReferenceQuery & { nftGdnId: string; label: string | null })[]> {
    const items = MINT_OPERATIONS.flatMap((operation) => references.map((reference) => ({ operation, reference })))
    return [...(await this.lookUp(items))].flatMap(([item, record]) => {
      const { nft_gdn_id: nftGdnId, reference_kind, reference_alias, reference_label: label = null } = record
      const isFree = reference_kind === 'content' && typeof reference_alias !== 'string'
      return isFree && typeof nftGdnId === 'string' ? [{ ...item, nftGdnId, label }] : []
    })
  }

  /**
   * Returns the NFTs without an alias that were minted from further copies of these contents, in the order of the
   * copies.
   *
   * @param isKnown whether to skip a copy, because its NFT is known
   */
  async findOtherCopies(
    scope: string,
    contents: readonly string[],
    isKnown: (content: string, copy: number) => boolean,
  ): Promise<MintedCopy[]> {
    const copies: MintedCopy[] = []
    let open = contents.map((content) => ({ content, next: 1 }))
    for (let size = 1; open.length > 0; size = COPIES_PER_BATCH) {
      const items: (Omit<MintedCopy, 'nftGdnId' | 'label'> & { series: (typeof open)[number] })[] = []
      for (const series of open) {
        for (let newCopies = 0; newCopies < size; series.next++) {
          if (isKnown(series.content, series.next)) continue
          newCopies++
          const copy = { content: series.content, copy: series.next }
          const reference = rowReferenceId(scope, rowKey(null, copy.content, copy.copy))
          items.push(...MINT_OPERATIONS.map((operation) => ({ ...copy, series, operation, reference })))
        }
      }
      const counts = new Map<(typeof open)[number], number>()
      for (const [{ series, ...copy }, record] of await this.lookUp(items)) {
        const { nft_gdn_id: nftGdnId, reference_alias, reference_label: label = null } = record
        counts.set(series, (counts.get(series) ?? 0) + 1)
        if (typeof nftGdnId === 'string' && typeof reference_alias !== 'string')
          copies.push({ ...copy, nftGdnId, label })
      }
      const asMany = size
      open = open.filter((series) => (counts.get(series) ?? 0) >= asMany)
    }
    return copies.sort((a, b) => a.copy - b.copy)
  }

  /**
   * Returns the NFTs that have this label, were minted without an ID, and have no alias.
   *
   * @throws GdnError `bad_answer` if the server's list has no end
   */
  async listUnaliasedNfts(reference_label: string): Promise<(ReferenceQuery & { nftGdnId: string })[]> {
    const nfts = new Map<string, ReferenceQuery & { nftGdnId: string }>()
    for (const operation of MINT_OPERATIONS) {
      let after: string | undefined
      let pages = 0
      do {
        if (++pages > MAX_PAGES) throw new GdnError('bad_answer', 'getcontentreferences returned an endless list')
        const { references, next } = await this.#client.call(
          'getcontentreferences',
          { ...this.#collection, operation, reference_label, after },
          { signal: this.#signal },
        )
        for (const { reference_id: reference, nft_gdn_id: nftGdnId } of references) {
          nfts.set(nftGdnId, { operation, reference, nftGdnId })
        }
        // Stop if the cursor doesn't advance, because the loop would never end.
        after = next !== null && next > (after ?? '') ? next : undefined
      } while (after !== undefined)
    }
    return [...nfts.values()]
  }

  /** Returns the NFTs that failed or were burned. */
  async findEndedNfts(nfts: readonly string[]): Promise<Set<string>> {
    const ended = new Set<string>()
    const pages = readNftPages({ client: this.#client, signal: this.#signal }, nfts, MAX_IDS_PER_REQUEST)
    for await (const { nfts: page } of pages) {
      for (const nft of page) if (nft.burned === true || hasFailed(nft.status)) ended.add(nft.nft_gdn_id)
    }
    return ended
  }
}

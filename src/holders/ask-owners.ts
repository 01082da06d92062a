import type { Blockchain } from '../api/blockchains.ts'
import type { ApiClient, ResponseOf } from '../client/api-client.ts'
import { backoffMs } from '../core/backoff.ts'
import { GdnError } from '../core/errors.ts'
import { type Block, readBlockAt } from '../verify/block-at.ts'
import { NOT_CHECKED_NOTE } from './check.ts'
import { compareWithContract, type ReadHoldersOptions, type Reading } from './read-holders.ts'
import type { Change } from './transfers.ts'

export interface OwnersOptions
  extends Pick<ReadHoldersOptions, 'reader' | 'store' | 'contract' | 'sleep' | 'signal' | 'update'> {
  client: Pick<ApiClient, 'call'>
  blockchain: Blockchain
  /** The newest block of a chain without reorgs. Each restart replaces the block with the newest one. */
  block: Block
  /** Maximum number of NFTs per page. Default: the server's maximum. */
  pageSize?: number | undefined
}

/** Number of restarts after which gdn reads the owners from logs instead. */
const MAX_RESTARTS = 3
const BACKOFF = { firstMs: 200, maxMs: 1000 }

/**
 * Reads the owners of a collection from its backend into the store, and compares them with the contract. Restarts if
 * the chain gets a new block in the meantime, or if the backend has not read the newest block yet. Returns null after 3
 * restarts.
 *
 * @throws GdnError `verify_failed` if the contract differs; the errors of `call`
 */
export async function requestOwners(options: OwnersOptions): Promise<Reading | null> {
  const { reader, block, sleep, signal } = options
  for (let restart = 0; ; restart++) {
    if (await readPages(options)) {
      const checkNote = await compareWithContract(options, 'erc721', [])
      // An embedded chain stores only the state of its newest block, so the check isn't possible after a new block.
      if (checkNote !== NOT_CHECKED_NOTE) return { standard: 'erc721', checkNote }
    }
    if (restart === MAX_RESTARTS) return null
    await sleep(backoffMs(restart + 1, BACKOFF), signal)
    Object.assign(block, await readBlockAt(reader, 'latest'))
  }
}

/** Reads all pages. Returns false if the pages don't contain the owners at the block. */
async function readPages(options: OwnersOptions): Promise<boolean> {
  const { client, store, contract, blockchain, block, signal, update, pageSize } = options
  // With this number, a later read of logs can't resume this read, whose owners may be those of a later block.
  const next = Number.MAX_SAFE_INTEGER
  const state = { contract, block: block.number, hash: block.hash, next, standard: 'erc721' as const }
  store.clear()
  let events = 0
  for (let after: string | null | undefined; after !== null; ) {
    const request = { contract_address: contract, blockchain, after, limit: pageSize }
    const page: ResponseOf<'getnftowners'> = await client.call('getnftowners', request, { signal })
    if (!isPageAtBlock(page, block)) return false
    const changes = page.nfts.flatMap(toChanges)
    events += changes.length
    store.apply(changes, { ...state, doubts: [], events, upgrades: 0 })
    update(`Reading owners: ${events}`)
    after = page.next
  }
  return true
}

/** Returns whether a page reflects all transfers up to the block, and no later transfer of its NFTs. */
function isPageAtBlock(page: ResponseOf<'getnftowners'>, { number, hash }: Block): boolean {
  if (page.block === null || page.block.number < number || page.nfts.some((nft) => nft.block > number)) return false
  return page.block.number > number || page.block.hash.toLowerCase() === hash
}

function toChanges({ token_id, owner }: ResponseOf<'getnftowners'>['nfts'][number]): Change[] {
  if (owner === null) return []
  if (/^[0-9]{1,78}$/.test(token_id) && /^0x[0-9a-f]{40}$/i.test(owner))
    return [{ kind: 'token', token: BigInt(token_id), to: owner.slice(2).toLowerCase() }]
  throw new GdnError('bad_answer', 'the server returned an invalid token ID or owner')
}

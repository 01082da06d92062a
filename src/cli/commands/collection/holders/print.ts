import { checksumAddress } from '../../../../api/address.ts'
import { count } from '../../../../core/count.ts'
import { flagError } from '../../../../core/errors.ts'
import { ownTurn } from '../../../../core/turns.ts'
import { NOT_CHECKED_NOTE } from '../../../../holders/check.ts'
import {
  countAbsentOwners,
  countHolders,
  countListedHolders,
  createTokenIndexes,
  filterHolders,
  type HeldTokens,
  listHeldTokens,
  listHolders,
} from '../../../../holders/holder-table.ts'
import type { Reading } from '../../../../holders/read-holders.ts'
import type { ReadingStore } from '../../../../holders/reading-store.ts'
import type { Block } from '../../../../verify/block-at.ts'
import type { Io } from '../../../io/io.ts'
import { STANDARDS } from '../../../render/contract-text.ts'
import type { DataRecord, Output } from '../../../render/output.ts'

interface ChosenHolders extends Reading {
  block: Block
  store: ReadingStore
  output: Output
  excluded: ReadonlySet<string>
  flags: { min?: bigint; per?: 'token'; tokenId?: bigint; sample?: number; seed?: string }
}

/** Maximum number of tokens per holder in a table on a terminal. */
const SHOWN_TOKENS = 5

const HOLDERS_PER_TURN = 200

/**
 * Prints the holders that the flags select, and a note with the block and the result of the comparison with the
 * contract.
 */
export async function printHolders(
  io: Io,
  { standard, checkNote, block, store, output, excluded, flags }: ChosenHolders,
): Promise<void> {
  const isChecked = checkNote !== NOT_CHECKED_NOTE
  const { min = 1n, per, tokenId, sample, seed = block.hash } = flags
  if (standard === 'erc20' && tokenId !== undefined)
    throw flagError('--token-id', 'the contract is ERC-20, which has no token IDs', 'Omit the flag.')
  if (standard === 'erc20' && per !== undefined)
    throw flagError('--per', 'the contract is ERC-20, which has no token IDs', 'Omit the flag.')
  if (tokenId !== undefined) countHolders(store, tokenId)
  const unknown = countAbsentOwners(store, excluded)
  filterHolders(store, { min, excluded, sample: sample === undefined ? null : { size: sample, seed } })
  const hasTokens = standard !== 'erc20' && output.mode !== 'ids'
  if (hasTokens || per !== undefined) createTokenIndexes(store)
  const holders = countListedHolders(store)
  await output.many(records())
  if (unknown === 1) io.note("1 of the excluded addresses isn't a holder.")
  if (unknown > 1) io.note(`${unknown} of the excluded addresses aren't holders.`)
  const time = new Date(block.time).toISOString().replace('.000Z', 'Z')
  io.note(
    `${count(holders, 'holder')} of this ${STANDARDS[standard]} contract at block ${block.number} (${block.hash}, ${time}).`,
  )
  const text = `Comparison with the contract: ${checkNote}.`
  if (isChecked) io.note(text)
  else io.warn(text)

  function* heldBy(owner: string): Generator<HeldTokens> {
    if (tokenId === undefined) yield* listHeldTokens(store, standard, owner)
    else
      for (const tokens of listHeldTokens(store, standard, owner))
        if (tokens.first <= tokenId && tokenId <= tokens.last) yield pickToken(tokens, tokenId)
  }

  async function* records(): AsyncGenerator<DataRecord> {
    const at = { block_number: block.number, block_hash: block.hash, is_checked: isChecked }
    let printed = 0
    for (const { owner, count } of listHolders(store)) {
      // libsql frees its results only between turns of the event loop. Without this pause, a million holders would need
      // gigabytes.
      if (++printed % HOLDERS_PER_TURN === 0) await ownTurn()
      const receiver = checksumAddress(`0x${owner}`)
      if (per === 'token') {
        for (const tokens of heldBy(owner)) {
          yield { receiver, count: String(tokens.amount), token_ids: shownTokens([formatTokenRange(tokens)]), ...at }
        }
      } else {
        const tokens = hasTokens ? { token_ids: shownTokens(Array.from(heldBy(owner), formatTokenRange)) } : {}
        yield { receiver, count: String(count), ...tokens, ...at }
      }
    }
  }

  /** Returns the tokens as a list, or as text in formats that have cells. */
  function shownTokens(tokens: string[]): string | string[] {
    if (output.mode === 'json' || output.mode === 'ndjson') return tokens
    if (output.mode !== 'table' || !io.stdoutTty || tokens.length <= SHOWN_TOKENS) return tokens.join(' ')
    return `${tokens.slice(0, SHOWN_TOKENS).join(' ')} … (${tokens.length})`
  }
}

/** Returns one token of a range of held tokens. */
const pickToken = (tokens: HeldTokens, token: bigint): HeldTokens =>
  tokens.first === tokens.last ? tokens : { first: token, last: token, amount: 1n }

const formatTokenRange = ({ first, last }: HeldTokens): string => (first === last ? String(first) : `${first}-${last}`)

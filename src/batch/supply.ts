import { HEADERS, SUPPLY_ERRORS } from '../api/headers.ts'
import type { SendOnceResult } from '../client/outcome.ts'
import { count } from '../core/count.ts'
import { GdnError } from '../core/errors.ts'
import type { BatchClient, BatchOptions } from './types.ts'

type Target = Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'manifestPath' | 'signal'>

type SupplyClient = Pick<BatchClient, 'call' | 'learnCapabilities' | 'supports'>

/** Hint on rows that exceed the maximum supply. */
export const MAX_SUPPLY_HINT = 'Remove rows from the manifest, or mint them in another collection.'

/**
 * Refuses rows that exceed the maximum supply of their collection. The server would also refuse these rows, but only
 * after other rows of the run were minted.
 *
 * @param rows number of rows to mint, excluding rows that the server has accepted
 * @throws GdnError `refused`
 */
export async function checkMaxSupply(client: SupplyClient, target: Target, rows: number): Promise<void> {
  const problem = await findMaxSupplyProblem(client, target, rows)
  if (problem !== null) throw maxSupplyError(problem, target)
}

export const maxSupplyError = (problem: string, { manifestPath }: Pick<Target, 'manifestPath'>): GdnError =>
  new GdnError('refused', problem, {
    place: manifestPath === null ? {} : { file: manifestPath },
    hint: `Nothing was sent. ${MAX_SUPPLY_HINT}`,
  })

/**
 * Returns a message that describes how the rows exceed the maximum supply of their collection, or null if they fit.
 *
 * @param rows number of rows to mint, excluding rows that the server has accepted
 * @param accepted returns how many of these rows the server may have accepted, because their outcome is unknown
 */
export async function findMaxSupplyProblem(
  client: SupplyClient,
  { contractAddress: contract_address, blockchain, signal }: Target,
  rows: number,
  accepted: () => Promise<number> = async () => 0,
): Promise<string | null> {
  if (rows === 0) return null
  if (client.supports('maxSupply') === null) await client.learnCapabilities({ signal })
  if (client.supports('maxSupply') !== true) return null
  const supply = await client.call('getsupply', { contract_address, blockchain }, { signal })
  const { left, max_supply } = supply
  if (left === null || rows <= left) return null
  const toMint = rows - (await accepted())
  if (toMint <= left) return null
  const used = `${supply.minted} minted and ${supply.accepted} accepted`
  const remainingText = left === 0 ? 'none is left' : `only ${left} ${left === 1 ? 'is' : 'are'} left`
  return `there ${toMint === 1 ? 'is' : 'are'} ${count(toMint, 'row')} to mint, but ${remainingText} of the collection's maximum supply of ${max_supply} (${used})`
}

/** Note on rows of an interrupted run that exceed the maximum supply. */
export const EXCESS_ROWS_NOTE = 'Rows beyond the maximum supply will fail'

/** Returns whether the error of a row or NFT is that the collection has reached its maximum supply. */
export const isMaxSupplyError = (error: string): boolean =>
  /none is left of the collection's maximum supply|the collection already has its maximum supply/.test(error)

/** Returns whether a request was refused because it exceeds the maximum supply of its collection. */
export const isMaxSupplyRefusal = (outcome: SendOnceResult): boolean =>
  outcome.kind === 'answered' && outcome.headers[HEADERS.errorCode] === SUPPLY_ERRORS.maxSupply

/**
 * Returns how many rows of a refused request fit into the maximum supply of their collection. Other machines may mint
 * in the same collection.
 */
export async function countRowsWithinSupply(
  client: Pick<BatchClient, 'call'>,
  { contractAddress: contract_address, blockchain, signal }: Target,
  rows: number,
): Promise<number> {
  const { left } = await client.call('getsupply', { contract_address, blockchain }, { signal })
  // Always make the request smaller, even if the remaining supply has increased since the refusal because NFTs failed.
  return Math.min(left ?? 0, rows - 1)
}

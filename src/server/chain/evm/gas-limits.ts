import type { ReceiverGroup } from './collection.ts'
import type { CollectionInit } from './factory.ts'
import type { Hex } from './network.ts'

// These values are upper bounds of the gas that our contracts use, so that a transaction can be signed without a node.
// eth_estimateGas can't be used, because earlier transactions that aren't mined yet will change the state. The bounds
// were measured on anvil with receivers that are new to the chain, which is the most expensive case. A test sends each
// transaction with exactly its limit.

/**
 * A call forwards only 63/64 of its gas (EIP-150) and every collection is a proxy, so the limit must be 1.6 % above the
 * gas used. The rest is a margin for compilers and networks that count slightly differently.
 */
const PROXY_HEADROOM = 1.025
/** Factor for `make`, which also calls the new proxy, so that the 63/64 rule applies twice. */
const MAKE_HEADROOM = 1.045

/**
 * SSTORE fails with 2,300 gas or less left (EIP-2200), even if it uses only 100. If the last write of a call is to a
 * slot that the call has already written, the call therefore needs up to this much more gas than it uses.
 */
const LAST_WRITE_GAS = 2_200

const MINT_BASE_GAS = 61_500
const LOCKED_EVENT_GAS = 1_280
const NEW_RECEIVER_GAS = 22_150
/** Gas for an owner entry. The contract writes one for every 10 tokens of a run. */
const OWNER_ENTRY_GAS = 23_300
const TOKENS_PER_OWNER_ENTRY = 10
const TOKEN_GAS = 1_940
const RUN_CALLDATA_GAS = 600

const GRANT_BASE_GAS = 86_500
const GRANT_TOKEN_GAS = 55_600

// Worst case: the 9th token of a run of 10, with an approval, to a receiver without tokens. The contract reads 8 slots
// and writes three new ones. Clearing the approval refunds gas, but only after the execution.
const TRANSFER_GAS = 136_000

/** Gas for a new slot in the bitmap of dynamic tokens or of frozen tokens. */
const BITMAP_SLOT_GAS = 22_700
/** Gas for the tokens of a `mintDynamic` bundle, which occupy up to two slots. */
const DYNAMIC_BUNDLE_GAS = 2 * BITMAP_SLOT_GAS

// Worst case: no token was ever updated, so every slot of revisions is new.
const UPDATE_BASE_GAS = 61_000
const UPDATE_RUN_GAS = 3_500
/** Additional gas for a run of several tokens. */
const UPDATE_LONG_RUN_GAS = 500
const TOKENS_PER_REVISIONS_SLOT = 10n
const REVISIONS_SLOT_GAS = 22_700
/**
 * Gas to read the bitmaps of dynamic and frozen tokens. A collection that is dynamic as a whole reads only the bitmap
 * of frozen tokens.
 */
const BITMAP_READS_GAS = 4_500
const TOKENS_PER_BITMAP_SLOT = 256n

const FREEZE_BASE_GAS = 39_500
const FREEZE_RUN_GAS = 3_050

// Worst case: the 9th token of a run of 10, with an approval, and the first token that is burned.
const BURN_GAS = 136_500

const COMMIT_PROVENANCE_GAS = 60_000

const MAKE_BASE_GAS = 134_500
const ROYALTY_GAS = 25_000
const STRING_SLOT_GAS = 22_700

const FACTORY_BASE_GAS = 4_330_000
const FACTORY_OPERATOR_GAS = 25_000

/**
 * Returns a sufficient gas limit for `mint` with these groups. For 200 tokens to 200 receivers, the limit is below 10
 * million unless the collection is locked.
 *
 * @param locked whether the collection is locked, which costs one more event per token
 * @param dynamic whether the call is `mintDynamic`
 */
export function mintGasLimit(groups: readonly ReceiverGroup[], locked = true, dynamic = false): bigint {
  return withHeadroom(mintGas(groups, locked, dynamic) + LAST_WRITE_GAS, PROXY_HEADROOM)
}

/** Returns the gas that `mint` with these groups uses, within 1 %, if no receiver has tokens of the collection yet. */
export function mintGas(groups: readonly ReceiverGroup[], locked: boolean, dynamic = false): number {
  const receivers = new Set<string>()
  let used = MINT_BASE_GAS + (dynamic ? DYNAMIC_BUNDLE_GAS : 0)
  for (const { receiver, count } of groups) {
    receivers.add(receiver.toLowerCase())
    used += RUN_CALLDATA_GAS + OWNER_ENTRY_GAS * Math.ceil(count / TOKENS_PER_OWNER_ENTRY) + TOKEN_GAS * count
    if (locked) used += LOCKED_EVENT_GAS * count
  }
  return used + NEW_RECEIVER_GAS * receivers.size
}

/** Returns a sufficient gas limit for `grant` with this number of receivers. */
export function grantGasLimit(receivers: readonly Hex[]): bigint {
  return withHeadroom(grantGas(receivers.length), PROXY_HEADROOM)
}

/** Returns the gas that `grant` uses with this number of new receivers. */
export const grantGas = (receivers: number): number => GRANT_BASE_GAS + GRANT_TOKEN_GAS * receivers

/** Returns a sufficient gas limit for `update` with these tokens. Later updates of the same tokens use less gas. */
export function updateGasLimit(tokenIds: readonly bigint[]): bigint {
  const slots = REVISIONS_SLOT_GAS * countDistinct(tokenIds, (id) => (id - 1n) / TOKENS_PER_REVISIONS_SLOT)
  const reads = BITMAP_READS_GAS * countDistinct(tokenIds, (id) => id / TOKENS_PER_BITMAP_SLOT)
  const runs = UPDATE_RUN_GAS * runsIn(tokenIds) + UPDATE_LONG_RUN_GAS * longRunsIn(tokenIds)
  return withHeadroom(UPDATE_BASE_GAS + runs + slots + reads + LAST_WRITE_GAS, PROXY_HEADROOM)
}

/** Returns a sufficient gas limit for `freeze` with these tokens. */
export function freezeGasLimit(tokenIds: readonly bigint[]): bigint {
  const slots = BITMAP_SLOT_GAS * countDistinct(tokenIds, (id) => id / TOKENS_PER_BITMAP_SLOT)
  return withHeadroom(FREEZE_BASE_GAS + FREEZE_RUN_GAS * runsIn(tokenIds) + slots, PROXY_HEADROOM)
}

/** Gas limit that is sufficient to burn any token of a collection. */
export const BURN_GAS_LIMIT = withHeadroom(BURN_GAS, PROXY_HEADROOM)

/** Gas limit that is sufficient to commit to a provenance hash. */
export const COMMIT_PROVENANCE_GAS_LIMIT = withHeadroom(COMMIT_PROVENANCE_GAS, PROXY_HEADROOM)

/** Gas limit that is sufficient to transfer any token of a collection. */
export const TRANSFER_GAS_LIMIT = withHeadroom(TRANSFER_GAS, PROXY_HEADROOM)

type MakeFacts = Pick<CollectionInit, 'name' | 'symbol' | 'royaltyBps'>

/** Returns a sufficient gas limit to deploy a collection of any version. Only name, symbol and royalty affect it. */
export function makeGasLimit(init: MakeFacts): bigint {
  return withHeadroom(makeGas(init), MAKE_HEADROOM)
}

/** Returns the gas that the deployment of a collection uses. */
export const makeGas = ({ name, symbol, royaltyBps }: MakeFacts): number =>
  MAKE_BASE_GAS + STRING_SLOT_GAS * (stringSlots(name) + stringSlots(symbol)) + (royaltyBps === 0n ? 0 : ROYALTY_GAS)

/** Returns a sufficient gas limit to deploy the factory, including the implementation. */
export function deployFactoryGasLimit(operators: readonly Hex[]): bigint {
  return BigInt(FACTORY_BASE_GAS + FACTORY_OPERATOR_GAS * operators.length)
}

/**
 * Returns the number of storage slots of a Solidity string. A string of up to 31 bytes takes one slot. A longer string
 * takes one slot for its length and one for each 32 bytes.
 */
function stringSlots(text: string): number {
  const bytes = Buffer.byteLength(text)
  return bytes < 32 ? Math.sign(bytes) : 1 + Math.ceil(bytes / 32)
}

const countDistinct = (tokenIds: readonly bigint[], slotOf: (id: bigint) => bigint): number =>
  new Set(tokenIds.map(slotOf)).size

const runsIn = (tokenIds: readonly bigint[]): number => {
  const ids = new Set(tokenIds)
  return tokenIds.filter((id) => !ids.has(id - 1n)).length
}

/** Counts the runs with several tokens by counting the tokens that are second in a run. */
const longRunsIn = (tokenIds: readonly bigint[]): number => {
  const ids = new Set(tokenIds)
  return tokenIds.filter((id) => ids.has(id - 1n) && !ids.has(id - 2n)).length
}

function withHeadroom(used: number, headroom: number): bigint {
  return BigInt(Math.ceil(used * headroom))
}

import { decodeEventLog, encodeEventTopics, zeroAddress } from 'viem'
import { hexQuantity } from '../../../core/hex-quantity.ts'
import { gdnCollection } from './contracts/generated/artifacts.ts'
import type { EvmNetwork, Hex, RawLog } from './network.ts'

const { abi } = gdnCollection
const encodeTopic = (eventName: (typeof EVENTS)[number]) => encodeEventTopics({ abi, eventName })[0]

const EVENTS = [
  'Transfer',
  'OwnershipTransferred',
  'EnableApiChanged',
  'EnableTransferChanged',
  'ServiceRevoked',
  'MetadataFrozen',
  'MaxSupplyChanged',
] as const
/** Topics of the events that change owners, flags and limits. */
export const EVENT_TOPICS = EVENTS.map(encodeTopic)
/** Topics of the ERC-4906 events that updates emit. */
export const updateTopics = (['MetadataUpdate', 'BatchMetadataUpdate'] as const).map(
  (eventName) => encodeEventTopics({ abi, eventName })[0],
)
const [TRANSFER] = EVENT_TOPICS
const ZERO_TOPIC = zeroAddress.slice(2).padStart(64, '0')

/** A change to a collection. Addresses are checksummed. */
export type CollectionChange =
  | { kind: 'transfer'; tokenId: bigint; from: Hex; to: Hex }
  | { kind: 'owner'; previous: Hex; next: Hex }
  | { kind: 'enable_api' | 'enable_transfer'; enabled: boolean }
  | { kind: 'max_supply'; previous: bigint; next: bigint }
  | { kind: 'revoked' | 'frozen' }

export interface CollectionEvent {
  blockNumber: number
  logIndex: number
  transactionHash: Hex
  /** Contract address, in lower case as nodes return it. */
  address: Hex
  change: CollectionChange
}

/**
 * Returns the logs about owners and flags of collections in the blocks `from` to `to`. The query covers every contract
 * on the chain, which is cheaper than a long list of addresses if few other contracts exist.
 */
export async function readCollectionLogs(
  network: Pick<EvmNetwork, 'request'>,
  { from, to }: { from: number; to: number },
): Promise<RawLog[]> {
  const range = { fromBlock: hexQuantity(from), toBlock: hexQuantity(to), topics: [EVENT_TOPICS] }
  return await network.request<RawLog[]>('eth_getLogs', [range])
}

/** The tokens that one transaction minted in one collection, which have consecutive IDs. */
export interface Mint {
  blockNumber: number
  transactionHash: Hex
  /** Contract address, in lower case. */
  address: Hex
  startId: bigint
  count: number
}

/** Returns the mints in a list of logs, one for each transaction and contract. */
export function decodeMints(logs: readonly RawLog[]): Mint[] {
  const mints = new Map<string, Mint>()
  for (const { topics, address, blockNumber, transactionHash } of logs) {
    const tokenId = topics[3]
    if (topics[0] !== TRANSFER || !topics[1]?.endsWith(ZERO_TOPIC) || tokenId === undefined) continue
    const key = `${transactionHash} ${address.toLowerCase()}`
    const id = BigInt(tokenId)
    const mint = mints.get(key)
    if (mint !== undefined) {
      mint.count += 1
      if (id < mint.startId) mint.startId = id
      continue
    }
    const place = { blockNumber: Number(blockNumber), transactionHash, address: address.toLowerCase() as Hex }
    mints.set(key, { ...place, startId: id, count: 1 })
  }
  return [...mints.values()]
}

/**
 * Decodes logs about owners and flags of collections, in chain order. Omits mints and the values that are set at
 * deployment, because the database already has them from this backend's requests.
 */
export function collectionEvents(logs: readonly RawLog[]): CollectionEvent[] {
  const events = logs.flatMap((log) => {
    const change = decodeChange(log)
    if (change === null) return []
    const { transactionHash, address } = log
    const place = { blockNumber: Number(log.blockNumber), logIndex: Number(log.logIndex) }
    return [{ ...place, transactionHash, address: address.toLowerCase() as Hex, change }]
  })
  return events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
}

function decodeChange({ topics, data }: RawLog): CollectionChange | null {
  // Skip mints before decoding, because most events on a busy chain are mints.
  if (topics[0] === TRANSFER && topics[1]?.endsWith(ZERO_TOPIC)) return null
  const event = decodeLog(topics, data)
  if (event === null) return null
  const { eventName, args } = event
  if (eventName === 'Transfer') return { kind: 'transfer', tokenId: args.tokenId, from: args.from, to: args.to }
  if (eventName === 'OwnershipTransferred') {
    const { previousOwner: previous, newOwner: next } = args
    return previous === zeroAddress ? null : { kind: 'owner', previous, next }
  }
  if (eventName === 'EnableApiChanged') return { kind: 'enable_api', enabled: args.enabled }
  if (eventName === 'EnableTransferChanged') return { kind: 'enable_transfer', enabled: args.enabled }
  if (eventName === 'ServiceRevoked') return { kind: 'revoked' }
  if (eventName === 'MaxSupplyChanged') {
    return { kind: 'max_supply', previous: args.previous, next: args.maxSupply }
  }
  return eventName === 'MetadataFrozen' ? { kind: 'frozen' } : null
}

function decodeLog(topics: [Hex, ...Hex[]], data: Hex) {
  try {
    return decodeEventLog({ abi, topics, data })
  } catch {
    // The event has the same signature but different indexed arguments, such as ERC-20's `Transfer`.
    return null
  }
}

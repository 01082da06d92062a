import { decodeEventLog, encodeEventTopics, zeroAddress } from 'viem'
import { gdnCollection } from './contracts/generated/artifacts.ts'
import type { EvmNetwork, Hex, RawLog } from './network.ts'

const { abi } = gdnCollection
const topicOf = (eventName: (typeof EVENTS)[number]) => encodeEventTopics({ abi, eventName })[0]

const EVENTS = [
  'Transfer',
  'OwnershipTransferred',
  'EnableApiChanged',
  'EnableTransferChanged',
  'ServiceRevoked',
] as const
/** Of the events that tell of owners and flags. */
export const TOPICS = EVENTS.map(topicOf)
const [TRANSFER] = TOPICS
const FROM_NOBODY = zeroAddress.slice(2).padStart(64, '0')

/** What changed; addresses are checksummed. */
export type CollectionChange =
  | { kind: 'transfer'; tokenId: bigint; from: Hex; to: Hex }
  | { kind: 'owner'; previous: Hex; next: Hex }
  | { kind: 'enable_api' | 'enable_transfer'; enabled: boolean }
  | { kind: 'revoked' }

export interface CollectionEvent {
  blockNumber: number
  logIndex: number
  transactionHash: Hex
  /** Of the contract; in lower case, as nodes spell it. */
  address: Hex
  change: CollectionChange
}

/**
 * The logs of the blocks `from` to `to` about owners and flags of collections. Every contract on the chain is asked for,
 * strangers' too: cheaper than naming ours where there are many of them and hardly any others.
 */
export async function readCollectionLogs(
  network: Pick<EvmNetwork, 'request'>,
  { from, to }: { from: number; to: number },
): Promise<RawLog[]> {
  const range = { fromBlock: hex(from), toBlock: hex(to), topics: [TOPICS] }
  return await network.request<RawLog[]>('eth_getLogs', [range])
}

/** What one transaction minted in one collection: tokens with IDs that follow each other. */
export interface Mint {
  blockNumber: number
  transactionHash: Hex
  /** Of the contract; in lower case. */
  address: Hex
  startId: bigint
  count: number
}

/** The mints in a list of logs, one for each transaction and contract. */
export function mintsIn(logs: readonly RawLog[]): Mint[] {
  const mints = new Map<string, Mint>()
  for (const { topics, address, blockNumber, transactionHash } of logs) {
    const tokenId = topics[3]
    if (topics[0] !== TRANSFER || !topics[1]?.endsWith(FROM_NOBODY) || tokenId === undefined) continue
    const key = `${transactionHash} ${address.toLowerCase()}`
    const id = BigInt(tokenId)
    const known = mints.get(key)
    if (known !== undefined) {
      known.count += 1
      if (id < known.startId) known.startId = id
      continue
    }
    const place = { blockNumber: Number(blockNumber), transactionHash, address: address.toLowerCase() as Hex }
    mints.set(key, { ...place, startId: id, count: 1 })
  }
  return [...mints.values()]
}

/**
 * What logs say about owners and flags of collections, in the order of the chain. Mints aren't among it, nor what a
 * collection is made with: both were requested here.
 */
export function collectionEvents(logs: readonly RawLog[]): CollectionEvent[] {
  const events = logs.flatMap((log) => {
    const change = changeOf(log)
    if (change === null) return []
    const { transactionHash, address } = log
    const place = { blockNumber: Number(log.blockNumber), logIndex: Number(log.logIndex) }
    return [{ ...place, transactionHash, address: address.toLowerCase() as Hex, change }]
  })
  return events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
}

function changeOf({ topics, data }: RawLog): CollectionChange | null {
  // Most events of a busy chain are mints: they cost no decoding.
  if (topics[0] === TRANSFER && topics[1]?.endsWith(FROM_NOBODY)) return null
  const event = decode(topics, data)
  if (event === null) return null
  const { eventName, args } = event
  if (eventName === 'Transfer') return { kind: 'transfer', tokenId: args.tokenId, from: args.from, to: args.to }
  if (eventName === 'OwnershipTransferred') {
    const { previousOwner: previous, newOwner: next } = args
    return previous === zeroAddress ? null : { kind: 'owner', previous, next }
  }
  if (eventName === 'EnableApiChanged') return { kind: 'enable_api', enabled: args.enabled }
  if (eventName === 'EnableTransferChanged') return { kind: 'enable_transfer', enabled: args.enabled }
  return eventName === 'ServiceRevoked' ? { kind: 'revoked' } : null
}

function decode(topics: [Hex, ...Hex[]], data: Hex) {
  try {
    return decodeEventLog({ abi, topics, data })
  } catch {
    // A stranger's contract with an event of the same name and other arguments: ERC-20 has such a Transfer.
    return null
  }
}

const hex = (value: number): Hex => `0x${value.toString(16)}`

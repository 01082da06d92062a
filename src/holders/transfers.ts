import { decodeAddress, decodeNumber, splitWords } from '../verify/abi.ts'
import type { RawLog } from './log-ranges.ts'

/** First topics of the events that change balances, and of the event that an upgraded proxy emits. */
export const TOPICS = {
  /** `Transfer(address,address,uint256)` of ERC-721 and ERC-20. */
  transfer: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  /** `TransferSingle(address,address,address,uint256,uint256)` of ERC-1155. */
  single: '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62',
  /** `TransferBatch(address,address,address,uint256[],uint256[])` of ERC-1155. */
  batch: '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb',
  /** `ConsecutiveTransfer(uint256,uint256,address,address)` of ERC-2309. */
  consecutive: '0xdeaa91b6123d068f5821d0fb0678463d1a8a6079fe8af5de3ce5e896dcf9133d',
  /** `Upgraded(address)` of ERC-1967. */
  upgraded: '0xbc7cd75a20ee27fd9adebab32041f755214dbc6bffa90cc0225b39da2e5c2d3b',
} as const

export type Standard = 'erc721' | 'erc1155' | 'erc20'

/** One change of ownership. Addresses are 40 hex digits in lower case. */
export type Change =
  | { kind: 'token'; token: bigint; to: string }
  | { kind: 'range'; first: bigint; last: bigint; to: string }
  /** `token` is null for ERC-20. */
  | { kind: 'amount'; token: bigint | null; from: string; to: string; amount: bigint }

/** The owner of tokens that were never minted or no longer exist. */
export const NO_OWNER = '0'.repeat(40)

/** Thrown for a log that isn't a well-formed event of its standard. */
export class MalformedLogError extends Error {}

/** Returns the address in a word, without 0x. */
function requireAddress(word = ''): string {
  const address = decodeAddress(word)
  if (address === null) throw new MalformedLogError('an address is malformed')
  return address.slice(2)
}

function requireNumber(word = ''): bigint {
  const number = decodeNumber(word)
  if (number === null) throw new MalformedLogError('a number is malformed')
  return number
}

function splitLogData(data: string): string[] {
  const words = data === '0x' ? [] : splitWords(data)
  if (words === null) throw new MalformedLogError('the data is malformed')
  return words
}

/**
 * Returns whether an event follows the standard. CryptoKitties, for example, is older than the standard, and its
 * Transfer parameters aren't indexed.
 */
export const matchesStandard = (log: RawLog, standard: Standard): boolean =>
  log.topics[0] === TOPICS.upgraded || detectEventStandard(log) === standard

/** Returns the standard that matches the form of an event, or null for other events and forms. */
export function detectEventStandard({ topics }: RawLog): Standard | null {
  if (topics[0] === TOPICS.consecutive) return 'erc721'
  if (topics[0] === TOPICS.single || topics[0] === TOPICS.batch) return 'erc1155'
  if (topics[0] !== TOPICS.transfer) return null
  return topics.length === 4 ? 'erc721' : topics.length === 3 ? 'erc20' : null
}

/**
 * Decodes a log of a contract that follows the given standard. Omits events of other standards.
 *
 * @throws MalformedLog
 */
export function decodeChanges(log: RawLog, standard: Standard): Change[] {
  const [topic, ...indexed] = log.topics
  if (standard === 'erc1155') {
    if (topic === TOPICS.single) return decodeSingle(indexed, splitLogData(log.data))
    return topic === TOPICS.batch ? decodeBatch(indexed, splitLogData(log.data)) : []
  }
  if (topic === TOPICS.transfer) {
    const [from, to, value] = [...indexed, ...splitLogData(log.data)]
    if (standard === 'erc721') return [{ kind: 'token', token: requireNumber(value), to: requireAddress(to) }]
    return [
      { kind: 'amount', token: null, from: requireAddress(from), to: requireAddress(to), amount: requireNumber(value) },
    ]
  }
  if (topic !== TOPICS.consecutive || standard !== 'erc721') return []
  const [first, _from, to] = indexed
  const range = { first: requireNumber(first), last: requireNumber(splitLogData(log.data)[0]), to: requireAddress(to) }
  if (range.last < range.first) throw new MalformedLogError('a range ends before its start')
  return [{ kind: 'range', ...range }]
}

function decodeSingle([, from, to]: readonly string[], [token, amount]: readonly string[]): Change[] {
  const ends = { from: requireAddress(from), to: requireAddress(to) }
  return [{ kind: 'amount', token: requireNumber(token), ...ends, amount: requireNumber(amount) }]
}

function decodeBatch([, from, to]: readonly string[], words: readonly string[]): Change[] {
  const ends = { from: requireAddress(from), to: requireAddress(to) }
  const [tokens, amounts] = [decodeList(words, words[0]), decodeList(words, words[1])]
  if (tokens.length !== amounts.length) throw new MalformedLogError('a batch has lists of different lengths')
  return tokens.map((token, at) => ({ kind: 'amount', token, ...ends, amount: amounts[at] ?? 0n }))
}

/** Returns the list of numbers that begins at an offset in bytes. */
function decodeList(words: readonly string[], offset: string | undefined): bigint[] {
  const at = Number(requireNumber(offset)) / 32
  const length = Number(requireNumber(words[at]))
  if (length > words.length - at - 1) throw new MalformedLogError('a list is longer than the data')
  return words.slice(at + 1, at + 1 + length).map((word) => requireNumber(word))
}

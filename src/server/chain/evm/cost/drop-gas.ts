import { MAX_TOKENS_PER_CALL, type ReceiverGroup } from '../collection.ts'
import { grantGas, grantGasLimit, makeGas, makeGasLimit, mintGas, mintGasLimit } from '../gas-limits.ts'
import type { Hex } from '../network.ts'

/** The total gas and data of a drop's transactions. */
export interface DropGas {
  transactions: number
  /** Typical gas if all receivers are new to the collection. */
  gas: bigint
  /** The sum of the gas limits, which is an upper bound. */
  gasLimit: bigint
  /** Size of the signed transactions in bytes, for networks that charge for data. */
  bytes: number
  /** Typical totals if each request gets a separate transaction, as on an idle backend. */
  apart: { transactions: number; gas: bigint; bytes: number }
  /** Maximum totals, which assume one transaction per request. They are valid for any grouping of requests. */
  worst: MaxGas
  reserved: ReservedNfts
}

/**
 * The amounts that a backend reserves from a run's limit. For each NFT, the backend reserves the highest gas and bytes
 * per NFT of any request.
 */
export interface ReservedNfts {
  nfts: number
  each: Pick<MaxGas, 'gasLimit' | 'bytes'>
}

/** Maximum totals of a drop's transactions. */
export interface MaxGas {
  gasLimit: bigint
  bytes: number
  /** Gas limit of the smallest mint; 0 if there is none. */
  smallestMint: bigint
}

/** Maximum number of grants in one transaction. Their total gas stays below the gas of a full bundle. */
const MAX_GRANTS = 161
/** Size in bytes of a transaction without its call data: signature, fees and address. */
export const ENVELOPE_BYTES = 110
const WORD_BYTES = 32
const SELECTOR_BYTES = 4
/** Number of words before the lists in the call data of a mint: start ID, two offsets and digest. */
const HEAD_WORDS = 4
/**
 * Number of words in the call data of a deployment without its strings: request ID, the offset of the other arguments,
 * eleven fields, and two string lengths.
 */
const MAKE_WORDS = 15

/** Placeholder for a collection whose name isn't known yet. */
const SOME_COLLECTION = { name: 'A collection', symbol: 'NAME', royaltyBps: 0n }
/** The most expensive collection to deploy. Names have up to 500 characters of 4 bytes. */
const LARGEST_COLLECTION = { name: 'n'.repeat(2_000), symbol: 'NAME', royaltyBps: 1n }
/** Number of NFTs for one receiver in one request of `batch mint`. */
const REQUEST_NFTS = 50

/**
 * Adds up the gas of a drop. Groups NFTs into the same bundles that the pipeline forms while earlier transactions are
 * pending.
 */
export class DropMeter {
  readonly #dynamic: boolean
  readonly #requestNfts: number
  readonly #total: Omit<DropGas, 'apart' | 'worst' | 'reserved'> = {
    transactions: 0,
    gas: 0n,
    gasLimit: 0n,
    bytes: 0,
  }
  readonly #apart = { transactions: 0, gas: 0n }
  readonly #worst: MaxGas = { gasLimit: 0n, bytes: 0, smallestMint: 0n }
  #nfts = 0
  /** Maximum gas and bytes per NFT of any request. */
  readonly #maxPerNft = { gas: 0, bytes: 0 }
  #groups: ReceiverGroup[] = []
  #size = 0
  #sender: string | null = null

  /**
   * @param dynamic whether creatednft mints the NFTs
   * @param requestNfts the maximum number of NFTs in a request
   */
  constructor(dynamic = false, requestNfts = REQUEST_NFTS) {
    this.#dynamic = dynamic
    this.#requestNfts = requestNfts
  }

  /** Adds NFTs for one receiver. If there is a sender, the NFTs are minted to the sender and then transferred. */
  add(receiver: string, count: number, sender: string | null = null): void {
    this.#addRequests(count, sender !== null)
    if (sender !== this.#sender) this.#closeBundle()
    this.#sender = sender
    const bundleLimit = sender === null ? MAX_TOKENS_PER_CALL : MAX_GRANTS
    for (let remaining = count; remaining > 0; ) {
      const takenCount = Math.min(remaining, bundleLimit - this.#size)
      const last = this.#groups.at(-1)
      if (last?.receiver === receiver) last.count += takenCount
      else this.#groups.push({ receiver: receiver as Hex, count: takenCount })
      this.#size += takenCount
      remaining -= takenCount
      if (this.#size === bundleLimit) this.#closeBundle()
    }
  }

  addDeployment(): void {
    this.#addTransaction(makeGas(SOME_COLLECTION), makeGasLimit(SOME_COLLECTION), makeBytes(SOME_COLLECTION))
    this.#addApart(1, makeGas(SOME_COLLECTION))
    this.#worst.gasLimit += makeGasLimit(LARGEST_COLLECTION)
    this.#worst.bytes += makeBytes(LARGEST_COLLECTION)
  }

  total(): DropGas {
    this.#closeBundle()
    const each = { gasLimit: BigInt(this.#maxPerNft.gas), bytes: this.#maxPerNft.bytes }
    const apart = { ...this.#apart, bytes: this.#worst.bytes }
    return { ...this.#total, apart, worst: { ...this.#worst }, reserved: { nfts: this.#nfts, each } }
  }

  #addRequests(count: number, isGrant: boolean): void {
    const limitOf = (nfts: number) =>
      isGrant ? grantGasLimit(Array(nfts)) : mintGasLimit([{ receiver: '0x', count: nfts }], true, this.#dynamic)
    const gasOf = (nfts: number) =>
      isGrant ? grantGas(nfts) : mintGas([{ receiver: '0x', count: nfts }], false, this.#dynamic)
    const bytesOf = (nfts: number) => (isGrant ? grantBytes(nfts) : mintBytes(1))
    this.#nfts += count
    for (const size of [Math.min(count, this.#requestNfts), count % this.#requestNfts]) {
      if (size > 0) this.#reserve(computeMaxGasPerNft({ count: size, isGrant, isDynamic: this.#dynamic }))
    }
    // A larger request may need several transactions.
    const nftsPerRequest = Math.min(this.#requestNfts, REQUEST_NFTS)
    const full = Math.floor(count / nftsPerRequest)
    for (const [requests, nfts] of [
      [full, nftsPerRequest],
      [1, count % nftsPerRequest],
    ] as const) {
      if (requests * nfts === 0) continue
      const limit = limitOf(nfts)
      const { smallestMint } = this.#worst
      this.#addApart(requests, gasOf(nfts))
      this.#worst.gasLimit += BigInt(requests) * limit
      this.#worst.bytes += requests * bytesOf(nfts)
      if (smallestMint === 0n || limit < smallestMint) this.#worst.smallestMint = limit
    }
  }

  #reserve({ gas, bytes }: { gas: number; bytes: number }): void {
    this.#maxPerNft.gas = Math.max(this.#maxPerNft.gas, gas)
    this.#maxPerNft.bytes = Math.max(this.#maxPerNft.bytes, bytes)
  }

  #addApart(transactions: number, gasOfEach: number): void {
    this.#apart.transactions += transactions
    this.#apart.gas += BigInt(transactions) * BigInt(gasOfEach)
  }

  #closeBundle(): void {
    const [groups, size] = [this.#groups, this.#size]
    if (size === 0) return
    if (this.#sender === null) {
      this.#addTransaction(
        mintGas(groups, false, this.#dynamic),
        mintGasLimit(groups, true, this.#dynamic),
        mintBytes(groups.length),
      )
    } else this.#addTransaction(grantGas(size), grantGasLimit(Array(size)), grantBytes(size))
    this.#groups = []
    this.#size = 0
  }

  #addTransaction(gas: number, gasLimit: bigint, bytes: number): void {
    this.#total.transactions += 1
    this.#total.gas += BigInt(gas)
    this.#total.gasLimit += gasLimit
    this.#total.bytes += bytes
  }
}

/** Returns the size in bytes of a transaction that deploys a collection. Name and symbol are padded to whole words. */
export const makeBytes = ({ name, symbol }: { name: string; symbol: string }): number =>
  ENVELOPE_BYTES + SELECTOR_BYTES + WORD_BYTES * (MAKE_WORDS + countWords(name) + countWords(symbol))

const countWords = (text: string): number => Math.ceil(Buffer.byteLength(text) / WORD_BYTES)

/**
 * Returns the size in bytes of a mint. Its call data has a list of receivers and a list of counts, each with a length.
 */
export const mintBytes = (groupCount: number): number =>
  ENVELOPE_BYTES + SELECTOR_BYTES + WORD_BYTES * (HEAD_WORDS + 2 * (1 + groupCount))
export const grantBytes = (receivers: number): number =>
  ENVELOPE_BYTES + SELECTOR_BYTES + WORD_BYTES * (HEAD_WORDS + 1 + receivers)

/** Returns the maximum gas and bytes per NFT of a request for one receiver. */
export function computeMaxGasPerNft({
  count,
  isGrant,
  isDynamic,
}: {
  count: number
  isGrant: boolean
  isDynamic: boolean
}) {
  const limit = isGrant ? grantGasLimit(Array(count)) : mintGasLimit([{ receiver: '0x', count }], true, isDynamic)
  const bytes = isGrant ? grantBytes(count) : mintBytes(1)
  return { gas: Math.ceil(Number(limit) / count), bytes: Math.ceil(bytes / count) }
}

/** Maximum gas and bytes of a transaction with a single NFT. */
export const ONE_NFT_MAX_GAS: Pick<DropGas, 'gasLimit' | 'bytes'> = {
  gasLimit: mintGasLimit([{ receiver: '0x', count: 1 }]),
  bytes: mintBytes(1),
}

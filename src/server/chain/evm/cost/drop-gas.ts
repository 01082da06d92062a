import { MAX_BATCH, type MintRun } from '../collection.ts'
import { grantGas, grantGasLimit, makeGas, makeGasLimit, mintGas, mintGasLimit } from '../gas-limits.ts'
import type { Hex } from '../network.ts'

/** The total gas and data of a drop's transactions. */
export interface DropGas {
  transactions: number
  /** Typical, with receivers that are new to the collection. */
  gas: bigint
  /** The gas that the transactions reserve: an upper bound. */
  gasLimit: bigint
  /** Bytes of the unsigned transactions, for networks that charge for their data. */
  bytes: number
  /** Typical totals if each request has its own transaction, as on an idle backend. */
  apart: { transactions: number; gas: bigint; bytes: number }
  /** The most that they use, however the backend forms them: each request has a transaction of its own. */
  worst: WorstGas
  /** The part of a limit that a backend reserves: for each NFT the most that an NFT of any request uses. */
  reserved: Pick<WorstGas, 'gasLimit' | 'bytes'>
}

/** The most that the transactions of a drop use. */
export interface WorstGas {
  gasLimit: bigint
  bytes: number
  /** Gas limit of the smallest mint; 0 if there is none. */
  smallestMint: bigint
}

/** Grants of one transaction that stay below the gas of a bundle. */
const MAX_GRANTS = 161
/** Size of a transaction without its call data: the signature, the fees and the address. */
export const ENVELOPE_BYTES = 110
const WORD = 32
const SELECTOR = 4
/** Start ID, two offsets, digest. */
const HEAD_WORDS = 4
/** Request ID, the offset of the rest, ten fields, and the lengths of name and symbol. */
const MAKE_WORDS = 14

/** A collection whose name isn't known yet. */
const SOME_COLLECTION = { name: 'A collection', symbol: 'NAME', royaltyBps: 0n }
/** The one that costs most: names have up to 500 characters of 4 bytes. */
const WORST_COLLECTION = { name: 'n'.repeat(2_000), symbol: 'NAME', royaltyBps: 1n }
/** NFTs for one receiver in one request of `batch mint`. */
const REQUEST_NFTS = 50

/** Adds up the gas of a drop in bundles as the pipeline forms them while transactions are pending. */
export class DropMeter {
  readonly #dynamic: boolean
  readonly #total: Omit<DropGas, 'apart' | 'worst' | 'reserved'> = {
    transactions: 0,
    gas: 0n,
    gasLimit: 0n,
    bytes: 0,
  }
  readonly #apart = { transactions: 0, gas: 0n }
  readonly #worst: WorstGas = { gasLimit: 0n, bytes: 0, smallestMint: 0n }
  #nfts = 0
  /** The most that one NFT of any request uses. */
  readonly #ofEach = { gas: 0, bytes: 0 }
  #runs: MintRun[] = []
  #size = 0
  #sender: string | null = null

  /** @param dynamic whether its NFTs are minted by creatednft */
  constructor(dynamic = false) {
    this.#dynamic = dynamic
  }

  /** Adds NFTs of one receiver. With a sender, they are minted to it and transferred. */
  add(receiver: string, count: number, sender: string | null = null): void {
    this.#addRequests(count, sender !== null)
    if (sender !== this.#sender) this.#close()
    this.#sender = sender
    const most = sender === null ? MAX_BATCH : MAX_GRANTS
    for (let left = count; left > 0; ) {
      const taken = Math.min(left, most - this.#size)
      const last = this.#runs.at(-1)
      if (last?.receiver === receiver) last.count += taken
      else this.#runs.push({ receiver: receiver as Hex, count: taken })
      this.#size += taken
      left -= taken
      if (this.#size === most) this.#close()
    }
  }

  /** Adds the deployment of a collection. */
  addDeployment(): void {
    this.#add(makeGas(SOME_COLLECTION), makeGasLimit(SOME_COLLECTION), makeBytes(SOME_COLLECTION))
    this.#addApart(1, makeGas(SOME_COLLECTION))
    this.#worst.gasLimit += makeGasLimit(WORST_COLLECTION)
    this.#worst.bytes += makeBytes(WORST_COLLECTION)
  }

  total(): DropGas {
    this.#close()
    const reserved = { gasLimit: BigInt(this.#ofEach.gas * this.#nfts), bytes: this.#ofEach.bytes * this.#nfts }
    const apart = { ...this.#apart, bytes: this.#worst.bytes }
    return { ...this.#total, apart, worst: { ...this.#worst }, reserved }
  }

  #addRequests(count: number, isGrant: boolean): void {
    const limitOf = (nfts: number) =>
      isGrant ? grantGasLimit(Array(nfts)) : mintGasLimit([{ receiver: '0x', count: nfts }], true, this.#dynamic)
    const gasOf = (nfts: number) =>
      isGrant ? grantGas(nfts) : mintGas([{ receiver: '0x', count: nfts }], false, this.#dynamic)
    const bytesOf = (nfts: number) => (isGrant ? grantBytes(nfts) : mintBytes(1))
    this.#nfts += count
    const full = Math.floor(count / REQUEST_NFTS)
    for (const [requests, nfts] of [
      [full, REQUEST_NFTS],
      [1, count % REQUEST_NFTS],
    ] as const) {
      if (requests * nfts === 0) continue
      const limit = limitOf(nfts)
      const { smallestMint } = this.#worst
      this.#addApart(requests, gasOf(nfts))
      this.#worst.gasLimit += BigInt(requests) * limit
      this.#worst.bytes += requests * bytesOf(nfts)
      this.#ofEach.gas = Math.max(this.#ofEach.gas, Math.ceil(Number(limit) / nfts))
      this.#ofEach.bytes = Math.max(this.#ofEach.bytes, Math.ceil(bytesOf(nfts) / nfts))
      if (smallestMint === 0n || limit < smallestMint) this.#worst.smallestMint = limit
    }
  }

  #addApart(transactions: number, gasOfEach: number): void {
    this.#apart.transactions += transactions
    this.#apart.gas += BigInt(transactions) * BigInt(gasOfEach)
  }

  #close(): void {
    const [runs, size] = [this.#runs, this.#size]
    if (size === 0) return
    if (this.#sender === null) {
      this.#add(mintGas(runs, false, this.#dynamic), mintGasLimit(runs, true, this.#dynamic), mintBytes(runs.length))
    } else this.#add(grantGas(size), grantGasLimit(Array(size)), grantBytes(size))
    this.#runs = []
    this.#size = 0
  }

  #add(gas: number, gasLimit: bigint, bytes: number): void {
    this.#total.transactions += 1
    this.#total.gas += BigInt(gas)
    this.#total.gasLimit += gasLimit
    this.#total.bytes += bytes
  }
}

/**
 * Returns the size in bytes of a transaction that deploys a collection. The name and the symbol are padded to whole
 * words.
 */
export const makeBytes = ({ name, symbol }: { name: string; symbol: string }): number =>
  ENVELOPE_BYTES + SELECTOR + WORD * (MAKE_WORDS + wordsOf(name) + wordsOf(symbol))

const wordsOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / WORD)

/** Two lists, each with its length: receivers and counts. */
export const mintBytes = (runs: number): number => ENVELOPE_BYTES + SELECTOR + WORD * (HEAD_WORDS + 2 * (1 + runs))
export const grantBytes = (receivers: number): number => ENVELOPE_BYTES + SELECTOR + WORD * (HEAD_WORDS + 1 + receivers)

/** The most that one transaction with a single NFT can use. */
export const ONE_NFT: Pick<DropGas, 'gasLimit' | 'bytes'> = {
  gasLimit: mintGasLimit([{ receiver: '0x', count: 1 }]),
  bytes: mintBytes(1),
}

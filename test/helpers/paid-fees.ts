import { encodeCommitProvenance, encodeFreeze } from '../../src/server/chain/evm/collection-updates.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import type { FilledNonces } from './filled-nonces.ts'
import type { PublicNetwork } from './public-network.ts'

/** What a transaction has paid, by its receipt. */
export interface PaidFee {
  hash: Hex
  fee: bigint
  block: number
  /** Whether a restored backend can find out from the chain to which pending request it belongs. */
  isRecognizable: boolean
  /** Whether it only uses its nonce, and a backend has announced such a transaction for this nonce of this signer. */
  isFilling: boolean
}

/** The calls of freezes and commitments: nothing on chain leads to their transactions. */
const UNRECOGNIZABLE = [encodeFreeze([0n]), encodeCommitProvenance(`0x${'0'.repeat(64)}`)].map(selectorOf)

function selectorOf(data: Hex): string {
  return data.slice(0, 10)
}

interface Transaction {
  hash: Hex
  from: Hex
  to: Hex | null
  nonce: Hex
  input: Hex
  value: Hex
}
interface Block {
  hash: Hex
  transactions: Transaction[]
}
interface Receipt {
  status: Hex
  gasUsed: Hex
  effectiveGasPrice: Hex
}

/** Reads the receipts of a network's blocks, each block once, because a reorg replaces blocks. */
export class PaidFees {
  readonly #network: PublicNetwork
  readonly #since: number
  readonly #filled: FilledNonces | undefined
  readonly #blocks = new Map<number, { hash: Hex; paid: PaidFee[] }>()

  private constructor(network: PublicNetwork, since: number, filled: FilledNonces | undefined) {
    this.#network = network
    this.#since = since
    this.#filled = filled
  }

  /** Counts from the next block. */
  static async since(network: PublicNetwork, filled?: FilledNonces): Promise<PaidFees> {
    return new PaidFees(network, Number(await network.call('eth_blockNumber')), filled)
  }

  /** Describes a transaction on chain, for a failure. */
  async describe(hash: Hex): Promise<string> {
    const { from, to, nonce, input } = await this.#network.call<Transaction>('eth_getTransactionByHash', [hash])
    return JSON.stringify({ hash, from, to, nonce: Number(nonce), input: input.slice(0, 10) })
  }

  async read(): Promise<PaidFee[]> {
    const height = Number(await this.#network.call('eth_blockNumber'))
    for (const number of this.#blocks.keys()) if (number > height) this.#blocks.delete(number)
    const blocks = new Map<number, { hash: Hex; paid: PaidFee[] }>()
    for (let number = height; number > this.#since; number--) {
      const block = await this.#network.call<Block>('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])
      // The blocks below a known one are its ancestors.
      if (this.#blocks.get(number)?.hash === block.hash) break
      blocks.set(number, { hash: block.hash, paid: await this.#readBlock(number, block) })
    }
    // Only now, because a failed read must not hide the blocks below.
    for (const [number, block] of blocks) this.#blocks.set(number, block)
    return [...this.#blocks.values()].flatMap(({ paid }) => paid)
  }

  async #readBlock(number: number, block: Block): Promise<PaidFee[]> {
    const paid: PaidFee[] = []
    for (const { hash, from, to, nonce, input, value } of block.transactions) {
      const receipt = await this.#network.call<Receipt>('eth_getTransactionReceipt', [hash])
      const fee = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice)
      const isRecognizable = receipt.status === '0x1' && input !== '0x' && !UNRECOGNIZABLE.includes(selectorOf(input))
      const isEmpty = to === from && input === '0x' && BigInt(value) === 0n
      const isFilling = isEmpty && this.#filled?.has(from, Number(nonce)) === true
      paid.push({ hash, fee, block: number, isRecognizable, isFilling })
    }
    return paid
  }
}

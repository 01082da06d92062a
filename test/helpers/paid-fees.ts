import { encodeCommitProvenance, encodeFreeze } from '../../src/server/chain/evm/collection-updates.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import type { PublicNetwork } from './public-network.ts'

/** What a transaction has paid, by its receipt. */
export interface PaidFee {
  hash: Hex
  fee: bigint
  block: number
  /** Whether a restored backend can tell by the chain which pending request it belongs to. */
  isRecognizable: boolean
}

/** The calls of freezes and commitments: nothing on chain leads to their transactions. */
const UNRECOGNIZABLE = [encodeFreeze([0n]), encodeCommitProvenance(`0x${'0'.repeat(64)}`)].map(selectorOf)

function selectorOf(data: Hex): string {
  return data.slice(0, 10)
}

interface Block {
  hash: Hex
  transactions: { hash: Hex; input: Hex }[]
}
interface Receipt {
  status: Hex
  gasUsed: Hex
  effectiveGasPrice: Hex
}

/** Reads the receipts of a network's blocks, each block once: a reorg replaces blocks by others. */
export class PaidFees {
  readonly #network: PublicNetwork
  readonly #since: number
  readonly #blocks = new Map<number, { hash: Hex; paid: PaidFee[] }>()

  private constructor(network: PublicNetwork, since: number) {
    this.#network = network
    this.#since = since
  }

  /** Counts from the next block. */
  static async since(network: PublicNetwork): Promise<PaidFees> {
    return new PaidFees(network, Number(await network.call('eth_blockNumber')))
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
    for (const { hash, input } of block.transactions) {
      const receipt = await this.#network.call<Receipt>('eth_getTransactionReceipt', [hash])
      const fee = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice)
      const isRecognizable = receipt.status === '0x1' && input !== '0x' && !UNRECOGNIZABLE.includes(selectorOf(input))
      paid.push({ hash, fee, block: number, isRecognizable })
    }
    return paid
  }
}

import { ownTurn } from '../../core/turns.ts'
import type { Keccak } from './leaf-formats.ts'

const HASH = 32
const KEY_BYTES = 6
/** Number of hashes to compute before the event loop can handle signals. */
const AT_ONCE = 10_000

/**
 * A Merkle tree in the layout of `@openzeppelin/merkle-tree`: leaves are sorted, each node is the hash of its sorted
 * children, and the children of node `i` are `2i + 1` and `2i + 2`. All nodes are in one buffer, so that a million
 * leaves take 64 MB. The package stores strings instead, and takes several times as much memory.
 */
export class MerkleTree {
  readonly #nodes: Buffer
  readonly #places: Uint32Array

  private constructor(nodes: Buffer, places: Uint32Array) {
    this.#nodes = nodes
    this.#places = places
  }

  /**
   * Builds a tree from at least one leaf.
   *
   * @param leafOf returns the leaf at an index
   */
  static async build(
    size: number,
    leafOf: (index: number) => Uint8Array,
    keccak: Keccak,
    signal: AbortSignal,
  ): Promise<MerkleTree> {
    const leaves = Buffer.alloc(size * HASH)
    for (let i = 0; i < size; i++) {
      if (i % AT_ONCE === 0) await nextTurn(signal)
      leaves.set(leafOf(i), i * HASH)
    }
    const nodes = Buffer.alloc((2 * size - 1) * HASH)
    const places = new Uint32Array(size)
    const last = 2 * size - 2
    for (const [rank, i] of sortedIndexes(leaves, size).entries()) {
      places[i] = last - rank
      leaves.copy(nodes, (last - rank) * HASH, i * HASH, (i + 1) * HASH)
    }
    const swapped = Buffer.alloc(2 * HASH)
    for (let i = size - 2; i >= 0; i--) {
      if (i % AT_ONCE === 0) await nextTurn(signal)
      const left = (2 * i + 1) * HASH
      const right = left + HASH
      let pair = nodes.subarray(left, right + HASH)
      if (nodes.compare(nodes, right, right + HASH, left, right) > 0) {
        nodes.copy(swapped, 0, right, right + HASH)
        nodes.copy(swapped, HASH, left, right)
        pair = swapped
      }
      nodes.set(keccak(pair), i * HASH)
    }
    return new MerkleTree(nodes, places)
  }

  /** The number of nodes. Node 0 is the root. */
  get length(): number {
    return this.#nodes.length / HASH
  }

  node(at: number): string {
    return `0x${this.#nodes.toString('hex', at * HASH, (at + 1) * HASH)}`
  }

  /** Returns the node index of a leaf in the tree. */
  placeOf(leaf: number): number {
    return this.#places[leaf] ?? 0
  }

  /** Returns the siblings on the path from a leaf to the root. */
  proof(leaf: number): string[] {
    const proof: string[] = []
    for (let at = this.placeOf(leaf); at > 0; at = (at - 1) >> 1) proof.push(this.node(at % 2 === 1 ? at + 1 : at - 1))
    return proof
  }
}

async function nextTurn(signal: AbortSignal): Promise<void> {
  await ownTurn()
  signal.throwIfAborted()
}

/** Sorts leaves by their first bytes, read as a number, because comparing buffers takes several times as long. */
function sortedIndexes(leaves: Buffer, size: number): Uint32Array {
  const keys = Float64Array.from({ length: size }, (_, i) => leaves.readUIntBE(i * HASH, KEY_BYTES))
  return Uint32Array.from({ length: size }, (_, i) => i).sort((a, b) => {
    const order = (keys[a] ?? 0) - (keys[b] ?? 0)
    return order === 0 ? leaves.compare(leaves, b * HASH, (b + 1) * HASH, a * HASH, (a + 1) * HASH) : order
  })
}

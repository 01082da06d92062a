import { ownTurn } from '../../core/turns.ts'
import type { Keccak } from './leaf-formats.ts'

const HASH_BYTES = 32
const KEY_BYTES = 6
/** Number of hashes to compute before the event loop can handle signals. */
const HASHES_PER_TURN = 10_000

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
    const leaves = Buffer.alloc(size * HASH_BYTES)
    for (let i = 0; i < size; i++) {
      if (i % HASHES_PER_TURN === 0) await waitForNextTurn(signal)
      leaves.set(leafOf(i), i * HASH_BYTES)
    }
    const nodes = Buffer.alloc((2 * size - 1) * HASH_BYTES)
    const places = new Uint32Array(size)
    const last = 2 * size - 2
    for (const [rank, i] of sortedIndexes(leaves, size).entries()) {
      places[i] = last - rank
      leaves.copy(nodes, (last - rank) * HASH_BYTES, i * HASH_BYTES, (i + 1) * HASH_BYTES)
    }
    const swapped = Buffer.alloc(2 * HASH_BYTES)
    for (let i = size - 2; i >= 0; i--) {
      if (i % HASHES_PER_TURN === 0) await waitForNextTurn(signal)
      const left = (2 * i + 1) * HASH_BYTES
      const right = left + HASH_BYTES
      let pair = nodes.subarray(left, right + HASH_BYTES)
      if (nodes.compare(nodes, right, right + HASH_BYTES, left, right) > 0) {
        nodes.copy(swapped, 0, right, right + HASH_BYTES)
        nodes.copy(swapped, HASH_BYTES, left, right)
        pair = swapped
      }
      nodes.set(keccak(pair), i * HASH_BYTES)
    }
    return new MerkleTree(nodes, places)
  }

  /** The number of nodes. Node 0 is the root. */
  get length(): number {
    return this.#nodes.length / HASH_BYTES
  }

  node(at: number): string {
    return `0x${this.#nodes.toString('hex', at * HASH_BYTES, (at + 1) * HASH_BYTES)}`
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

async function waitForNextTurn(signal: AbortSignal): Promise<void> {
  await ownTurn()
  signal.throwIfAborted()
}

/** Sorts leaves by their first bytes, read as a number, because comparing buffers takes several times as long. */
function sortedIndexes(leaves: Buffer, size: number): Uint32Array {
  const keys = Float64Array.from({ length: size }, (_, i) => leaves.readUIntBE(i * HASH_BYTES, KEY_BYTES))
  return Uint32Array.from({ length: size }, (_, i) => i).sort((a, b) => {
    const order = (keys[a] ?? 0) - (keys[b] ?? 0)
    return order === 0
      ? leaves.compare(leaves, b * HASH_BYTES, (b + 1) * HASH_BYTES, a * HASH_BYTES, (a + 1) * HASH_BYTES)
      : order
  })
}

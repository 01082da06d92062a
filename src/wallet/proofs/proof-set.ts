import type { LeafFormat } from './leaf-formats.ts'
import type { MerkleTree } from './merkle-tree.ts'
import type { Receiver } from './receivers.ts'

/** A receiver list with its Merkle tree. */
export interface ProofSet {
  receivers: readonly Receiver[]
  format: LeafFormat
  tree: MerkleTree
}

const CHUNK_CHARS = 64 * 1024

/**
 * Joins the members of a JSON list or object in chunks, because all members together can exceed the maximum string
 * length.
 */
export function* joinInChunks(members: Iterable<string>, open: string, close: string): Generator<string> {
  let text = open
  let separator = ''
  for (const member of members) {
    text += separator + member
    separator = ','
    if (text.length < CHUNK_CHARS) continue
    yield text
    text = ''
  }
  yield text + close
}

/**
 * Yields members of a JSON object. The keys are addresses in lower case, and the values are what the contract expects,
 * including the proof.
 */
export function* proofMembers({ receivers, format, tree }: ProofSet, indexes: Iterable<number>): Generator<string> {
  for (const i of indexes) {
    const receiver = receivers[i]
    if (receiver === undefined) continue
    yield `"${receiver.address}":${JSON.stringify({ ...format.args(receiver), proof: tree.proof(i) })}`
  }
}

/** Yields the tree in the format that `dump()` of `@openzeppelin/merkle-tree` returns and `load()` accepts. */
export function* treeJson({ receivers, format, tree }: ProofSet): Generator<string> {
  function* nodes() {
    for (let at = 0; at < tree.length; at++) yield `"${tree.node(at)}"`
  }
  function* values() {
    for (const [i, receiver] of receivers.entries()) {
      const treeIndex = tree.placeOf(i)
      const count = receiver.count === null ? [] : [String(receiver.count)]
      yield JSON.stringify({
        value: format.isStandardTree ? [receiver.address, ...count] : tree.node(treeIndex),
        treeIndex,
      })
    }
  }
  const head = format.isStandardTree
    ? `{"format":"standard-v1","leafEncoding":${JSON.stringify(format.encoding)},`
    : '{"format":"simple-v1",'
  yield* joinInChunks(nodes(), `${head}"tree":[`, '],')
  yield* joinInChunks(values(), '"values":[', ']}\n')
}

import type { LeafFormat } from './leaf-formats.ts'
import type { MerkleTree } from './merkle-tree.ts'
import type { Receiver } from './receivers.ts'

/** A list of receivers with its Merkle tree. */
export interface ProofSet {
  receivers: readonly Receiver[]
  format: LeafFormat
  tree: MerkleTree
}

const CHUNK_CHARS = 64 * 1024

/** Joins the members of a JSON list or object in chunks, because all of them together can exceed the longest string. */
export function* inChunks(members: Iterable<string>, open: string, close: string): Generator<string> {
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

/** Yields members of a JSON object: addresses in lower case, each with the values that the contract expects. */
export function* proofMembers({ receivers, format, tree }: ProofSet, indexes: Iterable<number>): Generator<string> {
  for (const i of indexes) {
    const receiver = receivers[i]
    if (receiver === undefined) continue
    yield `"${receiver.address}":${JSON.stringify({ ...format.args(receiver), proof: tree.proof(i) })}`
  }
}

/** Yields the tree as `dump()` of `@openzeppelin/merkle-tree` returns it, which its `load()` accepts. */
export function* treeJson({ receivers, format, tree }: ProofSet): Generator<string> {
  function* nodes() {
    for (let at = 0; at < tree.length; at++) yield `"${tree.node(at)}"`
  }
  function* values() {
    for (const [i, receiver] of receivers.entries()) {
      const treeIndex = tree.placeOf(i)
      const count = receiver.count === null ? [] : [String(receiver.count)]
      yield JSON.stringify({ value: format.standard ? [receiver.address, ...count] : tree.node(treeIndex), treeIndex })
    }
  }
  const head = format.standard
    ? `{"format":"standard-v1","leafEncoding":${JSON.stringify(format.encoding)},`
    : '{"format":"simple-v1",'
  yield* inChunks(nodes(), `${head}"tree":[`, '],')
  yield* inChunks(values(), '"values":[', ']}\n')
}

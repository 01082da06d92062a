import { expect, test } from 'vitest'
import { Commitment, parseLeaves } from '../../src/reveal/leaves.ts'
import { permuteRows } from '../../src/reveal/shuffle/permutation.ts'
import { findMisplacedRows, isSaltOfAnyLeaf } from '../../src/reveal/slots-shown.ts'

const ROWS = 20
const contents = Array.from({ length: ROWS }, (_, row) => Buffer.alloc(32, row + 1))
const commitment = new Commitment(Buffer.concat(contents), { marginSeconds: 30 })
const leaves = parseLeaves(commitment.leaves)
const { seed } = commitment
const drawn = { rows: permuteRows(Buffer.alloc(32, 3), ROWS) }

/** The rows of a manifest in an order of slots, each with the salt that its NFT shows. */
const shownIn = (slots: readonly number[]) =>
  slots.map((slot, position) => ({
    position,
    line: position + 2,
    salt: commitment.saltOf(drawn.rows[slot - 1] ?? 0).toString('hex'),
  }))
const inOrder = Array.from({ length: ROWS }, (_, at) => at + 1)
const exchanged = [2, 1, ...inOrder.slice(2)]
const contentsIn = (slots: readonly number[]) => slots.map((slot) => contents[slot - 1] ?? Buffer.alloc(32))

test('finds no moved row in the order of the mint, with or without the seed', () => {
  expect(findMisplacedRows(drawn, { seed }, shownIn(inOrder))).toEqual([])
  expect(findMisplacedRows(drawn, { leaves, contents }, shownIn(inOrder))).toEqual([])
})

test('finds each moved row, with or without the seed', () => {
  const moved = [
    { line: 2, slot: 2 },
    { line: 3, slot: 1 },
  ]
  expect(findMisplacedRows(drawn, { seed }, shownIn(exchanged))).toEqual(moved)
  expect(findMisplacedRows(drawn, { leaves, contents: contentsIn(exchanged) }, shownIn(exchanged))).toEqual(moved)
})

test('takes edited rows for no moved rows, and finds moved rows next to them', () => {
  const edited = contents.map((content, at) => (at % 2 === 0 ? Buffer.alloc(32, 200 + at) : content))
  expect(findMisplacedRows(drawn, { leaves, contents: edited }, shownIn(inOrder))).toEqual([])
  const slots = [...inOrder].reverse()
  const found = findMisplacedRows(drawn, { leaves, contents: [...edited].reverse() }, shownIn(slots))
  expect(found.length).toBeGreaterThan(0)
  for (const { line, slot } of found) expect(slot).toBe(slots[line - 2])
})

test('ignores salts of other drops, and rows after those of the drop', () => {
  const salt = Buffer.alloc(32, 9).toString('hex')
  expect(findMisplacedRows(drawn, { seed }, [{ position: 0, line: 2, salt }])).toEqual([])
  expect(findMisplacedRows(drawn, { seed }, [{ ...shownIn(inOrder)[0], position: ROWS, line: 99, salt }])).toEqual([])
})

test('recognizes the drop of a salt by its leaves', () => {
  const [first] = shownIn(inOrder)
  expect(isSaltOfAnyLeaf(leaves, contents, first?.salt ?? '')).toBe(true)
  const other = new Commitment(Buffer.concat([...contents].reverse()), { marginSeconds: 30 })
  expect(isSaltOfAnyLeaf(parseLeaves(other.leaves), contents, first?.salt ?? '')).toBe(false)
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { gridOf, heightOf, itemsBetween, scaleOf } from '../../src/explorer/gallery/geometry.ts'
import { type Move, movedIndex } from '../../src/explorer/gallery/keys.ts'

const MAX = 6_000_000

describe('the grid of a gallery', () => {
  it('has as many columns as fit at the minimum tile width and fills the width', () => {
    const heightOf = (width: number) => width + 60
    for (const width of [140, 328, 560, 1200, 1320]) {
      const grid = gridOf({ width, minTile: 140, gap: 12, heightOf })
      expect(grid.columns * grid.tileWidth + (grid.columns - 1) * 12).toBeCloseTo(width)
      expect(grid.tileWidth).toBeGreaterThanOrEqual(140)
      expect(grid.tileWidth).toBeLessThan(140 * 2 + 12)
    }
  })

  it('shows every item at its place for any visible part', () => {
    fc.assert(
      fc.property(
        fc.record({
          total: fc.integer({ min: 1, max: 2_000_000 }),
          width: fc.integer({ min: 200, max: 2000 }),
          at: fc.double({ min: 0, max: 1, noNaN: true }),
          more: fc.integer({ min: 0, max: 4 }),
        }),
        ({ total, width, at, more }) => {
          const grid = gridOf({ width, minTile: 190, gap: 20, heightOf: (tile) => tile + 80 })
          const from = heightOf(grid, total) * at
          const { start, end } = itemsBetween(grid, total, from, from + 900, more)
          expect(start).toBeGreaterThanOrEqual(0)
          expect(end).toBeLessThanOrEqual(total)
          expect(start % grid.columns).toBe(0)
          expect(end - start).toBeLessThanOrEqual((Math.ceil(900 / grid.rowHeight) + 1 + 2 * more) * grid.columns)
          const row = Math.floor(from / grid.rowHeight)
          const first = Math.min(row * grid.columns, total - 1)
          expect(first >= start && first < end).toBe(true)
        },
      ),
    )
  })
})

describe('a list longer than browsers can lay out', () => {
  it('a list of 10,000 tiles is not scaled', () => {
    const grid = gridOf({ width: 1200, minTile: 190, gap: 20, heightOf: (tile) => tile + 80 })
    const { shown, full } = scaleOf(heightOf(grid, 10_000))
    expect(shown).toBe(full)
  })

  it('is scaled monotonically from start to end and can be scaled back', () => {
    fc.assert(
      fc.property(
        fc.record({
          full: fc.integer({ min: 1, max: 400_000_000 }),
          places: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 20 }),
        }),
        ({ full, places }) => {
          const scale = scaleOf(full)
          expect(scale.shown).toBe(Math.min(full, MAX))
          expect([scale.toFull(0), scale.toFull(scale.shown)]).toEqual([0, full])
          const shown = places.map((place) => place * scale.shown).sort((a, b) => a - b)
          const whole = shown.map(scale.toFull)
          expect(whole).toEqual([...whole].sort((a, b) => a - b))
          for (const [index, place] of whole.entries()) expect(scale.toShown(place)).toBeCloseTo(shown[index] ?? 0, 3)
        },
      ),
    )
  })

  it('moves pixel by pixel at both ends, so that its first and last rows are reached exactly', () => {
    const scale = scaleOf(100_000_000)
    expect(scale.toFull(1234) - scale.toFull(1000)).toBe(234)
    expect(scale.toFull(MAX - 1000) - scale.toFull(MAX - 1234)).toBe(234)
  })
})

describe('the keys of a gallery', () => {
  const grid: Move = { columns: 5, rows: 3 }
  it.each([
    ['ArrowRight', 0, 1],
    ['ArrowLeft', 1, 0],
    ['ArrowDown', 2, 7],
    ['ArrowUp', 7, 2],
    ['PageDown', 0, 15],
    ['PageUp', 20, 5],
    ['Home', 57, 0],
    ['End', 3, 102],
  ])('%s moves from %i to %i', (key, from, to) => expect(movedIndex(key, from, 103, grid)).toBe(to))

  it.each([
    ['ArrowUp', 3, 3],
    ['ArrowLeft', 0, 0],
    ['ArrowRight', 102, 102],
    ['PageUp', 4, 0],
    ['PageDown', 100, 102],
    ['ArrowDown', 101, 101],
    ['ArrowDown', 99, 102],
  ])('%s from %i stops at %i, the edge', (key, from, to) => expect(movedIndex(key, from, 103, grid)).toBe(to))

  it('other keys, and all keys in an empty gallery, do not move', () => {
    expect(['a', 'Enter', 'Tab', ' ', 'constructor'].map((key) => movedIndex(key, 0, 10, grid))).toEqual(
      Array(5).fill(null),
    )
    expect(movedIndex('End', 0, 0, grid)).toBe(null)
  })
})

import { describe, expect, it } from 'vitest'
import { createEventQueryRange } from '../../../src/server/pipeline/evm/public-network/event-query-range.ts'

describe('how much is asked of a provider at once', () => {
  it('is halved by each refusal, and stays there', () => {
    const range = createEventQueryRange()
    const start = range.blocks
    expect(range.refused(start, 'exceed maximum block range: 800')).toBe(true)
    expect(range.blocks).toBe(start / 2)
    range.refused(range.blocks, 'exceed maximum block range: 800')
    for (let answers = 0; answers < 20; answers++) range.grow(range.blocks)
    expect(range.blocks).toBe(start / 4)
  })

  it('begins at what was asked, where that was less than it might have been', () => {
    const range = createEventQueryRange()
    range.refused(150, 'too many results')
    expect(range.blocks).toBe(75)
  })

  it('grows again after very many answers: the limit may have been that of another provider', () => {
    const range = createEventQueryRange()
    range.refused(200, 'block range too large')
    for (let answers = 0; answers < 200; answers++) range.grow(range.blocks)
    expect(range.blocks).toBeGreaterThan(100)
  })

  it('is less for a moment where there was no answer, and grows back', () => {
    const range = createEventQueryRange()
    const start = range.blocks
    range.shrink()
    expect(range.blocks).toBe(start / 2)
    range.grow(range.blocks)
    expect(range.blocks).toBe(start)
  })

  it('is of fewer addresses where those are too many, whatever the blocks', () => {
    const range = createEventQueryRange()
    const { blocks, addresses } = range
    range.refused(blocks, 'too many addresses in filter')
    expect([range.blocks, range.addresses]).toEqual([blocks, addresses / 2])
  })

  it('ends with a block and an address: then the refusal has another reason', () => {
    const range = createEventQueryRange()
    let refusals = 0
    while (range.refused(range.blocks, 'no')) refusals++
    expect([range.blocks, range.addresses, refusals < 30]).toEqual([1, 1, true])
  })
})

import { describe, expect, it } from 'vitest'
import { createEventQueryRange } from '../../../src/server/pipeline/evm/public-network/event-query-range.ts'

describe('how much is asked of a provider at once', () => {
  it('is halved by each refusal, and stays there', () => {
    const appetite = createEventQueryRange()
    const start = appetite.blocks
    expect(appetite.refused(start, 'exceed maximum block range: 800')).toBe(true)
    expect(appetite.blocks).toBe(start / 2)
    appetite.refused(appetite.blocks, 'exceed maximum block range: 800')
    for (let answers = 0; answers < 20; answers++) appetite.grow(appetite.blocks)
    expect(appetite.blocks).toBe(start / 4)
  })

  it('begins at what was asked, where that was less than it might have been', () => {
    const appetite = createEventQueryRange()
    appetite.refused(150, 'too many results')
    expect(appetite.blocks).toBe(75)
  })

  it('grows again after very many answers: the limit may have been that of another provider', () => {
    const appetite = createEventQueryRange()
    appetite.refused(200, 'block range too large')
    for (let answers = 0; answers < 200; answers++) appetite.grow(appetite.blocks)
    expect(appetite.blocks).toBeGreaterThan(100)
  })

  it('is less for a moment where there was no answer, and grows back', () => {
    const appetite = createEventQueryRange()
    const start = appetite.blocks
    appetite.shrink()
    expect(appetite.blocks).toBe(start / 2)
    appetite.grow(appetite.blocks)
    expect(appetite.blocks).toBe(start)
  })

  it('is of fewer addresses where those are too many, whatever the blocks', () => {
    const appetite = createEventQueryRange()
    const { blocks, addresses } = appetite
    appetite.refused(blocks, 'too many addresses in filter')
    expect([appetite.blocks, appetite.addresses]).toEqual([blocks, addresses / 2])
  })

  it('ends with a block and an address: then the refusal has another reason', () => {
    const appetite = createEventQueryRange()
    let refusals = 0
    while (appetite.refused(appetite.blocks, 'no')) refusals++
    expect([appetite.blocks, appetite.addresses, refusals < 30]).toEqual([1, 1, true])
  })
})

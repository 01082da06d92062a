import { describe, expect, it } from 'vitest'
import { createEventQueryRange } from '../../../src/server/pipeline/evm/public-network/event-query-range.ts'

describe('the range of one event query', () => {
  it('is halved by each rejection, and stays halved', () => {
    const range = createEventQueryRange()
    const start = range.blocks
    expect(range.recordRejection(start, 'exceed maximum block range: 800')).toBe(true)
    expect(range.blocks).toBe(start / 2)
    range.recordRejection(range.blocks, 'exceed maximum block range: 800')
    for (let answers = 0; answers < 20; answers++) range.recordSuccess(range.blocks)
    expect(range.blocks).toBe(start / 4)
  })

  it('is halved from the size of the query if that was below the limit', () => {
    const range = createEventQueryRange()
    range.recordRejection(150, 'too many results')
    expect(range.blocks).toBe(75)
  })

  it("grows again after many responses: the limit may have been another provider's", () => {
    const range = createEventQueryRange()
    range.recordRejection(200, 'block range too large')
    for (let answers = 0; answers < 200; answers++) range.recordSuccess(range.blocks)
    expect(range.blocks).toBeGreaterThan(100)
  })

  it('shrinks temporarily after a timeout, and grows back', () => {
    const range = createEventQueryRange()
    const start = range.blocks
    range.recordNoResponse()
    expect(range.blocks).toBe(start / 2)
    range.recordSuccess(range.blocks)
    expect(range.blocks).toBe(start)
  })

  it('has fewer addresses if there are too many, for any number of blocks', () => {
    const range = createEventQueryRange()
    const { blocks, addresses } = range
    range.recordRejection(blocks, 'too many addresses in filter')
    expect([range.blocks, range.addresses]).toEqual([blocks, addresses / 2])
  })

  it('is at least one block and one address; a rejection then has another reason', () => {
    const range = createEventQueryRange()
    let refusals = 0
    while (range.recordRejection(range.blocks, 'no')) refusals++
    expect([range.blocks, range.addresses, refusals < 30]).toEqual([1, 1, true])
  })
})

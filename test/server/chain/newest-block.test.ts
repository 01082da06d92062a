import { expect, it } from 'vitest'
import { watchNewestBlock } from '../../../src/server/chain/evm/remote/newest-block.ts'

const AT = 1_000

/** A network whose node returns these blocks, and then always the last one. */
function network(...blocks: number[]) {
  const request = async () => {
    const number = (blocks.length > 1 ? blocks.shift() : blocks[0]) ?? 0
    if (number < 0) throw new Error('no node responds')
    return { number: `0x${number.toString(16)}`, timestamp: `0x${AT.toString(16)}` }
  }
  let ms = 0
  const newest = watchNewestBlock({ request: request as never }, () => ms)
  return async (now: number) => {
    ms = now
    return await newest()
  }
}

it('counts a network as stalled once nodes have returned no new block for a minute', async () => {
  const newest = network(5, 6, 5, 6)
  expect(await newest(0)).toEqual({ number: 5, time: AT * 1000, isStalled: false })
  expect(await newest(10_000)).toMatchObject({ number: 6, isStalled: false })
  // A lagging node returns an older block.
  expect(await newest(69_000)).toMatchObject({ number: 6, isStalled: false })
  expect(await newest(80_000)).toMatchObject({ number: 6, isStalled: true })
})

it('counts no network as stalled that has a new block after an hour without a request', async () => {
  const newest = network(5, 6)
  await newest(0)
  expect(await newest(3_600_000)).toMatchObject({ number: 6, isStalled: false })
})

it('counts no network as stalled whose nodes do not respond', async () => {
  const newest = network(5, -1)
  await newest(0)
  expect(await newest(3_600_000)).toMatchObject({ number: 5, isStalled: false })
})

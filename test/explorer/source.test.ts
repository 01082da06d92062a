import { describe, expect, it } from 'vitest'
import { Source } from '../../src/explorer/gallery/source.ts'

interface PageRequest {
  offset: number
  signal: AbortSignal
  answer: (total?: number) => Promise<void>
  fail: () => Promise<void>
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A source of numbers whose requests stay pending until the test responds. */
function sourceOf(total: number) {
  const requests: PageRequest[] = []
  const source = new Source<number>((offset, limit, signal) => {
    return new Promise((resolve, reject) => {
      const items = Array.from({ length: Math.min(limit, total - offset) }, (_, index) => offset + index)
      requests.push({
        offset,
        signal,
        answer(now = total) {
          resolve({ total: now, offset, items })
          return settle()
        },
        fail() {
          reject(new Error('no answer'))
          return settle()
        },
      })
    })
  })
  const open = () => requests.filter(({ signal }) => !signal.aborted)
  return { source, asked: requests, open, offsets: () => requests.map(({ offset }) => offset) }
}

const answerAll = async (asked: PageRequest[]) => {
  for (let index = 0; index < asked.length; index++) await asked[index]?.answer()
}

describe('the list behind a gallery', () => {
  it('requests nothing without a listener', () => {
    const { source, asked } = sourceOf(1000)
    source.want(0, 30)
    expect(asked).toEqual([])
  })

  it('requests only the visible pages, two at a time', async () => {
    const { source, asked, offsets, open } = sourceOf(10_000)
    source.listen(() => {})
    source.want(250, 560)
    expect([offsets(), open().length]).toEqual([[0, 200, 300], 2])
    await asked[1]?.answer()
    expect(offsets()).toEqual([0, 200, 300, 400])
    await answerAll(asked)
    expect(offsets()).toEqual([0, 200, 300, 400, 500])
    expect([source.total, source.at(250), source.at(559), source.at(700)]).toEqual([10_000, 250, 559, undefined])
  })

  it('cancels requests for pages out of sight and ignores their late responses', async () => {
    const { source, asked, open } = sourceOf(10_000)
    source.listen(() => {})
    await asked[0]?.answer()
    source.want(300, 330)
    source.want(5000, 5030)
    expect([asked[1]?.signal.aborted, open().at(-1)?.offset]).toEqual([true, 5000])
    await answerAll(asked)
    expect([source.at(300), source.at(5000)]).toEqual([undefined, 5000])
  })

  it('requests a page once, and again if it was evicted', async () => {
    const { source, asked, offsets } = sourceOf(100_000)
    source.listen(() => {})
    for (let page = 0; page < 40; page++) {
      source.want(page * 100, page * 100 + 100)
      await answerAll(asked.slice(-2))
    }
    expect(offsets()).toEqual(Array.from({ length: 40 }, (_, page) => page * 100))
    const kept = Array.from({ length: 40 }, (_, page) => source.at(page * 100)).filter((item) => item !== undefined)
    expect(kept.length).toBe(16)
    source.want(3900, 4000)
    expect(offsets().length).toBe(40)
    source.want(0, 100)
    expect(offsets().at(-1)).toBe(0)
  })

  it('shows cached items until a refresh returns new ones', async () => {
    const { source, asked } = sourceOf(100)
    source.listen(() => {})
    await asked[0]?.answer()
    source.refresh()
    expect([asked.length, source.at(5)]).toEqual([2, 5])
    await asked[1]?.answer(101)
    expect(source.total).toBe(101)
  })

  it('repeats a request that was pending at a refresh', async () => {
    const { source, asked } = sourceOf(100)
    source.listen(() => {})
    source.refresh()
    await asked[0]?.answer()
    expect([asked.length, source.at(5)]).toEqual([2, 5])
    await asked[1]?.answer()
    expect(asked.length).toBe(2)
  })

  it('reports an error, keeps its items and recovers with the next response', async () => {
    const { source, asked } = sourceOf(1000)
    let told = 0
    source.listen(() => told++)
    await asked[0]?.answer()
    source.want(500, 530)
    await asked[1]?.fail()
    expect([source.error?.message, source.at(0), told]).toEqual(['no answer', 0, 2])
    source.want(500, 530)
    await asked[2]?.answer()
    expect([source.error, source.at(500)]).toEqual([null, 500])
  })

  it('cancels its requests when the last listener leaves', () => {
    const { source, open } = sourceOf(1000)
    const leave = source.listen(() => {})
    leave()
    expect(open()).toEqual([])
  })

  it('requests nothing beyond the end', async () => {
    const { source, asked, offsets } = sourceOf(150)
    source.listen(() => {})
    await asked[0]?.answer()
    source.want(120, 420)
    await answerAll(asked)
    expect(offsets()).toEqual([0, 100])
  })
})

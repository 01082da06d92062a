import { expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { makeChanges } from '../../src/plan/make-changes.ts'

interface Change {
  key: string
  line: number
}
const CHANGES = Array.from({ length: 20 }, (_, line): Change => ({ key: `r${line}`, line }))
const down = () => new GdnError('unreachable', 'the server is down')
const proxyError = () => new GdnError('bad_answer', 'a page of the proxy', { details: { status: 502 } })

/** Makes the changes on a server that is down at these times. Resolves with the outcomes, and what was sent. */
async function make(isDown: (now: number) => boolean, error = down, stopAfter = Number.POSITIVE_INFINITY) {
  let now = 0
  const sent: string[] = []
  async function* changes() {
    yield* CHANGES
  }
  const answer = <Result>(result: () => Result) => {
    now += 10
    if (isDown(now)) throw error()
    return result()
  }
  const outcomes = await makeChanges(
    changes(),
    {
      send: async (change: Change) =>
        answer(() => {
          sent.push(change.key)
          return { change, transactionId: change.key }
        }),
      endsOf: async (page) => answer(() => new Map(page.map((one) => [one, null]))),
    },
    {
      now: () => now,
      async sleep(ms) {
        now += ms
        if (now > stopAfter) throw new GdnError('interrupted', 'interrupted')
        await new Promise(setImmediate)
      },
      ...{ signal: new AbortController().signal, timeoutMs: 600_000, onProgress: () => {} },
    },
  )
  return { outcomes, sent }
}

test.each([
  ['the server was unreachable', down],
  ['a proxy could not reach it', proxyError],
])('goes on after %s, with each change once', async (_, error) => {
  const isDown = (now: number) => (now > 50 && now < 30_000) || (now > 30_100 && now < 60_000)
  const { outcomes, sent } = await make(isDown, error)
  expect(outcomes).toMatchObject({ done: 20, pending: 0, unsent: false })
  expect(sent.sort()).toEqual(CHANGES.map(({ key }) => key).sort())
})

test('ends where the server stays unreachable', async () => {
  await expect(make((now) => now > 50)).rejects.toMatchObject({ code: 'unreachable' })
})

test('tells how to resume after Ctrl-C, while it waits and while it sends', async () => {
  for (const isDown of [() => false, (now: number) => now > 50]) {
    await expect(make(isDown, down, 100)).rejects.toMatchObject({
      ...{ code: 'interrupted', hint: 'Run the same command again: it resumes what is in progress.' },
    })
  }
})

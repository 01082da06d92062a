import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JournalWriter } from '../../src/batch/journal/writer.ts'
import { KeyTable } from '../../src/batch/key-table.ts'
import { Ledger, ROW } from '../../src/batch/ledger.ts'
import { matchIds } from '../../src/batch/match.ts'
import type { AppendFile } from '../../src/batch/types.ts'
import { runs } from '../helpers/runs.ts'

const SPAN = { offset: 0, length: 1 }
const CONTENT = '0123456789abcdef0123'

/** A ledger that knows of one request with two rows. */
function sentOnce(): Ledger {
  const ledger = new Ledger()
  const rows: [string, number, string][] = [
    ['id:a', 2, CONTENT],
    ['id:b', 3, CONTENT],
  ]
  ledger.apply({ t: 'intent', n: 1, endpoint: 'createnft', key: 'k', body: '{}', rows, at: 0 }, SPAN)
  return ledger
}

const answer = (outcome: 'accepted' | 'refused' | 'unknown' | 'no_effect') =>
  ({ t: 'answer', n: 1, outcome, status: 400, at: 0 }) as const

describe('what a journal tells of a row', () => {
  test.each([
    ['an intent alone', [], 'unknown'],
    ['an acceptance', [answer('accepted')], 'accepted'],
    ['a refusal', [answer('refused')], 'refused'],
    ['a sending without effect', [answer('no_effect')], 'pending'],
    ['one without effect, then sent again', [answer('no_effect'), { t: 'again', n: 1 } as const], 'unknown'],
    ['an unknown outcome', [answer('unknown')], 'unknown'],
    ['an unknown outcome, then a refusal', [answer('unknown'), answer('refused')], 'unknown'],
    ['an unknown outcome, then one without effect', [answer('unknown'), answer('no_effect')], 'unknown'],
    ['an unknown outcome, then an acceptance', [answer('unknown'), answer('accepted')], 'accepted'],
  ] as const)('%s', (_what, records, state) => {
    const ledger = sentOnce()
    for (const record of records) ledger.apply(record, SPAN)
    expect(ledger.state(ledger.findRow('id:a'))).toBe(ROW[state])
  })

  test('an intent found at start stays unknown whatever refusal comes after it', () => {
    const ledger = sentOnce()
    ledger.settleOpen()
    ledger.apply(answer('refused'), SPAN)
    expect(ledger.counts()).toMatchObject({ unknown: 2, failed: 0 })
  })

  test('while a process is sending, what is under way counts as pending', () => {
    expect(sentOnce().counts(true)).toMatchObject({ pending: 2, unknown: 0 })
    expect(sentOnce().counts()).toMatchObject({ pending: 0, unknown: 2 })
  })

  test('the answer to an earlier request says nothing of a row that went by a later one', () => {
    const ledger = sentOnce()
    ledger.apply(answer('no_effect'), SPAN)
    const rows: [string, number, string][] = [['id:a', 2, CONTENT]]
    ledger.apply({ t: 'intent', n: 2, endpoint: 'createnft', key: 'l', body: '{}', rows, at: 0 }, SPAN)
    ledger.apply({ ...answer('accepted'), n: 2 }, SPAN)
    ledger.apply(answer('refused'), SPAN)
    expect(ledger.state(ledger.findRow('id:a'))).toBe(ROW.accepted)
  })
})

test('a journal that could not be written takes nothing more: its tail may be anything', async () => {
  const written: string[] = []
  let broken = true
  const file: AppendFile = {
    async append(bytes) {
      if (broken) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      written.push(Buffer.from(bytes).toString())
    },
    sync: async () => {},
    truncate: async () => {
      throw new Error('EIO')
    },
    close: async () => {},
  }
  const writer = new JournalWriter('/state/x.journal', file, 0)
  await expect(writer.append({ t: 'again', n: 1 }, { sync: true })).rejects.toMatchObject({ code: 'data_dir' })
  broken = false
  await expect(writer.append({ t: 'again', n: 2 }, { sync: true })).rejects.toMatchObject({ code: 'data_dir' })
  expect(written).toEqual([])
})

test('a key table numbers texts in the order in which they come, as a Map would', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 }), { maxLength: 3000 }), (texts) => {
      const table = new KeyTable()
      const map = new Map<string, number>()
      for (const text of texts) {
        expect(table.find(text)).toBe(map.get(text) ?? -1)
        if (!map.has(text)) map.set(text, map.size)
        expect(table.add(text)).toBe(map.get(text))
      }
      expect(table.size).toBe(map.size)
    }),
    { numRuns: runs(30) },
  )
})

test('whatever order a server answers in, every row gets an id of its own that says what the row says', () => {
  const permutation = fc
    .array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 12 })
    .chain((titles) =>
      fc.tuple(fc.constant(titles), fc.shuffledSubarray([...titles.keys()], { minLength: titles.length })),
    )
  fc.assert(
    fc.property(permutation, ([titles, order]) => {
      const rows = titles.map((title) => ({ title }))
      const seen = order.map((index) => ({ id: `nft-${index}`, metadata: { title: titles[index] } }))
      const ids = matchIds(rows, seen) ?? []
      expect(new Set(ids).size).toBe(titles.length)
      const said = new Map(seen.map(({ id, metadata }) => [id, metadata.title]))
      expect(ids.map((id) => said.get(id ?? ''))).toEqual(titles)
    }),
  )
})

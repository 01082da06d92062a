import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JournalWriter } from '../../src/batch/journal/writer.ts'
import { KeyTable } from '../../src/batch/key-table.ts'
import { Ledger } from '../../src/batch/ledger.ts'
import { readLines } from '../../src/batch/lines.ts'
import { matchIds } from '../../src/batch/match.ts'
import { IdSet } from '../../src/batch/reconcile/id-set.ts'
import { rowKey } from '../../src/batch/row-key.ts'
import { ROW } from '../../src/batch/row-table.ts'
import { hashOfText } from '../../src/batch/row-text.ts'
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
    expect(ledger.state(ledger.rows.find('id:a'))).toBe(ROW[state])
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
    expect(ledger.state(ledger.rows.find('id:a'))).toBe(ROW.accepted)
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

test('keys that are read many at once are those that are read one by one, whatever was read before', () => {
  const content = fc.nat({ max: 40 }).map((number) => hashOfText(String(number)))
  const key = fc.oneof(
    content.map((each) => rowKey(null, each)),
    fc.string({ maxLength: 3 }),
  )
  const block = fc.oneof(
    fc.record({ keys: fc.array(key, { maxLength: 30 }) }),
    fc.record({ contents: fc.array(content, { maxLength: 30 }) }),
  )
  fc.assert(
    fc.property(fc.array(block, { maxLength: 10 }), (blocks) => {
      const table = new KeyTable()
      const map = new Map<string, number>()
      for (const each of blocks) {
        const keys = 'keys' in each ? each.keys : each.contents.map((content) => rowKey(null, content))
        if ('keys' in each) table.readKeys(keys)
        else table.readContents(each.contents)
        for (const [index, text] of keys.entries()) {
          if (!map.has(text)) map.set(text, map.size)
          expect(table.addRead(index)).toBe(map.get(text))
        }
      }
      for (const [text, number] of map) expect(table.find(text)).toBe(number)
    }),
    { numRuns: runs(50) },
  )
})

test('a set of ids has what it was given, also what it was to take later', () => {
  const id = fc.nat({ max: 5000 }).map(String)
  const step = fc.record({ ids: fc.array(fc.option(id), { maxLength: 400 }), later: fc.boolean(), look: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), id, (steps, other) => {
      const set = new IdSet()
      const model = new Set<string>()
      for (const { ids, later, look } of steps) {
        const given = ids.filter((each) => each !== null)
        if (later) set.addLater(ids)
        else for (const each of given) expect(set.add(each)).toBe(!model.has(each) && model.add(each) !== null)
        for (const each of given) model.add(each)
        if (look) expect(set.has(other)).toBe(model.has(other))
      }
      const copy = IdSet.fromBytes(set.toBytes())
      expect([set.size, copy.size]).toEqual([model.size, model.size])
      for (const each of model) expect(set.has(each) && copy.has(each)).toBe(true)
    }),
    { numRuns: runs(50) },
  )
})

test('the lines of a file are told with their places, however they lie across what is read at once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gdn-lines-'))
  try {
    const path = join(folder, 'lines')
    const lengths = [0, 5, 700_000, 348_570, 0, 1, 2_500_000, 3, 1 << 20, 0]
    const lines = lengths.map((length, index) => String.fromCharCode(97 + index).repeat(length))
    for (const tail of ['', 'cut', 'z'.repeat(1 << 20)]) {
      await writeFile(path, lines.map((line) => `${line}\n`).join('') + tail)
      const file = await open(path, 'r')
      const found: string[] = []
      let offset = 0
      for await (const { line, span, ended } of readLines(file)) {
        expect(span).toEqual({ offset, length: line.length })
        expect(ended).toBe(found.length < lines.length)
        offset += line.length + 1
        found.push(line.toString())
      }
      await file.close()
      expect(found).toEqual(tail === '' ? lines : [...lines, tail])
    }
  } finally {
    await rm(folder, { recursive: true })
  }
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

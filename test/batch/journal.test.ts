import { appendFile, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PackedRows } from '../../src/batch/journal/packed-rows.ts'
import {
  decodeForFold,
  decodeRecord,
  encodeRecord,
  JOURNAL_VERSION,
  type JournalRecord,
} from '../../src/batch/journal/records.ts'
import { Ledger } from '../../src/batch/ledger.ts'
import { hashOfText } from '../../src/batch/row-text.ts'
import { withState } from '../../src/batch/run-files.ts'
import { listRuns, runStatus } from '../../src/batch/runs.ts'
import type { AppendFile } from '../../src/batch/types.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { runs } from '../helpers/runs.ts'
import { Killer, killableFile, Machine, recordsOf } from './simulation.ts'
import { CONTRACT, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

/** A journal whose last record is an intent, of a process that was killed while it waited for the answer. */
async function killedWhileWaiting(server: FakeHostedApi, killer: Killer) {
  const wrapJournal = killableFile(machine.journal(), killer, false)
  await machine.run(server, rowsUpTo(6), { inFlight: 1 }, { wrapJournal }).catch(() => {})
  killer.revive()
}

test('a record cut at any byte is as if it had never been written; a whole one counts', async () => {
  let sends = 0
  const killer = new Killer(Number.POSITIVE_INFINITY)
  const server = new FakeHostedApi({
    idempotency: false,
    idPrefix: 'early',
    onArrival: () => {
      if (++sends === 2) {
        killer.crashed = true
        throw new Error('killed')
      }
    },
  })
  await killedWhileWaiting(server, killer)
  const whole = await readFile(machine.journal())
  const records = await recordsOf(machine.journal())
  const last = records.at(-1)
  expect(last).toMatchObject({ t: 'intent', n: 2 })
  const lastLine = whole.subarray(whole.subarray(0, -1).lastIndexOf(10) + 1)

  const lengthCutTo = async (cut: number) => {
    await writeFile(machine.journal(), whole.subarray(0, whole.length - cut))
    return (await recordsOf(machine.journal())).length
  }
  for (let cut = 0; cut <= lastLine.length; cut++) {
    expect(await lengthCutTo(cut), `cut by ${cut}`).toBe(cut <= 1 ? records.length : records.length - 1)
  }
  for (const cut of [0, 1, 2, 3, 50, Math.floor(lastLine.length / 2), lastLine.length - 1, lastLine.length]) {
    await writeFile(machine.journal(), whole.subarray(0, whole.length - cut))
    const summary = await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(6), { noWait: true })
    // Cut by nothing or by its line end alone, the intent stands, and its rows are unknown; else they are sent.
    expect(summary.counts, `cut by ${cut}`).toMatchObject(
      cut <= 1 ? { total: 6, unknown: 2, accepted: 4 } : { total: 6, unknown: 0, accepted: 6 },
    )
    // What was cut is gone for good: the journal can be read on.
    expect((await recordsOf(machine.journal())).at(-1)).toMatchObject({ t: 'answer', outcome: 'accepted' })
  }
})

test('what a crash left behind the whole part is cut, however long it is', async () => {
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(6), { noWait: true })
  const before = await recordsOf(machine.journal())
  await appendFile(machine.journal(), Buffer.alloc(100_000))
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(6), { noWait: true })
  const after = await recordsOf(machine.journal())
  expect(after.slice(0, before.length)).toEqual(before)
  expect(after).toHaveLength(before.length + 1)
  expect((await stat(machine.journal())).size).toBeLessThan(50_000)
})

test('a state directory on a read-only disk is reported as one that can not be created', async () => {
  const error = Object.assign(new Error('ENOENT: no such file or directory, mkdir'), {
    ...{ code: 'ENOENT', syscall: 'mkdir', path: '/state/runs', errno: -2 },
  })
  // As Node's recursive mkdir reports it.
  const refused = withState('/state', () => Promise.reject(error))
  await expect(refused).rejects.toMatchObject({
    code: 'data_dir',
    message: "can't use the state directory /state: the directory can not be created",
  })
})

test('a state directory that can not be used is told, and nothing is sent', async () => {
  const server = new FakeHostedApi({ idempotency: false })
  const stateDir = `${machine.stateDir}/file`
  await writeFile(stateDir, '')
  await expect(machine.run(server, rowsUpTo(3), { stateDir })).rejects.toMatchObject({
    code: 'data_dir',
    hint: expect.stringContaining('--state-dir'),
  })
  expect(server.attempts).toBe(0)
})

test('a journal with a flipped bit is refused with its line and a way out, and nothing is sent', async () => {
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(6), { noWait: true })
  const whole = await readFile(machine.journal())
  for (let at = 0; at < whole.length; at += 13) {
    const flipped = Buffer.from(whole)
    flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8))
    await writeFile(machine.journal(), flipped)
    const server = new FakeHostedApi({ idempotency: false })
    const error = await machine.run(server, rowsUpTo(7)).catch((reason: unknown) => reason)
    expect(error, `byte ${at}`).toMatchObject({ code: 'data_dir' })
    expect(server.attempts, `byte ${at}`).toBe(0)
    expect(await readFile(machine.journal()), 'left as it is').toEqual(flipped)
  }
  for (const at of [...whole.entries()].filter(([, byte]) => byte === 10).map(([index]) => index)) {
    const flipped = Buffer.from(whole)
    flipped[at] = 0x0b
    await writeFile(machine.journal(), flipped)
    await expect(
      machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(7)),
      `line end ${at}`,
    ).rejects.toMatchObject({
      code: 'data_dir',
    })
  }
  const error = await machine
    .run(new FakeHostedApi({ idempotency: false }), rowsUpTo(7))
    .catch((reason: unknown) => reason)
  expect(error).toMatchObject({ hint: expect.stringContaining('--again') })
})

test('a journal that was cut down to nothing is refused, not taken for a new run', async () => {
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(6))
  for (const length of [0, 5]) {
    await truncate(machine.journal(), length)
    const server = new FakeHostedApi({ idempotency: false })
    await expect(machine.run(server, rowsUpTo(6))).rejects.toMatchObject({ code: 'data_dir' })
    expect(server.attempts).toBe(0)
  }
})

test('a second drop can be ordered past a damaged journal', async () => {
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(3))
  await truncate(machine.journal(), 40)
  const server = new FakeHostedApi({ idempotency: false })
  const summary = await machine.run(server, rowsUpTo(3), { again: true })
  expect(summary.counts.deployed).toBe(3)
  expect((await stat(machine.journal())).size).toBe(40)
})

test('a journal of a newer format is refused, and says so', async () => {
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(3))
  const newer = { t: 'run', v: JOURNAL_VERSION + 1, unheard: true } as unknown as JournalRecord
  await writeFile(machine.journal(), encodeRecord(newer))
  const error = await machine
    .run(new FakeHostedApi({ idempotency: false }), rowsUpTo(3))
    .catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    code: 'data_dir',
    message: expect.stringContaining(`newer gdn (format ${JOURNAL_VERSION + 1})`),
  })
})

test('folder and files of a run are readable by their owner only', async () => {
  await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(3))
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)
  expect(await mode(`${machine.stateDir}/runs`)).toBe('700')
  expect(await mode(machine.journal())).toBe('600')
  expect(await mode(machine.journal().replace('.journal', '.rows'))).toBe('600')
})

/** A disk that is full from the given write on. */
function fullFrom(write: number): (file: AppendFile) => AppendFile {
  let writes = 0
  return (file) => ({
    ...file,
    append: async (bytes) => {
      if (++writes < write) return file.append(bytes)
      await file.append(bytes.subarray(0, 10))
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    },
  })
}

test('a disk that fills up at any write stops the run before it sends; with room again it goes on', async () => {
  for (let write = 1; ; write++) {
    await machine.stop()
    machine = await Machine.start()
    const server = new FakeHostedApi({ idempotency: true })
    const run = () => machine.run(server, rowsUpTo(7), {}, { wrapJournal: fullFrom(write) })
    const error = await run().catch((reason: unknown) => reason)
    if (!(error instanceof Error)) {
      expect(write).toBeGreaterThan(7)
      return
    }
    expect(error).toMatchObject({ code: 'data_dir', message: expect.stringContaining('no space left') })
    const records = await recordsOf(machine.journal())
    expect(server.attempts, `write ${write}`).toBe(records.filter(({ t }) => t === 'intent').length)
    const summary = await machine.run(server, rowsUpTo(7))
    expect(summary.counts, `write ${write}`).toMatchObject({ total: 7, deployed: 7 })
    expect([...server.countsByTitle().values()], `write ${write}`).toEqual([1, 1, 1, 1, 1, 1, 1])
  }
})

test('a run can be looked at while another process writes its journal', async () => {
  const seen: unknown[] = []
  let looked: Promise<void> = Promise.resolve()
  const server = new FakeHostedApi({ idempotency: false })
  await machine.run(
    server,
    rowsUpTo(9),
    {},
    {
      onEvent: (event) => {
        if (event.type !== 'sending') return
        looked = looked.then(async () => {
          const [run] = await listRuns(machine.stateDir)
          if (run !== undefined) seen.push((await runStatus(run)).counts.total)
        })
      },
    },
  )
  await looked
  expect(seen).toEqual([9, 9, 9])
  expect((await listRuns(machine.stateDir))[0]).toMatchObject({ contractAddress: CONTRACT, running: false })
})

/** What packed rows stand for. */
function unpacked(n: number, { count, hashes, lines }: PackedRows) {
  const rows = Array.from({ length: count }, (_, index) => {
    const content = Buffer.from(hashes.subarray(index * 10, index * 10 + 10)).toString('hex')
    return [`row:${content}`, lines[index], content]
  })
  return { t: 'intent', n, rows }
}

test('requests that name rows by their contents are folded as they are told', () => {
  const hash = fc.nat({ max: 30 }).map((number) => hashOfText(String(number)))
  const rows = fc.uniqueArray(hash, { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 6 }), (requests) => {
      const told = new Ledger()
      const folded = new Ledger()
      for (const [index, hashes] of requests.entries()) {
        const keys = hashes.map((each, position): [string, number, string] => [`row:${each}`, position + 2, each])
        const n = index + 1
        const record: JournalRecord = { t: 'intent', n, endpoint: 'createnft', key: 'k', body: '{}', rows: keys, at: 0 }
        const line = decodeForFold(encodeRecord(record).subarray(0, -1))
        if (line === null || !('packed' in line)) throw new Error('such rows are packed')
        told.apply(record, { offset: n, length: n })
        folded.apply(line, { offset: n, length: n })
        const known = (ledger: Ledger) =>
          keys.map(([key]) => {
            const row = ledger.rows.find(key)
            return [row, ledger.rows.line(row), ledger.state(row), ledger.sentBy(row)]
          })
        expect(known(folded)).toEqual(known(told))
        expect(folded.rowsOf(n)).toEqual(told.rowsOf(n))
      }
      expect(folded.counts()).toEqual(told.counts())
    }),
    { numRuns: runs(50) },
  )
})

test('folded, a record says what it says read in full, but for the body of a request, whatever stands in it', () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom(',"rows":[', '"rows":[["a",1,"b"]]', '\\', '"', '\u2028', '\ud800'),
  )
  const content = fc.nat({ max: 20 }).map((number) => hashOfText(String(number)))
  const plain = fc.tuple(content, fc.nat({ max: 2_000_000 }))
  // As most rows are, and almost so.
  const named = plain.map(([hash, line]): [string, number, string] => [`row:${hash}`, line, hash])
  const other = fc.oneof(
    plain.map(([hash, line]): [string, number, string] => [`row:${hash}#2`, line, hash]),
    plain.map(([hash, line]): [string, number, string] => [`row:${hash.toUpperCase()}`, line, hash.toUpperCase()]),
    plain.map(([hash, line]): [string, number, string] => [`row:${hash}`, line, hashOfText('another')]),
    plain.map(([hash, line]): [string, number, string] => [`row:${hash}`, line + 2 ** 32, hash]),
    plain.map(([hash, line]): [string, number, string] => [`row:${hash}`, line + 0.5, hash]),
    plain.map(([hash, line]): [string, number, string] => [`id:${hash}`, line, hash]),
    fc.tuple(text, fc.nat(), text),
  )
  const rows = fc.oneof(
    fc.array(named, { maxLength: 12 }),
    fc.array(fc.oneof(named, other), { maxLength: 4 }),
    fc.array(other, { maxLength: 3 }),
  )
  const intent = fc
    .record({ n: fc.nat(), key: text, body: text, rows, at: fc.nat() })
    .map(({ n, ...record }): JournalRecord => ({ t: 'intent', n, endpoint: 'createnft', ...record }))
  const outcome = fc.constantFrom('accepted', 'refused', 'unknown', 'no_effect')
  const answer = fc
    .record({ n: fc.nat(), outcome, status: fc.option(fc.nat()), at: fc.nat() })
    .chain((record) =>
      fc.record({ ids: fc.array(text), message: text }, { requiredKeys: [] }).map((more) => ({ ...record, ...more })),
    )
    .map((record): JournalRecord => ({ t: 'answer', ...record }))
  const order = fc
    .record({ n: fc.nat(), ids: fc.array(fc.option(text)) })
    .map((record): JournalRecord => ({ t: 'order', ...record }))
  fc.assert(
    fc.property(fc.oneof(intent, answer, order), fc.nat(), (record, place) => {
      const line = encodeRecord(record).subarray(0, -1)
      const whole = decodeRecord(line)
      expect(whole).not.toBeNull()
      const folded = decodeForFold(line)
      const told = whole?.t === 'intent' ? { t: 'intent', n: whole.n, rows: whole.rows } : whole
      expect(folded !== null && 'packed' in folded ? unpacked(folded.n, folded.packed) : folded).toEqual(told)
      const bad = Buffer.from(line)
      const at = place % bad.length
      bad[at] = (bad[at] ?? 0) ^ 1
      expect(decodeForFold(bad)).toBeNull()
    }),
    { numRuns: runs(300) },
  )
})

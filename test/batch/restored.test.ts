import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runRows } from '../../src/batch/runs/run-rows.ts'
import { openRun } from '../../src/batch/runs/runs.ts'
import type { BatchOptions } from '../../src/batch/types.ts'
import { metadataHash } from '../../src/operations/reconcile/content-and-owners.ts'
import { unresolvedContents } from '../../src/operations/reconcile/unresolved.ts'
import { FakeHostedApi, type Fault } from '../helpers/fake-hosted-api.ts'
import { Machine } from './simulation.ts'
import { row, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

const backend = (incarnation: string, id = 'the backend') => ({
  ...{ url: 'http://127.0.0.1:4680', id, incarnation },
  ...{ silence: null, isLocal: true },
})

/** A server that honors keys, and whose requests meet these faults, one after the other. */
const serverWith = (faults: (Fault | null)[], pollsToDeploy = 0) =>
  new FakeHostedApi({
    ...{ idempotency: true, now: machine.time.now, pollsToDeploy },
    faultOf: () => {
      const fault = faults.shift() ?? null
      return fault === null ? null : { fault, status: 502 }
    },
  })

const run = (server: FakeHostedApi, incarnation: string, options: Partial<BatchOptions> = {}) =>
  machine.run(server, rowsUpTo(3), { inFlight: 1, backend: backend(incarnation), ...options })

/** Restores a backup that lacks the newest NFTs. */
function lose(server: FakeHostedApi, ...titles: string[]): void {
  for (const title of titles) for (const id of server.idsOf(title)) server.minted.delete(id)
}

describe('after a restore', () => {
  test('rows that were accepted and are unknown now are looked up in the collection, and are absent', async () => {
    const server = serverWith([], 100)
    await run(server, 'first', { wait: false })
    lose(server, '#2')
    const attempts = server.attempts
    const summary = await run(server, 'second', { timeout: 120_000 })
    expect(server.attempts).toBe(attempts)
    expect(summary).toMatchObject({ exitCode: 9, counts: { unknown: 1 }, reconciled: { adopted: 0 } })
    expect(summary.absentRows.map(({ line }) => line)).toEqual([3])
  })

  test('the note says whether the backend has lost rows', async () => {
    const server = serverWith([])
    await run(server, 'first')
    const notes = () => machine.events.flatMap((event) => (event.type === 'planned' ? event.notes : []))
    await run(server, 'moved')
    expect(notes()).toEqual(['The backend was restored or moved, and still has every accepted row'])
    lose(server, '#1')
    await run(server, 'restored', { timeout: 120_000 })
    expect(notes()[1]).toBe('The backend was restored from a backup and has no record of 1 accepted row')
  })

  test('a row that is in the collection under another ID is adopted', async () => {
    const server = serverWith([])
    await run(server, 'first', { wait: false })
    const [id = ''] = server.idsOf('#2')
    const nft = server.minted.get(id)
    if (nft === undefined) throw new Error('#2 was not minted')
    server.minted.delete(id)
    server.minted.set('new-1', { ...nft, id: 'new-1' })
    const summary = await run(server, 'second', { timeout: 120_000 })
    expect(summary).toMatchObject({ exitCode: 0, counts: { deployed: 3 }, reconciled: { adopted: 1 } })
    expect((await machine.results(summary)).map(({ nft_gdn_id }) => nft_gdn_id)).toContain('new-1')
  })

  test('a row that was deployed is never reported as absent', async () => {
    const server = serverWith([])
    expect(await run(server, 'first')).toMatchObject({ exitCode: 0 })
    lose(server, '#1')
    // The run is finished, and is checked nevertheless.
    const summary = await run(server, 'second', { timeout: 120_000 })
    expect(summary).toMatchObject({ exitCode: 9, counts: { unknown: 1, deployed: 2 }, absentRows: [] })
    expect(summary.undecidedRows).toEqual([
      expect.objectContaining({ line: 2, reason: expect.stringContaining('restored from a backup') }),
    ])
  })

  test('a row that was deployed is never reported as absent after a second restore', async () => {
    const server = serverWith([])
    await run(server, 'first')
    // Ends before it polls the rows, so they are not deployed again in the state.
    expect(await run(server, 'second', { wait: false })).toMatchObject({ counts: { accepted: 3 } })
    lose(server, '#1')
    const third = await run(server, 'third', { timeout: 120_000 })
    expect(third).toMatchObject({ exitCode: 9, counts: { unknown: 1, deployed: 2 }, absentRows: [] })
    const attempts = server.attempts
    await run(server, 'third', { retryAbsent: true, timeout: 120_000 })
    expect(server.attempts).toBe(attempts)
  })

  test('an ID that a later backup contains again is adopted again', async () => {
    const server = serverWith([])
    await run(server, 'first')
    const [lost = ''] = server.idsOf('#1')
    const nft = server.minted.get(lost)
    lose(server, '#1')
    await run(server, 'second', { timeout: 120_000 })
    if (nft !== undefined) server.minted.set(lost, nft)
    expect(await run(server, 'third', { timeout: 120_000 })).toMatchObject({ exitCode: 0, counts: { deployed: 3 } })
  })

  test.each([true, false])(
    'a request with an unknown outcome is not resent with its key (restored: %s)',
    async (is) => {
      const server = serverWith(['cut_before', ...Array<Fault>(20).fill('not_sent')])
      const first = await run(server, 'first', { unreachableMs: 1, wait: false })
      expect(first.counts.unknown).toBeGreaterThan(0)
      const again = serverWith([])
      const summary = await run(again, is ? 'second' : 'first', { timeout: 120_000 })
      // Each row has its own request. The other two were never sent.
      expect(again.attempts).toBe(is ? 2 : 3)
      expect(summary.counts).toMatchObject(is ? { unknown: 1, deployed: 2 } : { unknown: 0, deployed: 3 })
    },
  )

  test('the new incarnation is recorded after the check, so that a failed check is repeated', async () => {
    const server = serverWith([])
    await run(server, 'first')
    lose(server, '#1')
    const broken = new FakeHostedApi({
      ...{ idempotency: true, now: machine.time.now },
      onRead: () => {
        throw new Error('the line is cut')
      },
    })
    await expect(run(broken, 'second')).rejects.toThrow('the line is cut')
    const incarnation = () =>
      machine.state((sql) => sql.get<{ incarnation: string }>('SELECT incarnation FROM drops')?.incarnation)
    expect(await incarnation()).toBe('first')
    expect(await run(server, 'second', { wait: false })).toMatchObject({ exitCode: 9, counts: { unknown: 1 } })
    expect(await incarnation()).toBe('second')
  })
})

describe('an adopted row that a restored backend no longer knows', () => {
  /** Loses the state, adopts all rows, and restores a backup without the second. */
  async function loseAdopted() {
    const server = serverWith([], 1000)
    await run(server, 'first', { wait: false })
    await machine.lose()
    const adopted = await run(server, 'first', { adopt: true, wait: false })
    expect(adopted).toMatchObject({ counts: { accepted: 3 } })
    const [id = ''] = server.idsOf('#2')
    const nft = server.minted.get(id)
    if (nft === undefined) throw new Error('#2 was not minted')
    server.minted.delete(id)
    return { server, nft, adopted }
  }

  test('is undecided, because its NFT may have been deployed', async () => {
    const { server } = await loseAdopted()
    const summary = await run(server, 'second', { timeout: 120_000 })
    expect(summary).toMatchObject({ exitCode: 9, counts: { unknown: 1, accepted: 2 }, absentRows: [] })
    expect(summary.undecidedRows).toEqual([
      expect.objectContaining({ line: 3, reason: expect.stringContaining('minted before this run') }),
    ])
    expect(server.attempts).toBe(3)
  })

  test('is adopted again when a later backup contains its NFT', async () => {
    const { server, nft } = await loseAdopted()
    await run(server, 'second', { timeout: 120_000 })
    server.minted.set(nft.id, nft)
    const summary = await run(server, 'third', { timeout: 120_000 })
    expect(summary).toMatchObject({ counts: { unknown: 0 }, reconciled: { adopted: 1 } })
    expect((await machine.results(summary)).map(({ nft_gdn_id }) => nft_gdn_id)).toContain(nft.id)
  })

  test('contests its content, and is shown with its metadata', async () => {
    const { server, adopted } = await loseAdopted()
    await run(server, 'second', { wait: false })
    const { origin, blockchain, contractAddress: contract } = machine.options()
    const unresolved = await machine.state((sql) =>
      unresolvedContents(sql, { origin, backendId: 'the backend', blockchain, contract }),
    )
    const [, second] = rowsUpTo(3)
    expect([...unresolved]).toEqual([metadataHash(second?.metadata)])
    const sent: unknown[] = []
    for await (const { sentMetadata } of runRows(await openRun(machine.stateDir, adopted.run.id))) {
      sent.push(await sentMetadata())
    }
    expect(sent).toEqual(rowsUpTo(3).map(({ metadata }) => metadata))
    // Another run reads the unresolved contents too.
    const unknown = serverWith(['cut_before'])
    const other = { manifestPath: '/drops/other.csv', backend: backend('second'), timeout: 120_000 }
    await expect(machine.run(unknown, [row(9)], other)).resolves.toMatchObject({ counts: { total: 1 } })
  })

  test('is named where the manifest is edited', async () => {
    const { server } = await loseAdopted()
    await run(server, 'second', { wait: false })
    const edited = machine.run(server, [row(1), row(3), row(7)], { backend: backend('second') })
    await expect(edited).rejects.toMatchObject({ code: 'edited_rows', details: { vanished: 1, new: 1 } })
  })
})

test('a run is rejected at another backend of the same origin, and at one that has lost its ID', async () => {
  const server = serverWith([])
  await run(server, 'first', { wait: false })
  const reads = server.reads.length
  for (const id of ['another', null]) {
    const options = { backend: { ...backend('first'), id, ...(id === null ? { incarnation: null } : {}) } }
    await expect(run(server, 'first', options)).rejects.toMatchObject({ code: 'wrong_backend', exitCode: 2 })
  }
  expect([server.attempts, server.reads.length]).toEqual([3, reads])
})

test('a server that never had an ID stays usable, and one that gets an ID is bound to it', async () => {
  const server = serverWith([])
  const none = { url: 'http://127.0.0.1:4680', id: null, incarnation: null, silence: null, isLocal: false }
  await run(server, '', { backend: none, wait: false })
  await run(server, '', { backend: none, wait: false })
  await run(server, 'first', { wait: false })
  await expect(run(server, '', { backend: none })).rejects.toMatchObject({ code: 'wrong_backend' })
})

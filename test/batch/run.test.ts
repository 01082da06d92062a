import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dryRunBatch } from '../../src/batch/dry-run.ts'
import { listRuns, openRun, runStatus } from '../../src/batch/runs/runs.ts'
import type { BatchOptions, PlannedEvent } from '../../src/batch/types.ts'
import type { UploadOptions } from '../../src/client/api-client.ts'
import { multipartFile } from '../../src/client/upload.ts'
import { GdnError } from '../../src/core/errors.ts'
import { sha256OfFile } from '../../src/core/sha256-of-file.ts'
import type { ManifestItem } from '../../src/manifest/read.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { Machine } from './simulation.ts'
import { CONTRACT, RECEIVERS, row, rowsUpTo } from './simulation-rows.ts'

let machine: Machine
let server: FakeHostedApi
beforeEach(async () => {
  machine = await Machine.start()
  server = new FakeHostedApi({ idempotency: false })
})
afterEach(() => machine.stop())

const titles = (api: FakeHostedApi) => api.bodies.map(({ metadata }) => metadata.map(({ title }) => title))
const planned = (): PlannedEvent | undefined =>
  machine.events.findLast((event): event is PlannedEvent => event.type === 'planned')

const withId = (id: string, number: number, title = `#${number}`): ManifestRow =>
  row(number, { id, metadata: { title, description: '', file_fields: [] } })

const titled = (number: number, title: string): ManifestRow =>
  row(number, { metadata: { title, description: '', file_fields: [] } })

/** Ends the process instead of sending the next request. */
const neverReady = () => ({
  take: () => Promise.reject(new Error('killed')),
  hold: () => {},
})

/** A server that accepts this many requests, and is then unreachable. */
const takes = (requests: number) =>
  new FakeHostedApi({
    idempotency: false,
    idPrefix: 'early',
    faultOf: (attempt) => (attempt > requests ? { fault: 'not_sent' } : null),
  })

test('says that the server is unreachable while it waits until NFTs are deployed', async () => {
  let [polls, answered] = [0, 0]
  const call = server.call.bind(server)
  server.call = async (name: never, request: never) => {
    if (name === 'getnfts' && polls++ < 2) throw new GdnError('unreachable', 'gone')
    if (name === 'getnfts') answered++
    return (await call(name, request)) as never
  }
  const { counts } = await machine.run(server, rowsUpTo(3))
  const held = machine.events.filter(({ type }) => type === 'holding')
  expect([counts.deployed, answered > 0]).toEqual([3, true])
  expect(held.length).toBeGreaterThan(0)
  for (const event of held) expect(event).toMatchObject({ reason: 'unreachable', message: 'gone' })
})

describe('the plan', () => {
  test('groups rows by receiver, in the order of first appearance', async () => {
    await machine.run(server, rowsUpTo(8), { chunkSize: 50 })
    expect(titles(server)).toEqual([
      ['#1', '#4', '#7'],
      ['#2', '#5', '#8'],
      ['#3', '#6'],
    ])
    expect(planned()).toMatchObject({ requests: 3, receivers: 3, reordered: true, resumed: false })
  })

  test('identifies the run in every request by an ID that reveals nothing of the manifest', async () => {
    const { run } = await machine.run(server, rowsUpTo(8), { chunkSize: 1 })
    expect([...server.runs]).toEqual([run.id])
    expect(run.id).toMatch(/^[0-9a-f]{16}$/)
  })

  test('limits requests to the chunk size, which is 50 by default', async () => {
    const rows = Array.from({ length: 120 }, (_, index) => row(3 * (index + 1)))
    await machine.run(server, rows, { chunkSize: 50, wait: false })
    expect(server.bodies.map(({ metadata }) => metadata.length)).toEqual([50, 50, 20])
    const { chunkSize: _, ...rest } = machine.options({ runName: 'default', again: true })
    const plan = await dryRunBatch(rest, { client: null, readManifest: () => items(rows) })
    expect(plan.requests).toBe(3)
  })

  test('in order, groups only consecutive rows with the same receiver', async () => {
    const rows = [1, 4, 2, 7, 10, 13, 16].map((number, index) => row(number, { line: index + 2 }))
    await machine.run(server, rows, { inOrder: true, inFlight: 4 })
    expect(titles(server)).toEqual([['#1', '#4'], ['#2'], ['#7', '#10', '#13'], ['#16']])
    expect(planned()).toMatchObject({ reordered: false })
  })

  test('in order, sends one request at a time', async () => {
    const mostInFlight = async (inOrder: boolean) => {
      const api = new FakeHostedApi({ idempotency: false, idPrefix: `in-order-${inOrder}` })
      const send = api.send.bind(api)
      let inFlight = 0
      let most = 0
      api.send = async (...request) => {
        most = Math.max(most, ++inFlight)
        return await send(...request).finally(() => inFlight--)
      }
      await machine.run(api, rowsUpTo(12), {
        chunkSize: 1,
        inOrder,
        inFlight: 4,
        runName: String(inOrder),
        again: true,
      })
      return most
    }
    expect(await mostInFlight(true)).toBe(1)
    expect(await mostInFlight(false)).toBe(4)
  })

  test('in order, sends nothing after a request with an unknown outcome until that is resolved', async () => {
    const faults = [null, { fault: 'cut_before' as const }]
    const lame = new FakeHostedApi({ idempotency: true, faultOf: () => faults.shift() ?? null })
    await machine.run(lame, rowsUpTo(6), { inOrder: true })
    expect(titles(lame).flat()).toEqual(['#1', '#2', '#3', '#4', '#5', '#6'])
  })

  test('treats an address in another case as the same receiver', async () => {
    await machine.run(server, [row(3), row(6, { receiver: (RECEIVERS[0] ?? '').toLowerCase() })])
    expect(titles(server)).toEqual([['#3', '#6']])
  })

  test('sends rows with a sender by createnfttrans, apart from those without', async () => {
    const sender = RECEIVERS[1] ?? ''
    await machine.run(server, [row(3), row(6, { sender }), row(9), row(12, { sender })], { inFlight: 1 })
    expect(server.bodies).toEqual([
      expect.not.objectContaining({ sender_wallet_address: expect.anything() }),
      expect.objectContaining({ sender_wallet_address: sender, receiver_wallet_address: RECEIVERS[0] }),
    ])
    const kinds = await machine.state((sql) =>
      sql.all('SELECT DISTINCT q.n, o.kind FROM operations o JOIN requests q ON q.id = o.request_id ORDER BY q.n'),
    )
    expect(kinds).toMatchObject([{ kind: 'createnft' }, { kind: 'createnfttrans' }])
  })

  test('sends the fields of createnft, with the metadata of the manifest', async () => {
    const metadata = {
      title: 'Line\u2028break',
      description: '',
      file_fields: [{ key: 'image', url: 'https://images.example/1.png' }],
      attribute: [{ tag: 'color', value: 'red' }],
      edition: '1/1',
    }
    await machine.run(server, [row(3, { metadata })])
    expect(server.bodies).toEqual([
      {
        contract_address: CONTRACT,
        blockchain: 'polygon',
        receiver_wallet_address: RECEIVERS[0],
        metadata: [metadata],
      },
    ])
  })

  test('rejects a manifest with all of its errors, and sends and writes nothing', async () => {
    const issue = (line: number) => ({ issue: { place: { file: 'drop.csv', line }, message: `fault ${line}` } })
    const readManifest = () => items([issue(2), { row: row(1) }, issue(4)])
    await expect(machine.run(server, null, {}, { readManifest })).rejects.toMatchObject({
      code: 'invalid_manifest',
      message: 'fault 2 (and 1 more)',
      place: { line: 2 },
      details: { issues: [{ message: 'fault 2' }, { message: 'fault 4' }], issue_count: 2 },
    })
    expect(server.attempts).toBe(0)
    expect(await listRuns(machine.stateDir)).toEqual([])
  })

  test('rejects a repeated ID', async () => {
    await expect(machine.run(server, [withId('a', 1), withId('a', 2)])).rejects.toMatchObject({
      code: 'invalid_manifest',
      message: expect.stringContaining('"a"'),
      place: { line: 3 },
    })
  })
})

async function* items(rows: (ManifestRow | ManifestItem)[]): AsyncGenerator<ManifestItem> {
  for (const item of rows) yield 'line' in item ? { row: item } : item
}

describe('local files', () => {
  test('are uploaded before anything is sent, each content once, and their URLs are inserted in the rows', async () => {
    const [a, b, copy] = ['a.png', 'b.png', 'copy.png'].map((name) => join(machine.stateDir, name))
    if (a === undefined || b === undefined || copy === undefined) throw new Error('no paths')
    await writeFile(a, 'A')
    await writeFile(b, 'B')
    await writeFile(copy, 'A')
    const fields = [
      { key: 'image', url: '' },
      { key: 'poster', url: 'https://images.example/poster.png' },
      { key: 'film', url: '' },
    ]
    const rowOf = (number: number, image: string) =>
      row(number, {
        metadata: { title: `#${number}`, description: '', file_fields: fields },
        localFiles: [
          { key: 'film', path: b },
          { key: 'image', path: image },
        ],
      })
    const order: string[] = []
    await machine.run(server, [rowOf(3, a), rowOf(6, copy)], {}, { onEvent: ({ type }) => order.push(type) })
    expect(server.uploads).toHaveLength(2)
    expect(order.filter((type) => type === 'uploaded')).toHaveLength(3)
    expect(order.indexOf('sending')).toBeGreaterThan(order.lastIndexOf('uploaded'))
    const [first, second] = server.bodies[0]?.metadata ?? []
    expect(first).toMatchObject({
      file_fields: [
        { key: 'image', url: expect.stringMatching(/^ipfs:/) },
        { key: 'poster', url: 'https://images.example/poster.png' },
        { key: 'film', url: expect.stringMatching(/^ipfs:/) },
      ],
    })
    expect(second).toMatchObject({ file_fields: (first as { file_fields?: unknown }).file_fields })
  })

  test('local files that were uploaded are not uploaded again when the run resumes', async () => {
    const path = join(machine.stateDir, 'a.png')
    await writeFile(path, 'A')
    const metadata = { title: 'x', description: '', file_fields: [{ key: 'image', url: '' }] }
    const rows = [row(1, { metadata, localFiles: [{ key: 'image', path }] })]
    const away = takes(0)
    await machine.run(away, rows, { unreachableMs: 100 })
    expect(away.uploads).toHaveLength(1)
    expect((await machine.run(server, rows)).counts.deployed).toBe(1)
    expect(server.uploads).toHaveLength(0)
  })

  const withFile = (number: number, path: string) =>
    row(number, {
      metadata: { title: `#${number}`, description: '', file_fields: [{ key: 'image', url: '' }] },
      localFiles: [{ key: 'image', path }],
    })

  test.each([
    [8, {}],
    [3, { uploadConcurrency: 3 }],
  ])('are uploaded %i at a time with the options %j, and equal contents in flight once', async (places, options) => {
    const paths = Array.from({ length: 20 }, (_, at) => join(machine.stateDir, `${at}.png`))
    for (const [at, path] of paths.entries()) await writeFile(path, at < 10 ? 'same' : String(at))
    const waiting: (() => void)[] = []
    let most = 0
    server.upload = async (path: string) => {
      server.uploads.push(path)
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        most = Math.max(most, waiting.length)
        const openAll = () => {
          for (const open of waiting.splice(0)) open()
        }
        // An upload begins once its file is hashed. One more than the limit would begin before two later files are
        // hashed.
        if (waiting.length === places) void sha256OfFile(path).then(() => sha256OfFile(path).then(openAll))
        // All workers wait for the first content, and the last ones are fewer than the limit.
        else if (server.uploads.length === 1 || server.uploads.length > 9) openAll()
      })
      return { url: `ipfs://b${'a'.repeat(57)}${String.fromCharCode(97 + server.uploads.length)}` }
    }
    const summary = await machine.run(
      server,
      paths.map((path, at) => withFile(at + 1, path)),
      options,
    )
    expect(summary.counts.deployed).toBe(20)
    expect(server.uploads).toHaveLength(11)
    expect(most).toBe(places)
  })

  test('local files that were stored are not uploaded again after another one failed', async () => {
    const [bad, good] = ['bad.png', 'good.png'].map((name) => join(machine.stateDir, name))
    if (bad === undefined || good === undefined) throw new Error('no paths')
    await writeFile(bad, 'bad')
    await writeFile(good, 'good')
    const rows = [withFile(1, good), withFile(2, bad)]
    const stored = new EventTarget()
    const failed = once(stored, 'failed')
    const { upload } = server
    server.upload = async (path: string) => {
      if (path !== bad) {
        await failed
        return upload.call(server, path)
      }
      setImmediate(() => stored.dispatchEvent(new Event('failed')))
      throw new GdnError('refused', 'no picture')
    }
    expect((await machine.run(server, rows)).stopped?.message).toContain('bad.png (line 3)')
    server.upload = upload
    expect((await machine.run(server, rows)).counts.deployed).toBe(2)
    expect(server.uploads).toEqual([good, bad])
  })

  test('local files that change after they were hashed are not uploaded, and no row is sent with them', async () => {
    const path = join(machine.stateDir, 'a.png')
    await writeFile(path, 'A')
    const { upload } = server
    server.upload = async (file: string, name?: string, options?: UploadOptions) => {
      await writeFile(file, 'B')
      const { body } = await multipartFile(file, name ?? '', options?.sha256)
      for await (const _chunk of body.open());
      return upload.call(server, file)
    }
    const { stopped } = await machine.run(server, [withFile(1, path)])
    expect(stopped).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('a.png changed while it was uploaded'),
    })
    expect([server.uploads, server.attempts]).toEqual([[], 0])
    expect(await machine.state((sql) => sql.all('SELECT * FROM uploads'))).toEqual([])
  })

  test('local files that the server rejects stop the run before anything is sent, with file and line', async () => {
    const path = join(machine.stateDir, 'a.png')
    await writeFile(path, 'A')
    const metadata = { title: 'x', description: '', file_fields: [{ key: 'image', url: '' }] }
    server.upload = async () => {
      throw new GdnError('refused', 'this server accepts no uploads', { hint: 'Use a URL.' })
    }
    const summary = await machine.run(server, [row(1), row(2, { metadata, localFiles: [{ key: 'image', path }] })])
    expect(summary.stopped).toMatchObject({ code: 'refused', message: expect.stringContaining('a.png (line 3)') })
    expect(summary.exitCode).toBe(5)
    expect(server.attempts).toBe(0)
  })
})

describe('a run', () => {
  const other: [string, Partial<BatchOptions>][] = [
    ['origin', { origin: 'https://other.example' }],
    ['blockchain', { blockchain: 'astar' }],
    ['contract', { contractAddress: RECEIVERS[0] ?? '' }],
    ['manifest path', { manifestPath: '/drops/other.csv' }],
    ['--run name', { runName: 'second' }],
  ]
  test.each(other)('is another one if its %s differs', async (_what, changes) => {
    await machine.run(server, rowsUpTo(3))
    await machine.run(server, rowsUpTo(3), { ...changes, again: true })
    expect(server.minted.size).toBe(6)
    expect(await listRuns(machine.stateDir)).toHaveLength(2)
  })

  test('with a name is the same wherever the manifest is', async () => {
    await machine.run(server, rowsUpTo(3), { runName: 'launch' })
    const moved = { runName: 'launch', manifestPath: '/elsewhere.csv' }
    expect(await machine.run(server, rowsUpTo(3), moved)).toMatchObject({ requests: 0, counts: { deployed: 3 } })
    await expect(machine.run(server, rowsUpTo(3), moved)).rejects.toMatchObject({ code: 'run_finished' })
    expect(server.minted.size).toBe(3)
  })

  test('from standard input needs a name', async () => {
    await expect(machine.run(server, rowsUpTo(3), { manifestPath: null })).rejects.toMatchObject({
      code: 'usage',
      place: { flag: '--run' },
    })
  })

  test('from standard input resumes without the input from its stored rows', async () => {
    const named = { manifestPath: null, runName: 'piped' }
    const stopped = await machine.run(takes(1), rowsUpTo(9), { ...named, inFlight: 1, unreachableMs: 100 })
    expect(stopped.counts).toMatchObject({ pending: 6, accepted: 3 })
    const summary = await machine.run(server, null, { ...named, wait: false })
    expect(summary.counts).toMatchObject({ accepted: 9 })
    expect(server.minted.size).toBe(6)
  })

  test('a run that is finished is rejected, and --again starts a second drop as a separate run', async () => {
    const first = await machine.run(server, rowsUpTo(4))
    await expect(machine.run(server, rowsUpTo(4))).rejects.toMatchObject({
      code: 'run_finished',
      message: expect.stringContaining('all 4 rows are deployed'),
      hint: expect.stringContaining('--again'),
    })
    expect(server.minted.size).toBe(4)
    const second = await machine.run(server, rowsUpTo(4), { again: true })
    expect(second.counts.deployed).toBe(4)
    expect(second.run).not.toEqual(first.run)
    expect(server.minted.size).toBe(8)
    await expect(machine.run(server, rowsUpTo(4))).rejects.toMatchObject({ code: 'run_finished' })
  })

  test('rejects --again while it has rows to send', async () => {
    await machine.run(takes(1), rowsUpTo(9), { inFlight: 1, unreachableMs: 100 })
    await expect(machine.run(server, rowsUpTo(9), { again: true })).rejects.toMatchObject({
      message: expect.stringContaining('9 rows are neither deployed nor failed'),
    })
    expect(server.attempts).toBe(0)
  })

  test('rejects --again while its rows are accepted, so that a repeated --again starts no third drop', async () => {
    await machine.run(server, rowsUpTo(3))
    await machine.run(server, rowsUpTo(3), { again: true, wait: false })
    await expect(machine.run(server, rowsUpTo(3), { again: true })).rejects.toMatchObject({ code: 'run_busy' })
    expect(server.minted.size).toBe(6)
    expect((await machine.run(server, rowsUpTo(3))).counts.deployed).toBe(3)
    await machine.run(server, rowsUpTo(3), { again: true })
    expect(server.minted.size).toBe(9)
  })

  test('is rejected while the first drop is running', async () => {
    let refused: unknown
    const confirm = async () => {
      refused = await machine.run(server, rowsUpTo(3)).catch((error: unknown) => error)
    }
    await machine.run(server, rowsUpTo(3), {}, { confirm })
    expect(refused).toMatchObject({ code: 'run_busy', message: expect.stringContaining(`pid ${process.pid}`) })
  })

  test('is found by its manifest only if no run without a name has it', async () => {
    const { run } = await machine.run(server, rowsUpTo(3), { runName: 'launch' })
    const { run: byPath } = await machine.run(server, rowsUpTo(3), { again: true })
    for (const name of ['drop.csv', 'drop', '/drops/drop.csv']) {
      expect((await openRun(machine.stateDir, name)).id).toBe(byPath.id)
    }
    for (const name of [run.id, run.name, 'launch', run.id.slice(0, 6)]) {
      expect((await openRun(machine.stateDir, name)).id).toBe(run.id)
    }
    await expect(openRun(machine.stateDir, 'lunch')).rejects.toMatchObject({ code: 'not_found_locally' })
    expect(run.name).toMatch(/^launch-[0-9a-f]{4}$/)
  })

  test('with a name is found by the path and the file name of its manifest', async () => {
    const launch = { runName: 'launch', manifestPath: '/feb/drop.csv' }
    const { run } = await machine.run(server, rowsUpTo(3), launch)
    for (const name of ['/feb/drop.csv', 'drop.csv', 'drop']) {
      expect((await openRun(machine.stateDir, name)).id).toBe(run.id)
    }
    const { run: other } = await machine.run(server, rowsUpTo(3), { manifestPath: '/jan/drop.csv', again: true })
    expect((await openRun(machine.stateDir, '/feb/drop.csv')).id).toBe(run.id)
    expect((await openRun(machine.stateDir, '/jan/drop.csv')).id).toBe(other.id)
    await expect(openRun(machine.stateDir, 'drop.csv')).rejects.toMatchObject({
      code: 'not_found_locally',
      message: expect.stringMatching(/^drop\.csv matches several runs:\n.*\/jan\/drop\.csv\n.*\/feb\/drop\.csv$/),
    })
  })

  test('with several drops is found as the newest, and each drop by its own name', async () => {
    const { run: first } = await machine.run(server, rowsUpTo(3))
    const { run: second } = await machine.run(server, rowsUpTo(3), { again: true, wait: false })
    expect(await openRun(machine.stateDir, 'drop.csv')).toMatchObject({ id: second.id, generation: 2 })
    const { generation } = await openRun(machine.stateDir, first.name)
    await expect(machine.run(server, rowsUpTo(3), { generation })).rejects.toMatchObject({
      code: 'run_finished',
      details: { run_id: first.id },
    })
    expect((await runStatus(await openRun(machine.stateDir, second.id))).counts.accepted).toBe(3)
  })

  test('is not found by an ambiguous name', async () => {
    await machine.run(server, rowsUpTo(3))
    await machine.run(server, rowsUpTo(3), { blockchain: 'astar', lookup: false })
    await expect(openRun(machine.stateDir, 'drop.csv')).rejects.toMatchObject({
      code: 'not_found_locally',
      message: expect.stringContaining('several runs'),
    })
  })

  test('can be canceled after its plan was shown: nothing is sent or written', async () => {
    const confirm = async () => {
      throw new GdnError('not_confirmed', 'cancelled')
    }
    await expect(machine.run(server, rowsUpTo(3), {}, { confirm })).rejects.toMatchObject({ code: 'not_confirmed' })
    expect(server.attempts).toBe(0)
    expect(await listRuns(machine.stateDir)).toEqual([])
  })
})

test('a run sends nothing more after an unexpected error', async () => {
  const faultOf = (attempt: number) => {
    if (attempt === 1) throw new Error('unexpected')
    return null
  }
  const broken = new FakeHostedApi({ idempotency: false, faultOf })
  await expect(machine.run(broken, rowsUpTo(12), { chunkSize: 1, inFlight: 2 })).rejects.toThrow('unexpected')
  // The second one was in flight.
  expect(broken.attempts).toBe(2)
})

describe('a manifest that changed since', () => {
  test('mints added rows with --new-rows, and names removed ones', async () => {
    await machine.run(takes(1), rowsUpTo(6), { inFlight: 1, unreachableMs: 100 })
    // The accepted request had #1 and #4. #2 is removed before it was sent, #1 afterwards.
    const rows = [row(3), row(4), row(5), row(6), row(7)]
    const summary = await machine.run(server, rows, { wait: false, newRows: true })
    expect(summary.changes).toMatchObject({ added: 1, removed: 2, changed: 0 })
    expect(summary.changes.examples.map(({ kind, line }) => [kind, line])).toEqual([
      ['added', 8],
      ['removed', 2],
      ['removed', 3],
    ])
    expect([...server.countsByTitle().keys()].sort()).toEqual(['#3', '#5', '#6', '#7'])
    expect(summary.counts).toMatchObject({ total: 6, accepted: 6 })
    // Rows that were sent and then removed from the manifest are listed after the others.
    expect((await machine.results(summary)).map(({ line }) => line)).toEqual([4, 5, 6, 7, 8, 2])
  })

  test('does not resend a changed row that was accepted, and sends the new content of one that was not', async () => {
    const rows = [withId('a', 3), withId('b', 1)]
    await machine.run(takes(1), rows, { inFlight: 1, unreachableMs: 100 })
    const changed = [withId('a', 3, 'new a'), withId('b', 1, 'new b')]
    const summary = await machine.run(server, changed, { wait: false })
    expect(summary.changes).toMatchObject({ changed: 2, keptAccepted: 1, added: 0, removed: 0 })
    expect(titles(server)).toEqual([['new b']])
  })

  test('sends a rejected row again once it was corrected', async () => {
    const refusing = new FakeHostedApi({
      idempotency: false,
      idPrefix: 'early',
      faultOf: (_attempt, { metadata }) => (metadata[0]?.title === 'bad' ? { fault: 'refused', status: 400 } : null),
    })
    const first = await machine.run(refusing, [withId('a', 1), withId('b', 2, 'bad')])
    expect(first.counts).toMatchObject({ failed: 1, deployed: 1 })
    const second = await machine.run(server, [withId('a', 1), withId('b', 2, 'good')], { wait: false })
    expect(second.counts).toMatchObject({ failed: 0, accepted: 1, deployed: 1 })
    expect(titles(server)).toEqual([['good']])
  })

  test('drops a rejected row that was removed from the manifest', async () => {
    const refusing = new FakeHostedApi({
      idempotency: false,
      idPrefix: 'early',
      faultOf: (_attempt, { metadata }) => (metadata[0]?.title === '#2' ? { fault: 'refused', status: 400 } : null),
    })
    await machine.run(refusing, [row(1), row(2)], { wait: false })
    const summary = await machine.run(server, [row(1), row(3)], { wait: false })
    expect(summary).toMatchObject({ exitCode: 0, counts: { total: 2, accepted: 2, failed: 0 } })
    const [run] = await listRuns(machine.stateDir)
    if (run === undefined) throw new Error('no run')
    expect((await runStatus(run)).counts).toEqual(summary.counts)
  })

  describe.each(['with an ID', 'without an ID'])('a row %s whose NFT failed', (how) => {
    const named = (number: number, title: string) =>
      how === 'with an ID' ? withId(`r${number}`, number, title) : titled(number, title)
    const failing = (idPrefix: string) =>
      new FakeHostedApi({
        idempotency: false,
        idPrefix,
        record: (record) =>
          (record.request_metadata as { title: string }).title === 'bad' ? { ...record, status: 'failed' } : record,
      })

    test('is sent with its new content once it was edited', async () => {
      const early = failing('early')
      await machine.run(early, [named(1, 'good'), named(2, 'bad')])
      const second = await machine.run(early, [named(1, 'good'), named(2, 'better')])
      expect(second).toMatchObject({ exitCode: 0, counts: { total: 2, failed: 0, deployed: 2 } })
      expect(second.changes.keptAccepted).toBe(0)
      expect(titles(early).slice(2)).toEqual([['better']])
    })

    test('is not sent again while it is unchanged', async () => {
      const early = failing('early')
      await machine.run(early, [named(1, 'good'), named(2, 'bad')])
      await machine.run(early, [named(1, 'good'), named(2, 'bad'), named(3, 'new')])
      expect(titles(early).slice(2)).toEqual([['new']])
    })

    test('is sent with its new content after a kill before its request', async () => {
      const early = failing('early')
      await machine.run(early, [named(1, 'good'), named(2, 'bad')])
      const cut = machine.run(early, [named(1, 'good'), named(2, 'better')], {}, { pacer: neverReady() })
      await expect(cut).rejects.toThrow('killed')
      const resumed = await machine.run(early, null)
      expect(resumed).toMatchObject({ exitCode: 0, counts: { total: 2, deployed: 2 } })
      expect(titles(early).slice(2)).toEqual([['better']])
    })

    test('is no longer part of the run once it was removed', async () => {
      const early = failing('early')
      await machine.run(early, [named(1, 'good'), named(2, 'bad')])
      const second = await machine.run(early, [named(1, 'good'), named(3, 'other')])
      expect(second).toMatchObject({ exitCode: 0, counts: { total: 2, failed: 0, deployed: 2 } })
      const [run] = await listRuns(machine.stateDir)
      if (run === undefined) throw new Error('no run')
      expect((await runStatus(run)).counts).toEqual(second.counts)
    })
  })

  test('counts no changes if only the lines moved', async () => {
    await machine.run(server, rowsUpTo(4), { wait: false })
    const moved = rowsUpTo(4).map((each) => ({ ...each, line: each.line + 10 }))
    const summary = await machine.run(server, moved, { wait: false })
    expect(summary.changes).toMatchObject({ added: 0, changed: 0, removed: 0 })
    expect(server.minted.size).toBe(4)
  })
})

test('a run that a refusal stops waits for a slow response in flight, and its rows are accepted', async () => {
  const refusing = new FakeHostedApi({
    idempotency: false,
    faultOf: (attempt) => (attempt === 2 ? { fault: 'refused', status: 403 } : null),
  })
  const send = refusing.send.bind(refusing)
  let requests = 0
  refusing.send = async (endpoint, body, options) => {
    const isFirst = ++requests === 1
    const result = await send(endpoint, body, options)
    // The second request is refused meanwhile.
    for (let turn = 0; isFirst && turn < 100; turn++) await machine.time.sleep(500)
    return options?.signal?.aborted === true ? { kind: 'cut', reason: 'interrupted' } : result
  }
  const summary = await machine.run(refusing, rowsUpTo(3), { chunkSize: 1, inFlight: 2, wait: false })
  expect(summary).toMatchObject({ stopped: { code: 'forbidden' }, counts: { accepted: 1, unknown: 0, pending: 2 } })
})

describe('an interruption', () => {
  test('stops between requests, waits for those in flight, and leaves a run that can be resumed', async () => {
    const stop = new AbortController()
    const onEvent = (event: { type: string; request?: number }) => {
      if (event.type === 'sending' && event.request === 2) stop.abort()
    }
    const summary = await machine.run(
      server,
      rowsUpTo(9),
      { signal: stop.signal, inFlight: 1, chunkSize: 1 },
      { onEvent },
    )
    expect(summary).toMatchObject({
      exitCode: 130,
      stopped: { code: 'interrupted' },
      counts: { accepted: 2, pending: 7 },
    })
    expect((await machine.run(server, rowsUpTo(9))).counts.deployed).toBe(9)
    expect([...server.countsByTitle().values()]).toEqual(Array.from({ length: 9 }, () => 1))
  })

  test('by SIGTERM is reported as such', async () => {
    const stop = new AbortController()
    stop.abort(new GdnError('terminated', 'terminated'))
    const summary = await machine.run(server, rowsUpTo(3), { signal: stop.signal })
    expect(summary).toMatchObject({ exitCode: 143, counts: { pending: 3 } })
    expect(server.attempts).toBe(0)
  })

  test('cancels a request without a response, and the resumed run reports its rows as unknown', async () => {
    const stop = new AbortController()
    server.send = (_endpoint, _body, options: { signal?: AbortSignal | undefined }) =>
      new Promise((resolve) => {
        options.signal?.addEventListener('abort', () => resolve({ kind: 'cut', reason: 'interrupted' }))
        stop.abort()
      })
    const summary = await machine.run(server, rowsUpTo(3), { signal: stop.signal, inFlight: 1 })
    expect(summary).toMatchObject({ exitCode: 130, counts: { unknown: 1, pending: 2 } })
    const secondResult = await machine.run(new FakeHostedApi({ idempotency: false }), rowsUpTo(3))
    expect(secondResult).toMatchObject({ exitCode: 9, counts: { unknown: 1, deployed: 2 } })
  })

  test('ends the wait for deployment', async () => {
    const slow = new FakeHostedApi({ idempotency: false, pollsToDeploy: 1_000_000 })
    const stop = new AbortController()
    const onEvent = ({ type }: { type: string }) => {
      if (type === 'waiting') stop.abort()
    }
    const summary = await machine.run(slow, rowsUpTo(3), { signal: stop.signal }, { onEvent })
    expect(summary).toMatchObject({ exitCode: 130, counts: { accepted: 3 } })
  })
})

describe('results', () => {
  test('have a record for each row in the order of the manifest, with its outcome', async () => {
    const summary = await machine.run(server, [withId('gold', 3), row(1), row(2)], { inFlight: 1 })
    expect(await machine.results(summary)).toEqual([
      {
        key: 'gold',
        line: 4,
        title: '#3',
        status: 'deployed',
        nft_gdn_id: 'nft-1',
        token_id: '1',
        contract_address: CONTRACT,
        receiver_wallet_address: RECEIVERS[0],
        metadata_url: 'ipfs://metadata/nft-1',
        error: null,
        burned: false,
      },
      expect.objectContaining({ key: expect.stringMatching(/^[0-9a-f]{20}$/), line: 2, token_id: '2' }),
      expect.objectContaining({ line: 3, token_id: '3' }),
    ])
  })
})

describe('a dry run', () => {
  test('reports rows, requests, bytes and time, and changes nothing', async () => {
    const rows = rowsUpTo(8)
    const plan = await dryRunBatch(machine.options(), { client: null, readManifest: () => items(rows) })
    expect(await listRuns(machine.stateDir)).toEqual([])
    await machine.run(server, rows, { inFlight: 1 })
    const bytes = server.bodies.reduce((sum, body) => sum + Buffer.byteLength(JSON.stringify(body)), 0)
    expect(plan).toMatchObject({
      rows: { total: 8, pending: 8 },
      requests: 3,
      receivers: 3,
      bytes,
      seconds: 1,
      files: 0,
    })
    expect(plan.firstRequest).toEqual({ endpoint: 'createnft', body: server.bodies[0] })
  })

  test('reports the order in which token IDs are assigned', async () => {
    const orderOf = async (rows: ManifestRow[], inOrder: boolean) => {
      const plan = await dryRunBatch(machine.options({ inOrder }), { client: null, readManifest: () => items(rows) })
      return plan.order
    }
    expect(await orderOf(rowsUpTo(8), false)).toMatch(/^Rows are grouped by receiver/)
    expect(await orderOf([row(1), row(2)], false)).toMatch(
      /^Rows are sent in the order of the manifest, but .*--in-order/,
    )
    expect(await orderOf(rowsUpTo(8), true)).toBe('Token IDs follow the order of the manifest')
    expect(await orderOf([row(1)], false)).toBe('Token IDs follow the order of the manifest')
  })

  test('counts and shows the marker of each row as it will be sent, and reports rows without room for it', async () => {
    const rows = rowsUpTo(4)
    const options = machine.options({ markerKey: 'serial' })
    const plan = await dryRunBatch(options, { client: null, readManifest: () => items(rows) })
    await machine.run(server, rows, { markerKey: 'serial', inFlight: 1 })
    const bytes = server.bodies.reduce((sum, body) => sum + Buffer.byteLength(JSON.stringify(body)), 0)
    expect(plan).toMatchObject({ bytes, firstRequest: { body: server.bodies[0] } })
    const full = rows.map((row) => ({ ...row, metadata: { ...row.metadata, serial: 'taken' } }))
    await expect(dryRunBatch(options, { client: null, readManifest: () => items(full) })).rejects.toMatchObject({
      code: 'invalid_manifest',
    })
  })

  test('a dry run of a run in progress reports what is left', async () => {
    await machine.run(takes(1), rowsUpTo(9), { inFlight: 1, unreachableMs: 100 })
    const plan = await dryRunBatch(machine.options(), { client: null, readManifest: () => items(rowsUpTo(10)) })
    expect(plan).toMatchObject({ rows: { total: 10, accepted: 3, pending: 7 }, requests: 3, changes: { added: 1 } })
  })
})

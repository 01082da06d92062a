import { beforeEach, expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { endedTransactions, formatUpdateReference, type Update } from '../../src/plan/apply-updates.ts'
import { ALICE, BOB, Machine, row, Server } from './world.ts'

let server: Server
let machine: Machine
beforeEach(async () => {
  server = new Server()
  machine = await Machine.start(server)
})

const sent = () => server.bodies('updatednft')
const edited = (id: string, title: string) => row(id, ALICE, title)

/** Ends the pending transactions once the client asks for them a third time. */
const endsAs = (status: 'deployed' | 'failed') => {
  let polls = 0
  return (endpoint: string) => {
    if (endpoint === 'gettransactions' && ++polls === 3) server.end(status)
    return undefined
  }
}

test('names the revision that it replaces, so that the server refuses a stale one', async () => {
  await machine.mint([row('a')])
  for (const title of ['Dusk', 'Noon']) {
    expect((await machine.plan([edited('a', title)])).changes).toHaveLength(1)
    expect(await machine.apply([edited('a', title)])).toMatchObject({ update: { done: 1 } })
    expect((await machine.plan([edited('a', title)])).changes).toEqual([])
  }
  expect(sent()).toMatchObject([
    { nft_gdn_id: 'nft-1', metadata: [{ title: 'Dusk' }], replaces_revision: 0 },
    { nft_gdn_id: 'nft-1', metadata: [{ title: 'Noon' }], replaces_revision: 1 },
  ])
})

test('reports as failed what the server refuses because the metadata was changed since the plan', async () => {
  await machine.mint([row('a'), row('b')])
  server.onRequest = (endpoint, body) => {
    if (endpoint === 'updatednft' && body.nft_gdn_id === 'nft-1') server.nft('a').revision = 5
    return undefined
  }
  const { update } = await machine.apply([edited('a', 'Dusk'), edited('b', 'Noon')])
  expect(update).toMatchObject({
    done: 1,
    failed: { count: 1, first: [{ key: 'a', line: 2, reason: expect.stringContaining('because') }] },
  })
  expect(server.nfts.map(({ metadata }) => metadata)).toMatchObject([{ title: 'a' }, { title: 'Noon' }])
})

test('rejects another version of a row that was applied to the same revision', async () => {
  await machine.mint([row('a')])
  server.holds = true
  const stop = new AbortController()
  server.onRequest = (endpoint) => {
    if (endpoint === 'gettransactions') stop.abort(new GdnError('interrupted', 'interrupted'))
    return undefined
  }
  const signal = stop.signal
  await expect(machine.apply([edited('a', 'Dusk')], { signal })).rejects.toMatchObject({ code: 'interrupted' })
  server.onRequest = endsAs('deployed')
  const { update } = await machine.apply([edited('a', 'Noon')])
  const reason = 'the server already accepted another version of this row: create a new plan'
  expect(update.failed.first).toMatchObject([{ key: 'a', reason }])
  expect(server.transactions).toHaveLength(1)
})

test('waits until an update has ended', async () => {
  await machine.mint([row('a')])
  server.holds = true
  server.onRequest = endsAs('deployed')
  expect(await machine.apply([edited('a', 'Dusk')])).toMatchObject({ update: { done: 1, pending: 0 } })
  expect(server.nft('Dusk')).toMatchObject({ revision: 1 })
})

test('asks for no transactions while none is known', async () => {
  const call = () => Promise.reject(new Error('asked for transactions'))
  const page = [{ change: row('a'), transactionId: null }]
  expect(await endedTransactions({ client: { call }, signal: AbortSignal.any([]) }, page, 'the transfer')).toEqual(
    new Map(),
  )
})

test('reports why an update failed', async () => {
  await machine.mint([row('a')])
  server.holds = true
  server.onRequest = endsAs('failed')
  const { update } = await machine.apply([edited('a', 'Dusk')])
  expect(update.failed.first).toMatchObject([{ reason: 'the update failed: the network rejected it' }])
})

test('finds metadata that others changed, and replaces it only to take it over', async () => {
  await machine.mint([row('a')])
  const nft = server.nft('a')
  Object.assign(nft, { metadata: { title: 'Stranger', description: '', file_fields: [] }, revision: 1 })
  const drift = 'drift update a: title Stranger → a, the metadata of the NFT was changed outside the manifest'
  expect((await machine.plan([row('a')])).changes).toEqual([drift])
  expect(await machine.apply([row('a')])).toMatchObject({ update: { done: 0 } })
  expect(await machine.apply([row('a')], { takeOver: true })).toMatchObject({ update: { done: 1 } })
  expect((await machine.plan([row('a')])).changes).toEqual([])
})

/** Updates the NFTs of rows with a local file of this content. */
async function* updatesOf(...files: [nft: string, path: string, sha256: string][]): AsyncGenerator<Update> {
  for (const [n, [nftGdnId, path, sha256]] of files.entries()) {
    const file_fields = [
      { key: 'image', url: '' },
      { key: 'back', url: 'ipfs://back' },
    ]
    yield {
      ...{ key: `r${n}`, line: n + 2, nftGdnId, metadata: { title: 'x', description: '', file_fields } },
      ...{
        localFiles: [{ key: 'image', path, sha256 }],
        replacesRevision: 0,
        reference: formatUpdateReference(nftGdnId, 0),
      },
    }
  }
}

test('uploads each content once, and keeps the URLs of other files', async () => {
  await machine.mint([row('a'), row('b'), row('c')])
  const files = updatesOf(['nft-1', '/dawn.png', 'f1'], ['nft-2', '/copy.png', 'f1'], ['nft-3', '/dusk.png', 'f2'])
  expect(await machine.update(files)).toMatchObject({ done: 3 })
  expect(machine.uploads).toEqual(['/dawn.png', '/dusk.png'])
  const fields = sent().map(({ metadata }) => (metadata as Update['metadata'][])[0]?.file_fields)
  const back = { key: 'back', url: 'ipfs://back' }
  for (const name of ['dawn.png', 'dawn.png', 'dusk.png']) {
    expect(fields).toContainEqual([{ key: 'image', url: `ipfs://${name}` }, back])
  }
})

test('uploads a file again whose upload failed', async () => {
  await machine.mint([row('a')])
  const upload = machine.upload
  let tries = 0
  machine.upload = async (path) => {
    if (++tries === 1) throw new GdnError('unreachable', 'the server is down')
    return await upload(path)
  }
  expect(await machine.update(updatesOf(['nft-1', '/dawn.png', 'f1']))).toMatchObject({ done: 1 })
  expect(machine.uploads).toEqual(['/dawn.png'])
})

test('comes before a transfer of the same NFT', async () => {
  await machine.mint([row('a')])
  expect(await machine.apply([row('a', BOB, 'Dusk')])).toMatchObject({ update: { done: 1 }, transfer: { done: 1 } })
  expect((await machine.plan([row('a', BOB, 'Dusk')])).changes).toEqual([])
})

import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../src/server/store/open-store.ts'
import { freshDataDir, until, WALLETS } from '../helpers/backend.ts'
import { type ChildBackend, startedChild } from '../helpers/backend-child.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { everyCut, TracedFolder, tracedCalls } from '../helpers/traced-files.ts'

const SOAK = process.env.GDN_SOAK === '1'
const CLIENTS = 4
const REQUESTS = SOAK ? 60 : 20
const PER_REQUEST = 3
/** Cuts at every nth system call that changes the database, and before each response. */
const STRIDE = SOAK ? 1 : 23
const RANDOM_CUTS = SOAK ? 4 : 1
const CALLS = 'openat,open,pwrite64,write,writev,ftruncate,fsync,fdatasync,unlink,unlinkat'
const DATABASE = ['gdn.db', 'gdn.db-wal']

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let folder: string
beforeEach(async () => {
  dataDir = await freshDataDir()
  folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gdn-power-'))
})
afterEach(async () => {
  await dataDir.remove()
  await rm(folder, { recursive: true, force: true })
})

interface Answer {
  response: { transaction_gdn_id: string }
  collections: { contract_address: string }[]
  nfts: { nft_gdn_ids: string; status: string }[]
}

async function post({ url, apiKey }: ChildBackend, path: string, body: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey }
  const response = await fetch(`${url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(response.status).toBe(200)
  return (await response.json()) as Answer
}

/** Returns the system calls of a backend that accepts requests of several clients, mints their NFTs and is stopped. */
async function trace(): Promise<string[]> {
  const log = join(folder, 'trace')
  const strace = ['-f', '-y', '-xx', '-s', '1000000', '-o', log, '-e', `trace=${CALLS}`]
  const backend = await startedChild(dataDir.path, { strace })
  const collection = { wallet_address: WALLETS[0], name: 'Power', blockchain: 'polygon' }
  const { response } = await post(backend, 'createcollection', collection)
  const ids = { transaction_gdn_ids: [response.transaction_gdn_id] }
  const contract_address = (await post(backend, 'getcollections', ids)).collections[0]?.contract_address
  const nfts: string[] = []
  let left = REQUESTS
  const client = async () => {
    while (left-- > 0) {
      const metadata = Array.from({ length: PER_REQUEST }, () => ({ title: 'One', description: '', file_fields: [] }))
      const request = { contract_address, blockchain: 'polygon', receiver_wallet_address: WALLETS[1], metadata }
      const { nfts: accepted } = await post(backend, 'createnft', request)
      for (const { nft_gdn_ids: id } of accepted) nfts.push(id)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const statuses = async () => {
    const { nfts: shown } = await post(backend, 'getnfts', { nft_gdn_ids: nfts.slice(0, 100) })
    return shown.map(({ status }) => status)
  }
  await until(statuses, (shown) => shown.every((status) => status === 'deployed'))
  await backend.kill('SIGTERM')
  const ended = new RegExp(`^${backend.pid} +\\+\\+\\+ exited`, 'm')
  const isWritten = (text: string) => ended.test(text)
  return tracedCalls(await until(() => readFile(log, 'latin1'), isWritten))
}

/** Returns the IDs of NFTs in a response that a system call sends. */
function acceptedBy(line: string): string[] {
  if (!/^\d+ +writev?\(/.test(line)) return []
  const strings = [...line.matchAll(/"((?:\\x[0-9a-f]{2})+)"/g)].map(([, hex]) => hex ?? '')
  const text = Buffer.from(strings.join('').replaceAll('\\x', ''), 'hex').toString('utf8')
  return text.includes('HTTP/1.1 200') ? [...text.matchAll(/"nft_gdn_ids":"([^"]+)"/g)].map(([, id]) => id ?? '') : []
}

/** Returns the IDs of the NFTs in a database after a power cut, each with those of the response to its request. */
async function recovered(files: ReadonlyMap<string, Buffer>, place: string): Promise<Map<string, string[]>> {
  await mkdir(place)
  for (const name of DATABASE) {
    const bytes = files.get(name)
    if (bytes !== undefined) await writeFile(join(place, name), bytes)
  }
  const store = await openStore(join(place, DATABASE[0] ?? ''))
  try {
    const requests = await store.db.selectFrom('requests').select(['id', 'response', 'endpoint']).execute()
    const rows = await store.db.selectFrom('nfts').select(['id', 'request_id']).orderBy('seq').execute()
    const found = new Map<string, string[]>()
    for (const { id, response, endpoint } of requests) {
      const own = rows.filter(({ request_id }) => request_id === id).map((row) => row.id)
      if (endpoint === 'createnft') {
        const told = (JSON.parse(response) as { nfts: { nft_gdn_ids: string }[] }).nfts.map((nft) => nft.nft_gdn_ids)
        expect(own).toEqual(told)
        expect(own).toHaveLength(PER_REQUEST)
      }
      for (const nft of own) found.set(nft, own)
    }
    expect(found.size).toBe(rows.length)
    return found
  } finally {
    await store.close()
    await rm(place, { recursive: true })
  }
}

test('a power cut loses no request whose response was sent, and keeps every other request in full or not at all', async (context) => {
  if (!existsSync('/usr/bin/strace')) return context.skip('strace is not installed')
  const { random } = seededRandom('power cuts')
  const cuts = everyCut(random, RANDOM_CUTS)
  const disk = new TracedFolder(dataDir.path)
  const accepted = new Set<string>()
  let [looked, changes] = [0, 0]
  for (const line of await trace()) {
    const ids = acceptedBy(line)
    for (const id of ids) accepted.add(id)
    const changed = disk.apply(line) && changes++ % STRIDE === 0
    if (ids.length === 0 && !changed) continue
    for (const cut of cuts) {
      const found = await recovered(disk.after(cut), join(folder, `cut-${looked++}`))
      expect(
        [...accepted].filter((id) => !found.has(id)),
        `before or after: ${line.slice(0, 100)}`,
      ).toEqual([])
    }
  }
  expect(accepted.size).toBe(REQUESTS * PER_REQUEST)
  report({ looked, changes })
})

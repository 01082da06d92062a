import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Drop, verifyDrop } from '../../examples/verify.mjs'

const folder = fileURLToPath(new URL('../../examples/', import.meta.url))
const rows = (JSON.parse(await readFile(`${folder}drop.json`, 'utf8')) as Record<string, string>[]).slice(0, 2)
const word = (value: string | number) => value.toString(16).padStart(64, '0')

let server: Server
let owners: string[]
let names: string[]
let nfts: Drop['nfts']
let pictures: string[]

beforeAll(async () => {
  server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      let body = ''
      for await (const chunk of request) body += chunk
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: call(JSON.parse(body).params[0].data) }))
    } else if (request.url?.endsWith('.json')) {
      const token = Number(/(\d)\.json$/.exec(request.url)?.[1])
      response.end(JSON.stringify({ name: names[token], image: `ipfs://image/${token}` }))
    } else response.end(await readFile(`${folder}${pictures[Number(request.url?.at(-1))]}`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterAll(() => server.close())

/** ownerOf and tokenURI, encoded like a contract's return value. */
function call(data: string): string {
  const token = Number(BigInt(`0x${data.slice(10)}`))
  if (data.startsWith('0x6352211e')) return `0x${word((owners[token] ?? '').slice(2).toLowerCase())}`
  const text = Buffer.from(`ipfs://folder/${token}.json`)
  return `0x${word(32)}${word(text.length)}${text.toString('hex').padEnd(64, '0')}`
}

beforeEach(() => {
  owners = rows.map((row) => row.receiver ?? '')
  names = rows.map((row) => row.title ?? '')
  pictures = rows.map((row) => row.image ?? '')
  nfts = rows.map((row, i) => ({
    token_id: String(i),
    metadata_url: `ipfs://folder/${i}.json`,
    request_metadata: { title: row.title ?? '' },
  }))
})

function faults(): Promise<string[]> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return verifyDrop({ url, blockchain: 'polygon', contract: '0xc0', nfts, rows, folder })
}

describe('verifying a drop against the chain', () => {
  test('returns no problem if everything matches', async () => {
    expect(await faults()).toEqual([])
  })

  test('names a token with another owner', async () => {
    owners[1] = `0x${'ab'.repeat(20)}`
    expect(await faults()).toEqual([`"${rows[1]?.title}" belongs to 0x${'ab'.repeat(20)}`])
  })

  test('names a token URI that differs from the API', async () => {
    nfts = nfts.map((nft) => ({ ...nft, metadata_url: 'ipfs://other/0.json' }))
    expect(await faults()).toHaveLength(2)
    expect((await faults())[0]).toContain(
      'has the token URI ipfs://folder/0.json, but the API returned ipfs://other/0.json',
    )
  })

  test('names metadata and pictures that differ from the row', async () => {
    names[0] = 'Something else'
    pictures.reverse()
    const found = await faults()
    expect(found).toContain(`"${rows[0]?.title}" is called "Something else" in its metadata`)
    expect(found).toContain(`the image of "${rows[1]?.title}" differs from ${rows[1]?.image}`)
  })

  test('names missing NFTs, and tokens that are in no row', async () => {
    nfts = nfts.map((nft) => ({
      ...nft,
      request_metadata: { title: nft === nfts[0] ? 'Not ours' : (rows[0]?.title ?? '') },
    }))
    const found = await faults()
    expect(found).toContain('token 0 is in no row of the manifest')
    expect(found).toContain(`"${rows[1]?.title}" was not minted`)
  })
})

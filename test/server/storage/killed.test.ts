import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freshDataDir, until, WALLETS } from '../../helpers/backend.ts'
import { type ChildBackend, startedChild } from '../../helpers/backend-child.ts'
import { bytes, type FileServer, startFileServer } from '../../helpers/file-server.ts'
import { S3_KEYS, type S3StandIn, startS3 } from '../../helpers/s3-stand-in.ts'

const PICTURE = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(600 * 1024, 7)])

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let files: FileServer
let s3: S3StandIn
let backend: ChildBackend | null = null

beforeEach(async () => {
  dataDir = await freshDataDir()
  files = await startFileServer({ '/large.png': bytes(PICTURE) })
  s3 = await startS3(['art'])
  const keys = { accessKeyId: S3_KEYS.accessKeyId, secret: S3_KEYS.secret }
  const texts = {
    keys: `[default]\naws_access_key_id = ${keys.accessKeyId}\naws_secret_access_key = ${keys.secret}\n`,
    'backend.yaml': `storage: { kind: s3, bucket: art, endpoint: "${s3.url}", credentials_file: keys }\n`,
  }
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(dataDir.path, name), text)
    await chmod(join(dataDir.path, name), 0o600)
  }
})
afterEach(async () => {
  await backend?.kill('SIGKILL')
  await Promise.all([files.close(), s3.close()])
  await dataDir.remove()
})

async function post(path: string, body: object) {
  const headers = { 'content-type': 'application/json', 'x-api-key': backend?.apiKey ?? '' }
  const answer = await fetch(`${backend?.url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  // Each test states what it expects in the response.
  // biome-ignore lint/suspicious/noExplicitAny: the tests check the shape of the response
  return (await answer.json()) as any
}

const puts = () => s3.seen.filter((line) => /^PUT \/art\/baf/.test(line))

test('mints an NFT once after a kill between storing its file in the bucket and recording that', async () => {
  backend = await startedChild(dataDir.path)
  const creation = await post('createcollection', { wallet_address: WALLETS[0], name: 'A', blockchain: 'polygon' })
  const id = creation.response.transaction_gdn_id
  const { collections } = await post('getcollections', { transaction_gdn_ids: [id] })
  const killed = new Promise<void>((resolve) => {
    s3.answer = ({ method, url }) => {
      if (method !== 'PUT' || !url?.startsWith('/art/baf')) return null
      s3.answer = () => null
      void backend?.kill('SIGKILL').then(resolve)
      return null
    }
  })
  const order = await post('createnft', {
    contract_address: collections[0].contract_address,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: [{ title: 'a', description: '', file_fields: [{ key: 'image', url: `${files.url}/large.png` }] }],
  }).catch(() => null)
  await killed
  expect(puts()).toHaveLength(1)
  expect([...s3.objects.keys()].filter((key) => key.startsWith('art/baf'))).toHaveLength(1)
  const before = s3.objects.get(puts()[0]?.slice('PUT /'.length) ?? '')

  backend = await startedChild(dataDir.path)
  const ids = order.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
  const { nfts } = await until(
    () => post('getnfts', { nft_gdn_ids: ids }),
    (answer) => answer.nfts[0].status !== 'initiated',
  )
  expect(nfts).toMatchObject([{ status: 'deployed', token_id: '1' }])
  // The conditional second request leaves the stored object unchanged.
  expect(puts()).toHaveLength(2)
  expect(s3.objects.get(puts()[1]?.slice('PUT /'.length) ?? '')).toBe(before)
})

test('aborts incomplete uploads of a killed process after a day, but no younger or foreign ones', async () => {
  const twoDaysAgo = new Date(Date.now() - 2 * 24 * 3600_000)
  const left = (key: string, begun: Date) => ({ key: `art/${key}`, begun, contentType: '', parts: new Map() })
  const cid = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
  s3.uploads.set('old&1', left(cid, twoDaysAgo))
  s3.uploads.set('young', left(cid, new Date()))
  s3.uploads.set('foreign', left('reports/2026.pdf', twoDaysAgo))
  backend = await startedChild(dataDir.path)
  const ids = await until(
    async () => [...s3.uploads.keys()],
    (left) => left.length < 3,
  )
  expect(ids, s3.seen.join('\n')).toEqual(['young', 'foreign'])
})

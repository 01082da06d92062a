import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { storeFilesAgain } from '../../../src/server/pipeline/store-files-again.ts'
import { createFileStorage } from '../../../src/server/storage/files.ts'
import { findStored } from '../../../src/server/storage/find-stored.ts'
import { createGateway } from '../../../src/server/storage/gateway.ts'
import { GatewayStandIn } from '../../helpers/ipfs-gateway-stand-in.ts'
import { MemoryBlockTable } from '../../helpers/memory-block-table.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

let dataDir: string
let source: GatewayStandIn

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gdn-again-'))
  source = await new GatewayStandIn().start()
})
afterEach(async () => {
  await source.close()
  await rm(dataDir, { recursive: true, force: true })
})

test.each([false, true])('fetches a file of a directory from the gateway once (sharded: %s)', async (sharded) => {
  const art = Object.fromEntries(
    Array.from({ length: 3 }, (_, n) => [`art/${n}.png`, Buffer.concat([PNG, Buffer.from([n])])]),
  )
  const root = await source.add(art, { sharded })
  const storage = await createFileStorage({ dataDir, blocks: new MemoryBlockTable() })
  const gateway = createGateway({ url: source.url, userAgent: 'test' })
  const errors: unknown[] = []
  const sources = {
    ...{ storage, fetcher: undefined as never, files: { allowHtml: false, ipfs: gateway } },
    log: { ...SILENT_LOG, error: (facts: unknown) => void errors.push(facts) },
  }
  const nft = (name: string) => {
    const file_fields = [{ key: 'image', url: `ipfs://${root}/${name}` }]
    const metadata = JSON.stringify({ title: 'x', description: '', file_fields })
    return { id: name, metadata, files: JSON.stringify({ image: `${root}/${name}` }) }
  }
  await storeFilesAgain(sources, nft('art/0.png'))
  // The directory is stored by now, but not this file in it.
  await storeFilesAgain(sources, nft('art/1.png'))
  for (const name of ['art/0.png', 'art/1.png']) expect(await findStored(storage, `${root}/${name}`)).not.toBeNull()
  const requestCount = source.asked.length
  await storeFilesAgain(sources, nft('art/1.png'))
  expect(source.asked).toHaveLength(requestCount)
  expect(errors).toEqual([])
  await storeFilesAgain({ ...sources, files: { allowHtml: false, ipfs: null } }, nft('art/2.png'))
  expect(errors).toMatchObject([
    { nft: 'art/2.png', file: `${root}/art/2.png`, error: 'no gateway is configured for IPFS files' },
  ])
  await gateway.close()
})

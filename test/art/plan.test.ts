/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { cli } from '../cli/harness.ts'
import { createTestCollection, freshDataDir, startTestBackend, WALLETS } from '../helpers/backend.ts'
import { rawCidOf } from '../helpers/published-cid.ts'
import { nftsOf } from '../helpers/shuffled-machine.ts'
import { artFolder, layerImage } from './generated.ts'

test('plan and apply take the manifest of an edition unchanged, and update the NFTs whose layers changed', async () => {
  const data = await freshDataDir()
  const backend = await startTestBackend(data.path)
  onTestFinished(async () => {
    await backend.close()
    await data.remove()
  })
  const folder = await artFolder()
  const collection = await createTestCollection(backend)
  const env = { HOME: folder.path('home'), GDN_API_KEY: backend.apiKey.reveal() }
  const gdn = async <Result>(...argv: string[]): Promise<Result> => {
    const { code, stdout, stderr } = await cli([...argv, '--json'], { env, cwd: folder.path('.') })
    expect(code, stderr).toBe(0)
    return JSON.parse(stdout)
  }
  const generate = () => gdn('art', 'generate', 'art.yaml', '--count', '12', '--out', 'drop', '--threads', '1')
  const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
  const manifest = folder.path('drop/manifest.csv')
  const drop = [manifest, '--receiver', WALLETS[1], ...target]
  const images = async () => {
    const files = Array.from({ length: 12 }, (_, row) => `drop/images/${row + 1}.${row === 1 ? 'gif' : 'png'}`)
    const read = files.map(async (file) => {
      const url = `ipfs://${rawCidOf(await readFile(folder.path(file)))}`
      return JSON.stringify([{ key: 'image', url }])
    })
    return await Promise.all(read)
  }
  const minted = async () => {
    const nfts = await nftsOf(backend, collection)
    return nfts.map(({ request_metadata: { file_fields } }) => JSON.stringify(file_fields)).sort()
  }

  await generate()
  expect(await gdn('batch', 'validate', manifest, '-b', 'polygon', '--receiver', WALLETS[1])).toMatchObject({
    valid: true,
  })
  await gdn('batch', 'mint', ...drop, '--dynamic')
  const before = await images()
  expect(await minted()).toEqual(before.toSorted())
  expect(await gdn('plan', ...drop)).toEqual([])

  await folder.write('0-1.png', await layerImage(2, 5))
  await generate()
  const after = await images()
  const changed = after.filter((image) => !before.includes(image)).length
  expect(changed).toBeGreaterThan(0)
  expect(changed).toBeLessThan(12)
  const plan = await gdn<{ action: string }[]>('plan', ...drop)
  expect(plan.map(({ action }) => action)).toEqual(Array.from({ length: changed }, () => 'update'))
  await gdn('apply', ...drop, '--yes')
  expect(await minted()).toEqual(after.toSorted())
})

/** @module-tag slow */
import { mkdir, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { folder } from '../cli/batch/drop.ts'
import { cli, tempHome } from '../cli/harness.ts'
import {
  createTestCollection,
  freshDataDir,
  showCollection,
  startTestBackend,
  until,
  WALLETS,
} from '../helpers/backend.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { setUpNetwork } from '../helpers/network-backend.ts'
import { startPublicNetwork } from '../helpers/public-network.ts'
import { verifyReveal } from '../helpers/verify-reveal.ts'

const TITLES = ['Dawn', 'Noon', 'Dusk']

test('a revealed drop is proved from its archive after its backend was deleted', async () => {
  const network = await startPublicNetwork()
  whenTestDone(() => network.close())
  const place = await setUpNetwork(network)
  let isRemoved = false
  const removed = async () => {
    if (!isRemoved) await place.remove()
    isRemoved = true
  }
  whenTestDone(removed)
  whenTestDone(network.mineEvery(40))
  const backend = await place.start()
  const collection = await createTestCollection(backend)
  await until(
    () => showCollection(backend, collection.id),
    ({ status }) => status === 'deployed',
  )

  const rows = TITLES.map((title, n) => `r${n},${title},x,art/${n}.txt,${WALLETS[1]}`)
  const { path, options } = await folder({
    'drop.csv': ['id,title,description,image,receiver', ...rows].join('\n'),
    'hidden.json': JSON.stringify({ title: 'Hidden', description: 'Wait', image: 'art/hidden.txt' }),
  })
  await mkdir(path('art'))
  for (const name of ['0', '1', '2', 'hidden']) await writeFile(path(`art/${name}.txt`), `picture ${name}`)
  const run = async (...argv: string[]) => {
    const env = {
      ...options.env,
      GDN_API_KEY: backend.apiKey.reveal(),
      GDN_BASE_URL: backend.url,
      GDN_RPC_URL: network.url,
    }
    const { code, stderr } = await cli(argv, { ...options, env })
    expect(code, stderr).toBe(0)
  }
  const target = ['-c', collection.address, '-b', 'polygon', '--yes']
  await run('batch', 'mint', path('drop.csv'), '--unrevealed', path('hidden.json'), ...target)
  await run('reveal', path('drop.csv'), ...target)
  const from = ['-b', 'polygon', '--gateway', backend.url]
  await run('collection', 'archive', collection.address, ...from, '--to', path('tides.car'))
  await backend.close()
  await removed()

  const { env } = await tempHome()
  const dataDir = await freshDataDir()
  whenTestDone(() => dataDir.remove())
  const restored = await cli(['collection', 'restore', path('tides.car'), '--data-dir', dataDir.path], { env })
  expect(restored.code, restored.stderr).toBe(0)
  const other = await startTestBackend(dataDir.path)
  whenTestDone(() => other.close())
  for (const [n, title] of TITLES.entries()) {
    const place = ['-b', 'polygon', '--rpc-url', network.url, '--gateway', other.url, '--json']
    const { code, stdout, stderr } = await cli(['nft', 'verify', `${collection.address}/${n + 1}`, ...place], { env })
    expect([title, code], stderr).toEqual([title, 0])
    expect(JSON.parse(stdout)).toMatchObject({ provenance: { row: n + 1 } })
  }
  const proved = await verifyReveal(network.url, other.url, collection.address as `0x${string}`)
  expect([...proved]).toEqual(TITLES.map((_, n) => [String(n + 1), n + 1]))
})

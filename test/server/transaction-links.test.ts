/** @module-tag slow */
import { afterEach, expect, it } from 'vitest'
import { cli } from '../cli/harness.ts'
import { call, createTestCollection, showCollection, until } from '../helpers/backend.ts'
import { setUpNetwork } from '../helpers/network-backend.ts'
import { startPublicNetwork } from '../helpers/public-network.ts'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

it.each([
  [
    'the configured block explorer',
    { block_explorer_url: 'https://explorer.example/' },
    'https://explorer.example/tx/',
  ],
  ['the block explorer that viem/chains names', {}, 'https://polygonscan.com/tx/'],
])('links a transaction to %s, in gettransactions and in gdn tx', async (_, more, link) => {
  const real = await startPublicNetwork()
  undo.push(() => real.close())
  const place = await setUpNetwork(real)
  undo.push(() => place.remove())
  await place.write({ urls: [real.url], more })
  const backend = await place.start()
  undo.push(() => backend.close())
  const { id } = await createTestCollection(backend)
  await until(
    async () => {
      await real.mine()
      return showCollection(backend, id)
    },
    ({ status }) => status === 'deployed',
  )
  const [outcome] = (await call(backend, 'gettransactions', { transaction_gdn_ids: [id] })).transactions
  const hash = outcome?.transaction_hash
  expect(outcome?.explorer_url).toBe(`${link}${hash}`)
  const gdn = async (...argv: string[]) =>
    JSON.parse((await cli([...argv, '--data-dir', place.dataDir, '--json'])).stdout)
  const listed = (await gdn('tx', 'list')).find((one: { hash: string }) => one.hash === hash)
  expect(listed.explorer_url).toBe(`${link}${hash}`)
  expect((await gdn('tx', 'show', String(hash))).explorer_url).toBe(listed.explorer_url)
})

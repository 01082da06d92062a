import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeHome } from '../helpers/gdn.ts'
import { ownPort } from '../helpers/own-port.ts'

const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

interface Collection {
  contract_address: string
}

test('a killed batch resumes when the local backend restarts on another port, and mints no row twice', async () => {
  const home = await makeHome()
  onTestFinished(async () => {
    await home.run(['local', 'stop'])
    await home.remove()
  })
  const start = () => home.json<{ url: string }>(['local', 'start', '--port', '0', '--rate-limits', 'off'])
  const { url } = await start()
  const target = ['--local', '-b', 'polygon']
  const made = await home.json<Collection>(['collection', 'create', ...target, '--name', 'P', '--wallet', WALLET])
  const rows = Array.from({ length: 400 }, (_, index) => `T${index},d,${WALLET}`)
  const manifest = join(home.dir, 'm.csv')
  await writeFile(manifest, `title,description,receiver\n${rows.join('\n')}\n`)
  const mint = ['batch', 'mint', manifest, ...target, '-c', made.contract_address, '--chunk-size', '1', '--json']
  const listed = () => home.json<unknown[]>(['nft', 'list', ...target, '-c', made.contract_address])

  // Slow enough to be killed on any machine: it would take 20 s.
  const batch = home.start([...mint, '--rate', '20'])
  while ((await listed()).length < 5) await new Promise((resolve) => setTimeout(resolve, 50))
  batch.kill('SIGKILL')
  await batch
  expect((await listed()).length).toBeLessThan(400)
  await home.run(['local', 'stop'])
  expect((await start()).url).not.toBe(url)
  expect((await home.run(mint)).code).toBe(0)
  expect(await listed()).toHaveLength(400)
})

test('the local backend keeps its port when it is restarted with another version of the API', async () => {
  const home = await makeHome()
  onTestFinished(async () => {
    await home.run(['local', 'stop'])
    await home.remove()
  })
  const { url } = await home.json<{ url: string }>(['local', 'start', '--port', String(await ownPort())])
  await home.run(['local', 'stop'])
  expect((await home.json<{ url: string }>(['local', 'start', '--api-version', '1.2'])).url).toBe(url)
  expect(await home.run(['api', 'getnfts', '--field', 'nft_gdn_ids:=1', '--local', '--debug'])).toMatchObject({
    stderr: expect.stringMatching(/< 400 in/),
  })
})

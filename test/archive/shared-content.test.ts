/** @module-tag slow */
import { expect, test } from 'vitest'
import { rawCid } from '../../src/ipfs/cid.ts'
import { cli, tempHome } from '../cli/harness.ts'
import { CollectionWorld } from './collection-world.ts'

const dataUrl = (value: unknown) =>
  `data:application/json;base64,${Buffer.from(JSON.stringify(value)).toString('base64')}`

function gate() {
  let open: () => void = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open: () => open(), opened }
}

async function started(): Promise<CollectionWorld> {
  return new CollectionWorld({ uris: new Map() }).start()
}

async function check(world: CollectionWorld) {
  const { env } = await tempHome()
  return await cli(['collection', 'check', ...world.flags, '--allow-private-files', '-o', 'ndjson'], { env })
}

test('a file stays readable while a file with some of its blocks is finished', async () => {
  const world = await started()
  const blocks = (last: string) =>
    Buffer.concat(['a', 'b', 'c', last].map((letter) => Buffer.alloc(1024, `tide ${letter}`)))
  const lastOf = (file: Buffer) => rawCid(file.subarray(-1024)).toString()
  const [fast, slow, after] = [blocks('fast'), blocks('slow'), Buffer.from('after')]
  const root = await world.gateway.add({ 'fast.png': fast, 'slow.png': slow, 'after.png': after })
  const [isSlowRead, isFastFinished] = [gate(), gate()]
  const answer = world.gateway.answer
  world.gateway.answer = async (cid, path) => {
    if (cid === rawCid(after).toString()) isFastFinished.open()
    if (cid === lastOf(fast)) await isSlowRead.opened
    if (cid === lastOf(slow)) {
      isSlowRead.open()
      await isFastFinished.opened
    }
    return (await answer(cid, path)) ?? { status: 404, body: Buffer.alloc(0) }
  }
  world.uris.set(1n, dataUrl({ image: `ipfs://${root}/slow.png` }))
  world.uris.set(2n, dataUrl({ image: `ipfs://${root}/fast.png`, animation_url: `ipfs://${root}/after.png` }))
  expect(await check(world)).toMatchObject({ code: 0, stdout: '' })
})

test('metadata that several tokens share stays readable after a file with the same content was read', async () => {
  const world = await started()
  const metadata = Buffer.from(JSON.stringify({ name: 'Tide', image: `${world.web.url}/1.json` }))
  world.pages.set('/1.json', { body: metadata, headers: { 'content-type': 'application/json' } })
  const root = await world.gateway.add({ '1.json': metadata })
  for (let id = 1n; id <= 20n; id++) world.uris.set(id, `ipfs://${root}/1.json`)
  expect(await check(world)).toMatchObject({ code: 0, stdout: '' })
})

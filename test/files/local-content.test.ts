import { getEventListeners } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { LocalContents } from '../../src/files/local-content.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

test('a file is read until the command is stopped', async () => {
  const folder = await temporaryFolder('gdn-content-')
  const path = join(folder, 'picture.png')
  await writeFile(path, Buffer.alloc(4 * 1024 * 1024))
  const stopped = new GdnError('terminated', 'terminated')
  const stop = new AbortController()
  const reading = new LocalContents(stop.signal).read(path)
  stop.abort(stopped)
  await expect(reading).rejects.toBe(stopped)
  expect((await new LocalContents().read(path)).sha256).toBe(
    'bb9f8df61474d25e71fa00722318cd387396ca1736605e1248821cc0de3d3af8',
  )
})

test('many files are read with few listeners on the signal, which Node.js would report as a leak', async () => {
  const folder = await temporaryFolder('gdn-content-')
  const paths = Array.from({ length: 30 }, (_, i) => join(folder, `${i}.png`))
  for (const path of paths) await writeFile(path, path)
  const { signal } = new AbortController()
  const contents = new LocalContents(signal)
  let most = 0
  const reading = paths.map(async (path) => {
    await contents.read(path)
    most = Math.max(most, getEventListeners(signal, 'abort').length)
  })
  await Promise.all([...reading, expect(contents.read(join(folder, 'none'))).rejects.toThrow("can't be read")])
  expect(most).toBeLessThan(3)
  expect((await contents.read(join(folder, '0.png'))).url).toMatch(/^ipfs:/)
})

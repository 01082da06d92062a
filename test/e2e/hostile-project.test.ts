/** @module-tag slow */
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'

const PATIENCE_MS = 60_000

let home: GdnHome
let repository: string
beforeEach(async () => {
  home = await makeHome()
  repository = join(home.dir, 'cloned')
  await mkdir(join(repository, '.git'), { recursive: true })
})
afterEach(() => home.remove())

/** Runs gdn in the repository, and kills it after a timeout. */
async function inRepository(argv: readonly string[]) {
  const child = home.start(argv, { cwd: repository })
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  const { exitCode, signal, stderr } = await child
  clearTimeout(timer)
  return { code: exitCode, signal: signal ?? null, stderr: String(stderr) }
}

test('ignores a package.json that is a link to an endless device', async () => {
  await symlink('/dev/zero', join(repository, 'package.json'))
  expect(await inRepository(['config', 'list'])).toEqual({ code: 0, signal: null, stderr: '' })
})

test('rejects a .gdnrc that is a link to an endless device, and names it', async () => {
  await symlink('/dev/zero', join(repository, '.gdnrc'))
  const { code, stderr } = await inRepository(['config', 'list'])
  expect(code).toBe(2)
  expect(stderr).toContain('.gdnrc')
})

test('rejects a manifest that refers to a key of ours by path or link before sending anything', async () => {
  await mkdir(join(home.dir, '.ssh'))
  await writeFile(join(home.dir, '.ssh', 'id_key'), 'secret', { mode: 0o600 })
  await symlink(join(home.dir, '.ssh', 'id_key'), join(repository, 'art.png'))
  for (const image of ['../.ssh/id_key', join(home.dir, '.ssh', 'id_key'), 'art.png']) {
    const row = `Dawn,d,0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359,${image}`
    await writeFile(join(repository, 'drop.csv'), `title,description,receiver,image\n${row}\n`)
    const { code, stderr } = await inRepository(['batch', 'validate', 'drop.csv', '-b', 'polygon'])
    expect({ image, code }).toEqual({ image, code: 2 })
    expect(stderr).toContain('would be published')
  }
})

import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { LocalContents } from '../../src/files/local-content.ts'
import { readPlan, readPlanHeader } from '../../src/plan/plan-file.ts'
import { mkfifo } from '../cli/mkfifo.ts'
import { pngOf } from '../helpers/file-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { ALICE, row } from './world.ts'

let dir: string
beforeEach(async () => {
  dir = await temporaryFolder('gdn-plan-file-')
})
const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')

/** Saves a plan, whose header is followed by `padding`. */
async function save(lines = '', padding = ''): Promise<string> {
  const header = {
    ...{ gdn_plan: 1, sha256: sha256(lines), manifest: null, run: null, origin: 'x', url: 'x', backend_id: null },
    ...{
      incarnation: null,
      blockchain: 'polygon',
      contract_address: ALICE,
      take_over: false,
      prune: false,
      counts: {},
    },
  }
  await mkdir(join(dir, 'plans'), { recursive: true })
  const path = join(dir, 'plans/plan.json')
  await writeFile(path, `${JSON.stringify(header)}${padding}\n${lines}`)
  return path
}

/** Reads a plan, which may name the files of some folders. Returns its titles. */
async function read(path: string, fileFolders: string[] = [], signal = new AbortController().signal) {
  const header = await readPlanHeader(path, signal)
  if (header === null) throw new Error('no plan')
  const saved = { row: async () => {}, burn: async () => {} }
  const titles: unknown[] = []
  for await (const item of readPlan(path, header, { contents: new LocalContents(), saved, fileFolders, signal })) {
    titles.push('row' in item && item.row.metadata.title)
  }
  return titles
}

test.each([
  ['a pipe that nobody writes to', mkfifo, (path: string) => path],
  ['a device without an end', async () => {}, () => '/dev/zero'],
])('%s is no plan', async (_, make, pathOf) => {
  await make(join(dir, 'pipe'))
  expect(await readPlanHeader(pathOf(join(dir, 'pipe')), new AbortController().signal)).toBeNull()
})

test.each([
  ['in its header', '', ' '.repeat(17 * 1024 * 1024)],
  ['after it', `${JSON.stringify({ row: row('a'), changes: [] })}${' '.repeat(17 * 1024 * 1024)}\n`, ''],
])('rejects a line of more than 16 MiB %s', async (_, lines, padding) => {
  await expect(read(await save(lines, padding))).rejects.toThrow('the plan was edited or is incomplete')
})

test('ends with a signal while it reads the header, and while it reads rows', async () => {
  const path = await save(`${JSON.stringify({ row: row('a'), changes: [] })}\n`)
  expect(await read(path)).toEqual(['a'])
  const pressed = AbortSignal.abort(new GdnError('interrupted', 'interrupted'))
  await expect(readPlanHeader(path, pressed)).rejects.toMatchObject({ code: 'interrupted' })
  const header = await readPlanHeader(path, new AbortController().signal)
  const reading = { contents: new LocalContents(), saved: { row: async () => {}, burn: async () => {} } }
  const rows = header && readPlan(path, header, { ...reading, fileFolders: [], signal: pressed })
  await expect(rows?.next()).rejects.toMatchObject({ code: 'interrupted' })
})

test('publishes a file outside of its folder only from a folder that is permitted again', async () => {
  const content = pngOf('dawn')
  await mkdir(join(dir, 'media'))
  await writeFile(join(dir, 'media/dawn.png'), content)
  const localFiles = [{ key: 'image', path: '../media/dawn.png', sha256: sha256(content) }]
  const path = await save(`${JSON.stringify({ row: { ...row('a'), localFiles }, changes: [] })}\n`)
  await expect(read(path)).rejects.toMatchObject({ code: 'refused' })
  await expect(read(path, [join(dir, 'plans')])).rejects.toMatchObject({ code: 'refused' })
  expect(await read(path, [join(dir, 'media')])).toEqual(['a'])
})

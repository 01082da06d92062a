import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { findDrift } from '../../src/build/drift.mjs'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

let root: string

const generator = { name: 'made', paths: ['out', 'one.txt'], generate, command: 'node make.mjs' }

async function generate(dir: string): Promise<void> {
  await mkdir(join(dir, 'out'), { recursive: true })
  await writeFile(join(dir, 'out', 'a.txt'), 'a')
  await writeFile(join(dir, 'one.txt'), '1')
}

beforeEach(async () => {
  root = await temporaryFolder('gdn-drift-test-')
  await generate(root)
})

describe('generated files', () => {
  test('are current if their generator returns the same bytes', async () => {
    expect(await findDrift(root, generator)).toBe('')
  })

  test('are listed with the command that updates them if one differs, is missing or is left over', async () => {
    await writeFile(join(root, 'one.txt'), '2')
    await rm(join(root, 'out', 'a.txt'))
    await writeFile(join(root, 'out', 'b.txt'), 'b')
    const lines = (await findDrift(root, generator)).split('\n')
    expect(new Set(lines)).toEqual(
      new Set([
        'one.txt: differs',
        'out/a.txt: is missing',
        'out/b.txt: is no longer generated',
        'to update these files, run: node make.mjs',
      ]),
    )
  })
})

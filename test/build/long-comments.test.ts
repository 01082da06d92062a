import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, test } from 'vitest'
import { findLongComments } from '../../src/build/long-comments.mjs'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

let root: string

beforeEach(async () => {
  root = await temporaryFolder('gdn-comments-')
  execFileSync('git', ['init', '--quiet'], { cwd: root })
})

test('names each line of a comment with more than 120 characters, and no code', async () => {
  const line = (start: string, length: number) => start + 'a'.repeat(length - start.length)
  const lines = ['// ', '  /** ', '   * '].flatMap((start) => [line(start, 121), line(start, 120)])
  await writeFile(join(root, 'a.ts'), [...lines, line("const text = '", 140)].join('\n'))
  await writeFile(join(root, 'a.md'), line('* ', 140))
  const long = 'the comment is longer than 120 characters'
  expect(await findLongComments(root)).toEqual([1, 3, 5].map((at) => `a.ts:${at}: ${long}`))
})

test('finds no comment that is too long in the repository', async () => {
  expect(await findLongComments(fileURLToPath(new URL('../../', import.meta.url)))).toEqual([])
})

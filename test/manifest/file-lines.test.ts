import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileLines } from '../../src/manifest/file-lines.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

test('finds the lines of more rows than a function takes arguments', async () => {
  const folder = await temporaryFolder('gdn-lines-')
  const path = join(folder, 'a.csv')
  await writeFile(path, 'title\n"One\nday"\nTwo\n')
  const rows = new Set(Array.from({ length: 200_000 }, (_, index) => index + 2))
  expect([...(await fileLines(path, rows))]).toEqual([
    [2, 2],
    [3, 4],
  ])
})

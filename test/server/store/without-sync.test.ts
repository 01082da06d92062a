import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { withoutSync } from '../../../src/server/store/dialect.ts'
import { openStore } from '../../../src/server/store/open-store.ts'
import type { Db } from '../../../src/server/store/schema.ts'
import { freshDataDir } from '../../helpers/backend.ts'

const [NORMAL, FULL] = [1, 2]

async function levelOf(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(db)
  return rows[0]?.synchronous
}

it('waits for the disk at each commit, except during statements without sync, also after they fail', async () => {
  const dir = await freshDataDir()
  const store = await openStore(join(dir.path, 'gdn.db'))
  onTestFinished(async () => {
    await store.close()
    await dir.remove()
  })
  expect(await levelOf(store.db)).toBe(FULL)
  for (let round = 0; round < 2; round++) {
    expect(await withoutSync(store.db, levelOf)).toBe(NORMAL)
    expect(await levelOf(store.db)).toBe(FULL)
    await expect(withoutSync(store.db, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    expect(await store.transaction(levelOf)).toBe(FULL)
  }
})

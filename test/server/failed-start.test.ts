import { expect, it, vi } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { createTestCollection, freshDataDir, showCollection, startTestBackend, until } from '../helpers/backend.ts'

const failures = vi.hoisted(() => ({ left: 0 }))

vi.mock(import('../../src/server/store/transactions.ts'), async (original) => {
  const real = await original()
  return {
    ...real,
    async blockchainsWithSigned(db) {
      if (failures.left-- > 0) throw new Error('the database went away')
      return await real.blockchainsWithSigned(db)
    },
  }
})

it('a start that fails when the pipeline runs already leaves nothing running, and the next one works', async () => {
  const dataDir = await freshDataDir()
  try {
    failures.left = 1
    const log: string[] = []
    const logStream = { write: (line: string) => void log.push(line) }
    await expect(startTestBackend(dataDir.path, { logStream })).rejects.toThrow('the database went away')
    const told = log.length
    // Steps that still ran would come again within this time, and find that the database is closed.
    await sleep(2500)
    expect(log.slice(told)).toEqual([])
    const backend = await startTestBackend(dataDir.path)
    const { id } = await createTestCollection(backend)
    const shown = await until(
      () => showCollection(backend, id),
      ({ status }) => status === 'deployed',
    )
    await backend.close()
    expect(shown.status).toBe('deployed')
  } finally {
    await dataDir.remove()
  }
})

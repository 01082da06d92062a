/** @module-tag slow */
import { beforeEach, expect, it, vi } from 'vitest'
import { createTestCollection, showCollection, startTestBackend, temporaryDataDir, until } from '../helpers/backend.ts'

const failures = vi.hoisted(() => ({ ofListening: 0, ofTakingUp: 0 }))

vi.mock(import('../../src/server/http/listen.ts'), async (original) => {
  const real = await original()
  return {
    ...real,
    async listen(app, options) {
      if (failures.ofListening-- > 0) throw new Error('the address went away')
      return await real.listen(app, options)
    },
  }
})

vi.mock(import('../../src/server/store/transactions.ts'), async (original) => {
  const real = await original()
  return {
    ...real,
    async listUnsettledBlockchains(db) {
      if (failures.ofTakingUp-- > 0) throw new Error('the database connection was lost')
      return await real.listUnsettledBlockchains(db)
    },
  }
})

let dataDir: string
beforeEach(async () => {
  failures.ofListening = 0
  failures.ofTakingUp = 0
  dataDir = await temporaryDataDir()
})

/** Starts a backend, waits until a collection is deployed and `resumed` is true, and returns the log. */
async function expectToWork(resumed = () => true) {
  const backend = await startTestBackend(dataDir)
  try {
    const { id } = await createTestCollection(backend)
    const shown = await until(
      () => showCollection(backend, id),
      ({ status }) => status === 'deployed',
    )
    expect(shown.status).toBe('deployed')
    expect(await until(async () => resumed(), Boolean)).toBe(true)
    return backend.log
  } finally {
    await backend.close()
  }
}

it('leaves nothing running after a start that fails at the end, so that the next one works', async () => {
  await expectToWork()
  failures.ofListening = 1
  const timers = () => process.getActiveResourcesInfo().filter((what) => what === 'Timeout').length
  const before = timers()
  await expect(startTestBackend(dataDir)).rejects.toThrow('the address went away')
  // Steps that still ran would have timers.
  await until(timers, (now) => now <= before)
  await expectToWork()
})

it('resumes pending work after the database failed at first', async () => {
  failures.ofTakingUp = 1
  // A collection can be deployed before the second attempt to resume.
  const log = await expectToWork(() => failures.ofTakingUp < 0)
  expect(log.filter((line) => line.includes('"step":"resume"'))).toHaveLength(1)
})

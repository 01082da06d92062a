/** @module-tag slow */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createTestCollection, freshDataDir, showCollection, startTestBackend, until } from '../../helpers/backend.ts'
import { gate } from '../../helpers/gate.ts'

const hook = vi.hoisted(() => ({ before: async () => {} }))

vi.mock(import('../../../src/server/pipeline/pipeline.ts'), async (original) => {
  const { startPipeline } = await original()
  return {
    async startPipeline(options) {
      await hook.before()
      return await startPipeline(options)
    },
  }
})

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
beforeEach(async () => {
  dataDir = await freshDataDir()
})
afterEach(() => dataDir.remove())

it('is ready before its pipeline starts, and creates what it accepted until then', async () => {
  const { pass, open } = gate()
  hook.before = pass
  const backend = await startTestBackend(dataDir.path)
  try {
    const { id } = await createTestCollection(backend)
    expect((await showCollection(backend, id)).status).toBe('initiated')
    open()
    const collection = await until(
      () => showCollection(backend, id),
      ({ status }) => status === 'deployed',
    )
    expect(collection.status).toBe('deployed')
  } finally {
    open()
    await backend.close()
  }
})

it('retries a pipeline that could not be started', async () => {
  let failures = 1
  hook.before = async () => {
    if (failures-- > 0) throw new Error('a file of it could not be read')
  }
  const backend = await startTestBackend(dataDir.path)
  try {
    const { id } = await createTestCollection(backend)
    const collection = await until(
      () => showCollection(backend, id),
      ({ status }) => status === 'deployed',
    )
    expect(collection.status).toBe('deployed')
    expect(backend.log.filter((line) => line.includes('the pipeline could not be started'))).toHaveLength(1)
  } finally {
    await backend.close()
  }
})

it('serves and stops even if its pipeline can never be started', async () => {
  hook.before = async () => {
    throw new Error('a file of it could not be read')
  }
  const backend = await startTestBackend(dataDir.path)
  const { id } = await createTestCollection(backend)
  expect((await showCollection(backend, id)).status).toBe('initiated')
  await backend.close()
})

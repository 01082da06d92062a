/** @module-tag slow */
import { beforeEach, expect, it, vi } from 'vitest'
import {
  createTestCollection,
  showCollection,
  startTestBackend,
  temporaryDataDir,
  until,
} from '../../helpers/backend.ts'
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

let dataDir: string
beforeEach(async () => {
  dataDir = await temporaryDataDir()
})

it('is ready before its pipeline starts, and creates what it accepted until then', async () => {
  const { pass, open } = gate()
  hook.before = pass
  const backend = await startTestBackend(dataDir)
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
  const backend = await startTestBackend(dataDir)
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
  const backend = await startTestBackend(dataDir)
  const { id } = await createTestCollection(backend)
  expect((await showCollection(backend, id)).status).toBe('initiated')
  await backend.close()
})

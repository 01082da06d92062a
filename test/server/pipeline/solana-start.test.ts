/** @module-tag slow */
import { beforeEach, expect, it, vi } from 'vitest'
import {
  createTestCollection,
  showCollection,
  startTestBackend,
  temporaryDataDir,
  until,
} from '../../helpers/backend.ts'
import { solanaWallet } from '../../helpers/solana.ts'

const failures = vi.hoisted(() => ({ left: 0 }))

vi.mock(import('../../../src/server/pipeline/solana/driver.ts'), async (original) => {
  const { createSolanaDriver } = await original()
  return {
    createSolanaDriver(options) {
      if (failures.left-- > 0) throw new Error('a file of it could not be read')
      return createSolanaDriver(options)
    },
  }
})

let dataDir: string
beforeEach(async () => {
  dataDir = await temporaryDataDir()
})

const request = {
  blockchain: 'solana',
  wallet_address: solanaWallet('owner'),
  description: 'd',
  image: 'https://a.example/i.png',
}

it('retries a Solana pipeline that could not be started, and then creates what was accepted', async () => {
  failures.left = 1
  const backend = await startTestBackend(dataDir)
  try {
    const collection = await createTestCollection(backend, request)
    const createdCollection = await until(
      () => showCollection(backend, collection.id),
      ({ status }) => status === 'deployed',
    )
    expect(createdCollection.status).toBe('deployed')
    expect(backend.log.filter((line) => line.includes('the pipeline could not be started'))).toHaveLength(1)
  } finally {
    await backend.close()
  }
})

it("a Solana pipeline that can never be started doesn't block other pipelines or the shutdown", async () => {
  failures.left = Number.POSITIVE_INFINITY
  const backend = await startTestBackend(dataDir)
  try {
    const onSolana = await createTestCollection(backend, request)
    const onEvm = await createTestCollection(backend)
    const collection = await until(
      () => showCollection(backend, onEvm.id),
      ({ status }) => status === 'deployed',
    )
    expect(collection.status).toBe('deployed')
    expect((await showCollection(backend, onSolana.id)).status).toBe('initiated')
  } finally {
    await backend.close()
  }
})

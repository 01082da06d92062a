/** @module-tag slow */
import { beforeAll, expect, test } from 'vitest'
import { parseUnits } from '../../../src/core/units.ts'
import { backendForFile, createTestCollection, type TestBackend, withStore } from '../../helpers/backend.ts'
import { openMcpSession } from '../../helpers/mcp-session.ts'
import { CSV, folder } from '../batch/drop.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

test('a plan of apply is done with the max_cost that it was planned with, and nothing is planned after it', async () => {
  const { path } = await folder({ 'project/drop.csv': CSV })
  const { address: contract } = await createTestCollection(backend)
  const env = { GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const session = await openMcpSession({ home: path(''), url: backend.url, env, maxCost: 10n ** 18n })
  try {
    const values = { manifest: path('project/drop.csv'), contract, blockchain: 'polygon', max_cost: '0.5' }
    const planned = await session.call('apply', values)
    expect(planned, JSON.stringify(planned)).toMatchObject({ status: 'planned' })
    const applyResponse = await session.call('apply', { dry_run: false, plan_id: planned.plan_id })
    expect(applyResponse).toMatchObject({ status: 'ok', data: { minted: 2 } })
    const runs = await withStore(backend.dataDir, ({ db }) => db.selectFrom('runs').select('max_cost').execute())
    expect(runs).toEqual([{ max_cost: String(parseUnits('0.5')) }])
    const { max_cost: _, ...same } = values
    const secondResponse = await session.call('apply', same)
    expect(secondResponse).toMatchObject({ status: 'ok', next: expect.stringContaining('nothing to do') })
    expect(secondResponse.plan_id ?? null).toBeNull()
  } finally {
    await session.close()
  }
})

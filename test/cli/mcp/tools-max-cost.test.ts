/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { backendForFile, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { makeKey } from '../../helpers/keys.ts'
import { openMcpSession, type TestMcpSession } from '../../helpers/mcp-session.ts'
import { CSV, folder } from '../batch/drop.ts'
import { cli } from '../harness.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

/** Plans a call, and returns the answer of its plan. */
async function runPlan(session: TestMcpSession, tool: string, values: object) {
  const { plan_id } = await session.call(tool, values)
  return await session.call(tool, { dry_run: false, plan_id })
}

/** Starts a run whose rows the server refuses, so that it can be resumed. */
async function startRun(path: (name: string) => string, contract: string): Promise<string> {
  const manifest = path('project/begun.csv')
  await writeFile(manifest, CSV.replaceAll('D', 'Begun d'))
  const argv = ['batch', 'mint', manifest, '-c', contract, '-b', 'polygon', '--no-lookup', '--yes']
  const { key } = await makeKey(backend.dataDir, { permissions: ['nft:read'] })
  const env = { HOME: path(''), GDN_PACE_DIR: path('pace'), GDN_API_KEY: key, GDN_KEYRING: 'off' }
  const { code, stderr } = await cli([...argv, '--base-url', backend.url, '--state-dir', path('state')], { env })
  expect(code, stderr).toBe(4)
  return manifest
}

/** Arguments with which each tool that has max_cost would spend something. */
async function spendingCalls(session: TestMcpSession, path: (name: string) => string): Promise<Record<string, object>> {
  const [owner, alice] = WALLETS
  const collection = { name: 'Dawn', wallet: owner, blockchain: 'polygon' }
  const rights = { enable_burn: true, enable_transfer: true }
  const created = await runPlan(session, 'collection_create', { ...collection, ...rights })
  const { contract_address: contract } = created.data as { contract_address: string }
  const manifest = path('project/drop.csv')
  const target = { contract, blockchain: 'polygon' }
  const single = { ...target, receiver: alice, title: 'Dawn' }
  const minted = await runPlan(session, 'nft_mint', { ...single, dynamic: true })
  expect(minted, JSON.stringify(minted)).toMatchObject({ status: 'ok' })
  const { nft_gdn_id: id } = minted.data as { nft_gdn_id: string }
  await writeFile(path('project/hidden.csv'), CSV.replaceAll('D', 'Hidden d'))
  const placeholder = path('project/hidden.json')
  await writeFile(placeholder, JSON.stringify({ title: 'Hidden', description: 'x' }))
  const run = await startRun(path, contract)
  const hidden = { manifest: path('project/hidden.csv'), ...target }
  const unrevealed = await runPlan(session, 'batch_mint', { ...hidden, unrevealed: placeholder })
  expect(unrevealed, JSON.stringify(unrevealed)).toMatchObject({ status: 'ok' })
  return {
    collection_create: collection,
    nft_mint: single,
    nft_grant: { ...single, sender: owner },
    nft_transfer: { nft_gdn_id: id, receiver: owner },
    nft_update: { nft_gdn_id: id, title: 'Dusk' },
    nft_burn: { nft_gdn_id: [id] },
    nft_freeze: { nft_gdn_id: [id] },
    batch_mint: { manifest, ...target },
    batch_resume: { run },
    batch_retry: { run },
    apply: { manifest, ...target },
    reveal: hidden,
  }
}

test('no tool plans what its max_cost would refuse', async () => {
  const { path } = await folder({ 'project/drop.csv': CSV })
  const env = { GDN_API_KEY: (await makeKey(backend.dataDir)).key, GDN_BASE_URL: backend.url }
  const session = await openMcpSession({ home: path(''), url: backend.url, env, maxCost: null })
  try {
    const calls = await spendingCalls(session, path)
    const limited = session.tools().filter(({ inputSchema }) => 'max_cost' in inputSchema.properties)
    expect(Object.keys(calls).sort()).toEqual(limited.map(({ name }) => name).sort())
    for (const [tool, values] of Object.entries(calls)) {
      const planned = await session.call(tool, values)
      expect({ tool, planned }, JSON.stringify(planned.error)).toMatchObject({ tool, planned: { status: 'planned' } })
      const sufficient = await session.call(tool, { ...values, max_cost: '5' })
      expect({ tool, sufficient }, JSON.stringify(sufficient.error)).toMatchObject({
        sufficient: { status: 'planned', cost: expect.stringContaining('max_cost still applies: at most 5 POL.') },
      })
      const refused = await session.call(tool, { ...values, max_cost: '0.000000001' })
      expect({ tool, refused }).toMatchObject({ tool, refused: { error: { code: 'max_cost' } } })
      expect([tool, refused.plan_id ?? null]).toEqual([tool, null])
      expect(refused.error?.hint).toMatch(/max-cost [0-9.]+ (or more|is enough)/)
    }
  } finally {
    await session.close()
  }
})

import { expect, test } from 'vitest'
import { waitForCollection } from '../../src/operations/waiting.ts'

test('reports at each poll why a collection is pending', async () => {
  const reason = 'the network polygon has had no new block since 2026-01-31 12:00:00 UTC'
  const record = { transaction_gdn_ids: 'c', contract_address: '0x12' }
  const answers = [
    { ...record, status: 'initiated', pending_reason: reason },
    { ...record, status: 'deployed' },
  ]
  const client = { supports: () => false, call: async () => ({ collections: [answers.shift()] }) } as never
  const { signal } = new AbortController()
  const reported: string[] = []
  const onPoll = (text: string) => void reported.push(text)
  const { problem } = await waitForCollection({ client, signal, sleep: async () => {} }, 'c', 60_000, onPoll)
  expect([problem, reported]).toEqual([null, [`: ${reason}`, '']])
})

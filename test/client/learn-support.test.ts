import { expect, test } from 'vitest'
import type { LearnOptions } from '../../src/client/api-client.ts'
import { learnSupport } from '../../src/client/learn-support.ts'

/** A client whose first probes have no response. */
function clientOf(silent: number) {
  let references: boolean | null = null
  let probes = 0
  return {
    supports: () => references,
    async learnCapabilities({ onSilence }: LearnOptions = {}) {
      if (probes++ < silent) {
        onSilence?.(`reason ${probes}`)
        return null
      }
      references = true
      return true
    },
    probes: () => probes,
  }
}
const clock = { now: () => 0, sleep: async () => {}, random: () => 0 }
const { signal } = new AbortController()

test('asks again while the server does not respond, and not once it is known', async () => {
  const client = clientOf(3)
  await learnSupport(client, signal, clock)
  await learnSupport(client, signal, clock)
  expect(client.probes()).toBe(4)
  expect(client.supports()).toBe(true)
})

test('takes a silent server for no server without extensions, and says why it seems silent', async () => {
  await expect(learnSupport(clientOf(100), signal, clock)).rejects.toMatchObject({
    code: 'unreachable',
    message: 'the server does not respond: reason 6',
  })
})

import { describe, expect, it } from 'vitest'
import { createLog, type Log } from '../../src/server/log.ts'

async function logged(write: (log: Log) => void): Promise<string> {
  const lines: string[] = []
  write(await createLog('debug', { write: (line) => void lines.push(line) }))
  return lines.join('')
}

const KEY = `gdn_${'k'.repeat(43)}`

describe('the log', () => {
  it.each(['api_key', 'x-api-key', 'authorization', 'private_key', 'password', 'signature'])(
    'never contains a %s, at the top or one level down',
    async (name) => {
      const text = await logged((log) =>
        log.info({ [name]: 'hidden-1', facts: { [name]: 'hidden-2' }, kept: 'shown' }, 'x'),
      )
      expect(text).not.toContain('hidden')
      expect(text).toContain('shown')
    },
  )

  it('never contains an API key, not even in a message or a reason', async () => {
    const text = await logged((log) => log.error({ error: `no such key ${KEY}!` }, `refused ${KEY}`))
    expect(text).not.toContain('kkk')
    expect(JSON.parse(text)).toMatchObject({ error: 'no such key [redacted]!', msg: 'refused [redacted]' })
  })

  it.each([
    'http://127.0.0.1/v1/wallet/create?expiry=1&issuer=a%40b.c&signature=abcdef0123',
    'https://bucket.example/a.png?X-Amz-Credential=AKIA%2Fx&X-Amz-Signature=abcdef0123&X-Amz-Security-Token=abcdef0123',
    'https://files.example/a.png?sig=abcdef0123',
    'https://files.example/a.png?token=abcdef0123',
  ])('redacts the secrets of %s', async (url) => {
    const text = await logged((log) => log.warn({ reason: `${url} answered 403` }, 'x'))
    expect(text).not.toMatch(/abcdef0123|AKIA/)
    expect(JSON.parse(text).reason).toMatch(/\[redacted\] answered 403$/)
  })

  it('has one line of JSON per event, with the time', async () => {
    const text = await logged((log) => {
      log.info({ n: 1 }, 'one')
      log.info({ n: 2 }, 'a\nb')
    })
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ msg, n }) => [n, msg])).toEqual([
      [1, 'one'],
      [2, 'a\nb'],
    ])
    expect(Math.abs(Date.parse(lines[0].time) - Date.now())).toBeLessThan(10_000)
  })
})
